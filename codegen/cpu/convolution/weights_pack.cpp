// Packs of a convolution's weights, for their convolution and for the gradient of its data, which takes them
// flipped and by phases (ir/transposed_convolution.h). Several packs of the same weights share a kernel. It
// takes the weights tile by tile, a range of output channels by one of input channels: the first pack reads
// the tile from memory, the others find it in L1 or L2.
#include "codegen/cpu/contraction/pack.h"
#include "codegen/cpu/convolution/winograd_transforms.h"
#include "codegen/cpu/kernels.h"
#include "codegen/emit/kernel_params.h"
#include "codegen/emit/scalar_expr.h"
#include "codegen/emit/tile.h"
#include "codegen/emit/window_order.h"
#include "ir/views.h"

#include <llvm/Support/MathExtras.h>

#include <numeric>

namespace kiln::codegen {
namespace {

using Value = mlir::Value;

constexpr ParamNames weights_pack_names{"tiles_across"};
/// The parameters of each pack. Columns are the outputs of the convolution that takes it.
constexpr ParamNames pack_of_weights_names{"columns",        "channels",      "panels",     "panel_columns",
                                           "tile_columns",   "tile_channels", "tiles",      "column_stride",
                                           "channel_stride", "row_stride",    "tap_stride", "group_stride",
                                           "offset",         "table"};
using WeightsPackParams = KernelParams<weights_pack_names>;
using PackOfWeightsParams = KernelParams<pack_of_weights_names>;

/// The plan of a pack's code: equal plans, equal code.
struct WeightsPackPlan {
  bool transforms;  // by Winograd's algorithm; not by the packer then, whose neighbours are none
  /// The columns are the second axis of the weights in memory, the input channels the first.
  bool exchanged;
  /// Channels and taps follow each other in memory: they are read in that order, and a table has where each
  /// goes. Otherwise it has where each comes from.
  bool in_order;
  std::int64_t taps;
  Packer packer;
  static constexpr auto fields() {
    return std::tuple(PlanField{"transforms", &WeightsPackPlan::transforms},
                      PlanField{"exchanged", &WeightsPackPlan::exchanged},
                      PlanField{"in_order", &WeightsPackPlan::in_order},
                      PlanField{"taps", &WeightsPackPlan::taps},
                      PlanField{"packer", &WeightsPackPlan::packer});
  }
};

/// Everything that the code of packs of the same weights depends on.
struct WeightsPacksPlan {
  std::vector<WeightsPackPlan> packs;
  static constexpr auto fields() { return std::tuple(PlanField{"packs", &WeightsPacksPlan::packs}); }
};

struct WeightsPack : WeightsPackPlan {
  std::int64_t columns, channels, groups, panels, panel;
  ir::View view;

  WeightsPack(ir::PackOp op, const CpuTarget& target) : view(ir::view_of(op.getX())) {
    const auto packed = ir::ranked(op.getResult()).getShape();
    transforms = op.getKind() == ir::PackKind::winograd;
    groups = static_cast<std::int64_t>(op.getGroups());
    columns = view.shape[0] / groups;
    channels = view.shape[1];
    taps = mlir::ShapedType::getNumElements(llvm::ArrayRef(view.shape).drop_front(2));
    panels = packed[transforms ? 0 : 1];
    panel = packed.back();
    exchanged = ir::exchanges_channels(view).value_or(false);
    std::int64_t step = 1;
    in_order = !transforms;
    for (std::size_t i = view.shape.size(); i-- > 1; step *= view.shape[i])
      in_order = in_order && (view.shape[i] == 1 || view.strides[i] == step);
    const DType dtype = dtype_of_value(op.getResult());
    packer = {
        dtype, Tile::lanes_of(target, dtype, panel),
        transforms ? Packer::Neighbours::none : Packer::neighbours_of(in_order ? 1 : 0, view.strides[0])};
    in_order = in_order && packer.neighbours == Packer::Neighbours::elements;
  }

  std::vector<std::int64_t> table() const {
    if (transforms) return {};
    const auto shape = llvm::ArrayRef(view.shape).drop_front(2);
    const auto strides = llvm::ArrayRef(view.strides).drop_front(2);
    std::vector<std::int64_t> from = window_offsets(channels, view.strides[1], taps_of(shape, strides));
    if (!in_order) return from;
    std::vector<std::int64_t> places(from.size());
    for (auto [k, element] : llvm::enumerate(from))
      places[static_cast<std::size_t>(element)] = static_cast<std::int64_t>(k);
    return places;
  }
};

/// The part of a pack that a tile of the weights gives: some panels, and some channels.
struct WeightsPart {
  Value group, first_panel, panels, from_channel, to_channel;
};

class WeightsPackEmitter {
 public:
  WeightsPackEmitter(KernelBuilder& e, const KernelArgs& args, const WeightsPack& pack, std::size_t number,
                     Value table)
      : e(e),
        pack_(pack),
        params_(WeightsPackParams(e, args.params).group<PackOfWeightsParams>(number)),
        table_(table) {
    const DType dtype = pack_.packer.dtype;
    in_ = e.element(e.buffer(args.buffers, 0), params_["offset"], dtype);
    out_ = e.buffer(args.buffers, static_cast<int>(number) + 1);
  }

  /// Tile (i, j) of the weights, along the first and the second axis of their memory.
  void tile(Value i, Value j) {
    const Value column_tile = pack_.exchanged ? j : i, channel_tile = pack_.exchanged ? i : j,
                tiles = params_["tiles"], wide = params_["tile_columns"],
                together = e.div(wide, params_["panel_columns"]);
    WeightsPart part;
    part.group = e.div(column_tile, tiles);
    part.first_panel = e.mul(e.rem(column_tile, tiles), together);
    part.panels = e.min(together, e.sub(params_["panels"], part.first_panel));
    part.from_channel = e.mul(channel_tile, params_["tile_channels"]);
    part.to_channel = e.min(e.add(part.from_channel, params_["tile_channels"]), params_["channels"]);
    if (pack_.transforms)
      transform(part);
    else
      pack(part);
  }

 private:
  Value element(Value base, Value index) { return e.element(base, index, pack_.packer.dtype); }

  Value columns_from(const WeightsPart& part) {
    const Value column = e.mul(part.first_panel, params_["panel_columns"]);
    return element(
        in_, e.add(e.mul(part.group, params_["group_stride"]), e.mul(column, params_["column_stride"])));
  }

  void pack(const WeightsPart& part) {
    const Value taps = e.index(pack_.taps), width = params_["panel_columns"],
                panel_stride = e.mul(e.mul(params_["channels"], taps), width),
                number = e.add(e.mul(part.group, params_["panels"]), part.first_panel),
                from = e.mul(part.from_channel, taps);
    const Value panel = element(out_, e.mul(number, panel_stride)),
                table = e.element(table_, params_["table"], DType::i64);
    pack_.packer.emit(e, {.in = columns_from(part),
                          .out = pack_.in_order ? panel : element(panel, e.mul(from, width)),
                          .columns = e.sub(params_["columns"], e.mul(part.first_panel, width)),
                          .panels = part.panels,
                          .panel_columns = width,
                          .panel_stride = panel_stride,
                          .column_stride = params_["column_stride"],
                          .from = from,
                          .to = e.mul(part.to_channel, taps),
                          .k_stride = e.index(1),
                          .table = pack_.in_order ? Value() : table,
                          .places = pack_.in_order ? table : Value()});
  }

  void transform(const WeightsPart& part) {
    const int lanes = pack_.packer.lanes;
    const Value one = e.index(1), width = params_["panel_columns"], channels = params_["channels"],
                position_step = e.mul(channels, width), first = columns_from(part),
                columns = e.sub(params_["columns"], e.mul(part.first_panel, width));
    e.loop(e.index(0), part.panels, one, [&](Value p) {
      const Value number = e.add(part.first_panel, p);
      const Value panel = element(out_, e.mul(e.mul(number, e.index(winograd_positions)), position_step));
      e.loop(e.index(0), width, e.index(lanes), [&](Value j) {
        const Value column = e.add(e.mul(p, width), j);
        const Value of_column = element(first, e.mul(column, params_["column_stride"]));
        e.loop(part.from_channel, part.to_channel, one, [&](Value c) {
          emit_transformed_kernels(e,
                                   {.first = element(of_column, e.mul(c, params_["channel_stride"])),
                                    .column_stride = params_["column_stride"],
                                    .row_stride = params_["row_stride"],
                                    .tap_stride = params_["tap_stride"],
                                    .count = e.sub(columns, column),
                                    .lanes = lanes},
                                   element(panel, e.add(e.mul(c, width), j)), position_step);
        });
      });
    });
  }

  KernelBuilder& e;
  const WeightsPack& pack_;
  const PackOfWeightsParams params_;
  Value in_, out_, table_;
};

Launch launch_all(llvm::ArrayRef<ir::PackOp> ops, const CpuTarget& target) {
  std::vector<WeightsPack> packs;
  for (ir::PackOp op : ops) packs.emplace_back(op, target);
  // Each pack has whole panels of a tile, and whole blocks of channels.
  std::int64_t down = channel_block, across = channel_block;
  for (const WeightsPack& p : packs) {
    std::int64_t& side = p.exchanged ? across : down;
    side = std::lcm(side, p.panel);
  }
  const WeightsPack& any = packs.front();
  const auto tiles_of = [](std::int64_t extent, std::int64_t side) {
    return llvm::divideCeilSigned(extent, side);
  };
  const std::int64_t columns = any.groups * tiles_of(any.columns, any.exchanged ? across : down),
                     channels = tiles_of(any.channels, any.exchanged ? down : across),
                     tiles_across = any.exchanged ? columns : channels;
  const WeightsPacksPlan plan{{packs.begin(), packs.end()}};
  const mlir::Location loc = ir::PackOp(ops.front()).getLoc();
  Launch launch{{name_of_location(loc), plan_key("pack weights", plan), loc, {}}, {}};
  WeightsPackParams::append(launch.params, {{"tiles_across", tiles_across}});
  for (const WeightsPack& p : packs) {
    const auto stride = [&](std::size_t axis) { return p.transforms ? p.view.strides[axis] : 0; };
    PackOfWeightsParams::append(launch.params, {{"columns", p.columns},
                                                {"channels", p.channels},
                                                {"panels", p.panels},
                                                {"panel_columns", p.panel},
                                                {"tile_columns", p.exchanged ? across : down},
                                                {"tile_channels", p.exchanged ? down : across},
                                                {"tiles", tiles_of(p.columns, p.exchanged ? across : down)},
                                                {"column_stride", p.view.strides[0]},
                                                {"channel_stride", p.view.strides[1]},
                                                {"row_stride", stride(2)},
                                                {"tap_stride", stride(3)},
                                                {"group_stride", p.columns * p.view.strides[0]},
                                                {"offset", p.view.offset},
                                                {"table", static_cast<std::int64_t>(launch.table.size())}});
    const auto table = p.table();
    launch.table.insert(launch.table.end(), table.begin(), table.end());
  }
  launch.extent = columns * channels;
  launch.grain = grain_for(launch.extent, down * across * any.taps * static_cast<std::int64_t>(packs.size()));
  const bool has_table = !launch.table.empty();
  launch.request.emit = [=](KernelBuilder& e, const KernelArgs& args) {
    const Value table = has_table ? e.buffer(args.buffers, static_cast<int>(packs.size()) + 1) : Value();
    std::vector<WeightsPackEmitter> emitters;
    for (auto [i, pack] : llvm::enumerate(packs)) emitters.emplace_back(e, args, pack, i, table);
    const Value tiles = WeightsPackParams(e, args.params)["tiles_across"];
    e.loop(args.begin, args.end, e.index(1), [&](Value task) {
      for (WeightsPackEmitter& emitter : emitters) emitter.tile(e.div(task, tiles), e.rem(task, tiles));
    });
  };
  return launch;
}

}  // namespace

Launch launch_weights_pack(ir::PackOp pack, const CpuTarget& target) { return launch_all({pack}, target); }

Launch launch_weights_packs(ir::FusionOp fusion, ir::PackOp, const CpuTarget& target) {
  llvm::SmallVector<ir::PackOp> packs;
  for (mlir::Value v : fusion.getBody().front().getTerminator()->getOperands())
    packs.push_back(v.getDefiningOp<ir::PackOp>());
  return launch_all(packs, target);
}

}  // namespace kiln::codegen

// Winograd convolutions F(2x2, 3x3), as kiln.convolution in ir/KilnOps.td defines them: 16 multiplications
// for 2x2 results, where the direct sum has 36. A block of tiles at a time stays in L2, in scratch memory.
// First its inputs are transformed; then follow, for each panel of columns, 16 contractions, the output
// transform and the epilogue.
#include "codegen/cpu/convolution/winograd_plan.h"
#include "codegen/cpu/convolution/winograd_transforms.h"
#include "codegen/cpu/kernels.h"
#include "codegen/emit/epilogue.h"
#include "codegen/emit/kernel_params.h"
#include "codegen/emit/planned_launch.h"
#include "codegen/emit/tile.h"
#include "runtime/fail.h"

#include <llvm/Support/MathExtras.h>

namespace kiln::codegen {
namespace {

using Value = mlir::Value;
using Values = llvm::SmallVector<Value>;

constexpr int positions = winograd_positions;

constexpr ParamNames winograd_names{"height",       "width",    "channels",     "result_height",
                                    "result_width", "columns",  "tiles_down",   "tiles_across",
                                    "tiles",        "panels",   "image_stride", "row_stride",
                                    "pixel_stride", "x_offset", "pad_top",      "pad_left"};
/// The parameters of each axis of the epilogue follow.
constexpr ParamNames winograd_axis_names{"extent"};
using WinogradParams = KernelParams<winograd_names>;
using WinogradAxisParams = KernelParams<winograd_axis_names>;

/// Emits the kernel.
class WinogradEmitter {
 public:
  WinogradEmitter(KernelBuilder& e, const WinogradPlan& plan, Epilogue& epilogue, const KernelArgs& args)
      : e(e), plan_(plan), epilogue_(epilogue), args_(args), params_(e, args.params) {}

  void run() {
    const Value begin = args_.begin, end = args_.end;
    x_ = e.element(e.buffer(args_.buffers, plan_.x_operand), params_["x_offset"], DType::f32);
    w_ = e.buffer(args_.buffers, plan_.w_operand);
    scratch_ = e.buffer(args_.buffers, plan_.scratch_operand);
    const Value zero = e.index(0), one = e.index(1), panel_count = params_["panels"];
    if (plan_.axes == 1) epilogue_.prepare(e, args_, WinogradParams::end<WinogradAxisParams>(1), {});
    zeros_ = at(scratch_, e.index(WinogradPlan::zeros_at));
    e.loop(zero, e.index(plan_.row_elements), e.index(plan_.lanes),
           [&](Value c) { store(e.number(DType::f32, 0, plan_.lanes), at(zeros_, c)); });
    // A task is numbered (tile block, panel).
    const Value last = e.div(e.add(end, e.sub(panel_count, one)), panel_count);
    e.loop(e.div(begin, panel_count), last, one, [&](Value s) {
      const Value tile_block = e.index(plan_.tile_block), first_own = e.mul(s, tile_block),
                  before = e.mul(s, panel_count);
      // The last block begins early enough to be complete; results of the preceding block are not stored
      // again.
      const Value first = e.min(first_own, e.sub(params_["tiles"], tile_block));
      // A thread's next task is often of the same block, whose transformed inputs are there already.
      const Value number = e.add(s, one);
      e.when(differ(e.load_scalar(scratch_, DType::i64), number), [&] {
        e.loop(zero, tile_block, one, [&](Value t) { transform_input(e.add(first, t), t); });
        e.store_scalar(number, scratch_, DType::i64);
      });
      e.loop(e.max(zero, e.sub(begin, before)), e.min(panel_count, e.sub(end, before)), one, [&](Value p) {
        multiply(p);
        e.loop(e.sub(first_own, first), tile_block, one,
               [&](Value t) { finish_tile(e.add(first, t), t, p); });
      });
    });
  }

 private:
  Value at(Value base, Value index) { return e.element(base, index, DType::f32); }
  Value load(Value address) { return e.load(address, DType::f32, plan_.lanes); }
  void store(Value v, Value address) { e.store(v, address, DType::f32, plan_.lanes); }

  struct TilePosition {
    Value image, y, x;
  };
  TilePosition position_of(Value tile) {
    const Value across = params_["tiles_across"], down = params_["tiles_down"], row = e.div(tile, across);
    return {e.div(row, down), e.rem(row, down), e.rem(tile, across)};
  }

  Value differ(Value i, Value j) {
    return mlir::arith::CmpIOp::create(e.b, e.loc, mlir::arith::CmpIPredicate::ne, i, j);
  }
  Value within(Value i, Value extent) {  // negative indices are large unsigned numbers
    return mlir::arith::CmpIOp::create(e.b, e.loc, mlir::arith::CmpIPredicate::ult, i, extent);
  }

  /// Transforms the inputs of `tile`, number t of the block.
  void transform_input(Value tile, Value t) {
    const TilePosition where = position_of(tile);
    const Value image = at(x_, e.mul(where.image, params_["image_stride"]));
    const Value top = e.sub(e.mul(where.y, e.index(2)), params_["pad_top"]),
                x_left = e.sub(e.mul(where.x, e.index(2)), params_["pad_left"]);
    Values pixels;
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j) {
        const Value y = e.add(top, e.index(i)), x = e.add(x_left, e.index(j));
        const Value inside = mlir::arith::AndIOp::create(e.b, e.loc, within(y, params_["height"]),
                                                         within(x, params_["width"]));
        const Value there =
            at(image, e.add(e.mul(y, params_["row_stride"]), e.mul(x, params_["pixel_stride"])));
        pixels.push_back(e.select(inside, there, zeros_));
      }
    const Value to = at(scratch_, e.add(e.index(plan_.inputs_at()), e.mul(t, e.index(plan_.row_elements))));
    const Value count = params_["channels"], position_step = e.index(plan_.position_elements());
    e.loop(e.index(0), count, e.index(plan_.lanes), [&](Value c) {
      const Value mask = plan_.ragged_channels ? e.mask_below(e.sub(count, c), plan_.lanes) : Value();
      Values d;
      for (Value pixel : pixels) d.push_back(e.load(at(pixel, c), DType::f32, plan_.lanes, mask));
      Value place = at(to, c);
      for (Value v : transform_inputs(e, d)) {
        store(v, place);
        place = at(place, position_step);
      }
    });
  }

  /// Sums of all tiles of the block, for the columns of one panel.
  void multiply(Value panel) {
    const Value zero = e.index(0), one = e.index(1), count = params_["channels"];
    const Value panel_elements = e.mul(count, e.index(plan_.panel()));
    e.loop(zero, e.index(positions), one, [&](Value p) {
      const Value rhs = at(w_, e.mul(e.add(e.mul(panel, e.index(positions)), p), panel_elements));
      const Value lhs =
          at(scratch_, e.add(e.index(plan_.inputs_at()), e.mul(p, e.index(plan_.position_elements()))));
      const Value out = at(scratch_, e.add(e.index(plan_.sums_at()), e.mul(p, e.index(plan_.panel()))));
      e.loop(zero, e.index(plan_.split.tiles), one, [&](Value r) {
        plan_.split.rows.emit(e, r, e.index(plan_.split.larger), [&](Value first, int rows) {
          multiply({.number = r,
                    .tile = {DType::f32, rows, plan_.vectors_per_panel, plan_.lanes},
                    .lhs = at(lhs, e.mul(first, e.index(plan_.row_elements))),
                    .rhs = rhs,
                    .out = at(out, e.mul(first, e.index(positions * plan_.panel())))});
        });
      });
    });
  }

  /// The rows of a register tile: some Winograd tiles of the block, at one position, and the columns of one
  /// panel.
  struct Rows {
    Value number;
    Tile tile;
    Value lhs, rhs, out;
  };

  void multiply(const Rows& rows) {
    const Value zero = e.index(0), count = params_["channels"];
    const auto place = [&](std::size_t i) {
      const auto r = static_cast<std::int64_t>(i) / plan_.vectors_per_panel,
                 v = static_cast<std::int64_t>(i) % plan_.vectors_per_panel;
      return at(rows.out, e.index(r * positions * plan_.panel() + v * plan_.lanes));
    };
    if (!plan_.chunks) {
      for (auto [i, sum] : llvm::enumerate(sums_over(rows, zero, count))) store(sum, place(i));
      return;
    }
    for (std::size_t i = 0; i < rows.tile.registers(); ++i) store(rows.tile.initial_total(e), place(i));
    const Value length = e.index(Tile::chunk);
    e.loop(zero, count, length, [&](Value from) {
      for (auto [i, sum] : llvm::enumerate(sums_over(rows, from, e.min(e.add(from, length), count))))
        store(rows.tile.plus(e, load(place(i)), sum), place(i));
    });
  }

  llvm::SmallVector<Value> sums_over(const Rows& rows, Value from, Value to) {
    // The same channels at the next position, which after the last one is in the next panel.
    const Value next = at(rows.rhs, e.mul(e.add(params_["channels"], from), e.index(plan_.panel())));
    const PrefetchSlice slice(e, next, plan_.panel() * 4, e.sub(to, from), rows.number,
                              e.index(plan_.split.tiles));
    Tile::Carried first;
    if (plan_.streams_weights) first.push_back(slice.begin(e));
    return rows.tile.emit(e, from, to, first, [&](Value c, Tile::Carried& carried) {
      Tile::Operands operands;
      if (plan_.streams_weights) carried[0] = slice.prefetch(e, carried[0]);
      const Value row = at(rows.rhs, e.mul(c, e.index(plan_.panel())));
      rows.tile.load_rhs(e, row, rows.tile.dtype, rows.tile.vectors, plan_.panel(), operands.rhs);
      operands.lhs_address = [this, here = at(rows.lhs, c)](int r) {
        return at(here, e.index(r * plan_.row_elements));
      };
      return operands;
    });
  }

  void finish_tile(Value tile, Value t, Value panel) {
    const TilePosition where = position_of(tile);
    const Value sums =
        at(scratch_, e.add(e.index(plan_.sums_at()), e.mul(t, e.index(positions * plan_.panel()))));
    const Value first_column = e.mul(panel, e.index(plan_.panel()));
    for (int v = 0; v < plan_.vectors_per_panel; ++v) {
      const Value column = e.add(first_column, e.index(v * plan_.lanes));
      const auto vector = [&] {
        const Value mask = plan_.ragged_columns && plan_.lanes > 1
                               ? e.mask_below(e.sub(params_["columns"], column), plan_.lanes)
                               : Value();
        Values m;
        for (int p = 0; p < positions; ++p)
          m.push_back(load(at(sums, e.index(p * plan_.panel() + v * plan_.lanes))));
        const Values results = transform_sums(e, m);
        if (plan_.pooled)
          return store_results(results, where, column, mask, plan_.odd_height, plan_.odd_width);
        for (int i = 0; i < 4; ++i) {
          const int down = i / 2, across = i % 2;
          const TilePosition here{where.image, e.add(e.mul(where.y, e.index(2)), e.index(down)),
                                  e.add(e.mul(where.x, e.index(2)), e.index(across))};
          store_results(results[static_cast<std::size_t>(i)], here, column, mask,
                        down == 1 && plan_.odd_height, across == 1 && plan_.odd_width);
        }
      };
      if (plan_.ragged_columns)
        e.when(e.less(column, params_["columns"]), vector);
      else
        vector();
    }
  }

  /// Stores the epilogue's element at `place`, unless that is beyond its last row or column.
  void store_results(llvm::ArrayRef<Value> results, const TilePosition& place, Value column, Value mask,
                     bool may_be_below, bool may_be_right) {
    const auto put = [&] {
      Value row =
          e.add(e.mul(e.add(e.mul(place.image, params_["result_height"]), place.y), params_["result_width"]),
                place.x);
      // The epilogue may have more than one axis of rows.
      if (const std::size_t axes = plan_.axes; axes > 1) {
        Values of_axes;
        for (std::size_t i = 0; i < axes; ++i)
          of_axes.push_back(params_.group<WinogradAxisParams>(i)["extent"]);
        auto index = e.coordinates(row, of_axes);
        row = index.pop_back_val();
        epilogue_.prepare(e, args_, WinogradParams::end<WinogradAxisParams>(axes), index);
      }
      epilogue_.store(e, results, row, column, plan_.lanes, mask);
    };
    Value inside;
    if (may_be_below) inside = e.less(place.y, params_["result_height"]);
    if (may_be_right) {
      const Value here = e.less(place.x, params_["result_width"]);
      inside = inside ? mlir::arith::AndIOp::create(e.b, e.loc, inside, here).getResult() : here;
    }
    if (inside)
      e.when(inside, put);
    else
      put();
  }

  KernelBuilder& e;
  const WinogradPlan& plan_;
  Epilogue& epilogue_;
  const KernelArgs& args_;
  const WinogradParams params_;
  Value x_, w_, scratch_, zeros_;
};

}  // namespace

Launch launch_winograd(ir::FusionOp fusion, ir::WinogradOp root, const CpuTarget& target) {
  const ir::View x = ir::view_of(root.getX()), w = ir::view_of(root.getW());
  if (!w.is_contiguous() || x.strides[3] != 1)
    fail_internal("a transformed convolution reads through a window");
  const auto argument = [](const ir::View& v) {
    return static_cast<int>(llvm::cast<mlir::BlockArgument>(v.base).getArgNumber());
  };
  const WinogradSizes sizes(root);
  const Epilogue epilogue(fusion, root, /*columns=*/3, {});
  const WinogradPlan plan =
      plan_winograd(sizes,
                    {.axes = epilogue.extents().size(),
                     .x_operand = argument(x),
                     .w_operand = argument(w),
                     .scratch_operand = static_cast<int>(fusion.getNumOperands() + fusion.getNumResults())},
                    target);

  Launch launch = planned_launch<WinogradEmitter>(fusion, "winograd", plan, epilogue);
  WinogradParams::append(launch.params, {{"height", sizes.height},
                                         {"width", sizes.width},
                                         {"channels", sizes.channels},
                                         {"result_height", sizes.result_height()},
                                         {"result_width", sizes.result_width()},
                                         {"columns", sizes.columns},
                                         {"tiles_down", sizes.tiles_down},
                                         {"tiles_across", sizes.tiles_across},
                                         {"tiles", sizes.tiles},
                                         {"panels", sizes.panels},
                                         {"image_stride", x.strides[0]},
                                         {"row_stride", x.strides[1]},
                                         {"pixel_stride", x.strides[2]},
                                         {"x_offset", x.offset},
                                         {"pad_top", root.getPadLow()[0]},
                                         {"pad_left", root.getPadLow()[1]}});
  for (const std::int64_t extent : epilogue.extents())
    WinogradAxisParams::append(launch.params, {{"extent", extent}});
  epilogue.append_params(launch.params);
  launch.scratch_bytes = plan.scratch_elements() * 4;
  launch.extent = llvm::divideCeilSigned(sizes.tiles, plan.tile_block) * sizes.panels;
  launch.grain =
      grain_for(launch.extent, plan.tile_block * positions * sizes.channels * plan.vectors_per_panel * 3 / 2);
  return launch;
}

}  // namespace kiln::codegen

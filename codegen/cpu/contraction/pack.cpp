// Packs of B of a dot: panels of consecutive columns, so that a tile loads its columns as whole registers.
#include "codegen/cpu/contraction/pack.h"

#include "codegen/cpu/kernels.h"
#include "codegen/emit/kernel_params.h"
#include "codegen/emit/scalar_expr.h"
#include "codegen/emit/tile.h"
#include "codegen/target/tuning.h"

#include <llvm/Support/MathExtras.h>

namespace kiln::codegen {
namespace {

constexpr ParamNames packer_names{"columns",       "k_extent",    "panels",
                                  "panel_columns", "task_panels", "tasks_of_batch",
                                  "column_stride", "k_stride",    "batch_stride"};
using PackerParams = KernelParams<packer_names>;

}  // namespace

Packer::Neighbours Packer::neighbours_of(std::int64_t k_stride, std::int64_t column_stride) {
  return column_stride == 1 ? Neighbours::columns : k_stride == 1 ? Neighbours::elements : Neighbours::none;
}

Packer::Column Packer::column(KernelBuilder& e, const Part& part, mlir::Value panel, mlir::Value j) const {
  const mlir::Value number = e.add(e.mul(panel, part.panel_columns), j);
  return {e.element(part.in, e.mul(number, part.column_stride), dtype),
          e.element(part.out, e.add(e.mul(panel, part.panel_stride), j), dtype), e.sub(part.columns, number)};
}

mlir::Value Packer::row_of(KernelBuilder& e, const Part& part, mlir::Value k) {
  return part.places ? e.load_scalar(e.element(part.places, k, DType::i64), DType::i64) : e.sub(k, part.from);
}

void Packer::pack_row(KernelBuilder& e, const Part& part, const Column& column, bool whole,
                      mlir::Value k) const {
  const mlir::Value out = e.element(column.out, e.mul(row_of(e, part, k), part.panel_columns), dtype);
  const auto row = [&](mlir::Value k) {
    return e.element(column.in,
                     part.table ? e.load_scalar(e.element(part.table, k, DType::i64), DType::i64)
                                : e.mul(k, part.k_stride),
                     dtype);
  };
  if (!whole && lanes == 1) {
    e.store(e.number(dtype, 0, 1), out, dtype, 1);
    e.when(e.less(e.index(0), column.columns), [&] { e.store(e.load_scalar(row(k), dtype), out, dtype, 1); });
    return;
  }
  const bool reads = neighbours == Neighbours::columns;
  const mlir::Value mask = whole ? mlir::Value() : e.mask_below(column.columns, lanes);
  e.store(reads || lanes == 1
              ? e.load(row(k), dtype, lanes, mask)
              : e.gather(row(k), e.lane_offsets(part.column_stride, lanes), dtype, lanes, mask),
          out, dtype, lanes);
  if (reads && !part.table) e.prefetch(row(e.add(k, e.index(tuning::packing_prefetch_k))));
}

void Packer::pack_square(KernelBuilder& e, const Part& part, const Column& column, bool whole,
                         mlir::Value k) const {
  llvm::SmallVector<mlir::Value> columns;
  for (int lane = 0; lane < lanes; ++lane) {
    mlir::Value number = e.index(lane);
    if (!whole)
      number = e.min(number, e.sub(column.columns, e.index(1)));  // a valid address, for a lane of zeros
    const mlir::Value first = e.add(e.mul(number, part.column_stride), k);
    columns.push_back(e.element(column.in, first, dtype));
  }
  for (auto [i, row] : llvm::enumerate(e.load_transposed(columns, dtype))) {
    const mlir::Value number = row_of(e, part, e.add(k, e.index(static_cast<std::int64_t>(i))));
    e.store(whole ? row : e.select(e.mask_below(column.columns, lanes), row, e.number(dtype, 0, lanes)),
            e.element(column.out, e.mul(number, part.panel_columns), dtype), dtype, lanes);
  }
}

std::string_view word_of(Packer::Neighbours neighbours) {
  switch (neighbours) {
    case Packer::Neighbours::columns:
      return "columns";
    case Packer::Neighbours::elements:
      return "elements";
    default:
      return "apart";
  }
}

void Packer::emit(KernelBuilder& e, const Part& part) const {
  const mlir::Value whole = e.min(part.panels, e.div(part.columns, part.panel_columns));
  const auto over_columns = [&](const std::function<void(const Column&, bool whole)>& body) {
    const auto over_panels = [&](mlir::Value from, mlir::Value to, bool whole) {
      e.loop(from, to, e.index(1), [&](mlir::Value panel) {
        e.loop(e.index(0), part.panel_columns, e.index(lanes),
               [&](mlir::Value j) { body(column(e, part, panel, j), whole); });
      });
    };
    over_panels(e.index(0), whole, true);
    over_panels(whole, part.panels, false);
  };
  const mlir::Value one = e.index(1);
  if (neighbours == Neighbours::columns)  // in the order of memory
    return e.loop(part.from, part.to, one, [&](mlir::Value k) {
      over_columns([&](const Column& column, bool whole) { pack_row(e, part, column, whole, k); });
    });
  over_columns([&](const Column& column, bool whole) {
    const auto by_rows = [&] {
      e.loop(part.from, part.to, one, [&](mlir::Value k) { pack_row(e, part, column, whole, k); });
    };
    if (neighbours != Neighbours::elements || lanes == 1) return by_rows();
    const mlir::Value side = e.index(lanes), last = e.sub(part.to, side);
    e.when(e.less(last, part.from), by_rows, [&] {  // the last square overlaps the one before it
      e.loop(part.from, part.to, side,
             [&](mlir::Value k) { pack_square(e, part, column, whole, e.min(k, last)); });
    });
  });
}

Launch launch_pack(ir::PackOp pack, const CpuTarget& target) {
  if (ir::packs_weights(pack)) return launch_weights_pack(pack, target);
  const auto from = ir::ranked(pack.getX()).getShape(), to = ir::ranked(pack.getResult()).getShape();
  DType dtype = dtype_of_value(pack.getResult());
  std::int64_t panel = to[to.size() - 1], k_extent = to[to.size() - 2], panels = to[to.size() - 3];
  std::int64_t outer = 1;
  for (std::int64_t d : to.drop_back(3)) outer *= d;
  const bool transposed = pack.getKind() != ir::PackKind::matrix;
  const std::int64_t n = from[from.size() - (transposed ? 2 : 1)], n_stride = transposed ? k_extent : 1,
                     k_stride = transposed ? 1 : n;
  Launch launch{{name_of_location(pack.getLoc()), "", pack.getLoc(), {}}, {}};
  const int lanes = Tile::lanes_of(target, dtype, panel);
  const Packer packer{dtype, lanes, Packer::neighbours_of(k_stride, n_stride)};
  launch.request.key = plan_key("pack", packer);
  // A task is some consecutive panels.
  const bool reads = packer.neighbours == Packer::Neighbours::columns;
  const std::int64_t together = reads ? std::min<std::int64_t>(panels, tuning::panels_together) : 1,
                     tasks = llvm::divideCeilSigned(panels, std::max<std::int64_t>(together, 1));
  PackerParams::append(launch.params, {{"columns", n},
                                       {"k_extent", k_extent},
                                       {"panels", panels},
                                       {"panel_columns", panel},
                                       {"task_panels", together},
                                       {"tasks_of_batch", tasks},
                                       {"column_stride", n_stride},
                                       {"k_stride", k_stride},
                                       {"batch_stride", n * k_extent}});
  launch.extent = outer * tasks;
  launch.grain = grain_for(launch.extent, k_extent * panel * together);

  launch.request.emit = [=](KernelBuilder& e, const KernelArgs& args) {
    const PackerParams params(e, args.params);
    const mlir::Value source = e.buffer(args.buffers, 0), result = e.buffer(args.buffers, 1),
                      width = params["panel_columns"], panel_stride = e.mul(params["k_extent"], width);
    e.loop(args.begin, args.end, e.index(1), [&](mlir::Value task) {
      const mlir::Value batch = e.div(task, params["tasks_of_batch"]),
                        first = e.mul(e.rem(task, params["tasks_of_batch"]), params["task_panels"]),
                        column = e.mul(first, width), number = e.add(e.mul(batch, params["panels"]), first);
      const mlir::Value offset =
          e.add(e.mul(batch, params["batch_stride"]), e.mul(column, params["column_stride"]));
      packer.emit(e, {.in = e.element(source, offset, dtype),
                      .out = e.element(result, e.mul(number, panel_stride), dtype),
                      .columns = e.sub(params["columns"], column),
                      .panels = e.min(params["task_panels"], e.sub(params["panels"], first)),
                      .panel_columns = width,
                      .panel_stride = panel_stride,
                      .column_stride = params["column_stride"],
                      .from = e.index(0),
                      .to = params["k_extent"],
                      .k_stride = params["k_stride"],
                      .table = {}});
    });
  };
  return launch;
}

}  // namespace kiln::codegen

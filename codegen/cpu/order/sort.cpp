// Sorts of whole rows.
#include "codegen/cpu/kernels.h"
#include "codegen/cpu/order/sorter.h"
#include "codegen/emit/kernel_params.h"
#include "codegen/emit/scalar_expr.h"

namespace kiln::codegen {
namespace {

constexpr ParamNames sort_names{"extent", "merge_passes"};
using SortParams = KernelParams<sort_names>;

}  // namespace

Launch launch_sort(ir::SortOp op, const CpuTarget& target) {
  if (ir::sorts_part(op)) return launch_partial_sort(op, target);
  const llvm::ArrayRef<std::int64_t> shape = ir::ranked(op.getX()).getShape();
  const std::int64_t extent = shape.back(), rows = mlir::ShapedType::getNumElements(shape.drop_back()),
                     passes = Sorter::merge_passes(extent);
  const SortPlan plan{.dtype = dtype_of_value(op.getX()),
                      .descending = op.getDescending(),
                      .packed = ir::sorts_packed(op.getX()),
                      .in_order = false,
                      .lanes = target.lanes(8)};
  Launch launch{{name_of_location(op.getLoc()), plan_key("sort", plan), op.getLoc(), {}}, {}};
  SortParams::append(launch.params, {{"extent", extent}, {"merge_passes", passes}});
  launch.extent = extent == 0 ? 0 : rows;
  launch.grain = grain_for(launch.extent, extent * (2 + passes) * 4);

  launch.request.emit = [=](KernelBuilder& e, const KernelArgs& args) {
    const auto [dtype, descending, packed, in_order, lanes] = plan;
    const SortParams params(e, args.params);
    const mlir::Value n = params["extent"], merges = params["merge_passes"], zero = e.index(0);
    Sorter sorter(e, packed, n);
    // Calls `body(j, mask)` for all elements of a row, `lanes` at a time.
    const auto for_all = [&](const std::function<void(mlir::Value, mlir::Value)>& body) {
      e.loop(zero, n, e.index(lanes),
             [&](mlir::Value j) { body(j, lanes == 1 ? mlir::Value() : e.mask_below(e.sub(n, j), lanes)); });
    };
    e.loop(args.begin, args.end, e.index(1), [&](mlir::Value row) {
      const auto part = [&](std::int64_t operand, DType d, std::int64_t rows_each, std::int64_t which) {
        const mlir::Value first = e.add(e.mul(row, e.index(rows_each)), e.index(which));
        return e.element(e.buffer(args.buffers, operand), e.mul(first, n), d);
      };
      const mlir::Value x = part(0, dtype, 1, 0), order = part(1, DType::i64, 1, 0);
      // The last pass writes to `a`, where the indices are in the result.
      Parts a{order}, b{part(2, DType::i64, 1, 0)};
      if (!packed) {
        a = {part(2, DType::i64, 3, 0), order};
        b = {part(2, DType::i64, 3, 1), part(2, DType::i64, 3, 2)};
      }
      const auto [from, to] = sorter.arrays(a, b, merges);
      for_all([&](mlir::Value j, mlir::Value mask) {
        const Num key =
            key_of(Num(e.b, e.loc, e.load(e.element(x, j, dtype), dtype, lanes, mask)), dtype, descending);
        const Num index(e.b, e.loc, e.add(e.splat(j, lanes), e.lane_numbers(lanes)));
        for (auto [p, v] : llvm::zip(from, sorter.element(key, index)))
          e.store(v, e.element(p, j, DType::i64), DType::i64, lanes, mask);
      });
      sorter.sort(from, to, merges);
      if (!packed) return;
      for_all([&](mlir::Value j, mlir::Value mask) {
        const mlir::Value at = e.element(order, j, DType::i64);
        e.store(sorter.index({e.load(at, DType::i64, lanes, mask)}), at, DType::i64, lanes, mask);
      });
    });
  };
  return launch;
}

}  // namespace kiln::codegen

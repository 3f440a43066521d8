// Scatters: updates of rows of an array at given indices. Threads divide the rows of the result, and each
// reads all indices in order. The updates of a row and their order thus do not depend on the number of
// threads.
#include "codegen/cpu/kernels.h"
#include "codegen/emit/kernel_params.h"
#include "codegen/emit/plan_fields.h"
#include "codegen/emit/scalar_expr.h"
#include "codegen/math/math.h"
#include "codegen/target/tuning.h"

#include <llvm/Support/MathExtras.h>

namespace kiln::codegen {
namespace {

constexpr ParamNames scatter_names{"rows", "updates", "outer_count", "row_elements"};
using ScatterParams = KernelParams<scatter_names>;

/// Everything that the code depends on: equal plans, equal code.
struct ScatterPlan {
  bool adds;  // else replaces
  DType dtype, index_dtype;
  int lanes;
  static constexpr auto fields() {
    return std::tuple(PlanField{"adds", &ScatterPlan::adds}, PlanField{"dtype", &ScatterPlan::dtype},
                      PlanField{"index_dtype", &ScatterPlan::index_dtype},
                      PlanField{"lanes", &ScatterPlan::lanes});
  }
};

}  // namespace

Launch launch_scatter(ir::ScatterOp op, const CpuTarget& target) {
  llvm::ArrayRef<std::int64_t> shape = ir::ranked(op.getX()).getShape();
  auto axis = static_cast<std::size_t>(op.getAxis());
  std::int64_t outer = mlir::ShapedType::getNumElements(shape.take_front(axis)),
               inner = mlir::ShapedType::getNumElements(shape.drop_front(axis + 1)), rows = shape[axis];
  std::int64_t updates = ir::ranked(op.getIndices()).getNumElements();

  const DType element = dtype_of_value(op.getX());
  const ScatterPlan plan{.adds = op.getKind() == ir::Scatter::add,
                         .dtype = element,
                         .index_dtype = dtype_of_value(op.getIndices()),
                         .lanes = inner == 1 ? 1 : target.lanes(size_of(element))};
  Launch launch{{name_of_location(op.getLoc()), plan_key("scatter", plan), op.getLoc(), {}}, {}};
  ScatterParams::append(
      launch.params, {{"rows", rows}, {"updates", updates}, {"outer_count", outer}, {"row_elements", inner}});
  std::int64_t work = updates * outer * inner;
  launch.extent = work == 0 ? 0 : rows;
  // Each task reads all indices, most of them in vain: at most 16 tasks, and one where there is little to
  // write.
  constexpr std::int64_t parts = 16;
  launch.grain =
      std::max<std::int64_t>(1, work < tuning::min_task_cost ? rows : llvm::divideCeilSigned(rows, parts));

  launch.request.emit = [=](KernelBuilder& e, const KernelArgs& args) {
    const auto& [adds, dtype, index_dtype, lanes] = plan;
    const ScatterParams params(e, args.params);
    mlir::Value row_count = params["rows"], update_count = params["updates"],
                outer_count = params["outer_count"], width = params["row_elements"];
    mlir::Value source = e.buffer(args.buffers, 0), indices = e.buffer(args.buffers, 1),
                target_base = e.buffer(args.buffers, 2);
    mlir::Value zero = e.index(0), one = e.index(1);
    auto write = [&](mlir::Value from, mlir::Value to, int count, mlir::Value mask) {
      mlir::Value value = e.load(from, dtype, count, mask);
      if (adds)
        value = emit_binary(e.b, e.loc, ir::Binary::add, dtype, e.load(to, dtype, count, mask), value,
                            e.target.isa);
      e.store(value, to, dtype, count, mask);
    };
    e.loop(zero, update_count, one, [&](mlir::Value u) {
      mlir::Value row =
          emit_cast(e.b, e.loc, index_dtype, DType::i64,
                    e.load_scalar(e.element(indices, u, index_dtype), index_dtype), e.target.isa);
      mlir::Value mine = mlir::arith::AndIOp::create(
          e.b, e.loc,
          mlir::arith::CmpIOp::create(e.b, e.loc, mlir::arith::CmpIPredicate::sle, args.begin, row),
          e.less(row, args.end));
      e.when(mine, [&] {
        e.loop(zero, outer_count, one, [&](mlir::Value a) {
          mlir::Value from = e.element(source, e.mul(e.add(e.mul(a, update_count), u), width), dtype);
          mlir::Value to = e.element(target_base, e.mul(e.add(e.mul(a, row_count), row), width), dtype);
          e.each_register(width, lanes, [&](mlir::Value b, mlir::Value mask) {
            write(e.element(from, b, dtype), e.element(to, b, dtype), lanes, mask);
          });
        });
      });
    });
  };
  return launch;
}

}  // namespace kiln::codegen

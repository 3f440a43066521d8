// Cumulative operations: a chain along one axis; lanes and threads run along the others. Semantics:
// kiln.cumulative.
#include "codegen/cpu/kernels/launch.h"
#include "codegen/cpu/loops/kernel_params.h"
#include "codegen/cpu/loops/loop_nest.h"
#include "codegen/cpu/loops/scalar_expr.h"
#include "codegen/math/math.h"

namespace kiln::codegen {
namespace {

/// They follow those of the nest.
constexpr ParamNames names{"chain_extent", "chain_stride"};
using Params = KernelParams<names>;

}  // namespace

Launch launch_cumulative(ir::CumulativeOp op, const CpuTarget& target) {
  llvm::ArrayRef<std::int64_t> shape = ir::ranked(op.getX()).getShape();
  auto axis = static_cast<std::size_t>(op.getAxis());
  std::int64_t outer = mlir::ShapedType::getNumElements(shape.take_front(axis)),
               inner = mlir::ShapedType::getNumElements(shape.drop_front(axis + 1)), extent = shape[axis];

  DType dtype = dtype_of_value(op.getX());
  // Lanes run along the axes after the chain's; if there are none, chains are scalar.
  Dims extents, strides;
  auto add_axis = [&](std::int64_t count, std::int64_t stride) {
    extents.push_back(count);
    strides.push_back(stride);
  };
  if (outer > 1 || inner == 1) add_axis(outer, extent * inner);
  if (inner > 1) add_axis(inner, 1);
  int lanes = inner > 1 ? target.lanes(size_of(dtype)) : 1;
  // The nest computes addresses only: the chain loads its elements itself.
  LoopNest nest(extents, {{dtype, 0, strides, 0, false}, {dtype, 1, strides, 0, false}}, lanes);
  Launch launch{{name_of_location(op.getLoc()),
                 fmt::format("cumulative {} {}", ir::stringifyReduceKind(op.getKind()).str(), nest.key()),
                 op.getLoc(),
                 {}},
                {}};
  nest.append_params(launch.params);
  auto own = static_cast<std::int64_t>(nest.param_count());
  Params::append(launch.params, {{"chain_extent", extent}, {"chain_stride", inner}});
  launch.extent = outer * inner * extent == 0 ? 0 : nest.outer_extent();
  bool divides_lanes = inner > 1 && outer == 1;
  launch.grain = grain_for(launch.extent, extent * (divides_lanes ? 1 : inner), divides_lanes ? 64 : 1);

  ir::Binary combine = static_cast<ir::Binary>(ir::combiner(op.getKind()));
  launch.request.emit = [=](KernelBuilder& e, const KernelArgs& args) {
    const Params params(e, args.params, own);
    mlir::Value count = params["chain_extent"], step = params["chain_stride"];
    nest.emit(e, args, [&](LoopPoint& at) {
      mlir::Value from = at.address(0), to = at.address(1);
      mlir::Value first = e.load(from, dtype, at.lanes(), at.mask());
      e.store(first, to, dtype, at.lanes(), at.mask());
      e.loop(e.index(1), count, e.index(1), {first}, [&](mlir::Value r, mlir::ValueRange carried) {
        mlir::Value offset = e.mul(r, step);
        mlir::Value x = e.load(e.element(from, offset, dtype), dtype, at.lanes(), at.mask());
        mlir::Value sum = emit_binary(e.b, e.loc, combine, dtype, carried[0], x, e.target.isa);
        e.store(sum, e.element(to, offset, dtype), dtype, at.lanes(), at.mask());
        return llvm::SmallVector<mlir::Value>{sum};
      });
    });
  };
  return launch;
}

}  // namespace kiln::codegen

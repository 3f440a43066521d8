// Pointwise kernels: each thread computes one point. Points are counted in C order, so that neighbouring
// threads have neighbouring points of the results: their accesses are to one line, or a few.
#include "codegen/cpu/kernels/pointwise_body.h"
#include "codegen/cuda/launch.h"

namespace kiln::codegen {
namespace {

LoopNest make_nest(Dims extents, std::vector<StridedAccess> accesses) {
  llvm::SmallVector<Dims> strides;
  for (const StridedAccess& s : accesses) strides.push_back(s.strides);
  ir::collapse_axes(extents, strides);
  for (auto [access, merged] : llvm::zip(accesses, strides)) access.strides = merged;
  return {std::move(extents), std::move(accesses), /*lanes=*/1};
}

using EmitPoint = std::function<void(KernelBuilder&, const KernelArgs&, LoopPoint&)>;

/// The launch of a kernel whose iterations are the points of the nest.
Launch launch_of(const LoopNest& nest, std::string name, const std::string& key, mlir::Location loc,
                 EmitPoint body) {
  Launch launch{{std::move(name),
                 fmt::format("points {}{}{}", nest.has_short_numbers() ? "32 " : "", nest.key(), key),
                 loc,
                 {}},
                {}};
  launch.request.schedule.name = "a thread per point";
  nest.append_params(launch.params);
  launch.extent = nest.elements();
  launch.request.emit = [nest, body = std::move(body)](KernelBuilder& e, const KernelArgs& args) {
    nest.emit_point(e, args, args.begin, [&](LoopPoint& at) { body(e, args, at); });
  };
  return launch;
}

}  // namespace

Launch launch_points(ir::FusionOp fusion) {
  const PointwiseFusion pointwise(fusion);
  const PointwiseBody& body = pointwise.body;
  const LoopNest nest = make_nest(pointwise.extents, pointwise.accesses);
  Launch launch =
      launch_of(nest, name_of_location(fusion.getLoc()), body.expr.key(), fusion.getLoc(),
                [body, nest](KernelBuilder& e, const KernelArgs& args, LoopPoint& at) {
                  for (auto [i, value] : llvm::enumerate(PointwiseEmitter(e, body, nest, args).values(at)))
                    at.store(body.first_output + i, value);
                });
  launch.uses_random = body.uses_random();
  body.append_params(launch.params);
  return launch;
}

Launch launch_gpu_copy(const StridedBox& box, DType dtype, mlir::Location loc) {
  const LoopNest nest = make_nest(box.shape, {{dtype, 0, box.from_strides, box.from_offset},
                                              {dtype, 1, box.to_strides, box.to_offset, false}});
  return launch_of(nest, "copy", "", loc,
                   [](KernelBuilder&, const KernelArgs&, LoopPoint& at) { at.store(1, at.load(0)); });
}

}  // namespace kiln::codegen

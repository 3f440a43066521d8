// Pointwise kernels: each thread computes one point. Points are counted in C order, so that neighbouring
// threads have neighbouring points of the results: their accesses are to one line, or a few. In a row fusion
// the threads of a row's team divide its points likewise.
#include "codegen/cuda/division.h"
#include "codegen/emit/pointwise_body.h"

namespace kiln::codegen {
namespace {

LoopNest make_point_nest(Dims extents, std::vector<StridedAccess> accesses) {
  llvm::SmallVector<Dims> strides;
  for (const StridedAccess& s : accesses) strides.push_back(s.strides);
  ir::collapse_axes(extents, strides);
  for (auto [access, merged] : llvm::zip(accesses, strides)) access.strides = merged;
  return {std::move(extents), std::move(accesses), /*lanes=*/1};
}

/// The plan of a kernel of points: equal plans, equal code.
struct PointsPlan {
  DivisionPlan division;
  std::string expression;  // of a copy none
  static constexpr auto fields() {
    return std::tuple(PlanField{"division", &PointsPlan::division},
                      PlanField{"expression", &PointsPlan::expression});
  }
};

Launch launch_points(const Division& division, std::string name, std::string expression, mlir::Location loc) {
  const PointsPlan plan{division.plan(), std::move(expression)};
  Launch launch{{std::move(name), plan_key("points", plan), loc, {}}, {}};
  if (division.by_rows())
    division.set(launch.request);
  else
    launch.request.gpu.schedule = "a thread per point";
  division.nest().append_params(launch.params);
  launch.extent = division.extent();
  return launch;
}

}  // namespace

Launch launch_gpu_pointwise(ir::FusionOp fusion) {
  const PointwiseFusion pointwise(fusion);
  const PointwiseBody& body = pointwise.body;
  Division division(make_point_nest(pointwise.extents, pointwise.accesses), Rows::of(fusion));
  Launch launch =
      launch_points(division, name_of_location(fusion.getLoc()), body.expr.text(), fusion.getLoc());
  launch.uses_random = body.uses_random();
  body.append_params(launch.params);
  division.append_params(launch.params);
  launch.request.emit = [body, division](KernelBuilder& e, const KernelArgs& args) {
    PointwiseEmitter values(e, body, division.nest(), args);
    division.emit_by_threads(e, args, [&](LoopPoint& at) {
      for (auto [i, value] : llvm::enumerate(values.values(at))) at.store(body.first_output + i, value);
    });
  };
  return launch;
}

Launch launch_gpu_copy(const StridedBox& box, DType dtype, mlir::Location loc) {
  const Division division(make_point_nest(box.shape, {{dtype, 0, box.from_strides, box.from_offset},
                                                      {dtype, 1, box.to_strides, box.to_offset, false}}),
                          std::nullopt);
  Launch launch = launch_points(division, name_of_location(loc), "", loc);
  launch.request.words = "copy";
  launch.request.emit = [division](KernelBuilder& e, const KernelArgs& args) {
    division.emit_by_threads(e, args, [&](LoopPoint& at) { at.store(1, at.load(0)); });
  };
  return launch;
}

}  // namespace kiln::codegen

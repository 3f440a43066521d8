// A third back end for tests: scalar pointwise kernels and copies; all other kernels are the CPU's.
#pragma once
#include "codegen/backend/llvm_code.h"
#include "codegen/emit/pointwise_body.h"
#include "codegen/registry/registry.h"

#include <llvm/TargetParser/Host.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace kiln::codegen {

/// Emits a body at each point that a thread computes.
using EachPoint = std::function<void(const LoopNest::PointBody& body)>;
using PointsEmitter = std::function<void(KernelBuilder& e, const LoopNest& nest, const KernelArgs& args,
                                         const EachPoint& each)>;

/// The properties that are built into the code: equal plans, equal code.
struct OneByOnePlan {
  bool short_numbers;  // LoopNest::has_short_numbers()
  NestPlan nest;
  std::string expression;
  static constexpr auto fields() {
    return std::tuple(PlanField{"short_numbers", &OneByOnePlan::short_numbers},
                      PlanField{"nest", &OneByOnePlan::nest},
                      PlanField{"expression", &OneByOnePlan::expression});
  }
};

/// A kernel that computes the points of a box one by one, in C order.
inline Launch launch_points(std::string name, std::string expression, Dims extents,
                            std::vector<StridedAccess> accesses, mlir::Location location,
                            PointsEmitter emit) {
  llvm::SmallVector<Dims> strides;
  for (const StridedAccess& a : accesses) strides.push_back(a.strides);
  ir::collapse_axes(extents, strides);
  for (auto [access, merged] : llvm::zip(accesses, strides)) access.strides = merged;
  const LoopNest nest(std::move(extents), std::move(accesses), /*lanes=*/1);
  const OneByOnePlan plan{nest.has_short_numbers(), nest.plan(), std::move(expression)};
  Launch launch{{std::move(name), plan_key("one by one", plan), location, {}}, {}};
  nest.append_params(launch.params);
  launch.extent = nest.elements();
  launch.grain = grain_for(launch.extent, /*cost=*/1);
  launch.request.emit = [nest, emit](KernelBuilder& e, const KernelArgs& args) {
    emit(e, nest, args, [&](const LoopNest::PointBody& body) {
      e.loop(args.begin, args.end, e.index(1),
             [&](mlir::Value number) { nest.emit_point(e, args, {}, number, body); });
    });
  };
  return launch;
}

inline Launch launch_scalar_pointwise(ir::FusionOp fusion) {
  const PointwiseFusion pointwise(fusion);
  const PointwiseBody& body = pointwise.body;
  Launch launch = launch_points(
      name_of_location(fusion.getLoc()), body.expr.text(), pointwise.extents, pointwise.accesses,
      fusion.getLoc(),
      [body](KernelBuilder& e, const LoopNest& nest, const KernelArgs& args, const EachPoint& each) {
        PointwiseEmitter values(e, body, nest, args);
        each([&](LoopPoint& at) {
          for (auto [i, value] : llvm::enumerate(values.values(at))) at.store(body.first_output + i, value);
        });
      });
  launch.uses_random = body.uses_random();
  body.append_params(launch.params);
  return launch;
}

inline const KernelTable& scalar_kernels() {
  static const KernelTable table{
      root<ir::ReduceOp>(fallback),
      root<ir::PackOp>(ir::packs_weights, fallback),
      root<ir::PackedDotOp>(fallback),
      root<ir::PackedConvolutionOp>(fallback),
      root<ir::WeightsProductOp>(fallback),
      root<ir::WinogradOp>(fallback),
      alone<ir::FusionOp>(launch_scalar_pointwise),
      alone<ir::PackOp>(fallback),
      alone<ir::PadOp>(fallback),
      alone<ir::ExtendOp>(fallback),
      alone<ir::ScatterOp>(fallback),
      alone<ir::SortOp>(fallback),
      alone<ir::CumulativeOp>(fallback),
  };
  return table;
}

class ScalarBackend final : public Backend {
 public:
  explicit ScalarBackend(const KernelTable& other) : other_(other) {}

  const passes::TargetModel& model() const override { return model_; }
  const CpuTarget& code() const override { return target_; }
  std::string id() const override { return "test-scalar"; }
  Launches launch(mlir::Operation* op) const override {
    return scalar_kernels().launch(op, target_, &other_);
  }
  Launch launch_copy(const StridedBox& box, DType dtype, mlir::Location location) const override {
    return launch_points(
        "copy", std::string(name_of(dtype)), box.shape,
        {{dtype, 0, box.from_strides, box.from_offset}, {dtype, 1, box.to_strides, box.to_offset, false}},
        location, [](KernelBuilder&, const LoopNest&, const KernelArgs&, const EachPoint& each) {
          each([](LoopPoint& at) { at.store(1, at.load(0)); });
        });
  }
  llvm::SmallVector<char, 0> lower(llvm::Module& module, const KernelRequest& request, const std::string&,
                                   StageTexts* texts) const override {
    llvm::TargetMachine& machine = machine_for({llvm::sys::getProcessTriple(), target_.cpu, ""});
    set_machine(module, machine);
    run_passes(module, machine, std::string(simplify));
    if (texts) texts->add("llvm", "; test-scalar lowered it\n" + text_of(module));
    return generate(module, machine, request.in_order, llvm::CodeGenFileType::ObjectFile);
  }

 private:
  const KernelTable& other_;
  CpuTarget target_{.isa = Isa::scalar, .vector_bytes = 0, .cpu = "x86-64", .features = ""};
  CpuTargetModel model_{/*lanes=*/1, assumed_machine()};
};

inline std::unique_ptr<const Backend> make_scalar(const TargetRequest&, const KernelTable* other) {
  return std::make_unique<ScalarBackend>(*other);
}

}  // namespace kiln::codegen

// The pipeline: every pass in its order, with the reason for its place.
#include "passes/pipeline.h"

#include "ir/stages.h"
#include "passes/absorb_copies.h"
#include "passes/canonicalize.h"
#include "passes/expand.h"
#include "passes/fold.h"
#include "passes/fuse.h"
#include "passes/fuse_rows.h"
#include "passes/hoist.h"
#include "passes/layout.h"
#include "passes/lift_slices.h"
#include "passes/merge_products.h"
#include "passes/outline.h"
#include "passes/pass_observer.h"
#include "passes/plan_buffers.h"
#include "passes/rematerialize.h"
#include "passes/sink_reshapes.h"
#include "passes/sink_transposes.h"
#include "runtime/fail.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/Diagnostics.h>
#include <mlir/IR/Verifier.h>
#include <mlir/Pass/PassRegistry.h>
#include <mlir/Transforms/Passes.h>

#include <exception>
#include <utility>

namespace kiln::passes {
namespace {

/// Independent of the target.
void add_simplification(mlir::OpPassManager& pm, const PipelineOptions& options) {
  // Splats that were broadcast or reshaped are splats again, so that folding sees them as constants.
  pm.addPass(create_canonicalize_pass());
  // Values that every step of a loop would compute alike; some of them are constant.
  pm.addPass(create_hoist_pass());
  // The constant part, by running it. Before anything else: no later pass has to think about it.
  pm.addPass(create_fold_pass(options.evaluate));
  // Identities with the new constants.
  pm.addPass(create_canonicalize_pass());
  // Two operators often compose the same broadcast or cast of one value.
  pm.addPass(mlir::createCSEPass());
}

/// Only operations remain that the target has kernels for, in the layouts that suit it.
void add_lowering_for_target(mlir::OpPassManager& pm, const PipelineOptions& options) {
  // Fewer kinds of operations; the parts of windows and of small contractions take part in fusion.
  pm.addPass(create_expand_pass(*options.target));
  // Contractions with the same weights become one: steps of a recurrent cell that a program unrolled.
  pm.addPass(create_merge_products_pass(*options.target));
  // Packs become visible: of parameters, they leave the call.
  pm.addPass(create_layout_pass(*options.target));
  // Between convolutions their transposes meet and cancel.
  pm.addPass(create_sink_transposes_pass(*options.target));
  // Expansion and packing compose shapes as operators do: clean up, and one pack for every user of the same
  // weights.
  pm.addPass(create_canonicalize_pass());
  // Packs of loop invariants leave the loop, and so may leave the call.
  pm.addPass(create_hoist_pass());
  pm.addPass(mlir::createCSEPass());
}

/// Common to all targets, which answer for its thresholds: operations become kernels.
void add_fusion(mlir::OpPassManager& pm, const PipelineOptions& options) {
  // Normalised rows: x - mean(x) is cheaper than an array of it.
  if (options.fuse) pm.addPass(create_rematerialize_pass());
  // A reshape between a root and its epilogue would prevent their fusion.
  pm.addPass(create_sink_reshapes_pass());
  // Poolings are part of a contraction's epilogue where its tiles hold their windows.
  if (options.fuse) pm.addPass(create_lift_slices_pass(*options.target));
  // Kernels. Last before memory: the order of operations is final from here.
  pm.addPass(create_fuse_pass(*options.target, options.fuse));
  // Copies that only move values to where a kernel could have written them.
  if (options.fuse) pm.addPass(create_absorb_copies_pass());
  // Row fusion: values that would still pass through memory between kernels stay in L1 or L2.
  if (options.fuse) pm.addPass(create_fuse_rows_pass(*options.target));
}

/// Common to all targets: values get places in memory.
void add_memory(mlir::OpPassManager& pm) {
  // Lifetimes are known when the schedule is; kernels get addresses as arguments and do not care.
  pm.addPass(create_plan_buffers_pass());
}

/// Calls `f` unless there is an error already; keeps its exception.
template <class F>
void keep_error(std::exception_ptr& error, F f) {
  if (error) return;
  try {
    f();
  } catch (...) {
    error = std::current_exception();
  }
}

#ifdef NDEBUG
constexpr bool verifies_each_stage = false;
#else
constexpr bool verifies_each_stage = true;
#endif

/// Verifies by the table of ir/stages.h that each operation may stand where it does. Without an argument it
/// is a part of the pipeline, which no observer sees.
class VerifyStage final : public mlir::PassWrapper<VerifyStage, mlir::OperationPass<mlir::ModuleOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(VerifyStage)
  explicit VerifyStage(ir::Stage stage, llvm::StringRef argument = "") : stage_(stage), argument_(argument) {}
  llvm::StringRef getName() const override { return "VerifyStage"; }
  llvm::StringRef getArgument() const override { return argument_; }
  llvm::StringRef getDescription() const override { return "Verifies that operations stand where they may"; }
  void runOnOperation() override {
    if (mlir::failed(ir::verify_stage(getOperation(), stage_))) signalPassFailure();
  }

 private:
  ir::Stage stage_;
  llvm::StringRef argument_;
};

/// The end of a stage: verifies the module, if requested, and shows it to the observer. The observer's
/// exceptions do not pass through MLIR, which is compiled without exceptions: one ends the pipeline, and
/// run_pipeline() rethrows it.
class StageEnd final : public mlir::PassWrapper<StageEnd, mlir::OperationPass<mlir::ModuleOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(StageEnd)
  StageEnd(llvm::StringRef stage, const PipelineOptions& options, std::exception_ptr* error,
           bool verify = true)
      : stage_(stage), observe_(options.observe), error_(error), verify_(verify || observe_) {}
  llvm::StringRef getName() const override { return "StageEnd"; }
  void runOnOperation() override {
    if (verify_ && mlir::failed(mlir::verify(getOperation()))) return signalPassFailure();
    if (observe_) keep_error(*error_, [&] { observe_(stage_, getOperation()); });
    if (error_ && *error_) signalPassFailure();
  }

 private:
  llvm::StringRef stage_;
  decltype(PipelineOptions::observe) observe_;
  std::exception_ptr* error_;
  bool verify_;
};

/// `error` receives exceptions of observers; null without observers.
void add_pipeline(mlir::OpPassManager& pm, const PipelineOptions& options, std::exception_ptr* error) {
  using mlir::func::FuncOp;
  add_simplification(pm.nest<FuncOp>(), options);
  pm.addPass(std::make_unique<VerifyStage>(ir::Stage::graph));
  pm.addPass(std::make_unique<StageEnd>("kiln", options, error));
  add_lowering_for_target(pm.nest<FuncOp>(), options);
  // Bodies become functions: every later pass sees one list of operations.
  pm.addPass(create_outline_pass());
  if (verifies_each_stage) pm.addPass(std::make_unique<VerifyStage>(ir::Stage::lowered));
  add_fusion(pm.nest<FuncOp>(), options);
  // Kernels are verified at the end, with their places in memory.
  pm.addPass(std::make_unique<StageEnd>("fused", options, error, verifies_each_stage));
  add_memory(pm);
  pm.addPass(std::make_unique<VerifyStage>(ir::Stage::kernels));
  pm.addPass(std::make_unique<StageEnd>("buffers", options, error));
}

/// Runs the passes that `add` adds.
template <class Add>
void run(mlir::ModuleOp module, const PipelineOptions& options, Add add) {
  std::string complaints;
  mlir::ScopedDiagnosticHandler collect(module.getContext(), [&](mlir::Diagnostic& d) {
    if (d.getSeverity() == mlir::DiagnosticSeverity::Error)
      complaints += (complaints.empty() ? "" : "; ") + d.str();
    return mlir::success();
  });
  mlir::PassManager pm(module.getContext(), mlir::ModuleOp::getOperationName());
  pm.enableVerifier(false);  // once per stage is enough
  std::exception_ptr error;
  AfterPass after_pass;
  if (options.after_pass)
    after_pass = [&](llvm::StringRef pass, mlir::Operation* op, bool changed) {
      keep_error(error, [&] { options.after_pass(pass, op, changed); });
    };
  observe_passes(pm, std::move(after_pass));
  add(pm, &error);
  const mlir::LogicalResult result = pm.run(module);
  if (error) std::rethrow_exception(error);
  if (mlir::failed(result))
    fail_internal("the passes failed: {}", complaints.empty() ? "no reason given" : complaints);
}

}  // namespace

void run_pipeline(mlir::ModuleOp module, const PipelineOptions& options) {
  run(module, options,
      [&](mlir::OpPassManager& pm, std::exception_ptr* error) { add_pipeline(pm, options, error); });
}

void run_simplification(mlir::ModuleOp module, const PipelineOptions& options) {
  run(module, options, [&](mlir::OpPassManager& pm, std::exception_ptr* error) {
    add_simplification(pm.nest<mlir::func::FuncOp>(), options);
    pm.addPass(std::make_unique<StageEnd>("joint", options, error));
  });
}

void register_passes(const Evaluate& evaluate, const std::function<const TargetModel&()>& target) {
  mlir::registerPass([] { return create_canonicalize_pass(); });
  mlir::registerPass([evaluate] { return create_fold_pass(evaluate); });
  mlir::registerPass([target] { return create_expand_pass(target()); });
  mlir::registerPass([] { return create_hoist_pass(); });
  mlir::registerPass([target] { return create_merge_products_pass(target()); });
  mlir::registerPass([target] { return create_layout_pass(target()); });
  mlir::registerPass([] { return create_outline_pass(); });
  mlir::registerPass([target] { return create_sink_transposes_pass(target()); });
  mlir::registerPass([] { return create_rematerialize_pass(); });
  mlir::registerPass([] { return create_sink_reshapes_pass(); });
  mlir::registerPass([target] { return create_lift_slices_pass(target()); });
  mlir::registerPass([target] { return create_fuse_pass(target()); });
  mlir::registerPass([] { return create_absorb_copies_pass(); });
  mlir::registerPass([target] { return create_fuse_rows_pass(target()); });
  mlir::registerPass([] { return create_plan_buffers_pass(); });
  mlir::registerPass([] { return mlir::createCSEPass(); });
  const auto register_stage = [](ir::Stage stage, llvm::StringRef argument) {
    mlir::registerPass([=] { return std::make_unique<VerifyStage>(stage, argument); });
  };
  register_stage(ir::Stage::graph, "kiln-verify-graph");
  register_stage(ir::Stage::lowered, "kiln-verify-lowered");
  register_stage(ir::Stage::kernels, "kiln-verify-kernels");
  mlir::PassPipelineRegistration<>("kiln-pipeline", "All passes, as a compilation runs them",
                                   [evaluate, target](mlir::OpPassManager& pm) {
                                     const PipelineOptions options{.evaluate = evaluate, .target = &target()};
                                     add_pipeline(pm, options, nullptr);
                                   });
}

}  // namespace kiln::passes

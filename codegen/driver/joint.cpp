// The code of recorded calls: entries as bytecode, backward code by request.
#include "codegen/driver/joint.h"

#include "codegen/driver/compile_module.h"
#include "ir/build.h"
#include "passes/joint.h"
#include "runtime/fail.h"
#include "runtime/fork_gate.h"
#include "runtime/log.h"

#include <llvm/ADT/BitVector.h>
#include <mlir/Bytecode/BytecodeWriter.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Parser/Parser.h>

namespace kiln {
namespace {

std::string bytecode_of(mlir::ModuleOp module) {
  std::string bytes;
  llvm::raw_string_ostream os(bytes);
  if (mlir::failed(mlir::writeBytecodeToFile(module, os)))
    fail_internal("the backward pass of a graph could not be written");
  return bytes;
}

/// Replaces the arguments of missing running sums by -0.0 (0 for integers): a first term is added to it
/// without a change. `saved` arguments follow them.
void drop_running(mlir::func::FuncOp function, const std::vector<bool>& running, std::size_t saved) {
  mlir::Block& block = function.getBody().front();
  mlir::OpBuilder builder = mlir::OpBuilder::atBlockBegin(&block);
  const unsigned first = block.getNumArguments() - static_cast<unsigned>(running.size() + saved);
  llvm::BitVector dropped(block.getNumArguments());
  for (std::size_t i = 0; i < running.size(); ++i) {
    if (running[i]) continue;
    const unsigned number = first + static_cast<unsigned>(i);
    mlir::BlockArgument argument = block.getArgument(number);
    dropped.set(number);
    if (argument.use_empty()) continue;
    auto type = llvm::cast<mlir::RankedTensorType>(argument.getType());
    const mlir::Attribute zero = builder.getFloatAttr(type.getElementType(), -0.0);
    argument.replaceAllUsesWith(
        ir::ConstantOp::create(builder, argument.getLoc(), type, mlir::DenseElementsAttr::get(type, zero)));
  }
  if (mlir::failed(function.eraseArguments(dropped))) fail_internal("running sums could not be dropped");
}

mlir::func::FuncOp function_of(mlir::ModuleOp module) { return *module.getOps<mlir::func::FuncOp>().begin(); }

/// The inputs of the graph that are parameters and want a gradient.
std::vector<std::uint32_t> trained_of(const ir::Graph& graph, const ir::GradientRequest& request) {
  std::vector<std::uint32_t> trained;
  for (std::uint32_t i = 0; i < graph.inputs.size(); ++i)
    if (graph.is_parameter[i] && request.sums[i] != ir::GradientRequest::none) trained.push_back(i);
  return trained;
}

/// Trained parameters are not prepacked.
void unmark_parameters(mlir::func::FuncOp forward, llvm::ArrayRef<std::uint32_t> trained) {
  for (const std::uint32_t i : trained) forward.removeArgAttr(i, ir::parameter_attr);
}

/// The joint function of the graph, in two.
passes::CutJoint cut_graph(const ir::Graph& graph, const ir::GradientRequest& request, Recompute policy,
                           const codegen::Compilation& c) {
  if (c.stages) c.stages->add_graph(graph);
  const auto module = ir::build_joint_module(c.context, graph, request, c.contractions());
  codegen::simplify_module(*module, c);
  passes::CutJoint cut = passes::cut_joint(*module, policy, c.backend.model());
  if (c.stages) c.stages->add("joint", cut.report);
  return cut;
}

}  // namespace

JointCode::JointCode(Entries entries, const CompileOptions& options, PartPurpose purpose)
    : saved_bytes(static_cast<std::size_t>(entries.forward_code->plan().saved_bytes)),
      recomputed_bytes(entries.recomputed_bytes),
      entries_(std::move(entries)),
      options_(options),
      purpose_(std::move(purpose)) {
  options_.stages = nullptr;
}

const Executable& JointCode::forward_prepacking() const {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  if (!prepacking_)
    prepacking_ = compile(entries_.forward_code->plan().name,
                          purpose_("forward part for parameters that stay",
                                   "its parameters were not written since the call before"),
                          entries_.forward, {});
  return *prepacking_;
}

std::shared_ptr<const Executable> JointCode::backward(const std::vector<bool>& running) const {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  for (const auto& [known, executable] : compiled_)
    if (known == running) return executable;
  const auto added = llvm::count(running, true);
  const std::string because =
      compiled_.empty() ? std::string("this is the first backward pass of such a call")
                        : fmt::format("{} of its {} gradients have terms of other calls or passes already",
                                      added == 0 ? "none" : std::to_string(added), llvm::count(sums, true));
  compiled_.emplace_back(
      running,
      compile(entries_.forward_code->plan().name + "_backward",
              purpose_(added > 0 ? "backward part that adds to gradients" : "backward part", because),
              entries_.backward, [&](mlir::func::FuncOp f) { drop_running(f, running, entries_.saved); }));
  return compiled_.back().second;
}

std::shared_ptr<const Executable> JointCode::compile(
    const std::string& name, CompilePurpose purpose, const std::string& bytecode,
    const std::function<void(mlir::func::FuncOp)>& edit) const {
  std::shared_ptr<const Executable> executable;
  CompileOptions options = options_;
  options.purpose = std::move(purpose);
  codegen::run_compilation(name, 2 * entries_.forward_code->plan().steps.size(), options,
                           [&](const codegen::Compilation& c) {
                             auto module = mlir::parseSourceString<mlir::ModuleOp>(bytecode, &c.context);
                             if (!module) fail_internal("an entry of {} could not be read", name);
                             if (edit) edit(function_of(*module));
                             if (edit && c.stages && c.stages->report())
                               c.stages->report()->is_backward = true;
                             executable = codegen::compile_module(*module, c);
                           });
  log_info(LogCategory::compile, options.purpose.text);  // after the line with its cost
  return executable;
}

std::shared_ptr<const JointCode> compile_joint(const ir::Graph& graph, const ir::GradientRequest& request,
                                               Recompute policy, const CompileOptions& options,
                                               std::string_view because, const PartPurpose& purpose) {
  std::shared_ptr<JointCode> code;
  CompileOptions of_forward = options;
  of_forward.purpose = purpose("forward part", because);
  codegen::run_compilation(
      graph.name, 3 * graph.nodes.size(), of_forward, [&](const codegen::Compilation& c) {
        passes::CutJoint cut = cut_graph(graph, request, policy, c);
        std::vector<std::uint32_t> trained = trained_of(graph, request);
        JointCode::Entries entries{nullptr, trained.empty() ? std::string() : bytecode_of(*cut.forward),
                                   bytecode_of(*cut.backward), cut.saved, cut.recomputed_bytes};
        unmark_parameters(function_of(*cut.forward), trained);
        entries.forward_code = codegen::compile_module(*cut.forward, c);
        code = std::make_shared<JointCode>(std::move(entries), options, purpose);
        code->trained = std::move(trained);
        code->inputs = std::move(cut.inputs);
        code->outputs = std::move(cut.outputs);
        code->sums = std::move(cut.sums);
      });
  log_info(LogCategory::compile, of_forward.purpose.text);
  return code;
}

void plan_joint(const ir::Graph& graph, const ir::GradientRequest& request, Recompute policy,
                const CompileOptions& options) {
  codegen::run_compilation(graph.name, 3 * graph.nodes.size(), options, [&](const codegen::Compilation& c) {
    const passes::CutJoint cut = cut_graph(graph, request, policy, c);
    codegen::LoadedKernels kernels;
    unmark_parameters(function_of(*cut.forward), trained_of(graph, request));
    (void)codegen::plan_module(*cut.forward, c, kernels);
    drop_running(function_of(*cut.backward), request.running, cut.saved);
    (void)codegen::plan_module(*cut.backward, c, kernels);
  });
}

std::shared_ptr<const Executable> compile_step(const ir::StepGraph& step, const CompileOptions& options) {
  const std::size_t nodes = 3 * step.graph.nodes.size() + step.update.nodes.size();
  std::shared_ptr<const Executable> executable;
  codegen::run_compilation(step.graph.name, nodes, options, [&](const codegen::Compilation& c) {
    if (c.stages) {
      c.stages->add_graph(step.graph);
      c.stages->add_graph(step.update);
    }
    executable = codegen::compile_module(*ir::build_step_module(c.context, step, c.contractions()), c);
  });
  return executable;
}

}  // namespace kiln

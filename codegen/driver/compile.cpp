// The compilation of a graph: dialect, passes, plan, kernels.
#include "codegen/driver/compile.h"

#include "codegen/driver/compile_module.h"
#include "codegen/driver/evaluate.h"
#include "codegen/driver/memory_room.h"
#include "codegen/driver/mlir_text.h"
#include "codegen/driver/schedule.h"
#include "codegen/driver/stages.h"
#include "codegen/driver/stats.h"
#include "codegen/registry/registry.h"
#include "ir/build.h"
#include "passes/fold.h"
#include "passes/pipeline.h"
#include "runtime/env.h"
#include "runtime/fail.h"
#include "runtime/fork_gate.h"
#include "runtime/log.h"
#include "runtime/once.h"
#include "runtime/plan_io.h"
#include "runtime/precision_on.h"

#include <chrono>
#include <cstdlib>

namespace kiln {
namespace codegen {

Stats& stats() {
  return once<[] { return Stats(); }>();
}

}  // namespace codegen

namespace {

using codegen::Stages;

using Clock = std::chrono::steady_clock;

/// Calls of an executable with generic kernels before it is compiled for its own sizes: a program that meets
/// a size this often is likely to meet it again.
constexpr std::int64_t generic_calls = 2;

GenericKernels generic_from_environment() {
  const std::string_view text = env("KILN_GENERIC").value_or("on");
  if (text == "off") return GenericKernels::never;
  if (text == "always") return GenericKernels::always;
  if (text != "on")
    warn_once("KILN_GENERIC",
              fmt::format("KILN_GENERIC is \"{}\", none of on, off, always; on is used", text));
  return GenericKernels::shared;
}

/// Under KILN_CHECK_PLANS a plan is written and read back before it runs: it must be all that is needed.
ExecutablePlan check_plan(ExecutablePlan plan) {
  static const bool on = env_is_on("KILN_CHECK_PLANS");
  if (!on) return plan;
  const std::vector<std::byte> bytes = write_plan(plan);
  ExecutablePlan again = read_plan(bytes);
  if (to_string(again) != to_string(plan) || write_plan(again) != bytes)
    fail_internal("the plan {} differs after it was written and read back", plan.name);
  return again;
}

std::unique_ptr<const codegen::Backend> backend_of(const CompileOptions& options) {
  return codegen::select_backend({options.backend, options.isa, options.gpu});
}

/// The options of the passes; the compilation outlives them.
passes::PipelineOptions pipeline_options(const codegen::Compilation& c) {
  const CompileOptions& options = c.options;
  Stages* const stages = c.stages;
  passes::PipelineOptions pipeline;
  pipeline.target = &c.backend.model();
  pipeline.fuse = options.fuse;
  if (stages)
    pipeline.observe = [stages](llvm::StringRef stage, mlir::ModuleOp m) {
      stages->add_module(stage, codegen::graph_text(m));
    };
  if (stages && stages->wants_passes())
    pipeline.after_pass = [stages](llvm::StringRef pass, mlir::Operation* op, bool changed) {
      stages->add_pass(pass, fmt::format("// after {}{}\n{}", pass.str(), changed ? "" : " (unchanged)",
                                         changed ? codegen::graph_text(op) : ""));
    };
  // Constant folding comes back here with a part of the module.
  pipeline.evaluate = [options](mlir::ModuleOp m) {
    CompileOptions inner = options;
    inner.stages = nullptr;
    inner.backend.clear();
    inner.gpu.clear();
    inner.device = {};
    inner.generic = GenericKernels::never;
    return codegen::evaluate(m, inner);
  };
  return pipeline;
}

std::size_t constant_bytes(mlir::ModuleOp module) {
  std::size_t bytes = 0;
  module.walk([&](ir::ConstantOp constant) {
    if (auto dense = llvm::dyn_cast<mlir::DenseElementsAttr>(constant.getValue()))
      bytes += dense.getRawData().size();
  });
  return bytes;
}

}  // namespace

ir::ContractionTarget codegen::Compilation::contractions() const {
  return {backend.traits().has_tensor_cores, options.precision};
}

void codegen::simplify_module(mlir::ModuleOp module, const Compilation& c) {
  passes::run_simplification(module, pipeline_options(c));
}

ExecutablePlan codegen::plan_module(mlir::ModuleOp module, const Compilation& c, LoadedKernels& kernels) {
  const passes::PipelineOptions pipeline = pipeline_options(c);
  const auto milliseconds = [](Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double, std::milli>(to - from).count();
  };
  codegen::Stats& stats = codegen::stats();
  const std::uint64_t mlir = stats.mlir_ns, llvm = stats.llvm_ns;
  const auto in_passes = Clock::now();
  const std::size_t constants = constant_bytes(module);
  passes::run_pipeline(module, pipeline);
  if (c.kept) c.kept->add_constants(constants + constant_bytes(module));
  const auto in_kernels = Clock::now();
  // The bodies of loops and branches precede the graph's own function.
  auto function = llvm::cast<mlir::func::FuncOp>(module.getBody()->back());
  // Shared kernels only if the plan is made again later, and not for people who look at the code: they want
  // to see the lasting code.
  const bool lasts = !c.again || c.stages;
  const bool any = !(lasts && c.options.generic == GenericKernels::shared);
  kernels.generic = any ? c.options.generic : GenericKernels::never;
  ExecutablePlan plan = codegen::make_plan(function, c.backend, kernels, c.stages);
  if (c.stages) c.stages->add("plan", to_string(plan));
  const auto done = Clock::now();
  plan.compile_ms = milliseconds(c.started, done);
  plan.kernels_compiled = kernels.counts.compiled;
  plan.kernels_reused = kernels.counts.loaded + kernels.counts.shared;
  // Kernels are compiled side by side, and by other threads for their calls too: the times of MLIR and LLVM
  // are sums over the process's threads meanwhile.
  log_line(LogCategory::compile,
           "{}: compiled in {:.1f} ms: graph {:.1f}, passes {:.1f}, kernels {:.1f} ({} new: MLIR {:.1f}, "
           "LLVM {:.1f} over all threads; {} from disk){}",
           plan.name, plan.compile_ms, milliseconds(c.started, in_passes),
           milliseconds(in_passes, in_kernels), milliseconds(in_kernels, done), plan.kernels_compiled,
           static_cast<double>(stats.mlir_ns - mlir) / 1e6, static_cast<double>(stats.llvm_ns - llvm) / 1e6,
           kernels.counts.loaded.load(), kernels.are_generic ? "; some are generic" : "");
  return check_plan(std::move(plan));
}

std::shared_ptr<const Executable> codegen::compile_module(mlir::ModuleOp module, const Compilation& c) {
  LoadedKernels kernels;
  ExecutablePlan plan = plan_module(module, c, kernels);
  auto executable = std::make_shared<Executable>(
      std::move(plan), [&](const PlannedKernel& k) { return kernels.by_key.at(k.key); }, c.options.device);
  if (kernels.are_generic && c.again) executable->refine_after(generic_calls, c.again);
  if (c.stages && c.stages->report()) c.stages->report()->executable = executable;
  return executable;
}

llvm::SmallVector<mlir::ElementsAttr> codegen::evaluate(mlir::ModuleOp module,
                                                        const CompileOptions& options) {
  auto function = *module.getOps<mlir::func::FuncOp>().begin();
  llvm::SmallVector<mlir::RankedTensorType> types;
  for (mlir::Type t : function.getResultTypes()) types.push_back(llvm::cast<mlir::RankedTensorType>(t));
  const auto backend = backend_of(options);
  auto executable = compile_module(module, {*module.getContext(), options, *backend, nullptr, Clock::now()});
  if (executable->plan().random_draws > 0) fail_internal("a constant draws random numbers");
  std::vector<Buffer> outputs;
  std::vector<void*> addresses;
  for (const TensorType& t : executable->plan().outputs) addresses.push_back(outputs.emplace_back(t).data());
  executable->run({}, addresses, {});
  llvm::SmallVector<mlir::ElementsAttr> results;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const char* data = reinterpret_cast<const char*>(outputs[i].data());
    if (types[i].getElementType().isInteger(1)) {
      llvm::SmallVector<bool> bits;
      for (std::int64_t k = 0; k < types[i].getNumElements(); ++k) bits.push_back(data[k] != 0);
      results.push_back(mlir::DenseElementsAttr::get(types[i], bits));
    } else {
      results.push_back(mlir::DenseElementsAttr::getFromRawBuffer(types[i], {data, outputs[i].bytes()}));
    }
  }
  return results;
}

const CompileOptions& default_options() {
  constexpr auto read = [] {
    CompileOptions o;
    if (const char* dir = std::getenv("KILN_DUMP")) o.dump_dir = dir;
    o.dump_passes = env_is_on("KILN_DUMP_PASSES");
    o.generic = generic_from_environment();
    return o;
  };
  return once<read>();
}

CompileOptions on_device(CompileOptions options, Device device) {
  options.device = device;
  options.precision = precision_on(device);
  if (device.is_cpu())
    options.gpu.clear();
  else if (options.gpu.empty())
    options.gpu = "sm_80";  // which all newer GPUs run
  return options;
}

void codegen::run_compilation(const std::string& name, std::size_t nodes, const CompileOptions& options,
                              const std::function<void(const Compilation&)>& steps) {
  const ForkGuard guard;
  const Clock::time_point started = Clock::now();
  stats().graphs++;
  Stages stages(options, name);
  // In the dialect a node takes some tens of KiB, most of them while passes run.
  throw_from_llvm();
  require_room(kernel_room + nodes * (std::size_t{64} << 10), name);
  try {
    KeptContext context(nodes, /*own=*/stages.wanted());
    const auto backend = backend_of(options);
    steps({*context, options, *backend, stages.wanted() ? &stages : nullptr, started, {}, &context});
  } catch (const std::bad_alloc&) {
    fail("{}: out of memory while it was compiled", name);
  }
}

std::shared_ptr<const Executable> compile(const ir::Graph& graph, const CompileOptions& options) {
  std::shared_ptr<const Executable> executable;
  codegen::run_compilation(graph.name, graph.nodes.size(), options, [&](const codegen::Compilation& c) {
    if (c.stages) c.stages->add_graph(graph);
    codegen::Compilation refinable = c;
    if (options.generic == GenericKernels::shared)
      refinable.again = [graph, full = options]() mutable {
        full.generic = GenericKernels::never;
        return compile(graph, full);
      };
    executable = codegen::compile_module(*ir::build_module(c.context, graph, c.contractions()), refinable);
  });
  return executable;
}

ExecutablePlan compile_plan(const ir::Graph& graph, const CompileOptions& options) {
  ExecutablePlan plan;
  codegen::run_compilation(graph.name, graph.nodes.size(), options, [&](const codegen::Compilation& c) {
    if (c.stages) c.stages->add_graph(graph);
    codegen::LoadedKernels kernels;
    plan = codegen::plan_module(*ir::build_module(c.context, graph, c.contractions()), c, kernels);
  });
  return plan;
}

CompileStats compile_stats() {
  codegen::Stats& s = codegen::stats();
  return {s.graphs,         s.kernels_compiled, s.kernels_loaded,
          s.kernels_shared, s.kernels_mapped,   s.kernels_dropped};
}

}  // namespace kiln

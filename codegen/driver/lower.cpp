#include "codegen/driver/lower.h"

#include "codegen/cuda/entry.h"
#include "codegen/cuda/ptx_check.h"
#include "codegen/cuda/read_only.h"
#include "codegen/cuda/toolkit.h"
#include "codegen/driver/memory_room.h"
#include "codegen/driver/mlir_text.h"
#include "codegen/driver/one_lane_stores.h"
#include "codegen/driver/stats.h"
#include "runtime/fail.h"

#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/Instrumentation/AddressSanitizer.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <mlir/Conversion/ArithToLLVM/ArithToLLVM.h>
#include <mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h>
#include <mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h>
#include <mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h>
#include <mlir/Conversion/UBToLLVM/UBToLLVM.h>
#include <mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h>
#include <mlir/Dialect/ControlFlow/IR/ControlFlow.h>
#include <mlir/Dialect/Vector/IR/VectorOps.h>
#include <mlir/IR/Verifier.h>
#include <mlir/Pass/Pass.h>  // before the conversions, which only declare it
#include <mlir/Pass/PassManager.h>
#include <mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h>
#include <mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h>
#include <mlir/Target/LLVMIR/Export.h>
#include <mlir/Target/LLVMIR/LLVMTranslationInterface.h>

#include <chrono>
#include <fmt/ranges.h>
#include <mutex>

extern "C" {
// LLVM has no header of a target that it is not built on.
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace kiln::codegen {
namespace {

void initialize_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
}

void initialize_nvptx() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

std::unique_ptr<llvm::TargetMachine> make_machine(const Target& target) {
  const GpuTarget* const gpu = target.gpu();
  gpu ? initialize_nvptx() : initialize_llvm();
  const llvm::Triple triple(gpu ? "nvptx64-nvidia-cuda" : llvm::sys::getProcessTriple());
  std::string error;
  const llvm::Target* llvm_target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!llvm_target) fail_internal("LLVM has no code generator for {}: {}", triple.str(), error);
  llvm::TargetOptions options;
  // A multiplication and an addition stay two roundings; a kernel that wants one has an fma.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(llvm_target->createTargetMachine(
      triple, gpu ? gpu->arch : target.code().cpu, gpu ? gpu->ptx : target.code().features, options,
      llvm::Reloc::PIC_, llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default,
      /*JIT=*/true));
}

/// One machine per thread and target: they are not thread-safe, and cost a millisecond to make.
llvm::TargetMachine& machine_for(const Target& target) {
  thread_local std::map<std::string, std::unique_ptr<llvm::TargetMachine>> machines;
  auto& machine = machines[target.id()];
  if (!machine) machine = make_machine(target);
  return *machine;
}

void load_dialects(mlir::MLIRContext& context) {
  mlir::DialectRegistry registry;
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  context.appendDialectRegistry(registry);
  context.loadDialect<mlir::arith::ArithDialect, mlir::scf::SCFDialect, mlir::cf::ControlFlowDialect,
                      mlir::LLVM::LLVMDialect, mlir::vector::VectorDialect>();
}

mlir::OwningOpRef<mlir::ModuleOp> emit_module(mlir::MLIRContext& context, const KernelRequest& request,
                                              const std::string& symbol, const Target& target) {
  mlir::OpBuilder builder(&context);
  mlir::OwningOpRef<mlir::ModuleOp> module(mlir::ModuleOp::create(request.location));
  builder.setInsertionPointToStart(module->getBody());
  KernelBuilder e(builder, request.location, target.code());
  auto type = mlir::LLVM::LLVMFunctionType::get(mlir::LLVM::LLVMVoidType::get(&context),
                                                {e.ptr(), e.ptr(), e.i64(), e.i64()});
  auto function = mlir::LLVM::LLVMFuncOp::create(builder, request.location, symbol, type);
  mlir::Block* block = function.addEntryBlock(builder);
  builder.setInsertionPointToStart(block);
  e.entry = block;
  const KernelArgs args{block->getArgument(0), block->getArgument(1), block->getArgument(2),
                        block->getArgument(3)};
  for (auto [value, name] : {std::pair(args.buffers, "buffers"),
                             {args.params, "params"},
                             {args.begin, "begin"},
                             {args.end, "end"}})
    value.setLoc(mlir::NameLoc::get(builder.getStringAttr(name)));
  request.emit(e, args);
  mlir::LLVM::ReturnOp::create(builder, request.location, mlir::ValueRange{});
  return module;
}

void to_llvm_dialect(mlir::ModuleOp module) {
  mlir::PassManager pm(module.getContext());
  pm.enableVerifier(false);
  pm.addPass(mlir::createSCFToControlFlowPass());
  pm.addPass(mlir::createConvertVectorToLLVMPass());
  pm.addPass(mlir::createArithToLLVMConversionPass());
  pm.addPass(mlir::createConvertControlFlowToLLVMPass());
  pm.addPass(mlir::createUBToLLVMConversionPass());
  pm.addPass(mlir::createReconcileUnrealizedCastsPass());
  std::string errors;
  mlir::ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic& d) {
    errors += d.str() + "\n";
    return mlir::success();
  });
  if (mlir::failed(pm.run(module))) fail_internal("a kernel could not be lowered to LLVM: {}", errors);
}

/// Kernels are finished vector code: only addresses are left to simplify. Longer pipelines take ten times as
/// long and gain nothing, since no loop is to be unrolled or vectorised.
constexpr std::string_view simplify =
    "function(sroa,early-cse,instcombine<no-verify-fixpoint>,loop-simplify,lcssa,loop-mssa(licm),early-cse)";

/// `passes` in LLVM's notation, then those that `add` adds.
void run_passes(
    llvm::Module& module, llvm::TargetMachine& machine, const std::string& pipeline,
    llvm::function_ref<void(llvm::ModulePassManager&)> add = [](llvm::ModulePassManager&) {}) {
  llvm::PassBuilder builder(&machine);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  llvm::ModulePassManager passes;
  if (auto error = builder.parsePassPipeline(passes, pipeline))
    fail_internal("the LLVM pipeline does not parse: {}", llvm::toString(std::move(error)));
  add(passes);
  passes.run(module, modules);
}

void optimize_for_cpu(llvm::Module& module, llvm::TargetMachine& machine) {
  run_passes(module, machine, std::string(simplify), [](llvm::ModulePassManager& passes) {
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(OneLaneStores()));
#ifdef KILN_SANITIZE_ADDRESS
    llvm::AddressSanitizerOptions options;
    options.CompileKernel = false;
    passes.addPass(llvm::AddressSanitizerPass(options, /*UseGlobalGC=*/false));
#endif
  });
}

/// Removes the sanitizer's set-up code, which the surrounding program has run already.
void drop_constructors(llvm::Module& module) {
  if (auto* constructors = module.getGlobalVariable("llvm.global_ctors")) constructors->eraseFromParent();
}

/// LLVM's addPassesToEmitFile, without the scheduler if `in_order`.
llvm::SmallVector<char, 0> generate(llvm::Module& module, llvm::TargetMachine& machine, bool in_order,
                                    llvm::CodeGenFileType kind) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  llvm::TargetPassConfig* config = machine.createPassConfig(passes);
  config->setDisableVerify(true);
  if (in_order) config->disablePass(&llvm::MachineSchedulerID);
  auto* functions = new llvm::MachineModuleInfoWrapperPass(&machine);
  passes.add(config);  // which owns the passes
  passes.add(functions);
  const bool refused = config->addISelPasses();
  config->addMachinePasses();
  config->setInitialized();
  if (refused || machine.addAsmPrinter(passes, stream, nullptr, kind, functions->getMMI().getContext()))
    fail_internal("LLVM cannot write this kind of file");
  passes.add(llvm::createFreeMachineFunctionPass());
  passes.run(module);
  return bytes;
}

template <class M>
std::string text_of(M&& module) {
  std::string text;
  llvm::raw_string_ostream(text) << module << "\n";
  return text;
}

/// The object file of a kernel.
llvm::SmallVector<char, 0> object_of(llvm::Module& module, const KernelRequest& request, const Target& target,
                                     Stages* stages) {
  llvm::TargetMachine& machine = machine_for(target);
  for (llvm::Function& f : module) {
    if (f.isDeclaration()) continue;
    f.addFnAttr("target-cpu", target.code().cpu);
    f.addFnAttr("target-features", target.code().features);
    if (target.code().vector_bytes == 64) f.addFnAttr("prefer-vector-width", "512");
    f.setDoesNotThrow();
#ifdef KILN_SANITIZE_ADDRESS
    f.addFnAttr(llvm::Attribute::SanitizeAddress);
#endif
  }
  optimize_for_cpu(module, machine);
  drop_constructors(module);
  if (stages) {
    stages->add("llvm", text_of(module));
    // Generating code changes the module, so the text is made from a copy.
    auto copy = llvm::CloneModule(module);
    auto assembly = generate(*copy, machine, request.in_order, llvm::CodeGenFileType::AssemblyFile);
    stages->add("asm", {assembly.data(), assembly.size()});
  }
  return generate(module, machine, request.in_order, llvm::CodeGenFileType::ObjectFile);
}

/// The PTX of a kernel.
llvm::SmallVector<char, 0> ptx_of(llvm::Module& module, const KernelRequest& request,
                                  const std::string& symbol, const Target& target, Stages* stages) {
  llvm::TargetMachine& machine = machine_for(target);
  add_entry(module, symbol, request.arguments, request.gpu);
  run_passes(module, machine, "always-inline,globaldce," + std::string(simplify));
  mark_read_only(*module.getFunction(symbol), request.arguments);
  if (stages) stages->add("llvm", text_of(module));
  auto ptx = generate(module, machine, request.in_order, llvm::CodeGenFileType::AssemblyFile);
  check_ptx({ptx.data(), ptx.size()}, request.name, request.on_tensor_cores);
  const std::string schedule = "// Schedule: " + request.gpu.schedule + ".\n";
  ptx.insert(ptx.begin(), schedule.begin(), schedule.end());
  if (stages) stages->add("ptx", {ptx.data(), ptx.size()});
  if (stages && stages->wants_sass())
    stages->add("sass", sass_of({ptx.data(), ptx.size()}, target.gpu()->arch, request.name));
  return ptx;
}

/// Loads the dialects of kernels, once per context: while one thread loads dialects, no other may use the
/// context.
void prepare(mlir::MLIRContext& context) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  mlir::Dialect* last = context.getLoadedDialect<mlir::LLVM::LLVMDialect>();
  if (last && last->getRegisteredInterface<mlir::LLVMTranslationDialectInterface>()) return;
  load_dialects(context);
  // Running the passes once loads the dialects that they create operations of.
  mlir::OwningOpRef<mlir::ModuleOp> nothing(mlir::ModuleOp::create(mlir::UnknownLoc::get(&context)));
  to_llvm_dialect(*nothing);
}

}  // namespace

KernelObject lower_kernel(mlir::MLIRContext& context, const KernelRequest& request, const std::string& symbol,
                          const Target& target, Stages* stages) {
  using Clock = std::chrono::steady_clock;
  const auto started = Clock::now();
  const auto since = [](Clock::time_point t) {
    return static_cast<std::uint64_t>(std::chrono::nanoseconds(Clock::now() - t).count());
  };
  require_room(kernel_room, request.name);
  prepare(context);
  auto module = emit_module(context, request, symbol, target);
#ifndef NDEBUG
  if (mlir::failed(mlir::verify(*module))) fail_internal("kernel '{}' is not valid MLIR", request.name);
#endif
  if (stages) stages->add("mlir", mlir_text(*module));
  to_llvm_dialect(*module);

  llvm::LLVMContext llvm_context;
  std::unique_ptr<llvm::Module> llvm_module = mlir::translateModuleToLLVMIR(*module, llvm_context);
  if (!llvm_module) fail_internal("kernel '{}' could not be translated to LLVM IR", request.name);
  stats().mlir_ns += since(started);
  const auto in_llvm = Clock::now();
  llvm::TargetMachine& machine = machine_for(target);
  llvm_module->setDataLayout(machine.createDataLayout());
  llvm_module->setTargetTriple(machine.getTargetTriple());
  const auto bytes = target.gpu() ? ptx_of(*llvm_module, request, symbol, target, stages)
                                  : object_of(*llvm_module, request, target, stages);
  stats().llvm_ns += since(in_llvm);
  const auto* const data = reinterpret_cast<const std::byte*>(bytes.data());
  return {symbol, std::make_shared<const std::vector<std::byte>>(data, data + bytes.size())};
}

std::string kernel_text(mlir::MLIRContext& context, const KernelRequest& request, const Target& target) {
  prepare(context);
  const auto module = emit_module(context, request, "kernel", target);
  std::string text = text_of(*module) + (request.in_order ? "in order\n" : "");
  if (target.gpu())
    text += fmt::format("{}, {} of {} threads, memory {}\n", request.gpu.schedule, request.gpu.threads,
                        request.gpu.block_threads, fmt::join(request.arguments.memory, ","));
  return text;
}

}  // namespace kiln::codegen

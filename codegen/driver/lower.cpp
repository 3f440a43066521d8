// Emits kernels and lowers them to LLVM's dialect.
#include "codegen/driver/lower.h"

#include "codegen/driver/debug_info.h"
#include "codegen/driver/memory_room.h"
#include "codegen/driver/mlir_text.h"
#include "codegen/driver/stats.h"
#include "runtime/fail.h"

#include <llvm/IR/Module.h>
#include <mlir/Conversion/ArithToLLVM/ArithToLLVM.h>
#include <mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h>
#include <mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h>
#include <mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h>
#include <mlir/Conversion/UBToLLVM/UBToLLVM.h>
#include <mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h>
#include <mlir/Dialect/ControlFlow/IR/ControlFlow.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
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

namespace kiln::codegen {
namespace {

void load_dialects(mlir::MLIRContext& context) {
  mlir::DialectRegistry registry;
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  context.appendDialectRegistry(registry);
  context.loadDialect<mlir::arith::ArithDialect, mlir::scf::SCFDialect, mlir::cf::ControlFlowDialect,
                      mlir::LLVM::LLVMDialect, mlir::vector::VectorDialect>();
}

mlir::OwningOpRef<mlir::ModuleOp> emit_module(mlir::MLIRContext& context, const KernelRequest& request,
                                              const std::string& symbol, const CpuTarget& target) {
  mlir::OpBuilder builder(&context);
  mlir::OwningOpRef<mlir::ModuleOp> module(mlir::ModuleOp::create(request.location));
  builder.setInsertionPointToStart(module->getBody());
  KernelBuilder e(builder, request.location, target);
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

std::unique_ptr<llvm::Module> to_llvm_ir(mlir::ModuleOp module, llvm::LLVMContext& context,
                                         const std::string& kernel) {
  std::unique_ptr<llvm::Module> made = mlir::translateModuleToLLVMIR(module, context);
  if (!made) fail_internal("kernel '{}' could not be translated to LLVM IR", kernel);
  return made;
}

/// Of all texts keeps the assembly, with its lines, for the report.
class LineTexts final : public StageTexts {
 public:
  explicit LineTexts(Stages& stages) : stages_(stages) {}
  void add(std::string_view stage, std::string_view text) override {
    if (stage == "asm") stages_.add_lines(text);
  }
  bool keeps_lines() const override { return true; }
  bool wants_sass() const override { return false; }

 private:
  Stages& stages_;
};

/// The code itself is made without debug information, as in calls without a report.
void add_lines_text(mlir::ModuleOp module, const KernelRequest& request, const std::string& symbol,
                    const Backend& backend, Stages& stages) {
  const mlir::OwningOpRef<mlir::ModuleOp> copy(module.clone());
  number_lines(*copy, lines_of(request.location));
  add_debug_info(*copy);
  llvm::LLVMContext context;
  const auto llvm_module = to_llvm_ir(*copy, context, request.name);
  LineTexts texts(stages);
  (void)backend.lower(*llvm_module, request, symbol, &texts);
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
                          const Backend& backend, bool debug_info, Stages* stages) {
  using Clock = std::chrono::steady_clock;
  const auto started = Clock::now();
  const auto since = [](Clock::time_point t) {
    return static_cast<std::uint64_t>(std::chrono::nanoseconds(Clock::now() - t).count());
  };
  require_room(kernel_room, request.name);
  prepare(context);
  auto module = emit_module(context, request, symbol, backend.code());
#ifndef NDEBUG
  if (mlir::failed(mlir::verify(*module))) fail_internal("kernel '{}' is not valid MLIR", request.name);
#endif
  if (stages) stages->add("mlir", mlir_text(*module));
  to_llvm_dialect(*module);
  if (stages && stages->reports_code() && backend.traits().links_kernels)
    add_lines_text(*module, request, symbol, backend, *stages);
  if (debug_info) add_debug_info(*module);

  llvm::LLVMContext llvm_context;
  const auto llvm_module = to_llvm_ir(*module, llvm_context, request.name);
  stats().mlir_ns += since(started);
  const auto in_llvm = Clock::now();
  const auto bytes = backend.lower(*llvm_module, request, symbol, stages);
  stats().llvm_ns += since(in_llvm);
  const auto* const data = reinterpret_cast<const std::byte*>(bytes.data());
  return {symbol, std::make_shared<const std::vector<std::byte>>(data, data + bytes.size())};
}

std::string kernel_text(mlir::MLIRContext& context, const KernelRequest& request, const CpuTarget& target) {
  prepare(context);
  const auto module = emit_module(context, request, "kernel", target);
  std::string text;
  llvm::raw_string_ostream(text) << *module;
  return text + fmt::format("\n{}{}, {} of {} threads, memory {}\n", request.in_order ? "in order\n" : "",
                            request.gpu.schedule, request.gpu.threads, request.gpu.block_threads,
                            fmt::join(request.arguments.memory, ","));
}

}  // namespace kiln::codegen

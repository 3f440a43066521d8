#include "ptx_load.h"

#include "ptx_text.h"
#include "ptx_to_llvm.h"

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>

#include <fmt/format.h>
#include <map>
#include <mutex>
#include <stdexcept>

namespace kiln::ptx {
namespace {

constexpr unsigned threads_per_block = 256;

template <class T>
T value_of(llvm::Expected<T> value) {
  if (!value) throw std::runtime_error(llvm::toString(value.takeError()));
  return std::move(*value);
}
void check(llvm::Error error) {
  if (error) throw std::runtime_error(llvm::toString(std::move(error)));
}

llvm::orc::LLJIT& jit() {
  static auto* const jit = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    auto machine = value_of(llvm::orc::JITTargetMachineBuilder::detectHost());
    machine.getOptions().AllowFPOpFusion = llvm::FPOpFusion::Strict;
    machine.setCodeGenOptLevel(llvm::CodeGenOptLevel::Less);
    return value_of(llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(machine)).create())
        .release();
  }();
  return *jit;
}

/// Adds the kernel as KernelFn: copies what a launch passes (codegen/cuda/entry.h), then runs thread after
/// thread.
void add_function(const Entry& entry, llvm::Function* thread, const std::string& name, llvm::Module& module) {
  llvm::IRBuilder<> b(module.getContext());
  auto* const type = llvm::FunctionType::get(
      b.getVoidTy(), {b.getPtrTy(), b.getPtrTy(), b.getInt64Ty(), b.getInt64Ty()}, /*isVarArg=*/false);
  auto* const function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module);
  llvm::Value *const operands = function->getArg(0), *const params = function->getArg(1),
                     *const begin = function->getArg(2), *const end = function->getArg(3);
  const auto block = [&] { return llvm::BasicBlock::Create(module.getContext(), "", function); };
  llvm::BasicBlock *const start = block(), *const loop = block(), *const done = block();
  b.SetInsertPoint(start);
  if (entry.parameters.size() < 3) throw std::runtime_error("PTX: too few parameters");
  auto* const bytes = b.CreateAlloca(llvm::ArrayType::get(b.getInt64Ty(), entry.parameter_bytes / 8));
  const auto place = [&](std::size_t i) {
    return b.CreateConstGEP1_64(b.getInt8Ty(), bytes, entry.parameters[i].offset);
  };
  b.CreateMemCpy(place(0), llvm::Align(8), operands, llvm::Align(8), entry.parameters[0].bytes);
  b.CreateMemCpy(place(1), llvm::Align(8), params, llvm::Align(8), entry.parameters[1].bytes);
  b.CreateStore(end, place(2));
  // One thread's scratch memory is all that the caller has.
  if (entry.parameters.size() > 3) b.CreateStore(b.getInt64(0), place(3));
  b.CreateCondBr(b.CreateICmpSLT(begin, end), loop, done);
  b.SetInsertPoint(loop);
  auto* const i = b.CreatePHI(b.getInt64Ty(), 2);
  const auto part = [&](llvm::Value* v) { return b.CreateTrunc(v, b.getInt32Ty()); };
  b.CreateCall(thread, {bytes, part(b.CreateURem(i, b.getInt64(threads_per_block))),
                        part(b.CreateUDiv(i, b.getInt64(threads_per_block)))});
  llvm::Value* const next = b.CreateAdd(i, b.getInt64(1));
  i->addIncoming(begin, start);
  i->addIncoming(next, loop);
  b.CreateCondBr(b.CreateICmpSLT(next, end), loop, done);
  b.SetInsertPoint(done);
  b.CreateRetVoid();
}

void simplify(llvm::Module& module) {
  llvm::PassBuilder builder;
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
  check(builder.parsePassPipeline(passes, "function(mem2reg,early-cse,simplifycfg)"));
  passes.run(module, modules);
}

std::shared_ptr<const Kernel> translate(const PlannedKernel& kernel) {
  const std::string_view text(reinterpret_cast<const char*>(kernel.object->data()), kernel.object->size());
  const Entry entry = parse(text);
  const std::string name = fmt::format("host_{:016x}{:016x}", kernel.key[0], kernel.key[1]);
  auto context = std::make_unique<llvm::LLVMContext>();
  auto module = std::make_unique<llvm::Module>(name, *context);
  module->setDataLayout(jit().getDataLayout());
  add_function(entry, ptx::translate(entry, *module, threads_per_block), name, *module);
  std::string problem;
  llvm::raw_string_ostream os(problem);
  if (llvm::verifyModule(*module, &os))
    throw std::runtime_error("PTX: the translation is not valid: " + problem);
  simplify(*module);
  check(jit().addIRModule(llvm::orc::ThreadSafeModule(std::move(module), std::move(context))));
  auto loaded = std::make_shared<Kernel>();
  loaded->entry = value_of(jit().lookup(name)).toPtr<KernelFn>();
  loaded->name = kernel.name;
  loaded->key = kernel.key;
  loaded->symbol = kernel.symbol;
  loaded->object = kernel.object;
  return loaded;
}

struct Loaded {
  std::mutex mutex;
  std::map<std::array<std::uint64_t, 2>, std::shared_ptr<const Kernel>> kernels;
};
Loaded& loaded() {
  static auto* const l = new Loaded;
  return *l;
}

}  // namespace

std::shared_ptr<const Kernel> load(const PlannedKernel& kernel) {
  const std::lock_guard lock(loaded().mutex);
  auto& known = loaded().kernels[kernel.key];
  if (!known) known = translate(kernel);
  return known;
}

std::size_t kernels_translated() {
  const std::lock_guard lock(loaded().mutex);
  return loaded().kernels.size();
}

}  // namespace kiln::ptx

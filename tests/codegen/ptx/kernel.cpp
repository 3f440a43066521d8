// Compiles a module's entry by ORC.
#include "kernel.h"

#include "ptx_forms.h"
#include "ptx_to_llvm.h"

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Pass.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Transforms/Scalar.h>
#include <llvm/Transforms/Utils.h>

#include <atomic>
#include <stdexcept>

namespace kiln::ptx {
namespace {

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
    // A product and a sum stay two roundings.
    machine.getOptions().AllowFPOpFusion = llvm::FPOpFusion::Strict;
    machine.setCodeGenOptLevel(llvm::CodeGenOptLevel::Less);
    auto made = value_of(llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(machine)).create());
    llvm::orc::SymbolMap symbols;
    const auto add = [&](const char* name, auto* function) {
      symbols[made->mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(function),
                                              llvm::JITSymbolFlags::Exported};
    };
    add("kiln_ptx_access", &kiln_ptx_access);
    add("kiln_ptx_barrier", &kiln_ptx_barrier);
    add("kiln_ptx_shuffle", &kiln_ptx_shuffle);
    add("kiln_ptx_vote", &kiln_ptx_vote);
    add("kiln_ptx_mma", &kiln_ptx_mma);
    add("kiln_ptx_add_flushed", &kiln_ptx_add_flushed);
    add("kiln_ptx_fma_flushed", &kiln_ptx_fma_flushed);
    add("kiln_ptx_endless", &kiln_ptx_endless);
    add("kiln_ptx_divides_by_zero", &kiln_ptx_divides_by_zero);
    check(made->getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(symbols))));
    return made.release();
  }();
  return *jit;
}

/// Without it each register of the PTX would be in memory.
void simplify(llvm::Module& module) {
  llvm::legacy::PassManager passes;
  passes.add(llvm::createPromoteMemoryToRegisterPass());
  passes.add(llvm::createEarlyCSEPass());
  passes.add(llvm::createCFGSimplificationPass());
  passes.run(module);
}

}  // namespace

struct Kernel::Code {
  llvm::orc::ResourceTrackerSP tracker;
  ~Code() { llvm::consumeError(tracker->remove()); }
};

std::unique_ptr<Kernel> load_kernel(const char* image) {
  static std::atomic<int> count = 0;
  auto k = std::make_unique<Kernel>();
  k->text = image;
  k->entry = parse(k->text);
  check_forms(k->entry);
  auto context = std::make_unique<llvm::LLVMContext>();
  auto module = std::make_unique<llvm::Module>("ptx", *context);
  module->setDataLayout(jit().getDataLayout());
  const std::string name = "thread" + std::to_string(++count);
  translate(k->entry, name, *module);
  std::string problem;
  llvm::raw_string_ostream os(problem);
  if (llvm::verifyModule(*module, &os))
    throw std::runtime_error("PTX: the translation is not valid: " + problem);
  simplify(*module);
  k->code = std::make_shared<Kernel::Code>(jit().getMainJITDylib().createResourceTracker());
  check(jit().addIRModule(k->code->tracker,
                          llvm::orc::ThreadSafeModule(std::move(module), std::move(context))));
  k->run = value_of(jit().lookup(name)).toPtr<void (*)(Thread*)>();
  return k;
}

}  // namespace kiln::ptx

// The linker of the process.
#include "codegen/driver/jit.h"

#include "codegen/driver/memory_room.h"
#include "codegen/driver/stats.h"
#include "runtime/fail.h"
#include "runtime/fork_gate.h"

#include <llvm/ExecutionEngine/Orc/ExecutionUtils.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/Support/TargetSelect.h>

#include <mutex>

namespace kiln::codegen {
namespace {

/// Why the linker could not link, as it reports beside the error that it returns. It links on the thread that
/// looks a symbol up.
thread_local std::string link_errors;

/// One linker for the process; it lives until the process ends, since executables may outlive any static
/// object.
llvm::orc::LLJIT& linker() {
  static llvm::orc::LLJIT* jit = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    auto made = llvm::orc::LLJITBuilder().create();
    if (!made) fail_internal("the JIT linker could not be made: {}", llvm::toString(made.takeError()));
    (*made)->getExecutionSession().setErrorReporter(
        [](llvm::Error error) { link_errors += ": " + llvm::toString(std::move(error)); });
    // Functions that kernels call: libm's for the rarest functions, the sanitizer's runtime.
    auto symbols = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
        (*made)->getDataLayout().getGlobalPrefix());
    if (!symbols)
      fail_internal("the process's symbols cannot be searched: {}", llvm::toString(symbols.takeError()));
    (*made)->getMainJITDylib().addGenerator(std::move(*symbols));
    return made->release();
  }();
  return *jit;
}

/// Keeps one object's code mapped.
struct Code {
  llvm::orc::ResourceTrackerSP tracker;
  explicit Code(llvm::orc::ResourceTrackerSP t) : tracker(std::move(t)) { ++stats().kernels_mapped; }
  Code(const Code&) = delete;
  ~Code() {
    --stats().kernels_mapped;
    const ForkGuard guard;
    if (auto error = tracker->remove()) llvm::consumeError(std::move(error));
  }
};

}  // namespace

std::shared_ptr<Kernel> load_object(const KernelObject& object) {
  require_room(kernel_room, object.symbol);
  llvm::orc::LLJIT& jit = linker();
  auto code = std::make_shared<Code>(jit.getMainJITDylib().createResourceTracker());
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(
      {reinterpret_cast<const char*>(object.bytes->data()), object.bytes->size()}, object.symbol);
  if (auto error = jit.addObjectFile(code->tracker, std::move(buffer)))
    fail_internal("kernel '{}' could not be added: {}", object.symbol, llvm::toString(std::move(error)));
  link_errors.clear();
  auto address = jit.lookup(object.symbol);
  if (!address) {
    const std::string why = llvm::toString(address.takeError()) + link_errors;
    require_mappings(object.symbol);
    fail_internal("kernel '{}' could not be linked: {}", object.symbol, why);
  }
  auto kernel = std::make_shared<Kernel>();
  kernel->entry = address->toPtr<KernelFn>();
  kernel->name = object.symbol;
  kernel->symbol = object.symbol;
  kernel->object = object.bytes;
  kernel->code = std::move(code);
  return kernel;
}

void forget_unloaded_symbols() { linker().getExecutionSession().getSymbolStringPool()->clearDeadEntries(); }

}  // namespace kiln::codegen

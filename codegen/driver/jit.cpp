#include "codegen/driver/jit.h"

#include "codegen/driver/memory_room.h"
#include "runtime/fail.h"
#include "runtime/fork_gate.h"

#include <llvm/ExecutionEngine/Orc/ExecutionUtils.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/Support/TargetSelect.h>

#include <mutex>

namespace kiln::codegen {
namespace {

/// One linker for the process; it lives until the process ends, since executables may outlive any static
/// object.
llvm::orc::LLJIT& linker() {
  static llvm::orc::LLJIT* jit = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    auto made = llvm::orc::LLJITBuilder().create();
    if (!made) fail_internal("the JIT linker could not be made: {}", llvm::toString(made.takeError()));
    // What kernels call: libm for the rarest functions, the sanitizer's runtime.
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
  ~Code() {
    const ForkGuard guard;
    if (auto error = tracker->remove()) llvm::consumeError(std::move(error));
  }
};

}  // namespace

std::shared_ptr<Kernel> load_object(const KernelObject& object) {
  require_room(kernel_room, object.symbol);
  llvm::orc::LLJIT& jit = linker();
  auto code = std::make_shared<Code>();
  code->tracker = jit.getMainJITDylib().createResourceTracker();
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(
      {reinterpret_cast<const char*>(object.bytes->data()), object.bytes->size()}, object.symbol);
  if (auto error = jit.addObjectFile(code->tracker, std::move(buffer)))
    fail_internal("kernel '{}' could not be added: {}", object.symbol, llvm::toString(std::move(error)));
  auto address = jit.lookup(object.symbol);
  if (!address)
    fail_internal("kernel '{}' could not be linked: {}", object.symbol, llvm::toString(address.takeError()));
  auto kernel = std::make_shared<Kernel>();
  kernel->entry = address->toPtr<KernelFn>();
  kernel->name = object.symbol;
  kernel->symbol = object.symbol;
  kernel->object = object.bytes;
  kernel->code = std::move(code);
  return kernel;
}

}  // namespace kiln::codegen

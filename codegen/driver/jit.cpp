// The linker of the process.
#include "codegen/driver/jit.h"

#include "codegen/backend/llvm_targets.h"
#include "codegen/driver/memory_room.h"
#include "codegen/driver/perf_map.h"
#include "codegen/driver/stats.h"
#include "runtime/fail.h"
#include "runtime/fork_gate.h"
#include "runtime/once.h"

#include <llvm/ExecutionEngine/Orc/Debugging/DebuggerSupport.h>
#include <llvm/ExecutionEngine/Orc/ExecutionUtils.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/Object/ELFObjectFile.h>

#include <map>
#include <mutex>

namespace kiln::codegen {
namespace {

/// Why the linker could not link, as it reports beside the error that it returns. It links on the thread that
/// looks a symbol up.
thread_local std::string link_errors;

llvm::orc::LLJIT* make_linker() {
  register_llvm_targets();
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
}

/// One linker for the process; it lives until the process ends, since executables may outlive any static
/// object.
llvm::orc::LLJIT& linker() {
  static llvm::orc::LLJIT* jit = make_linker();
  return *jit;
}

/// The linker of kernels with symbols, which tells debuggers of the objects that it links.
llvm::orc::LLJIT& debugged_linker() {
  static llvm::orc::LLJIT* jit = [] {
    llvm::orc::LLJIT* made = make_linker();
    if (auto error = llvm::orc::enableDebuggerSupport(*made))
      fail_internal("debuggers cannot be told of kernels: {}", llvm::toString(std::move(error)));
    return made;
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

std::unique_ptr<llvm::MemoryBuffer> copy_of(const KernelObject& object) {
  return llvm::MemoryBuffer::getMemBufferCopy(
      {reinterpret_cast<const char*>(object.bytes->data()), object.bytes->size()}, object.symbol);
}

/// The bytes of the object's function.
std::size_t code_bytes(const KernelObject& object) {
  const auto buffer = copy_of(object);
  auto file = llvm::object::ObjectFile::createELFObjectFile(*buffer);
  if (!file) fail_internal("kernel '{}' is no object: {}", object.symbol, llvm::toString(file.takeError()));
  for (const llvm::object::ELFSymbolRef symbol : (*file)->symbols())
    if (auto name = symbol.getName(); name && *name == object.symbol)
      return symbol.getSize();
    else if (!name)
      llvm::consumeError(name.takeError());
  return 0;
}

KernelFn link_object(llvm::orc::LLJIT& jit, const KernelObject& object,
                     const llvm::orc::ResourceTrackerSP& tracker) {
  if (auto error = jit.addObjectFile(tracker, copy_of(object)))
    fail_internal("kernel '{}' could not be added: {}", object.symbol, llvm::toString(std::move(error)));
  link_errors.clear();
  auto address = jit.lookup(object.symbol);
  if (address) return address->toPtr<KernelFn>();
  const std::string why = llvm::toString(address.takeError()) + link_errors;
  require_mappings(object.symbol);
  fail_internal("kernel '{}' could not be linked: {}", object.symbol, why);
}

/// The kernels with symbols. They stay mapped until the process ends: LLVM does not tell debuggers that code
/// is gone, and perf does not learn either that other code has its addresses.
struct DebuggedKernels {
  Mutex mutex;
  std::map<std::string, KernelFn> by_symbol;
};

KernelFn link_with_symbols(const KernelObject& object) {
  DebuggedKernels& kernels = once<[] { return DebuggedKernels(); }>();
  const std::lock_guard lock(kernels.mutex);
  KernelFn& entry = kernels.by_symbol[object.symbol];
  if (entry) return entry;
  llvm::orc::LLJIT& jit = debugged_linker();
  const llvm::orc::ResourceTrackerSP tracker = jit.getMainJITDylib().createResourceTracker();
  try {
    entry = link_object(jit, object, tracker);
  } catch (...) {
    if (auto error = tracker->remove()) llvm::consumeError(std::move(error));
    throw;
  }
  ++stats().kernels_mapped;
  add_to_perf_map(object.symbol, reinterpret_cast<const void*>(entry), code_bytes(object));
  return entry;
}

}  // namespace

std::shared_ptr<Kernel> load_object(const KernelObject& object, bool symbols) {
  require_room(kernel_room, object.symbol);
  auto kernel = std::make_shared<Kernel>();
  if (symbols) {
    kernel->entry = link_with_symbols(object);
  } else {
    auto code = std::make_shared<Code>(linker().getMainJITDylib().createResourceTracker());
    kernel->entry = link_object(linker(), object, code->tracker);
    kernel->code = std::move(code);
  }
  kernel->name = object.symbol;
  kernel->symbol = object.symbol;
  kernel->object = object.bytes;
  return kernel;
}

void forget_unloaded_symbols() { linker().getExecutionSession().getSymbolStringPool()->clearDeadEntries(); }

}  // namespace kiln::codegen

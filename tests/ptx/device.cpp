// A GPU without a GPU: the functions of the CUDA driver that Kiln calls, over PTX that is translated to code
// of this machine. KILN_CUDA_DRIVER loads this library in the place of libcuda.so.1.
//
// Memory is the process's. Fresh and freed memory is full of NaN; a kernel that reads or writes outside of an
// allocation is told on stderr, and its launch fails. Threads run one after another, in an order that
// KILN_PTX_SEED chooses.
#include "ptx_text.h"
#include "ptx_to_llvm.h"
#include "runtime/cuda/driver.h"

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Pass.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Transforms/Scalar.h>
#include <llvm/Transforms/Utils.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace kiln::nvidia;

//===--- memory -----------------------------------------------------------===//

constexpr unsigned char poison = 0xff;  // NaN

struct Memory {
  std::mutex mutex;
  std::map<std::uintptr_t, std::size_t> blocks;  // by address
  std::size_t used = 0;
};
Memory& memory() {
  static auto& m = *new Memory;
  return m;
}

std::size_t limit() {
  static const std::size_t bytes = [] {
    const char* const text = std::getenv("KILN_PTX_MEMORY");
    return text ? std::strtoull(text, nullptr, 10) : std::size_t{4} << 30;
  }();
  return bytes;
}

/// Whether [address, address + bytes) is in one allocation.
bool is_allocated(std::uintptr_t address, std::size_t bytes) {
  static thread_local std::uintptr_t begin = 0, end = 0;
  if (address >= begin && address + bytes <= end) return true;
  const std::lock_guard lock(memory().mutex);
  const auto after = memory().blocks.upper_bound(address);
  if (after == memory().blocks.begin()) return false;
  const auto& [first, size] = *std::prev(after);
  if (address + bytes > first + size) return false;
  begin = first, end = first + size;
  return true;
}

/// The first mistake of a launch.
struct Launch {
  const char* kernel = nullptr;
  bool failed = false;
};
thread_local Launch current;

}  // namespace

extern "C" {

/// Called by kernels for each access but those to parameters: an address that may be accessed.
void* kiln_ptx_access(void* address, std::uint32_t bytes, bool writes) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  // The memory of the thread itself is on the stack.
  const auto here = reinterpret_cast<std::uintptr_t>(&at);
  const bool is_local = at > here && at - here < (std::size_t{1} << 20);
  if (at % bytes == 0 && (is_local || is_allocated(at, bytes))) return address;
  if (!current.failed)
    std::fprintf(stderr, "ptx device: kernel %s %s %u bytes at %p, which is %s\n", current.kernel,
                 writes ? "writes" : "reads", bytes, address,
                 at % bytes == 0 ? "outside of all allocations" : "not aligned");
  current.failed = true;
  alignas(16) static thread_local std::byte nowhere[16];
  return nowhere;
}
}

namespace {

//===--- kernels ----------------------------------------------------------===//

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
    symbols[made->mangleAndIntern("kiln_ptx_access")] = {llvm::orc::ExecutorAddr::fromPtr(&kiln_ptx_access),
                                                         llvm::JITSymbolFlags::Exported};
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

using ThreadFn = void (*)(const void* parameters, std::uint32_t thread, std::uint32_t block,
                          std::uint32_t threads);

struct Module {
  std::string text;
  kiln::ptx::Entry entry;  // views of the text
  ThreadFn thread = nullptr;
  llvm::orc::ResourceTrackerSP tracker;
};

std::unique_ptr<Module> translate(const char* image) {
  static std::atomic<int> count = 0;
  auto m = std::make_unique<Module>();
  m->text = image;
  m->entry = kiln::ptx::parse(m->text);
  auto context = std::make_unique<llvm::LLVMContext>();
  auto module = std::make_unique<llvm::Module>("ptx", *context);
  module->setDataLayout(jit().getDataLayout());
  const std::string name = "thread" + std::to_string(++count);
  kiln::ptx::translate(m->entry, name, *module);
  std::string problem;
  llvm::raw_string_ostream os(problem);
  if (llvm::verifyModule(*module, &os))
    throw std::runtime_error("PTX: the translation is not valid: " + problem);
  simplify(*module);
  m->tracker = jit().getMainJITDylib().createResourceTracker();
  check(jit().addIRModule(m->tracker, llvm::orc::ThreadSafeModule(std::move(module), std::move(context))));
  m->thread = value_of(jit().lookup(name)).toPtr<ThreadFn>();
  return m;
}

/// The numbers below `count` in an order that the seed chooses.
class Order {
 public:
  explicit Order(std::uint64_t count) : count_(count) {
    static const std::uint64_t seed = [] {
      const char* const text = std::getenv("KILN_PTX_SEED");
      return text ? std::strtoull(text, nullptr, 10) : 1;
    }();
    first_ = seed % count;
    stride_ = (seed * 2654435761U) % count;
    while (std::gcd(stride_, count) != 1) ++stride_;
  }
  std::uint64_t operator[](std::uint64_t i) const { return (first_ + i * stride_) % count_; }

 private:
  std::uint64_t count_, first_, stride_;
};

}  // namespace

//===--- the driver's functions -------------------------------------------===//

#pragma GCC visibility push(default)
extern "C" {

int cuInit(unsigned) { return std::getenv("KILN_PTX_NO_DEVICE") ? no_device : success; }
int cuDriverGetVersion(int* version) { return *version = 12000, success; }
int cuGetErrorName(int error, const char** name) {
  *name = error == out_of_memory     ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == invalid_image   ? "CUDA_ERROR_INVALID_IMAGE"
          : error == illegal_address ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                                     : "CUDA_ERROR_UNKNOWN";
  return success;
}
int cuGetErrorString(int error, const char** text) {
  *text = error == out_of_memory     ? "out of memory"
          : error == invalid_image   ? "the kernel's image is not valid"
          : error == illegal_address ? "an illegal memory access was found"
                                     : "an error of the emulated device";
  return success;
}
int cuDeviceGetCount(int* count) { return *count = 1, success; }
int cuDeviceGet(int* device, int number) { return *device = number, success; }
int cuDeviceGetName(char* name, int length, int) {
  return std::snprintf(name, static_cast<std::size_t>(length), "emulated device"), success;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  const char* const capability = std::getenv("KILN_PTX_CAPABILITY");  // "75"
  const int number = capability ? std::atoi(capability) : 80;
  *value = attribute == capability_major ? number / 10 : attribute == capability_minor ? number % 10 : 0;
  return success;
}
int cuDevicePrimaryCtxRetain(void** context, int) { return *context = &memory(), success; }
int cuCtxSetCurrent(void*) { return success; }
int cuCtxSynchronize() { return success; }

int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
  if (bytes == 0) return invalid_value;
  const std::lock_guard lock(memory().mutex);
  if (memory().used + bytes > limit()) return out_of_memory;
  void* const data = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (!data) return out_of_memory;
  std::memset(data, poison, bytes);
  memory().used += bytes;
  memory().blocks.emplace(reinterpret_cast<std::uintptr_t>(data), bytes);
  *address = reinterpret_cast<std::uint64_t>(data);
  return success;
}
int cuMemFree_v2(std::uint64_t address) {
  const std::lock_guard lock(memory().mutex);
  const auto block = memory().blocks.find(address);
  if (block == memory().blocks.end()) return invalid_value;
  std::memset(reinterpret_cast<void*>(address), poison, block->second);
  memory().used -= block->second;
  memory().blocks.erase(block);
  std::free(reinterpret_cast<void*>(address));
  return success;
}
int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  const std::lock_guard lock(memory().mutex);
  *total = limit();
  *free = limit() - memory().used;
  return success;
}
int cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t bytes) {
  if (!is_allocated(to, bytes)) return invalid_value;
  return std::memcpy(reinterpret_cast<void*>(to), from, bytes), success;
}
int cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t bytes) {
  if (!is_allocated(from, bytes)) return invalid_value;
  return std::memcpy(to, reinterpret_cast<void*>(from), bytes), success;
}
int cuMemcpyDtoD_v2(std::uint64_t to, std::uint64_t from, std::size_t bytes) {
  if (!is_allocated(to, bytes) || !is_allocated(from, bytes)) return invalid_value;
  return std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes), success;
}
int cuMemsetD8_v2(std::uint64_t to, unsigned char value, std::size_t bytes) {
  if (!is_allocated(to, bytes)) return invalid_value;
  return std::memset(reinterpret_cast<void*>(to), value, bytes), success;
}

int cuModuleLoadData(void** module, const void* image) {
  if (std::getenv("KILN_PTX_OLD_DRIVER")) return unsupported_ptx_version;
  try {
    *module = translate(static_cast<const char*>(image)).release();
    return success;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "ptx device: %s\n", e.what());
    return invalid_image;
  }
}
int cuModuleUnload(void* module) {
  const std::unique_ptr<Module> ended(static_cast<Module*>(module));
  llvm::consumeError(ended->tracker->remove());
  return success;
}
int cuModuleGetFunction(void** function, void* module, const char* name) {
  if (static_cast<Module*>(module)->entry.name != name) return not_found;
  return *function = module, success;
}

int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned, void*, void** parameters, void**) {
  if (grid_x == 0 || grid_y != 1 || grid_z != 1 || block_x == 0 || block_x > 1024 || block_y != 1 ||
      block_z != 1)
    return invalid_value;
  const Module& m = *static_cast<const Module*>(function);
  std::vector<std::uint64_t> bytes(m.entry.parameter_bytes / 8);
  for (std::size_t i = 0; i < m.entry.parameters.size(); ++i)
    std::memcpy(reinterpret_cast<std::byte*>(bytes.data()) + m.entry.parameters[i].offset, parameters[i],
                m.entry.parameters[i].bytes);
  const std::string name(m.entry.name);
  current = {name.c_str(), false};
  const std::uint64_t count = std::uint64_t{grid_x} * block_x;
  const Order order(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t thread = order[i];
    m.thread(bytes.data(), static_cast<std::uint32_t>(thread % block_x),
             static_cast<std::uint32_t>(thread / block_x), block_x);
  }
  return current.failed ? illegal_address : success;
}
}
#pragma GCC visibility pop

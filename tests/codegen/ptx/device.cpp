// A GPU without a GPU: the functions of the CUDA driver that Kiln calls, over PTX that is translated to code
// of this machine. KILN_CUDA_DRIVER loads this library in the place of libcuda.so.1.
//
// Memory (memory.h) is the process's. kernel.h loads PTX, launch.h runs it.
#include "device.h"

#include "driver_functions.h"
#include "limits.h"
#include "runtime/cuda/driver.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <mutex>
#include <string>
#include <unistd.h>
#include <vector>

namespace kiln::ptx {

namespace {

int number_of(const char* variable, int otherwise) {
  const char* const text = std::getenv(variable);
  return text ? std::atoi(text) : otherwise;
}

}  // namespace

PinnedMemory* Device::find_pinned(const void* at, std::size_t bytes) {
  const auto after = pinned.upper_bound(at);
  if (after == pinned.begin()) return nullptr;
  auto& [first, memory] = *std::prev(after);
  const auto offset =
      static_cast<std::size_t>(static_cast<const std::byte*>(at) - static_cast<const std::byte*>(first));
  return offset <= memory.bytes && bytes <= memory.bytes - offset ? &memory : nullptr;
}

int Device::do_now(std::function<int()> work) {
  const auto stream = streams.find(nullptr);
  streams.add(stream, std::move(work));
  return stream->run();
}

Device& device() {
  static auto& device = *new Device;
  return device;
}

int prepare_launch(void* function, Extent grid, Extent block, unsigned shared_bytes, void** parameters,
                   std::function<int()>& work) {
  auto* const k = static_cast<Kernel*>(function);
  if (!device().modules.contains(k)) return invalid_handle;
  if (!is_possible(*k, grid, block, shared_bytes)) return nvidia::invalid_value;
  std::vector<std::uint64_t> bytes(k->entry.parameter_bytes / 8 + 1);
  for (const Parameter& p : k->entry.parameters)
    std::memcpy(reinterpret_cast<std::byte*>(bytes.data()) + p.offset, *parameters++, p.bytes);
  work = [=, bytes = std::move(bytes)]() -> int {
    // A graph may have outlived the module.
    if (!device().modules.contains(k)) return invalid_handle;
    device().streams.tick();
    const Launch::Result result = Launch(*k, grid, block, shared_bytes, bytes.data(), device().memory).run();
    return result == Launch::done              ? nvidia::success
           : result == Launch::illegal_address ? nvidia::illegal_address
                                               : launch_failed;
  };
  return nvidia::success;
}

bool is_to_fail(const char* variable, std::uint64_t count) {
  const char* const text = std::getenv(variable);
  return text && std::strtoull(text, nullptr, 10) == count;
}

unsigned capability() { return static_cast<unsigned>(number_of("KILN_PTX_CAPABILITY", 80)); }

}  // namespace kiln::ptx

namespace {

using namespace kiln::nvidia;
using namespace kiln::ptx;

int result_of(bool ok) { return ok ? success : invalid_value; }

/// A result in the driver's words.
struct Words {
  int result;
  const char *name, *text;
};
constexpr Words words[] = {
    {invalid_value, "CUDA_ERROR_INVALID_VALUE", "an argument is not valid"},
    {out_of_memory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {not_initialized, "CUDA_ERROR_NOT_INITIALIZED", "the driver is not initialized in this process"},
    {deinitialized, "CUDA_ERROR_DEINITIALIZED", "the driver has shut down"},
    {invalid_image, "CUDA_ERROR_INVALID_IMAGE", "the kernel's image is not valid"},
    {invalid_ptx, "CUDA_ERROR_INVALID_PTX", "the PTX cannot be compiled"},
    {no_binary, "CUDA_ERROR_NO_BINARY_FOR_GPU", "the kernel is for another GPU"},
    {invalid_handle, "CUDA_ERROR_INVALID_HANDLE", "a handle is not valid"},
    {not_ready, "CUDA_ERROR_NOT_READY", "not all work is done"},
    {illegal_address, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was found"},
    {launch_failed, "CUDA_ERROR_LAUNCH_FAILED", "a kernel failed"},
};
Words name_of(int result) {
  for (const Words& w : words)
    if (w.result == result) return w;
  return {result, "CUDA_ERROR_UNKNOWN", "an error of the emulated device"};
}

/// The process that initialized the driver; its children cannot use it. 0: none.
pid_t process = 0;

/// Whether the driver has shut down. On request it does, as NVIDIA's, in a handler of exit() that cuInit
/// registers.
std::atomic<bool> is_down = false;

/// When the process ends: what was compiled and what was not released, on request.
[[gnu::destructor]] void tell() {
  if (process != getpid()) return;
  Device& d = device();
  const Lock lock(d.mutex);  // other threads may go on
  if (std::getenv("KILN_PTX_REPORT"))
    std::fprintf(stderr, "ptx device: %d kernels compiled\n", static_cast<int>(d.compilations));
  const char* const strict = std::getenv("KILN_PTX_STRICT_EXIT");
  if (is_down || !strict || std::strcmp(strict, "1") != 0) return;
  std::string list;
  const auto add = [&](std::size_t count, const char* what) {
    if (count > 0) list += fmt::format("{}{} {}", list.empty() ? "" : ", ", count, what);
  };
  add(d.memory.allocations().size(), "allocations");
  add(d.pinned.size(), "allocations of pinned memory");
  add(d.modules.size(), "modules");
  add(d.links.size(), "links");
  add(static_cast<std::size_t>(d.contexts), "contexts");
  add(d.streams.stream_count(), "streams");
  add(d.streams.event_count(), "events");
  add(d.graphs.graph_count(), "graphs");
  add(d.graphs.executable_count(), "executable graphs");
  if (list.empty()) return;
  std::fprintf(stderr, "ptx device: not released at the end: %s\n", list.c_str());
  std::fflush(nullptr);
  _exit(EXIT_FAILURE);
}

}  // namespace

//===--- the driver's functions -------------------------------------------===//

extern "C" {

int cuInit(unsigned) {
  if (std::getenv("KILN_PTX_NO_DEVICE")) return no_device;
  if (process != 0 && process != getpid()) return not_initialized;
  if (process == 0 && std::getenv("KILN_PTX_SHUTS_DOWN")) std::atexit([] { is_down = true; });
  process = getpid();
  return success;
}
int cuDriverGetVersion(int* version) {
  return *version = number_of("KILN_PTX_DRIVER_VERSION", 12000), success;
}
int cuGetErrorName(int error, const char** name) { return *name = name_of(error).name, success; }
int cuGetErrorString(int error, const char** text) { return *text = name_of(error).text, success; }
int cuDeviceGetCount(int* count) { return *count = 1, success; }
int cuDeviceGet(int* device, int number) { return *device = number, success; }
int cuDeviceGetName(char* name, int length, int) {
  return std::snprintf(name, static_cast<std::size_t>(length), "emulated device"), success;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  const auto number = static_cast<int>(capability());
  *value = attribute == capability_major   ? number / 10
           : attribute == capability_minor ? number % 10
                                           : attribute_of_card(attribute);
  return success;
}
int cuDevicePrimaryCtxRetain(void** context, int) {
  const Lock lock(device().mutex);
  return ++device().contexts, *context = &device(), success;
}
int cuDevicePrimaryCtxRelease_v2(int) {
  const Lock lock(device().mutex);
  return device().contexts > 0 ? --device().contexts, success : invalid_context;
}
int cuCtxSetCurrent(void*) {
  return is_down ? deinitialized : process != getpid() ? not_initialized : success;
}
int cuCtxSynchronize() {
  const Lock lock(device().mutex);
  return device().streams.run_all();
}

int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
  if (bytes == 0) return invalid_value;
  const Lock lock(device().mutex);
  if (is_to_fail("KILN_PTX_FAIL_ALLOCATION", ++device().allocations)) return out_of_memory;
  *address = device().memory.allocate(bytes);
  return *address ? success : out_of_memory;
}
int cuMemFree_v2(std::uint64_t address) {
  const Lock lock(device().mutex);
  const int result = device().streams.run_all();
  return device().memory.free(address) ? result : invalid_value;
}
int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  const Lock lock(device().mutex);
  *total = Memory::limit();
  *free = device().memory.free_bytes();
  return success;
}
int cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t bytes) {
  const Lock lock(device().mutex);
  return device().do_now([=] { return result_of(device().memory.upload(to, from, bytes)); });
}
int cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t bytes) {
  const Lock lock(device().mutex);
  return device().do_now([=] { return result_of(device().memory.download(to, from, bytes)); });
}
int cuMemcpyDtoD_v2(std::uint64_t to, std::uint64_t from, std::size_t bytes) {
  const Lock lock(device().mutex);
  return device().do_now([=] { return result_of(device().memory.copy(to, from, bytes)); });
}
int cuMemsetD8_v2(std::uint64_t to, unsigned char value, std::size_t bytes) {
  const Lock lock(device().mutex);
  return device().do_now([=] { return result_of(device().memory.fill(to, value, bytes)); });
}

int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared_bytes, void* handle, void** parameters,
                   void**) {
  const Lock lock(device().mutex);
  const auto stream = device().streams.find(handle);
  if (!stream) return invalid_handle;
  if (is_to_fail("KILN_PTX_FAIL_LAUNCH", ++device().launches)) return launch_failed;
  std::function<int()> work;
  const int result = prepare_launch(function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z},
                                    shared_bytes, parameters, work);
  if (result != success) return result;
  device().streams.add(stream, std::move(work));
  // Work on the default stream is done at once, on other streams when somebody waits.
  return handle ? success : stream->run();
}
}

// A GPU without a GPU: the functions of the CUDA driver that Kiln calls, over PTX that is translated to code
// of this machine. KILN_CUDA_DRIVER loads this library in the place of libcuda.so.1.
//
// Memory (memory.h) is the process's. kernel.h loads PTX, launch.h runs it.
#include "kernel.h"
#include "launch.h"
#include "limits.h"
#include "memory.h"
#include "runtime/cuda/driver.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace {

using namespace kiln::nvidia;
using kiln::ptx::Kernel;

/// One call at a time: the device has one engine.
std::mutex& mutex() {
  static auto& m = *new std::mutex;
  return m;
}
kiln::ptx::Memory& memory() {
  static auto& m = *new kiln::ptx::Memory;
  return m;
}
using Lock = std::lock_guard<std::mutex>;

constexpr int launch_failed = 719;

int result_of(bool ok) { return ok ? success : invalid_value; }

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
  const Lock lock(mutex());
  *address = memory().allocate(bytes);
  return *address ? success : out_of_memory;
}
int cuMemFree_v2(std::uint64_t address) {
  const Lock lock(mutex());
  return result_of(memory().free(address));
}
int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  const Lock lock(mutex());
  *total = memory().limit();
  *free = memory().free_bytes();
  return success;
}
int cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t bytes) {
  const Lock lock(mutex());
  return result_of(memory().upload(to, from, bytes));
}
int cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t bytes) {
  const Lock lock(mutex());
  return result_of(memory().download(to, from, bytes));
}
int cuMemcpyDtoD_v2(std::uint64_t to, std::uint64_t from, std::size_t bytes) {
  const Lock lock(mutex());
  return result_of(memory().copy(to, from, bytes));
}
int cuMemsetD8_v2(std::uint64_t to, unsigned char value, std::size_t bytes) {
  const Lock lock(mutex());
  return result_of(memory().fill(to, value, bytes));
}

int cuModuleLoadData(void** module, const void* image) {
  if (std::getenv("KILN_PTX_OLD_DRIVER")) return unsupported_ptx_version;
  try {
    *module = kiln::ptx::load_kernel(static_cast<const char*>(image)).release();
    return success;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "ptx device: %s\n", e.what());
    return invalid_image;
  }
}
int cuModuleUnload(void* module) {
  const Lock lock(mutex());
  delete static_cast<Kernel*>(module);
  return success;
}
int cuModuleGetFunction(void** function, void* module, const char* name) {
  if (static_cast<Kernel*>(module)->entry.name != name) return not_found;
  return *function = module, success;
}

int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared_bytes, void*, void** parameters,
                   void**) {
  const Kernel& k = *static_cast<const Kernel*>(function);
  const kiln::ptx::Extent grid{grid_x, grid_y, grid_z}, block{block_x, block_y, block_z};
  if (!kiln::ptx::is_possible(k, grid, block, shared_bytes)) return invalid_value;
  std::vector<std::uint64_t> bytes(k.entry.parameter_bytes / 8 + 1);
  for (const kiln::ptx::Parameter& p : k.entry.parameters)
    std::memcpy(reinterpret_cast<std::byte*>(bytes.data()) + p.offset, *parameters++, p.bytes);
  const Lock lock(mutex());
  using kiln::ptx::Launch;
  const Launch::Result result = Launch(k, grid, block, shared_bytes, bytes.data(), memory()).run();
  return result == Launch::done              ? success
         : result == Launch::illegal_address ? illegal_address
                                             : launch_failed;
}
}
#pragma GCC visibility pop

// The functions of NVIDIA's driver that Kiln calls, and its errors.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace kiln::nvidia {

/// CUDA_KERNEL_NODE_PARAMS of CUDA 11.
struct KernelNode {
  void* function;
  unsigned grid[3], block[3], shared_bytes;
  void** parameters;
  void** extra;
};

/// CUDA_MEMCPY3D: of a box, whose places in memory of the host and in arrays of textures Kiln does not use.
struct CopyNode {
  struct Place {
    std::size_t x = 0, y = 0, z = 0, level = 0;
    int memory = 2;  ///< CU_MEMORYTYPE_DEVICE
    const void* host = nullptr;
    std::uint64_t address = 0;
    void *array = nullptr, *reserved = nullptr;
    std::size_t pitch = 0, height = 0;
  };
  Place from, to;
  std::size_t bytes = 0, rows = 1, depth = 1;
};

/// The CUDA driver, loaded from libcuda.so.1 at its first use, or from KILN_CUDA_DRIVER. Nothing of CUDA is
/// needed to build Kiln. Functions return CUresult, 0 for success.
struct Driver {
#define KILN_CUDA(member, symbol, ...) int (*member)(__VA_ARGS__);
#include "runtime/cuda/driver.def"
#undef KILN_CUDA
};

/// The driver, initialized. Throws kiln::Error if there is no driver or no GPU, with the remedy. Any thread.
const Driver& driver();

/// The driver's text and name for a result.
std::string words_of(int result);

/// Throws kiln::Error for a result that is no success, with `what` was done and the driver's text.
/// `in_flight` are the kernels that an error of a kernel may be of.
void check(int result, const char* what, const std::string& in_flight = {});

/// Of CUresult. From illegal_address on they are of kernels that ran, and a later call may return them.
enum Result {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  not_initialized = 3,
  deinitialized = 4,
  no_device = 100,
  invalid_image = 200,
  invalid_ptx = 218,
  unsupported_ptx_version = 222,
  not_found = 500,
  illegal_address = 700
};

/// Of CUdevice_attribute.
enum Attribute { capability_major = 75, capability_minor = 76 };

}  // namespace kiln::nvidia

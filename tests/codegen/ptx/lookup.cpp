// cuGetProcAddress of the emulated device. A driver of CUDA 11.3 or later has it, and Kiln then gets all
// functions from it. Its calls are counted, for tests of Kiln's calls of the driver.
#include "driver_functions.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

/// KILN_PTX_REPLACE=FROM/TO: a device whose instruction FROM does what TO does.
int load_with_mistake(void** module, const void* image) {
  std::string text = static_cast<const char*>(image);
  const char* const rule = std::getenv("KILN_PTX_REPLACE");
  if (const char* const slash = rule ? std::strchr(rule, '/') : nullptr) {
    const std::string from = std::string(rule, slash) + " ", to = std::string(slash + 1) + " ";
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
  }
  return cuModuleLoadData(module, text.c_str());
}

/// A function that counts its calls.
template <auto function>
struct Counted;
template <class... Arguments, int (*function)(Arguments...)>
struct Counted<function> {
  static inline std::atomic<std::uint64_t> calls{0};
  static int call(Arguments... arguments) {
    ++calls;
    return function(arguments...);
  }
};

}  // namespace

#pragma GCC visibility push(default)
/// Names of symbols as in cuda.h, without a version.
extern "C" int cuGetProcAddress(const char* name, void** function, int version, std::uint64_t) {
  if (version < 11000) return kiln::nvidia::not_found;
  const std::string wanted = name;
  if (wanted == "cuModuleLoadData")
    return *function = reinterpret_cast<void*>(&load_with_mistake), kiln::nvidia::success;
#define KILN_CUDA(member, symbol, ...)                \
  if (wanted == #symbol || wanted + "_v2" == #symbol) \
    return *function = reinterpret_cast<void*>(&Counted<&symbol>::call), kiln::nvidia::success;
#include "runtime/cuda/driver.def"
#undef KILN_CUDA
  return kiln::nvidia::not_found;
}

extern "C" std::uint64_t kiln_ptx_calls(const char* name) {
  const std::string wanted = name;
#define KILN_CUDA(member, symbol, ...) \
  if (wanted == #symbol) return Counted<&symbol>::calls;
#include "runtime/cuda/driver.def"
#undef KILN_CUDA
  return 0;
}
#pragma GCC visibility pop

// Loads NVIDIA's driver and finds its functions.
#include "runtime/cuda/driver.h"

#include "runtime/env.h"
#include "runtime/messages.h"

#include <dlfcn.h>
#include <string>
#include <string_view>

namespace kiln::nvidia {
namespace {

void* open_library(const std::string& path, bool from_environment) {
  if (void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  const char* const why = ::dlerror();
  if (from_environment) fail("KILN_CUDA_DRIVER={}: {}", path, why);
  fail(Mistake::no_gpu,
       "there is no CUDA driver on this machine ({}): install NVIDIA's driver, or use the device cpu. In a "
       "container, the driver's libraries must be mounted",
       why);
}

/// The functions of a driver's library. Drivers of CUDA 11.3 or later look a function up by a version of
/// CUDA, because an exported function may have other parameters than in that version.
class Functions {
 public:
  explicit Functions(void* library)
      : library_(library), get_(reinterpret_cast<GetProcAddress>(::dlsym(library, "cuGetProcAddress"))) {}

  /// `symbol` is the exported name: the name in cuda.h with the version of the function. Null if there is
  /// none.
  void* find(std::string_view symbol) const {
    std::string name(symbol);
    if (get_) {
      if (name.ends_with("_v2")) name.resize(name.size() - 3);
      void* function = nullptr;
      if (get_(name.c_str(), &function, cuda_version, /*flags=*/0) == success && function) return function;
    }
    return ::dlsym(library_, std::string(symbol).c_str());
  }

 private:
  /// cuGetProcAddress of CUDA 11.3, which later drivers have beside their own.
  using GetProcAddress = int (*)(const char* name, void** function, int version, std::uint64_t flags);
  static constexpr int cuda_version = 11000;  // 11.0

  void* library_;
  GetProcAddress get_;
};

Driver load_driver() {
  const auto given = env("KILN_CUDA_DRIVER");
  const std::string path(given.value_or("libcuda.so.1"));
  const Functions functions(open_library(path, given.has_value()));
  Driver d{};
  const auto find = [&](auto& member, const char* symbol) {
    member = reinterpret_cast<std::remove_reference_t<decltype(member)>>(functions.find(symbol));
    if (!member)
      fail("the CUDA driver {} has no function {}: it is too old; Kiln needs that of CUDA 11.0 or later",
           path, symbol);
  };
#define KILN_CUDA(member, symbol, ...) find(d.member, #symbol);
#include "runtime/cuda/driver.def"
#undef KILN_CUDA
  const int result = d.init(0);
  int count = 0;
  if (result == no_device || (result == 0 && d.device_count(&count) == 0 && count == 0))
    fail(Mistake::no_gpu,
         "the CUDA driver finds no GPU on this machine: use the device cpu, or look at CUDA_VISIBLE_DEVICES");
  if (result != 0) {
    const char* name = nullptr;
    d.error_name(result, &name);
    fail("the CUDA driver cannot be initialized: {}", name ? name : std::to_string(result));
  }
  return d;
}

}  // namespace

const Driver& driver() {
  static const Driver d = load_driver();
  return d;
}

std::string words_of(int result) {
  const char *name = nullptr, *text = nullptr;
  driver().error_name(result, &name);
  driver().error_string(result, &text);
  return fmt::format("{} ({})", text ? text : "the CUDA driver reports an error",
                     name ? name : std::to_string(result));
}

void check(int result, const char* what, const std::string& in_flight) {
  if (result == success) return;
  fail("{}: {}{}", what, words_of(result),
       result >= illegal_address && !env_is_on("KILN_CUDA_SYNC")
           ? fmt::format(". It is of a kernel that was running{}{}. KILN_CUDA_SYNC=1 names the one",
                         in_flight.empty() ? "" : ": ", in_flight)
           : "");
}

}  // namespace kiln::nvidia

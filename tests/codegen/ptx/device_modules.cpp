// The driver's functions for kernels: PTX, its compilation to a "cubin", modules and their functions. A cubin
// of this device is a line that names the device and the build of the driver, followed by the PTX.
#include "device.h"
#include "driver_functions.h"
#include "limits.h"
#include "ptx_forms.h"
#include "ptx_text.h"
#include "runtime/cuda/driver.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace kiln::ptx {

/// PTX on its way to a cubin.
struct Link {
  char* log = nullptr;  ///< of the caller; null: wants none
  std::size_t log_bytes = 0;
  std::string ptx, cubin;
};

}  // namespace kiln::ptx

namespace {

using namespace kiln::nvidia;
using namespace kiln::ptx;

/// That of CUDA 12.0.
constexpr unsigned ptx_version = 80;

constexpr std::string_view magic = "KILN CUBIN ";

/// The first line of cubins that the device loads.
std::string cubin_head() {
  const char* const build = std::getenv("KILN_PTX_BUILD");
  int version = 0;
  cuDriverGetVersion(&version);
  return fmt::format("{}sm_{} of {} {}\n", magic, capability(), version, build ? build : "1");
}

/// Whether PTX is for this driver and device.
int fits(const Entry& e) {
  if (e.version > ptx_version || std::getenv("KILN_PTX_OLD_DRIVER")) return unsupported_ptx_version;
  // "a": for cards of this capability alone.
  if (e.arch <= capability() && (e.arch_suffix.empty() || e.arch == capability())) return success;
  std::fprintf(stderr, "ptx device: a kernel for sm_%u: the card is sm_%u\n", e.arch, capability());
  return no_binary;
}

int load(void** module, const char* ptx) {
  try {
    std::unique_ptr<Kernel> k = load_kernel(ptx);
    if (const int result = fits(k->entry)) return result;
    device().modules.insert(k.get());
    *module = k.release();
    return success;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "ptx device: %s\n", e.what());
    return invalid_image;
  }
}

/// Finds the compiler's errors without making code, which comes with the module.
int compile(Link& link) {
  const std::uint64_t number = ++device().compilations;
  if (is_to_fail("KILN_PTX_FAIL_COMPILATION", number))
    throw std::runtime_error(fmt::format("compilation {} fails", number));
  const Entry entry = parse(link.ptx);
  if (const int result = fits(entry)) return result;
  check_forms(entry);
  link.cubin = cubin_head() + link.ptx;
  return success;
}

}  // namespace

extern "C" {

int cuLinkCreate_v2(unsigned count, int* options, void** values, void** link) {
  constexpr int log = 5, log_bytes = 6;  // CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES
  auto made = std::make_unique<Link>();
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == log)
      made->log = static_cast<char*>(values[i]);
    else if (options[i] == log_bytes)
      made->log_bytes = reinterpret_cast<std::size_t>(values[i]);
    else
      return invalid_value;
  }
  const Lock lock(device().mutex);
  device().links.insert(made.get());
  *link = made.release();
  return success;
}
int cuLinkAddData_v2(void* handle, int type, const void* data, std::size_t bytes, const char*, unsigned count,
                     int*, void**) {
  constexpr int is_ptx = 1;  // CU_JIT_INPUT_PTX
  const Lock lock(device().mutex);
  auto* const link = static_cast<Link*>(handle);
  if (!device().links.contains(link)) return invalid_handle;
  const auto* const text = static_cast<const char*>(data);
  if (type != is_ptx || count > 0 || bytes == 0 || text[bytes - 1] != '\0') return invalid_value;
  link->ptx = text;
  return success;
}
int cuLinkComplete(void* handle, void** cubin, std::size_t* bytes) {
  const Lock lock(device().mutex);
  auto* const link = static_cast<Link*>(handle);
  if (!device().links.contains(link)) return invalid_handle;
  try {
    if (const int result = compile(*link)) return result;
  } catch (const std::exception& e) {
    if (link->log_bytes > 0) *fmt::format_to_n(link->log, link->log_bytes - 1, "{}", e.what()).out = '\0';
    return invalid_ptx;
  }
  *cubin = link->cubin.data();
  *bytes = link->cubin.size() + 1;
  return success;
}
int cuLinkDestroy(void* handle) {
  const Lock lock(device().mutex);
  auto* const link = static_cast<Link*>(handle);
  if (device().links.erase(link) == 0) return invalid_handle;
  delete link;
  return success;
}

int cuModuleLoadData(void** module, const void* image) {
  const Lock lock(device().mutex);
  const std::string_view text = static_cast<const char*>(image);
  if (!text.starts_with(magic)) return ++device().compilations, load(module, text.data());
  const std::string head = cubin_head();
  return text.starts_with(head) ? load(module, text.data() + head.size()) : no_binary;
}
int cuModuleUnload(void* module) {
  const Lock lock(device().mutex);
  auto* const k = static_cast<Kernel*>(module);
  if (!device().modules.contains(k)) return invalid_handle;
  const int result = device().streams.run_all();
  device().modules.erase(k);
  delete k;
  return result;
}
int cuModuleGetFunction(void** function, void* module, const char* name) {
  const Lock lock(device().mutex);
  if (!device().modules.contains(static_cast<Kernel*>(module))) return invalid_handle;
  if (static_cast<Kernel*>(module)->entry.name != name) return not_found;
  return *function = module, success;
}

int cuFuncSetAttribute(void* function, int attribute, int value) {
  constexpr int max_dynamic_shared_bytes = 8;
  const Lock lock(device().mutex);
  if (!device().modules.contains(static_cast<Kernel*>(function))) return invalid_handle;
  Kernel& k = *static_cast<Kernel*>(function);
  const std::size_t bytes = k.entry.shared_bytes + static_cast<std::size_t>(value);
  if (attribute != max_dynamic_shared_bytes || value < 0 || bytes > max_shared_of_card) return invalid_value;
  return k.max_shared = bytes, success;
}
}

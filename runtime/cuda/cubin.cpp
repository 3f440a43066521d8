// Compiles PTX by the driver, and keeps the machine code in the disk cache.
#include "runtime/cuda/cubin.h"

#include "runtime/cuda/driver.h"
#include "runtime/disk_cache.h"
#include "runtime/fail.h"

#include <array>
#include <span>

namespace kiln::nvidia {
namespace {

/// PTX on its way to machine code.
class Link {
 public:
  explicit Link(const PlannedKernel& kernel) : kernel_(kernel) {
    check_log(driver().link_create(static_cast<unsigned>(options_.size()), options_.data(), values_.data(),
                                   &link_));
  }
  ~Link() {
    if (link_) driver().link_destroy(link_);
  }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  /// The machine code, of this object. `ptx` is read up to its end.
  std::span<const std::byte> compile(const std::string& ptx) {
    constexpr int is_ptx = 1;  // CU_JIT_INPUT_PTX
    check_log(driver().link_add(link_, is_ptx, ptx.c_str(), ptx.size() + 1, kernel_.name.c_str(), 0, nullptr,
                                nullptr));
    void* cubin = nullptr;
    std::size_t bytes = 0;
    check_log(driver().link_complete(link_, &cubin, &bytes));
    return {static_cast<const std::byte*>(cubin), bytes};
  }

 private:
  void check_log(int result) const {
    if (result == success) return;
    if (result == unsupported_ptx_version)
      fail("the CUDA driver is older than PTX 7.0, which Kiln's kernels are in: update it to 450 or later");
    const std::string what = "compiling kernel " + kernel_.name;
    if (log_.front() == '\0') check(result, what.c_str());
    fail("{}: {}: {}", what, words_of(result), log_.data());
  }

  const PlannedKernel& kernel_;
  void* link_ = nullptr;
  // The driver writes messages there as long as the link lives, the last byte excepted.
  std::array<char, 4096> log_{};
  std::array<int, 2> options_ = {5, 6};  // CU_JIT_ERROR_LOG_BUFFER and its _SIZE_BYTES
  std::array<void*, 2> values_ = {log_.data(), reinterpret_cast<void*>(log_.size() - 1)};
};

}  // namespace

void* load_module(const PlannedKernel& kernel, const std::string& architecture) {
  int version = 0;
  check(driver().driver_version(&version), "reading the driver's version");
  const std::string ptx(reinterpret_cast<const char*>(kernel.object->data()), kernel.object->size());
  const std::string stamp =
      fmt::format("cubin {} driver-{}.{}", architecture, version / 1000, version % 1000 / 10);
  const CacheKey key = cache_key(stamp + '\n' + ptx);
  DiskCache& disk = disk_cache();
  void* module = nullptr;
  // Another build of the driver may have the same version and refuse it.
  if (const auto kept = disk.load(key, stamp); kept && driver().load_module(&module, kept->data()) == success)
    return module;
  Link link(kernel);
  const std::span<const std::byte> cubin = link.compile(ptx);
  check(driver().load_module(&module, cubin.data()), ("loading kernel " + kernel.name).c_str());
  disk.store(key, stamp, cubin, kernel.name + ": machine code for " + architecture);
  return module;
}

}  // namespace kiln::nvidia

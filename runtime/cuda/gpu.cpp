// NVIDIA GPUs as accelerators: memory, copies and launches through the CUDA driver.
#include "runtime/accelerator.h"
#include "runtime/cuda/context.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/entry_arguments.h"
#include "runtime/cuda/in_flight.h"
#include "runtime/cuda/modules.h"
#include "runtime/cuda/pool.h"
#include "runtime/env.h"
#include "runtime/fail.h"

#include <array>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace kiln {
namespace {

using nvidia::check;
using nvidia::driver;

std::uint64_t number(const std::byte* p) { return reinterpret_cast<std::uint64_t>(p); }

class Gpu final : public Accelerator {
 public:
  /// `device` is the driver's number of it, `architecture` as in cubin.h.
  Gpu(int id, int device, std::string architecture)
      : context_(cuda(id).str(), device), modules_(context_, std::move(architecture)) {}

  std::byte* allocate(std::size_t bytes, memory::Use use) override { return pool_.allocate(bytes, use); }
  void deallocate(std::byte* data, std::size_t bytes, memory::Use use) noexcept override {
    pool_.deallocate(data, bytes, use);
  }
  MemoryReport memory_report() const override { return pool_.report(); }
  void reset_peak_memory() override { pool_.reset_peak(); }
  void release_pooled_memory() override { pool_.release(); }
  void set_memory_limit(std::size_t bytes) override { pool_.set_limit(bytes); }

  void upload(std::byte* to, const void* from, std::size_t bytes) override {
    if (bytes == 0) return;
    const auto open = context_.use();
    check_work(driver().upload(number(to), from, bytes), "copying to the GPU");
  }
  void download(void* to, const std::byte* from, std::size_t bytes) override {
    if (bytes == 0) return;
    const auto open = context_.use();
    check_work(driver().download(to, number(from), bytes), "copying from the GPU");
    in_flight_.clear();
  }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    if (bytes == 0) return;
    const auto open = context_.use();
    check_work(driver().copy(number(to), number(from), bytes), "copying on the GPU");
  }
  void clear(std::byte* data, std::size_t bytes) override {
    if (bytes == 0) return;
    const auto open = context_.use();
    check_work(driver().fill(number(data), 0, bytes), "clearing memory of the GPU");
  }
  void wait() override {
    const auto open = context_.use();
    check_work(driver().synchronize(), "waiting for the GPU");
    in_flight_.clear();
  }

  std::shared_ptr<void> load(const PlannedKernel& kernel) override {
    const auto open = context_.use();
    return modules_.load(kernel);
  }

  void launch(const std::shared_ptr<void>& kernel, const LaunchArguments& a) override {
    if (a.extent <= 0) return;
    const auto& k = *static_cast<const nvidia::Module*>(kernel.get());
    // The entry's parameters: the operands' addresses, the parameters, the extent, the bytes of scratch
    // memory.
    std::vector<std::uint64_t> values;
    for (void* p : a.operands) values.push_back(reinterpret_cast<std::uint64_t>(p));
    for (const std::int64_t p : a.params) values.push_back(static_cast<std::uint64_t>(p));
    if (a.params.empty()) values.push_back(0);
    std::int64_t extent = a.extent, scratch_bytes = a.scratch_bytes;
    std::vector<void*> parameters;
    std::byte* arrays = nullptr;
    if (nvidia::takes_arrays_by_value(a.operands.size(), a.params.size())) {
      parameters = {values.data(), values.data() + a.operands.size()};
    } else {
      arrays = allocate(8 * values.size(), memory::Use::arena);
      upload(arrays, values.data(), 8 * values.size());
      parameters = {&arrays};
    }
    parameters.push_back(&extent);
    if (scratch_bytes > 0) parameters.push_back(&scratch_bytes);
    const std::int64_t in_block = k.launch.block_threads / k.launch.threads;
    const auto blocks = static_cast<unsigned>((extent + in_block - 1) / in_block);
    const auto open = context_.use();
    const int result = driver().launch(k.function, blocks, 1, 1, k.launch.block_threads, 1, 1, 0, nullptr,
                                       parameters.data(), nullptr);
    if (arrays) deallocate(arrays, 8 * values.size(), memory::Use::arena);
    in_flight_.add(a.step);
    check_work(result, ("launching kernel " + k.name).c_str());
    static const bool waits = env_is_on("KILN_CUDA_SYNC");
    if (!waits) return;
    check(driver().synchronize(), ("running kernel " + k.name).c_str());
    in_flight_.clear();
  }

  /// When the process exits.
  void close() noexcept {
    if (!context_.close()) return;
    modules_.close();
    pool_.close();
  }

 private:
  void check_work(int result, const char* what) const {
    if (result != nvidia::success) check(result, what, in_flight_.str());
  }

  nvidia::Context context_;
  nvidia::InFlight in_flight_;
  nvidia::Modules modules_;
  nvidia::Pool pool_{context_};
};

/// Throws kiln::Error if there is no such GPU, or if it is too old.
std::unique_ptr<Gpu> open_gpu(int id) {
  const nvidia::Driver& d = driver();
  int count = 0, device = 0;
  check(d.device_count(&count), "counting the GPUs");
  if (id < 0 || id >= count)
    fail("there is no device cuda({}): this machine has {} GPU{}", id, count, count == 1 ? "" : "s");
  check(d.device(&device, id), "finding the GPU");
  const auto attribute = [&](nvidia::Attribute which) {
    int value = 0;
    check(d.device_attribute(&value, which, device), "reading the GPU's compute capability");
    return value;
  };
  const int major = attribute(nvidia::capability_major), minor = attribute(nvidia::capability_minor);
  if (major < 8) {
    std::array<char, 128> name{};
    check(d.device_name(name.data(), name.size(), device), "reading the GPU's name");
    fail("cuda({}) is {}, of compute capability {}.{}: Kiln's kernels need 8.0 (Ampere) or later", id,
         name.data(), major, minor);
  }
  return std::make_unique<Gpu>(id, device, fmt::format("sm_{}{}", major, minor));
}

/// Those in use, by number. They live as long as the process: arrays in static storage may need them to the
/// last.
struct Gpus {
  Mutex mutex;
  std::map<int, std::unique_ptr<Gpu>> list;
};
Gpus& gpus() {
  static auto& all = *new Gpus;
  return all;
}

/// Gives everything back when the process exits: before the driver, which came first, does.
struct AtExit {
  ~AtExit() {
    Gpus& all = gpus();
    const std::lock_guard lock(all.mutex);
    for (const auto& [id, gpu] : all.list) gpu->close();
  }
};

}  // namespace

Accelerator* gpu_accelerator(int id) {
  Gpus& all = gpus();
  const std::lock_guard lock(all.mutex);
  auto& gpu = all.list[id];
  if (!gpu) {
    try {
      gpu = open_gpu(id);
    } catch (...) {
      all.list.erase(id);
      throw;
    }
    static const AtExit at_exit;
  }
  return gpu.get();
}

int num_gpus() {
  try {
    int count = 0;
    check(driver().device_count(&count), "counting the GPUs");
    return count;
  } catch (const Error&) {
    return 0;  // no driver, or none that finds a GPU
  }
}

void waitall() {
  std::vector<Gpu*> used;
  {
    Gpus& all = gpus();
    const std::lock_guard lock(all.mutex);
    for (const auto& [id, gpu] : all.list) used.push_back(gpu.get());
  }
  for (Gpu* const gpu : used) gpu->wait();
}

}  // namespace kiln

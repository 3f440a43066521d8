// NVIDIA GPUs as accelerators: memory, copies and launches through the CUDA driver.
#include "runtime/accelerator.h"
#include "runtime/cuda/context.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/graph.h"
#include "runtime/cuda/launch_parameters.h"
#include "runtime/cuda/modules.h"
#include "runtime/cuda/pool.h"
#include "runtime/cuda/stream.h"
#include "runtime/cuda/transfer.h"
#include "runtime/env.h"
#include "runtime/messages.h"

#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kiln {
namespace {

using nvidia::check;
using nvidia::driver;

std::uint64_t number(const std::byte* p) { return reinterpret_cast<std::uint64_t>(p); }

unsigned blocks_of(const nvidia::Module& kernel, std::int64_t extent) {
  const std::int64_t in_block = kernel.launch.block_threads / kernel.launch.threads;
  return static_cast<unsigned>((extent + in_block - 1) / in_block);
}

std::string_view first_line(const Step& step) {
  return step.locations.empty() ? std::string_view() : std::string_view(step.locations.front());
}

/// Whether each kernel is waited for, so that an error names the one.
bool waits_for_each() {
  static const bool waits = env_is_on("KILN_CUDA_SYNC");
  return waits;
}

class GpuGraph;

/// The graphs that there are on a GPU.
struct Graphs {
  Mutex mutex;
  std::set<GpuGraph*> list;
};

/// Memory of the operands' addresses and parameters, for a kernel that does not take them by value. It may go
/// when the kernel is enqueued: work that takes the memory next comes after it.
struct ReturnToPool {
  nvidia::Pool* pool = nullptr;
  std::size_t bytes = 0;
  void operator()(std::byte* data) const noexcept { pool->deallocate(data, bytes, memory::Use::arena); }
};
using ArgumentBlock = std::unique_ptr<std::byte, ReturnToPool>;

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
    transfer_.upload(to, static_cast<const std::byte*>(from), bytes);
  }
  void download(void* to, const std::byte* from, std::size_t bytes) override {
    if (bytes == 0) return;
    const auto open = context_.use();
    transfer_.download(static_cast<std::byte*>(to), from, bytes);
  }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    if (bytes == 0) return;
    const auto open = context_.use();
    stream_.check(driver().copy(number(to), number(from), bytes, stream_.handle()), "copying on the GPU");
  }
  void clear(std::byte* data, std::size_t bytes) override {
    if (bytes == 0) return;
    const auto open = context_.use();
    stream_.check(driver().fill(number(data), 0, bytes, stream_.handle()), "clearing memory of the GPU");
  }
  void wait() override {
    const auto open = context_.use();
    stream_.wait("waiting for the GPU");
  }

  std::shared_ptr<void> load(const PlannedKernel& kernel) override {
    const auto open = context_.use();
    return modules_.load(kernel);
  }

  void launch(const std::shared_ptr<void>& kernel, const LaunchArguments& a) override {
    if (a.extent <= 0) return;
    const auto& k = *static_cast<const nvidia::Module*>(kernel.get());
    nvidia::LaunchParameters parameters(a);
    const ArgumentBlock block = make_argument_block(parameters);
    const auto open = context_.use();
    const int result = driver().launch(k.function, blocks_of(k, a.extent), 1, 1, k.launch.block_threads, 1, 1,
                                       0, stream_.handle(), parameters.list(block.get()), nullptr);
    stream_.launched(a.step.name, first_line(a.step));
    if (result != nvidia::success) stream_.check(result, ("launching kernel " + k.name).c_str());
    if (waits_for_each()) stream_.wait(("running kernel " + k.name).c_str());
  }

  std::unique_ptr<DeviceGraph> make_graph() override;

  std::shared_ptr<void> record_moment() override {
    const auto open = context_.use();
    auto moment = std::make_shared<nvidia::Event>(/*has_time=*/true);
    moment->record(stream_);
    return moment;
  }
  double seconds_between(const std::shared_ptr<void>& from, const std::shared_ptr<void>& to) override {
    const auto open = context_.use();
    auto& end = *static_cast<nvidia::Event*>(to.get());
    end.wait("waiting for the GPU");
    return nvidia::Event::seconds(*static_cast<nvidia::Event*>(from.get()), end);
  }

  /// When the process exits.
  void close() noexcept {
    if (!context_.close()) return;
    close_graphs();
    transfer_.close();
    stream_.close();
    modules_.close();
    pool_.close();
  }

 private:
  friend class GpuGraph;

  ArgumentBlock make_argument_block(const nvidia::LaunchParameters& parameters) {
    const std::size_t bytes = parameters.array_bytes();
    ArgumentBlock block(allocate(bytes, memory::Use::arena), {&pool_, bytes});
    upload(block.get(), parameters.arrays(), bytes);
    return block;
  }
  void close_graphs() noexcept;

  nvidia::Context context_;
  nvidia::Stream stream_{context_};
  nvidia::Transfer transfer_{stream_};
  nvidia::Modules modules_;
  nvidia::Pool pool_{context_};
  Graphs graphs_;
};

class GpuGraph final : public DeviceGraph {
 public:
  /// The caller uses the context.
  explicit GpuGraph(Gpu& gpu) : gpu_(gpu) {
    graph_.emplace();
    const std::lock_guard lock(gpu_.graphs_.mutex);
    gpu_.graphs_.list.insert(this);
  }
  ~GpuGraph() override {
    const std::lock_guard lock(gpu_.graphs_.mutex);
    gpu_.graphs_.list.erase(this);
    close();
  }

  void launch(const std::shared_ptr<void>& kernel, const LaunchArguments& a) override {
    if (a.extent <= 0) return;
    const auto& k = *static_cast<const nvidia::Module*>(kernel.get());
    nvidia::LaunchParameters parameters(a);
    const auto& block = blocks_.emplace_back(gpu_.make_argument_block(parameters));
    kernels_.push_back(kernel);
    const auto open = gpu_.context_.use();
    graph_->add_kernel(k.function, blocks_of(k, a.extent), k.launch.block_threads,
                       parameters.list(block.get()), a.step.name, first_line(a.step));
  }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    if (bytes == 0) return;
    const auto open = gpu_.context_.use();
    graph_->add_copy(to, from, bytes, gpu_.context_.handle());
  }
  void run() override {
    const auto open = gpu_.context_.use();
    graph_->run(gpu_.stream_);
  }

  /// Nothing is run any more.
  void close() noexcept {
    (void)gpu_.context_.enter();
    graph_.reset();
  }

 private:
  Gpu& gpu_;
  std::vector<std::shared_ptr<void>> kernels_;  // loaded as long as the graph
  std::vector<ArgumentBlock> blocks_;           // that kernels read in each run
  std::optional<nvidia::Graph> graph_;          // none after close()
};

std::unique_ptr<DeviceGraph> Gpu::make_graph() {
  if (waits_for_each()) return nullptr;
  const auto open = context_.use();
  return std::make_unique<GpuGraph>(*this);
}

void Gpu::close_graphs() noexcept {
  const std::lock_guard lock(graphs_.mutex);
  for (GpuGraph* const graph : graphs_.list) graph->close();
}

/// Throws kiln::Error if there is no such GPU, or if it is too old.
std::unique_ptr<Gpu> open_gpu(int id) {
  const nvidia::Driver& d = driver();
  int count = 0, device = 0;
  check(d.device_count(&count), "counting the GPUs");
  if (id < 0 || id >= count)
    fail(Mistake::no_gpu, "there is no device cuda({}): this machine has {} GPU{}", id, count,
         count == 1 ? "" : "s");
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

/// The GPUs in use, by number. They live as long as the process: arrays in static storage may need them to
/// the last.
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

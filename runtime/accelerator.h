// The interface of devices with separate memory.
#pragma once
#include "runtime/host_memory.h"
#include "runtime/memory_level.h"
#include "runtime/plan.h"

#include <kiln/device.h>
#include <kiln/memory.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>

namespace kiln {

class DeviceGraph;

/// The arguments of a kernel.
struct LaunchArguments {
  std::span<void* const> operands;  ///< addresses of the device; with scratch memory, which is the last
  std::span<const std::int64_t> params;
  std::int64_t extent;         ///< iterations of the outermost loop
  std::int64_t scratch_bytes;  ///< of an iteration; 0: the kernel takes none
  const Step& step;            ///< for errors
};

/// Takes kernels and copies of a device, in the order in which it is to do them.
class WorkQueue {
 public:
  virtual ~WorkQueue() = default;
  virtual void launch(const std::shared_ptr<void>& kernel, const LaunchArguments& arguments) = 0;
  virtual void copy(std::byte* to, const std::byte* from, std::size_t bytes) = 0;
};

/// A device with separate memory, which the host has addresses of but cannot read. All work runs in the order
/// of the calls, which return before it is done; download() returns after it. Throws kiln::Error for want of
/// memory, and for a failure on the device, of this work or of earlier work. Any thread may call it.
class Accelerator : public WorkQueue {
 public:
  /// Uninitialised memory, aligned to 256 bytes. Null for no bytes.
  virtual std::byte* allocate(std::size_t bytes, memory::Use use) = 0;
  /// `bytes` and `use` as in the allocation. Work that was enqueued may still use the memory.
  virtual void deallocate(std::byte* data, std::size_t bytes, memory::Use use) noexcept = 0;
  // As the functions of kiln/memory.h.
  virtual MemoryReport memory_report() const = 0;
  virtual void reset_peak_memory() = 0;
  virtual void release_pooled_memory() = 0;
  virtual void set_memory_limit(std::size_t bytes) = 0;

  /// `from` may be written again on return.
  virtual void upload(std::byte* to, const void* from, std::size_t bytes) = 0;
  /// Waits for earlier work, not for work that other threads add meanwhile.
  virtual void download(void* to, const std::byte* from, std::size_t bytes) = 0;
  /// Sets bytes to 0.
  virtual void clear(std::byte* data, std::size_t bytes) = 0;
  /// Waits for all work.
  virtual void wait() = 0;

  /// The kernel's code on the device.
  virtual std::shared_ptr<void> load(const PlannedKernel& kernel) = 0;
  /// An empty graph. Null if work has to be enqueued step by step, so that an error names its step.
  virtual std::unique_ptr<DeviceGraph> make_graph() = 0;

  /// A moment between earlier and later work.
  virtual std::shared_ptr<void> record_moment() = 0;
  /// The time between two moments, by the device's clock. Waits for the second.
  virtual double seconds_between(const std::shared_ptr<void>& from, const std::shared_ptr<void>& to) = 0;
};

/// Work that a device repeats: work added to it is not done at once, but in each run, with the addresses and
/// numbers given here. One thread at a time.
class DeviceGraph : public WorkQueue {
 public:
  /// Enqueues the work. Nothing is added after the first run.
  virtual void run() = 0;
};

/// GPU `id`. Throws kiln::Error if there is none, with the remedy.
Accelerator* gpu_accelerator(int id);
/// That of a device; null for the CPU.
inline Accelerator* accelerator_of(Device device) {
  return device.is_cpu() ? nullptr : gpu_accelerator(device.id);
}

// For HostMemory, an Accelerator, or a WorkQueue: no bytes are no work.
template <class Memory>
requires std::is_class_v<Memory>
void copy_bytes(Memory& memory, std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes > 0 && to != from) memory.copy(to, from, bytes);
}
template <class Memory>
requires std::is_class_v<Memory>
void clear_bytes(Memory& memory, std::byte* data, std::size_t bytes) {
  if (bytes > 0) memory.clear(data, bytes);
}
/// The element of a boolean array.
template <class Memory>
bool read_bool(Memory& memory, const std::byte* data) {
  std::byte value{};
  memory.download(&value, data, 1);
  return value != std::byte{0};
}

// The same for any device: null is the CPU.
inline void copy_bytes(WorkQueue* queue, std::byte* to, const std::byte* from, std::size_t bytes) {
  queue ? copy_bytes(*queue, to, from, bytes) : copy_bytes(host_memory, to, from, bytes);
}
inline void clear_bytes(Accelerator* accelerator, std::byte* data, std::size_t bytes) {
  accelerator ? clear_bytes(*accelerator, data, bytes) : clear_bytes(host_memory, data, bytes);
}
/// Copies bytes between devices. Waits for work on `from` unless both are one device.
void copy_across(Device to_device, std::byte* to, Device from_device, const std::byte* from,
                 std::size_t bytes);

}  // namespace kiln

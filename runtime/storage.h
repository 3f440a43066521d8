#pragma once
#include "runtime/reclaim.h"
#include "runtime/tensor_type.h"

#include <kiln/device.h>
#include <kiln/export.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace kiln {

/// Memory that holds the elements of an array: from the pool of a device, or the caller's own. Aligned to 64
/// bytes when it is Kiln's. Move-only; counts in the memory report while it lives (with the bytes asked for,
/// not those rounded up).
class KILN_API Buffer {
 public:
  Buffer() = default;
  /// `bytes` of uninitialised memory of `device`. Throws kiln::Error when there is none.
  explicit Buffer(std::size_t bytes, Device device = {});
  /// The same for an array, which the error names.
  explicit Buffer(const TensorType& type, Device device = {});
  /// The caller's memory; `release` runs when Kiln needs it no more (it may be empty). Not counted in the
  /// report.
  Buffer(void* data, std::size_t bytes, std::function<void()> release);
  Buffer(Buffer&& o) noexcept
      : data_(std::exchange(o.data_, nullptr)),
        bytes_(std::exchange(o.bytes_, 0)),
        device_(o.device_),
        release_(std::move(o.release_)) {}
  Buffer& operator=(Buffer&& o) noexcept;
  ~Buffer() {
    if (data_ != nullptr || release_ != nullptr) free();
  }

  std::byte* data() const { return data_; }  ///< an address of the device
  std::size_t bytes() const { return bytes_; }
  Device device() const { return device_; }
  bool foreign() const { return release_ != nullptr; }

 private:
  void free() noexcept;

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  Device device_;
  std::unique_ptr<std::function<void()>> release_;  // foreign memory only, and then never null
};

/// What all handles and views of one array share. `version` moves on every write through Kiln and on every
/// mutable pointer handed out; prepacked constants derived from the contents, and maybe from those of other
/// storages (packed weights, scale and shift of a BatchNorm), are kept beside them with the version they were
/// made from. None is kept for external memory, whose owner may write at any time. Thread rule: the
/// counter and the prepacked constants may be used from any thread; the elements as the user's program
/// orders.
///
/// The prepacked constants stand in one immutable list behind an atomic pointer. A call reads the list, and
/// the prepacked constants in it until the call ends, inside a ReadSection of Domain::prepacked, without a
/// lock. A new prepacked constant means a new list, which holds those of the old one that are not stale; the
/// old list is retired, and the prepacked constants that it alone holds are freed with it
/// (runtime/reclaim.h).
class KILN_API Storage {
 public:
  explicit Storage(Buffer buffer) : buffer_(std::move(buffer)) {}
  virtual ~Storage() {
    if (prepacked_.load(std::memory_order_relaxed) != nullptr) drop_prepacked();
  }
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  /// An address of the device, for kernels.
  std::byte* data() const { return buffer_.data(); }
  /// The elements, for code of the host: whatever reads or writes elements outside of kernels asks here.
  std::byte* host_data() const;
  Device device() const { return buffer_.device(); }
  std::size_t bytes() const { return buffer_.bytes(); }
  bool foreign() const { return buffer_.foreign(); }
  std::uint64_t version() const { return version_.load(std::memory_order_acquire); }
  void bump_version() { version_.fetch_add(1, std::memory_order_acq_rel); }
  /// For a storage whose memory is found later (deferred initialisation). No other thread may use it
  /// meanwhile.
  void reset(Buffer buffer) {
    buffer_ = std::move(buffer);
    bump_version();
  }

  /// A number that no other storage has or will have; never 0.
  std::uint64_t id();

  /// The prepacked constant called `key` (a hash of what it is), made by `make` if there is none from these
  /// `sources`: a hash of the ids and versions of the storages that it is made from, of which this is one,
  /// read before their contents are. One from other sources gives way to it, so that what is kept does not
  /// grow as storages come and go. `make` may run while others read the storages.
  std::shared_ptr<const Buffer> prepacked(std::uint64_t key, std::uint64_t sources,
                                          const std::function<Buffer()>& make);
  /// The same if it is there already, else null: what nearly every call finds. Good while the caller's
  /// section of Domain::prepacked lasts.
  const Buffer* find_prepacked(std::uint64_t key, std::uint64_t sources) const;

 private:
  struct PrepackedList;
  void drop_prepacked();

  Buffer buffer_;
  std::atomic<std::uint64_t> version_{1};
  std::atomic<std::uint64_t> id_{0};
  std::atomic<PrepackedList*> prepacked_{nullptr};
};

/// The prepacked constants of the process, on parameters and in calls.
struct PrepackedCount {
  std::uint64_t alive = 0, bytes = 0;
};
PrepackedCount count_prepacked();

}  // namespace kiln

// The memory of arrays and its prepacked constants.
#pragma once
#include "runtime/packing.h"
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

struct DebugLayout;  // frontend/tensor/debug_layout.cpp: the places of members, for debuggers

/// Memory for the elements of an array: from the pool of a device, or external memory of the caller. Kiln's
/// own is aligned to 64 bytes. Move-only; memory of the CPU is counted in the memory report during its
/// lifetime, with the requested size.
class KILN_API Buffer {
 public:
  Buffer() = default;
  /// `bytes` of uninitialised memory of `device`. Throws kiln::Error if there is none.
  explicit Buffer(std::size_t bytes, Device device = {});
  /// The same for an array; the error names its type.
  explicit Buffer(const TensorType& type, Device device = {});
  /// External memory of `device`; `release` (may be empty) runs when Kiln no longer needs it. Not counted in
  /// the report.
  Buffer(void* data, std::size_t bytes, std::function<void()> release, Device device = {});
  /// No memory: of an array that has a device and no elements.
  static Buffer none(Device device) {
    Buffer buffer;
    buffer.device_ = device;
    return buffer;
  }
  Buffer(Buffer&& o) noexcept
      : data_(std::exchange(o.data_, nullptr)),
        bytes_(std::exchange(o.bytes_, 0)),
        device_(o.device_),
        release_(std::move(o.release_)) {}
  Buffer& operator=(Buffer&& o) noexcept;
  /// Inlined: most are moved from, which the compiler sees.
  [[gnu::always_inline]] ~Buffer() {
    if (data_ != nullptr || release_ != nullptr) free();
  }

  std::byte* data() const { return data_; }  ///< an address of the device
  std::size_t bytes() const { return bytes_; }
  Device device() const { return device_; }
  bool external() const { return release_ != nullptr; }

  /// Frees Kiln's own memory. bytes() and device() stay.
  void drop();
  /// Allocates memory again after drop().
  void refill();

 private:
  friend struct DebugLayout;
  void free() noexcept;

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  Device device_;
  std::unique_ptr<std::function<void()>> release_;  // external memory only, and then never null
};

/// The state shared by all handles and views of one array. `version` is incremented by every write through
/// Kiln and by every mutable pointer handed out. Prepacked constants (packed weights, scale and shift of a
/// BatchNorm) are derived from the contents of one or several storages. They are kept here with the version
/// that they were made from. External memory has none, since its owner may write at any time. Thread rule:
/// the version and the prepacked constants may be used from any thread; the program synchronises the
/// elements.
///
/// The prepacked constants are in one immutable list, published by an atomic pointer. A call reads the list
/// without a lock inside a ReadSection of Domain::prepacked, and uses the constants in it until the call
/// ends. A new prepacked constant means a new list without the stale entries of the old one. The old list is
/// retired, and the constants that no other list holds are freed with it (runtime/reclaim.h).
///
/// The contents of a parameter may be released once a prepacked constant has all its elements
/// (allow_release()). A call of data() unpacks them, and they stay from then on: the address that it returns
/// is valid as always. A Reading returns contents for a while only.
class KILN_API Storage {
 public:
  explicit Storage(Buffer buffer) : buffer_(std::move(buffer)) {}
  virtual ~Storage() {
    if (prepacked_.load(std::memory_order_relaxed) != nullptr) drop_prepacked();
    if (release_.load(std::memory_order_relaxed) != nullptr) drop_release();
  }
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  /// An address of the device, for kernels. Valid until the buffer is replaced, or a call follows
  /// allow_release().
  std::byte* data() const {
    if (release_.load(std::memory_order_acquire) != nullptr) [[unlikely]]
      keep_contents();
    return buffer_.data();
  }
  /// The elements, for code on the host. All reads and writes of elements outside of kernels use it.
  std::byte* host_data() const;
  Device device() const { return buffer_.device(); }
  std::size_t bytes() const { return buffer_.bytes(); }
  bool external() const { return buffer_.external(); }
  std::uint64_t version() const { return version_.load(std::memory_order_acquire); }
  void bump_version() { version_.fetch_add(1, std::memory_order_acq_rel); }
  /// For a storage whose memory is allocated later (deferred initialisation). No other thread may use it
  /// meanwhile.
  void reset(Buffer buffer) {
    static_cast<void>(data());
    buffer_ = std::move(buffer);
    bump_version();
  }

  /// The memory, of a storage that is at its end.
  Buffer take_buffer() {
    static_cast<void>(data());
    return std::move(buffer_);
  }

  /// Whether an element of both is at one address.
  bool overlaps(const Storage& other) const;

  /// From now on a call that reads nothing but prepacked constants of the contents may release them, until
  /// somebody calls data(). Addresses that data() returned before end with such a call, and no other thread
  /// may use one meanwhile. No effect on external memory.
  void allow_release();
  /// Whether release() may release the contents.
  bool may_release() const {
    return release_.load(std::memory_order_acquire) != nullptr && contents_are(ContentsState::releasable);
  }
  /// Releases the contents if that is allowed, no Reading has them, and `packed` has each of their bits.
  void release(std::shared_ptr<const Buffer> packed, const Packing& packing);

  /// The contents during its lifetime, for reading. They are released again after the last Reading.
  class KILN_API Reading {
   public:
    explicit Reading(const Storage& storage);
    Reading(Reading&& o) noexcept : data_(o.data_), counted_(std::exchange(o.counted_, nullptr)) {}
    ~Reading();
    std::byte* data() const { return data_; }

   private:
    std::byte* data_;
    const Storage* counted_ = nullptr;  // null: they are not released meanwhile
  };

  /// A unique number, never reused and never 0.
  std::uint64_t id();

  /// The prepacked constant with this `key` (a hash of its definition). `sources` is a hash of the ids and
  /// versions of the storages that it is made from, this one included, read before their contents. `make`
  /// runs if there is none for these sources, possibly while other threads read the storages. Replaces an
  /// entry with the same key but other sources: the cache holds one entry per key.
  std::shared_ptr<const Buffer> prepacked(std::uint64_t key, std::uint64_t sources,
                                          const std::function<Buffer()>& make);
  /// The same if it exists, else null: the fast path. Valid during the caller's section of Domain::prepacked.
  const Buffer* find_prepacked(std::uint64_t key, std::uint64_t sources) const;

 private:
  friend struct DebugLayout;
  struct PrepackedList;
  void drop_prepacked();

  enum class ContentsState : std::uint8_t { kept, releasable, released };
  struct Release;
  bool contents_are(ContentsState state) const;
  void keep_contents() const;
  const std::byte* address() const;
  void unpack_contents(Release& release) const;
  void drop_release();

  mutable Buffer buffer_;
  std::atomic<std::uint64_t> version_{1};
  std::atomic<std::uint64_t> id_{0};
  std::atomic<PrepackedList*> prepacked_{nullptr};
  std::atomic<Release*> release_{nullptr};  // null until allow_release()
};

/// The number and bytes of prepacked constants in the process, on parameters and in calls.
struct PrepackedCount {
  std::uint64_t alive = 0, bytes = 0;
};
PrepackedCount count_prepacked();

}  // namespace kiln

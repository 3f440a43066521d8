#include "runtime/storage.h"

#include "runtime/fail.h"
#include "runtime/memory_pool.h"

#include <algorithm>

namespace kiln {

using memory::Use;

Buffer::Buffer(std::size_t bytes)
    : data_(static_cast<std::byte*>(memory::allocate(bytes, Use::array))), bytes_(bytes) {}

Buffer::Buffer(const TensorType& type) : bytes_(static_cast<std::size_t>(type.bytes())) {
  try {
    data_ = static_cast<std::byte*>(memory::allocate(bytes_, Use::array));
  } catch (const Error& e) {
    fail("{}: {}", type.str(), e.what());
  }
}

Buffer::Buffer(void* data, std::size_t bytes, std::function<void()> release)
    : data_(static_cast<std::byte*>(data)),
      bytes_(bytes),
      release_(std::make_unique<std::function<void()>>(std::move(release))) {}

Buffer& Buffer::operator=(Buffer&& o) noexcept {
  if (this == &o) return *this;
  if (data_ != nullptr || release_ != nullptr) free();
  data_ = std::exchange(o.data_, nullptr);
  bytes_ = std::exchange(o.bytes_, 0);
  release_ = std::move(o.release_);
  return *this;
}

void Buffer::free() noexcept {
  if (release_ != nullptr) {
    if (*release_) (*release_)();
    release_ = nullptr;
    return;
  }
  memory::deallocate(data_, bytes_, Use::array);
}

/// Given when first asked for: few storages have snapshots, and a counter that all threads share is slow.
std::uint64_t Storage::id() {
  static std::atomic<std::uint64_t> last{0};
  std::uint64_t id = id_.load(std::memory_order_relaxed);
  if (id != 0) return id;
  const std::uint64_t fresh = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return id_.compare_exchange_strong(id, fresh, std::memory_order_relaxed) ? fresh : id;
}

std::shared_ptr<const Buffer> Storage::find_snapshot(std::uint64_t key, std::uint64_t sources) {
  const std::lock_guard lock(snapshots_mutex_);
  for (const Snapshot& s : snapshots_)
    if (s.key == key && s.sources == sources) return s.buffer;
  return nullptr;
}

std::shared_ptr<const Buffer> Storage::snapshot(std::uint64_t key, std::uint64_t sources,
                                                const std::function<Buffer()>& make) {
  const std::uint64_t now = version();
  if (auto found = find_snapshot(key, sources)) return found;
  auto made = std::make_shared<const Buffer>(make());
  std::vector<Snapshot> stale;  // freed after the lock
  const std::lock_guard lock(snapshots_mutex_);
  if (version() != now) return made;  // from contents that others have left behind: for this call only
  for (const Snapshot& s : snapshots_)
    if (s.key == key && s.sources == sources) return s.buffer;
  const auto first_stale = std::partition(snapshots_.begin(), snapshots_.end(), [&](const Snapshot& s) {
    return s.version == now && s.key != key;
  });
  stale.assign(std::make_move_iterator(first_stale), std::make_move_iterator(snapshots_.end()));
  snapshots_.erase(first_stale, snapshots_.end());
  snapshots_.push_back({key, sources, now, made});
  return made;
}

}  // namespace kiln

#include "runtime/storage.h"

#include "runtime/fail.h"
#include "runtime/fork_gate.h"
#include "runtime/memory_pool.h"

#include <mutex>
#include <vector>

namespace kiln {

using memory::Use;

Buffer::Buffer(std::size_t bytes, Device device)
    : data_(static_cast<std::byte*>(memory::allocate(bytes, Use::array))), bytes_(bytes), device_(device) {}

Buffer::Buffer(const TensorType& type, Device device)
    : bytes_(static_cast<std::size_t>(type.bytes())), device_(device) {
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
  device_ = o.device_;
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

std::byte* Storage::host_data() const {
  if (device().kind != Device::Kind::cpu)
    fail_internal("elements of an array on {} are read on the host", device().str());
  return data();
}

/// Given when first asked for: few storages have snapshots, and a counter that all threads share is slow.
std::uint64_t Storage::id() {
  static std::atomic<std::uint64_t> last{0};
  std::uint64_t id = id_.load(std::memory_order_relaxed);
  if (id != 0) return id;
  const std::uint64_t fresh = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return id_.compare_exchange_strong(id, fresh, std::memory_order_relaxed) ? fresh : id;
}

namespace {

std::atomic<std::uint64_t> snapshots_alive{0}, snapshot_bytes{0};

std::shared_ptr<const Buffer> counted(Buffer buffer) {
  const auto release = [](const Buffer* b) {
    snapshots_alive.fetch_sub(1, std::memory_order_relaxed);
    snapshot_bytes.fetch_sub(b->bytes(), std::memory_order_relaxed);
    delete b;
  };
  auto* const kept = new Buffer(std::move(buffer));
  snapshots_alive.fetch_add(1, std::memory_order_relaxed);
  snapshot_bytes.fetch_add(kept->bytes(), std::memory_order_relaxed);
  return {kept, release};
}

/// Of all storages: it is held for as long as a list is copied, and never while a snapshot is made.
constinit Mutex publishing;

}  // namespace

SnapshotCount count_snapshots() {
  return {snapshots_alive.load(std::memory_order_relaxed), snapshot_bytes.load(std::memory_order_relaxed)};
}

struct Storage::SnapshotList final : Retirable {
  struct Snapshot {
    std::uint64_t key;
    std::uint64_t sources;
    std::uint64_t version;  // of the storage that keeps it
    std::shared_ptr<const Buffer> buffer;
  };
  std::vector<Snapshot> snapshots;

  const std::shared_ptr<const Buffer>* find(std::uint64_t key, std::uint64_t sources) const {
    for (const Snapshot& s : snapshots)
      if (s.key == key && s.sources == sources) return &s.buffer;
    return nullptr;
  }
};

void Storage::drop_snapshots() { delete snapshots_.load(std::memory_order_acquire); }

const Buffer* Storage::find_snapshot(std::uint64_t key, std::uint64_t sources) const {
  const SnapshotList* const list = snapshots_.load(std::memory_order_acquire);
  const auto* const found = list ? list->find(key, sources) : nullptr;
  return found ? found->get() : nullptr;
}

std::shared_ptr<const Buffer> Storage::snapshot(std::uint64_t key, std::uint64_t sources,
                                                const std::function<Buffer()>& make) {
  const std::uint64_t now = version();
  const auto find = [&](const SnapshotList* list) -> std::shared_ptr<const Buffer> {
    const auto* const found = list ? list->find(key, sources) : nullptr;
    return found ? *found : nullptr;
  };
  {
    const ReadSection<Domain::snapshots> section;
    if (auto found = find(snapshots_.load(std::memory_order_acquire))) return found;
  }
  const auto made = counted(make());
  auto list = std::make_unique<SnapshotList>();
  std::unique_ptr<Retirable> replaced;
  {
    const std::lock_guard lock(publishing);
    if (version() != now) return made;  // from contents that others have left behind: for this call only
    SnapshotList* const old = snapshots_.load(std::memory_order_relaxed);
    if (auto found = find(old)) return found;
    if (old)
      for (const SnapshotList::Snapshot& s : old->snapshots)
        if (s.version == now && s.key != key) list->snapshots.push_back(s);
    list->snapshots.push_back({key, sources, now, made});
    snapshots_.store(list.release(), std::memory_order_release);
    replaced.reset(old);
  }
  retire(Domain::snapshots, std::move(replaced));
  return made;
}

}  // namespace kiln

// Allocation, external memory, and the release of packed parameters.
#include "runtime/storage.h"

#include "runtime/accelerator.h"
#include "runtime/fail.h"
#include "runtime/fork_gate.h"
#include "runtime/memory_pool.h"

#include <mutex>
#include <vector>

namespace kiln {

using memory::Use;

namespace {

std::byte* allocate(std::size_t bytes, Device device) {
  if (Accelerator* const accelerator = accelerator_of(device))
    return accelerator->allocate(bytes, Use::array);
  return static_cast<std::byte*>(memory::allocate(bytes, Use::array));
}

}  // namespace

Buffer::Buffer(std::size_t bytes, Device device)
    : data_(allocate(bytes, device)), bytes_(bytes), device_(device) {}

Buffer::Buffer(const TensorType& type, Device device)
    : bytes_(static_cast<std::size_t>(type.bytes())), device_(device) {
  try {
    data_ = allocate(bytes_, device);
  } catch (const Error& e) {
    fail("{}: {}", type.str(), e.what());
  }
}

Buffer::Buffer(void* data, std::size_t bytes, std::function<void()> release, Device device)
    : data_(static_cast<std::byte*>(data)),
      bytes_(bytes),
      device_(device),
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
  if (Accelerator* const accelerator = accelerator_of(device_))
    return accelerator->deallocate(data_, bytes_, Use::array);
  memory::deallocate(data_, bytes_, Use::array);
}

void Buffer::drop() {
  free();
  data_ = nullptr;
}

void Buffer::refill() { data_ = allocate(bytes_, device_); }

std::byte* Storage::host_data() const {
  if (!device().is_cpu()) fail_internal("elements of an array on {} are read on the host", device().str());
  return data();
}

/// Assigned on first use: few storages have prepacked constants, and a counter shared by all threads is slow.
std::uint64_t Storage::id() {
  static std::atomic<std::uint64_t> last{0};
  std::uint64_t id = id_.load(std::memory_order_relaxed);
  if (id != 0) return id;
  const std::uint64_t fresh = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return id_.compare_exchange_strong(id, fresh, std::memory_order_relaxed) ? fresh : id;
}

namespace {

std::atomic<std::uint64_t> prepacked_alive{0}, prepacked_bytes{0};

std::shared_ptr<const Buffer> counted(Buffer buffer) {
  const auto release = [](const Buffer* b) {
    prepacked_alive.fetch_sub(1, std::memory_order_relaxed);
    prepacked_bytes.fetch_sub(b->bytes(), std::memory_order_relaxed);
    delete b;
  };
  auto* const kept = new Buffer(std::move(buffer));
  prepacked_alive.fetch_add(1, std::memory_order_relaxed);
  prepacked_bytes.fetch_add(kept->bytes(), std::memory_order_relaxed);
  return {kept, release};
}

/// One mutex for all storages: held only while a list is copied, never while a prepacked constant is made.
constinit Mutex publishing;

}  // namespace

PrepackedCount count_prepacked() {
  return {prepacked_alive.load(std::memory_order_relaxed), prepacked_bytes.load(std::memory_order_relaxed)};
}

struct Storage::PrepackedList final : Retirable {
  struct Entry {
    std::uint64_t key;
    std::uint64_t sources;
    std::uint64_t version;  // of the storage that keeps it
    std::shared_ptr<const Buffer> buffer;
  };
  std::vector<Entry> prepacked;

  const std::shared_ptr<const Buffer>* find(std::uint64_t key, std::uint64_t sources) const {
    for (const Entry& s : prepacked)
      if (s.key == key && s.sources == sources) return &s.buffer;
    return nullptr;
  }
};

void Storage::drop_prepacked() { delete prepacked_.load(std::memory_order_acquire); }

const Buffer* Storage::find_prepacked(std::uint64_t key, std::uint64_t sources) const {
  const PrepackedList* const list = prepacked_.load(std::memory_order_acquire);
  const auto* const found = list ? list->find(key, sources) : nullptr;
  return found ? found->get() : nullptr;
}

std::shared_ptr<const Buffer> Storage::prepacked(std::uint64_t key, std::uint64_t sources,
                                                 const std::function<Buffer()>& make) {
  const std::uint64_t now = version();
  const auto find = [&](const PrepackedList* list) -> std::shared_ptr<const Buffer> {
    const auto* const found = list ? list->find(key, sources) : nullptr;
    return found ? *found : nullptr;
  };
  {
    const ReadSection<Domain::prepacked> section;
    if (auto found = find(prepacked_.load(std::memory_order_acquire))) return found;
  }
  const auto made = counted(make());
  auto list = std::make_unique<PrepackedList>();
  std::unique_ptr<Retirable> replaced;
  {
    const std::lock_guard lock(publishing);
    if (version() != now) return made;  // the contents have changed since: valid for this call only
    PrepackedList* const old = prepacked_.load(std::memory_order_relaxed);
    if (auto found = find(old)) return found;
    if (old)
      for (const PrepackedList::Entry& s : old->prepacked)
        if (s.version == now && s.key != key) list->prepacked.push_back(s);
    list->prepacked.push_back({key, sources, now, made});
    prepacked_.store(list.release(), std::memory_order_release);
    replaced.reset(old);
  }
  retire(Domain::prepacked, std::move(replaced));
  return made;
}

}  // namespace kiln

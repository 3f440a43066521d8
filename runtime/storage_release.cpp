// The contents of a storage that a prepacked constant has, too.
#include "runtime/accelerator.h"
#include "runtime/fork_gate.h"
#include "runtime/storage.h"

#include <functional>
#include <mutex>

namespace kiln {

/// A thread that finds `state` kept without the mutex uses the buffer; in other states it is used under the
/// mutex, or while `readings` counts it.
struct Storage::Release {
  Mutex mutex;
  std::atomic<ContentsState> state{ContentsState::kept};
  int readings = 0;
  // The elements of contents that are released, or that a Reading has unpacked; else null.
  std::shared_ptr<const Buffer> packed;
  Packing packing;
};

namespace {

/// Calls `use` with an address on the host of the bytes at `data`.
template <class Use>
auto on_host(Accelerator* accelerator, const std::byte* data, std::size_t bytes, const Use& use) {
  if (!accelerator) return use(data);
  const Buffer copy(bytes);
  accelerator->download(copy.data(), data, bytes);
  return use(static_cast<const std::byte*>(copy.data()));
}

}  // namespace

bool Storage::contents_are(ContentsState state) const {
  return release_.load(std::memory_order_acquire)->state.load(std::memory_order_acquire) == state;
}

void Storage::drop_release() { delete release_.load(std::memory_order_acquire); }

void Storage::unpack_contents(Release& r) const {
  buffer_.refill();
  Accelerator* const accelerator = accelerator_of(device());
  try {
    on_host(accelerator, r.packed->data(), r.packed->bytes(), [&](const std::byte* packed) {
      if (!accelerator) return unpack(r.packing, packed, buffer_.data());
      const Buffer contents(bytes());
      unpack(r.packing, packed, contents.data());
      accelerator->upload(buffer_.data(), contents.data(), bytes());
    });
  } catch (...) {
    buffer_.drop();
    throw;
  }
}

void Storage::keep_contents() const {
  if (contents_are(ContentsState::kept)) return;
  Release& r = *release_.load(std::memory_order_acquire);
  const std::lock_guard lock(r.mutex);
  if (r.state == ContentsState::released) unpack_contents(r);
  r.packed.reset();
  r.state.store(ContentsState::kept, std::memory_order_release);
}

void Storage::allow_release() {
  if (external() || bytes() == 0) return;
  Release* r = release_.load(std::memory_order_acquire);
  if (r == nullptr) {
    auto made = std::make_unique<Release>();
    if (release_.compare_exchange_strong(r, made.get(), std::memory_order_acq_rel)) r = made.release();
  }
  const std::lock_guard lock(r->mutex);
  if (r->state == ContentsState::kept) r->state.store(ContentsState::releasable, std::memory_order_release);
}

/// Compares bits first: contents that another thread has written since the prepacked constant was made, or
/// that it does not have, are kept.
void Storage::release(std::shared_ptr<const Buffer> packed, const Packing& packing) {
  Release* const r = release_.load(std::memory_order_acquire);
  if (r == nullptr) return;
  const std::lock_guard lock(r->mutex);
  if (r->state != ContentsState::releasable || r->readings > 0) return;
  Accelerator* const accelerator = accelerator_of(device());
  const bool same = on_host(accelerator, packed->data(), packed->bytes(), [&](const std::byte* from) {
    return on_host(accelerator, buffer_.data(), bytes(),
                   [&](const std::byte* contents) { return unpacks_to(packing, from, contents); });
  });
  if (!same) return r->state.store(ContentsState::kept, std::memory_order_release);
  r->packed = std::move(packed);
  r->packing = packing;
  r->state.store(ContentsState::released, std::memory_order_release);
  buffer_.drop();
}

Storage::Reading::Reading(const Storage& storage) {
  if (Release* const r = storage.release_.load(std::memory_order_acquire);
      r != nullptr && !storage.contents_are(ContentsState::kept)) {
    const std::lock_guard lock(r->mutex);
    if (r->state == ContentsState::released) {
      storage.unpack_contents(*r);
      r->state.store(ContentsState::releasable, std::memory_order_release);
    }
    if (r->state == ContentsState::releasable) {
      counted_ = &storage;
      ++r->readings;
    }
  }
  data_ = storage.buffer_.data();
}

Storage::Reading::~Reading() {
  if (counted_ == nullptr) return;
  Release& r = *counted_->release_.load(std::memory_order_acquire);
  const std::lock_guard lock(r.mutex);
  if (--r.readings > 0 || r.packed == nullptr) return;
  r.state.store(ContentsState::released, std::memory_order_release);
  counted_->buffer_.drop();
}

/// Null if the contents are released.
const std::byte* Storage::address() const {
  Release* const r = release_.load(std::memory_order_acquire);
  if (r == nullptr) return buffer_.data();
  const std::lock_guard lock(r->mutex);
  return buffer_.data();
}

bool Storage::overlaps(const Storage& other) const {
  if (this == &other) return bytes() > 0;
  const std::less<const std::byte*> before;
  const std::byte *const a = address(), *const b = other.address();
  return a != nullptr && b != nullptr && before(a, b + other.bytes()) && before(b, a + bytes());
}

}  // namespace kiln

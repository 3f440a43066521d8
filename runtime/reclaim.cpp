// The slots of threads, and the objects that wait for their sections.
#include "runtime/reclaim.h"

#include "runtime/fork_gate.h"

#include <algorithm>
#include <linux/membarrier.h>
#include <mutex>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace kiln {
namespace reclaim {
namespace {

/// The slots of all threads, of the past too. They are never freed: a thread that ends leaves its slots to a
/// later one.
constinit std::atomic<ReaderSlots*> all_slots{nullptr};

bool membarrier(int command) noexcept { return ::syscall(SYS_membarrier, command, 0, 0) == 0; }

struct SlotsOwner {
  ReaderSlots* slots;
  ~SlotsOwner() {
    // Later destructors of this thread that open a section take other slots, which are never reused.
    slots_of_thread = nullptr;
    slots->taken.store(false, std::memory_order_release);
  }
};

/// Retired objects that an open section may still read. An object is freed once no open section began before
/// the epoch of its retirement.
struct Waiting {
  Mutex mutex;
  Retirable* first = nullptr;
};
constinit Waiting waiting[domain_count];

/// The epoch in which the oldest open section began; the maximum if none is open.
std::uint64_t oldest_section(Domain domain) noexcept {
  std::uint64_t oldest = ~std::uint64_t{0};
  for (const ReaderSlots* s = all_slots.load(std::memory_order_acquire); s != nullptr; s = s->next)
    if (const auto entered = s->entered[static_cast<std::size_t>(domain)].load(std::memory_order_acquire))
      oldest = std::min(oldest, entered);
  return oldest;
}

}  // namespace

constinit std::atomic<std::uint64_t> epochs[domain_count] = {1, 1};
constinit thread_local ReaderSlots* slots_of_thread = nullptr;
// Sections that run before this initialisation use full barriers, which are correct in both cases.
bool readers_need_no_barrier = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);

ReaderSlots* take_slots() {
  ReaderSlots* slots = all_slots.load(std::memory_order_acquire);
  while (slots != nullptr && slots->taken.exchange(true, std::memory_order_acquire)) slots = slots->next;
  if (slots == nullptr) {
    slots = new ReaderSlots;
    slots->next = all_slots.load(std::memory_order_relaxed);
    while (!all_slots.compare_exchange_weak(slots->next, slots, std::memory_order_release)) {
    }
  }
  slots_of_thread = slots;
  static thread_local SlotsOwner owner{slots};
  return slots;
}

void free_retired(Domain domain) noexcept {
  Waiting& w = waiting[static_cast<std::size_t>(domain)];
  Retirable* free = nullptr;
  {
    const std::lock_guard lock(w.mutex);
    const std::uint64_t oldest = oldest_section(domain);
    for (Retirable** at = &w.first; *at != nullptr;) {
      Retirable* const object = *at;
      if (object->retired_in > oldest) {
        at = &object->next_retired;
        continue;
      }
      *at = object->next_retired;
      object->next_retired = std::exchange(free, object);
    }
  }
  while (free != nullptr) delete std::exchange(free, free->next_retired);  // destructors may call anything
}

}  // namespace reclaim

void retire(Domain domain, std::unique_ptr<Retirable> object) noexcept {
  if (!object) return;
  // A section that begins in this epoch or later cannot read the object, which was replaced before.
  object->retired_in = reclaim::epochs[static_cast<std::size_t>(domain)].fetch_add(1) + 1;
  // After the barrier, each open section's announcement is visible, or its loads see the new object. A
  // section that closes afterwards does so visibly, or sees the new epoch.
  if (reclaim::readers_need_no_barrier && !reclaim::membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) {
    object.release();  // a sandbox blocks the system call: readers are unknown, so the object leaks
    return;
  }
  {
    reclaim::Waiting& w = reclaim::waiting[static_cast<std::size_t>(domain)];
    const std::lock_guard lock(w.mutex);
    object->next_retired = std::exchange(w.first, object.get());
    object.release();
  }
  reclaim::free_retired(domain);
}

void forget_readers() {
  for (reclaim::ReaderSlots* s = reclaim::all_slots.load(); s != nullptr; s = s->next) {
    if (s == reclaim::slots_of_thread) continue;
    for (auto& entered : s->entered) entered.store(0);
    s->taken.store(false);
  }
}

}  // namespace kiln

// Epoch-based reclamation of shared lists.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

/// Epoch-based reclamation (Fraser, "Practical lock-freedom", 2004): a call reads a published, immutable
/// object without a lock and without a shared reference count, while another thread replaces it. The reader
/// loads the pointer inside a ReadSection. The replacing thread publishes the new object, then retires the
/// old one, which is freed when every section that was open at that moment is closed.
///
/// A thread announces a section by a store to a slot that no other thread writes, so that readers never
/// contend. The announcement must be visible before the section's first load; retire() forces that by
/// membarrier(2), a barrier on all threads of the process, so that the reader itself needs none.
namespace kiln {

/// A section delays the reclamation of objects of one domain only. A call is in a section of the recordings
/// until it ends; if it makes prepacked constants meanwhile, the replaced ones are freed at once.
enum class Domain : std::uint8_t { recordings, prepacked };
inline constexpr std::size_t domain_count = 2;

namespace reclaim {

/// The announcements of one thread: per domain, the epoch in which its outermost open section began, else 0.
struct alignas(64) ReaderSlots {
  std::atomic<std::uint64_t> entered[domain_count] = {};
  std::atomic<bool> taken{true};
  ReaderSlots* next = nullptr;
};

/// Per domain; each retirement increments it.
extern std::atomic<std::uint64_t> epochs[domain_count];
/// Null until the thread's first section.
extern constinit thread_local ReaderSlots* slots_of_thread;
/// Whether retire() has membarrier(2); if not, an announcement includes a full barrier.
extern bool readers_need_no_barrier;

ReaderSlots* take_slots();
void free_retired(Domain domain) noexcept;

inline void announce(std::atomic<std::uint64_t>& slot, std::uint64_t epoch) noexcept {
  if (readers_need_no_barrier) [[likely]] {
    slot.store(epoch, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // orders the compiler; membarrier orders the core
  } else {
    slot.exchange(epoch, std::memory_order_seq_cst);
  }
}

}  // namespace reclaim

/// During its lifetime, published objects of the domain that this thread reads stay alive. Sections nest;
/// only the outermost counts. Retired objects wait for it, so it should not be longer than a call.
template <Domain domain>
class ReadSection {
 public:
  ReadSection() {
    reclaim::ReaderSlots* slots = reclaim::slots_of_thread;
    if (slots == nullptr) [[unlikely]]
      slots = reclaim::take_slots();
    auto& slot = slots->entered[number];
    if (slot.load(std::memory_order_relaxed) != 0) [[unlikely]]
      return;
    slot_ = &slot;
    entered_ = reclaim::epochs[number].load(std::memory_order_acquire);
    reclaim::announce(slot, entered_);
  }
  ~ReadSection() { leave(); }
  ReadSection(const ReadSection&) = delete;
  ReadSection& operator=(const ReadSection&) = delete;

  /// Closes the section early.
  void leave() noexcept {
    if (slot_ == nullptr) [[unlikely]]
      return;
    reclaim::announce(*std::exchange(slot_, nullptr), 0);
    // Objects retired during this section may have waited for it alone.
    if (reclaim::epochs[number].load(std::memory_order_relaxed) != entered_) [[unlikely]]
      reclaim::free_retired(domain);
  }

 private:
  static constexpr auto number = static_cast<std::size_t>(domain);
  std::atomic<std::uint64_t>* slot_ = nullptr;  // null: closed, or inside another section
  std::uint64_t entered_ = 0;
};

/// An object that readers find by a published pointer. Contains its link in the list of retired objects, so
/// that retiring allocates nothing and cannot fail.
struct Retirable {
  Retirable() = default;
  virtual ~Retirable() = default;
  Retirable(const Retirable&) = delete;
  Retirable& operator=(const Retirable&) = delete;

  Retirable* next_retired = nullptr;
  std::uint64_t retired_in = 0;  ///< the epoch that began with its retirement
};

/// Frees the object when every section of `domain` that is open now is closed: at once if there is none, else
/// on the thread that closes the last one. The object must be unreachable for new sections. Call it without
/// locks, since the object's destructor may run.
void retire(Domain domain, std::unique_ptr<Retirable> object) noexcept;

/// In the child of a fork(): closes the sections of threads that do not exist there.
void forget_readers();

}  // namespace kiln

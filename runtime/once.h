// Values made at the first use, without a lock.
#pragma once
#include "runtime/fork_gate.h"

#include <atomic>

namespace kiln {

/// The value of `make()`, made at the first call and never destroyed. A static variable within a function
/// would be initialised under a lock of the C++ runtime. A child of fork() would find that lock held for ever
/// if another thread was inside. Here is no lock. Threads that make the value at the same time each make one,
/// and one of these is kept: `make` must give equal values. If it throws, the next call tries again.
template <auto make>
auto& once() {
  using T = decltype(make());
  static constinit std::atomic<T*> kept{nullptr};
  if (T* made = kept.load(std::memory_order_acquire)) return *made;
  const ForkGuard guard;  // `make` may initialise static variables
  T* made = new T(make());
  T* first = nullptr;
  if (kept.compare_exchange_strong(first, made, std::memory_order_acq_rel, std::memory_order_acquire))
    return *made;
  delete made;
  return *first;
}

}  // namespace kiln

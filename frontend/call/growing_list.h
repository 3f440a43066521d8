// Lists that only grow, read without a lock.
#pragma once
#include "runtime/fork_gate.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

namespace kiln::detail {

/// A short list that only grows. Its elements stay where they are for its lifetime, and a look-up takes no
/// lock. Any thread may use it.
template <class T>
class GrowingList {
 public:
  GrowingList() = default;
  GrowingList(const GrowingList&) = delete;
  ~GrowingList() {
    for (const Node* n = first_.load(std::memory_order_acquire); n != nullptr;)
      delete std::exchange(n, n->next);
  }

  /// The first element for which `is` holds, else a new one made by `make`.
  template <class Is, class Make>
  const T& find_or_make(Is is, Make make) {
    if (const T* known = find(is)) return *known;
    const std::lock_guard lock(mutex_);
    if (const T* known = find(is)) return *known;
    auto node = std::make_unique<Node>(make(), first_.load(std::memory_order_relaxed));
    first_.store(node.get(), std::memory_order_release);
    return node.release()->value;
  }

 private:
  struct Node {
    Node(T v, const Node* n) : value(std::move(v)), next(n) {}
    T value;
    const Node* next;
  };
  template <class Is>
  const T* find(Is is) const {
    for (const Node* n = first_.load(std::memory_order_acquire); n != nullptr; n = n->next)
      if (is(n->value)) return &n->value;
    return nullptr;
  }

  std::atomic<const Node*> first_{nullptr};
  Mutex mutex_;
};

}  // namespace kiln::detail

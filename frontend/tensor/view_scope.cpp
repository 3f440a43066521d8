// The numbers of scopes, calls and separate values of a thread.
#include "frontend/tensor/view_scope.h"

#include "frontend/tensor/array.h"
#include "runtime/fork_gate.h"

#include <mutex>
#include <unordered_set>
#include <utility>

namespace kiln::detail {
namespace {

// A number has its thread's in the upper bits, so that threads cannot meet each other's values.
constexpr int thread_bits = 40;

/// The threads that have numbers.
struct Threads {
  Mutex mutex;
  std::uint64_t last = 0;
  std::unordered_set<std::uint64_t> running;
};
Threads& threads() {
  static Threads& all = *new Threads;  // threads may end after static objects
  return all;
}

/// Trivial, so that an access is cheap and allowed while the thread ends.
struct Numbers {
  std::uint64_t of_thread = 0, last = 0;  // 0: begin() has not run
  std::uint32_t last_alias = 0;
  const ViewScope* innermost = nullptr;

  [[gnu::noinline]] void begin() {
    struct OfThread {
      std::uint64_t number;
      OfThread() {
        Threads& all = threads();
        const std::lock_guard lock(all.mutex);
        number = *all.running.insert(++all.last).first;
      }
      ~OfThread() {
        Threads& all = threads();
        const std::lock_guard lock(all.mutex);
        all.running.erase(number);
      }
    };
    static thread_local const OfThread own;
    of_thread = last = own.number << thread_bits;
  }
};
constinit thread_local Numbers of_this_thread;

Numbers& numbers() {
  Numbers& n = of_this_thread;
  if (n.of_thread == 0) [[unlikely]]
    n.begin();
  return n;
}

}  // namespace

ViewScope::ViewScope() : ViewScope(next_call()) { call_ = outer_ ? outer_->call_ : numbers().of_thread; }

ViewScope::NextCall ViewScope::next_call() {
  Numbers& n = numbers();
  return {n.innermost ? n.innermost->call_ : n.of_thread, ++n.last, n.innermost};
}
std::uint64_t ViewScope::current() {
  const Numbers& n = numbers();
  return n.innermost ? n.innermost->number_ : n.of_thread;
}
bool ViewScope::is_open() { return of_this_thread.innermost != nullptr; }
std::uint64_t ViewScope::call() {
  const Numbers& n = numbers();
  return n.innermost ? n.innermost->call_ : n.of_thread;
}

bool ViewScope::has_ended(std::uint64_t number) {
  const Numbers& n = numbers();
  if (number >> thread_bits != n.of_thread >> thread_bits) {
    Threads& all = threads();
    const std::lock_guard lock(all.mutex);
    return !all.running.contains(number >> thread_bits);
  }
  if (number == n.of_thread) return false;
  // A call's number is taken before its scope opens.
  if (number == n.last) return false;
  for (const ViewScope* s = n.innermost; s; s = s->outer_)
    if (s->number_ == number) return false;
  return true;
}

ViewKey::ViewKey(const Tensor& t)
    : offset(TensorAccess::offset(t)),
      shape(TensorAccess::shape(t)),
      alias(TensorAccess::alias(t)),
      scope(ViewScope::current()) {}

ViewKey::ViewKey(const Tensor& t, std::uint64_t call) : ViewKey(t) {
  scope = call;
  own_ = true;
}

bool ViewKey::is_read_by(const Tensor& t) const {
  return offset == TensorAccess::offset(t) && alias == TensorAccess::alias(t) &&
         scope == (own_ ? ViewScope::call() : ViewScope::current()) && shape == TensorAccess::shape(t);
}

ViewKey written_key(const Tensor& view) {
  return TensorAccess::alias(view) ? ViewKey(view, ViewScope::call()) : ViewKey(view);
}

Tensor with_alias(const Tensor& t) {
  Tensor own = t;
  // 0 marks a handle that is no separate value.
  Numbers& n = numbers();
  if (++n.last_alias == 0) ++n.last_alias;
  TensorAccess::set_alias(own, n.last_alias);
  return own;
}

}  // namespace kiln::detail

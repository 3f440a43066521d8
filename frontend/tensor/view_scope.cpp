#include "frontend/tensor/view_scope.h"

#include "frontend/tensor/array.h"

#include <atomic>
#include <utility>

namespace kiln::detail {
namespace {

// A number has its thread's in the upper bits, so that threads cannot meet each other's values.
constexpr int thread_bits = 40;

struct Numbers {
  static std::uint64_t next_thread() {
    static std::atomic<std::uint64_t> next{1};
    return next.fetch_add(1, std::memory_order_relaxed);
  }
  const std::uint64_t of_thread = next_thread() << thread_bits;
  std::uint64_t last = of_thread;
  std::uint32_t last_alias = 0;
  const ViewScope* innermost = nullptr;
};
thread_local Numbers numbers;

}  // namespace

ViewScope::ViewScope() : number_(next()), call_(call()), outer_(std::exchange(numbers.innermost, this)) {}
ViewScope::ViewScope(std::uint64_t number)
    : number_(number), call_(number), outer_(std::exchange(numbers.innermost, this)) {}
ViewScope::~ViewScope() { numbers.innermost = outer_; }

std::uint64_t ViewScope::next() { return ++numbers.last; }
std::uint64_t ViewScope::current() {
  return numbers.innermost ? numbers.innermost->number_ : numbers.of_thread;
}
std::uint64_t ViewScope::call() { return numbers.innermost ? numbers.innermost->call_ : numbers.of_thread; }

bool ViewScope::has_ended(std::uint64_t number) {
  const Numbers& n = numbers;
  if (number >> thread_bits != n.of_thread >> thread_bits || number == n.of_thread) return false;
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
  // 0 is that of a handle without a value of its own.
  if (++numbers.last_alias == 0) ++numbers.last_alias;
  TensorAccess::set_alias(own, numbers.last_alias);
  return own;
}

}  // namespace kiln::detail

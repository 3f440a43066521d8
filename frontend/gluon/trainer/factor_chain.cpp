// Rates after any number of rounded multiplications.
#include "frontend/gluon/trainer/factor_chain.h"

#include <algorithm>
#include <mutex>

namespace kiln::lr_scheduler::detail {
namespace {

constexpr std::size_t max_marks = 1024;

}  // namespace

FactorChain::FactorChain(double first, double factor, double floor)
    : factor_(factor), floor_(floor), marks_{first}, last_{0, first} {}

FactorChain::Place FactorChain::before(std::int64_t count) const {
  const auto i = std::min<std::int64_t>(count / stride_, std::ssize(marks_) - 1);
  const Place marked{i * stride_, marks_[static_cast<std::size_t>(i)]};
  return last_.count <= count && last_.count > marked.count ? last_ : marked;
}

void FactorChain::mark(const Place& place) {
  if (place.count != std::ssize(marks_) * stride_) return;
  marks_.push_back(place.rate);
  if (marks_.size() < max_marks) return;
  for (std::size_t i = 0; 2 * i < marks_.size(); ++i) marks_[i] = marks_[2 * i];
  marks_.resize((marks_.size() + 1) / 2);
  stride_ *= 2;
}

double FactorChain::after(std::int64_t count) {
  const std::lock_guard lock(mutex_);
  Place at = before(std::max<std::int64_t>(count, 0));
  while (at.count < count) {
    const double next = std::max(at.rate * factor_, floor_);
    if (next == at.rate) break;  // it moves no further
    at = {at.count + 1, next};
    mark(at);
  }
  last_ = at;
  return at.rate;
}

}  // namespace kiln::lr_scheduler::detail

// Rates after any number of rounded multiplications by a factor.
#pragma once
#include "runtime/fork_gate.h"

#include <cstdint>
#include <vector>

namespace kiln::lr_scheduler::detail {

/// A rate after a number of multiplications by a factor, each rounded as MXNet's, which multiplies the
/// preceding update's rate. Rounded products have no closed form: computed rates are kept, so that the next
/// update costs one multiplication, whatever its number, and an earlier one a few. Any thread.
class FactorChain {
 public:
  /// The rate does not fall below `floor`.
  FactorChain(double first, double factor, double floor);
  double after(std::int64_t count);

 private:
  struct Place {
    std::int64_t count;
    double rate;
  };
  /// The last known place at or before `count`.
  Place before(std::int64_t count) const;
  void mark(const Place& place);

  const double factor_, floor_;
  Mutex mutex_;
  /// The rates after 0, stride_, 2 * stride_, ... multiplications. When there are too many, every second one
  /// goes.
  std::vector<double> marks_;
  std::int64_t stride_ = 1;
  Place last_;  ///< of the last call
};

}  // namespace kiln::lr_scheduler::detail

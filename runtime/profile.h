// The measurements of a Profile.
#pragma once
#include "runtime/plan.h"

#include <kiln/profile.h>

#include <atomic>
#include <unordered_map>
#include <utility>
#include <vector>

namespace kiln {

/// The measurements of a Profile.
struct Profile::Record {
  static constexpr std::size_t max_samples = 4096;  // of a kernel
  struct Measured {
    Kernel kernel;
    std::vector<double> seconds;  ///< of the latest runs; the next one replaces number runs % max_samples
  };
  std::unordered_map<const Step*, Measured> kernels;
  Record* outer = nullptr;

  void add(const Step& step, double seconds, const std::string& schedule);
  /// The innermost record of the calling thread, or null.
  static Record*& current();
  /// The same on the hot path of a call: one load if the process has no Profile.
  static Record* active() { return alive.load(std::memory_order_relaxed) == 0 ? nullptr : current(); }
  static inline std::atomic<int> alive{0};

  /// During its lifetime nothing is measured on this thread: the time of a loop includes its body.
  class Suspended {
   public:
    Suspended() = default;
    Suspended(const Suspended&) = delete;
    ~Suspended() { current() = outer_; }

   private:
    Record* outer_ = std::exchange(current(), nullptr);
  };
};

}  // namespace kiln

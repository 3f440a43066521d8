#pragma once
#include "runtime/plan.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <mutex>
#include <string>

namespace kiln::nvidia {

/// The kernels that a GPU was given since the program last waited for it, the last of them: an error may be
/// of any of these. Any thread.
class InFlight {
 public:
  void add(const Step& step) {
    const std::lock_guard lock(mutex_);
    Kernel& k = last_[count_++ % last_.size()];
    k.name = step.name;
    k.line = step.locations.empty() ? std::string() : step.locations.front();
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    count_ = 0;
  }
  /// "dense0_fwd (net.cpp:12), relu0 (net.cpp:13)", the last one first, or nothing.
  std::string str() const {
    const std::lock_guard lock(mutex_);
    std::string text;
    for (std::size_t i = 0; i < std::min(count_, last_.size()); ++i) {
      const Kernel& k = last_[(count_ - 1 - i) % last_.size()];
      text += (i == 0 ? "" : ", ") + k.name + (k.line.empty() ? "" : " (" + k.line + ")");
    }
    return count_ > last_.size() ? text + ", and earlier ones" : text;
  }

 private:
  struct Kernel {
    std::string name, line;
  };
  mutable std::mutex mutex_;
  std::array<Kernel, 8> last_;
  std::size_t count_ = 0;
};

}  // namespace kiln::nvidia

// The kernels that an error of a GPU may be of.
#pragma once
#include "runtime/fork_gate.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace kiln::nvidia {

/// The kernels that a GPU was given and that nobody has waited for yet, the last of them: an error may be of
/// any of these. Any thread.
class InFlight {
 public:
  /// `line` may be empty. After the launch: a place in the work that is taken meanwhile does not have it.
  void add(std::string_view name, std::string_view line) {
    const std::lock_guard lock(mutex_);
    Kernel& k = last_[count_++ % last_.size()];
    k.name = name;
    k.line = line;
  }
  /// How many were added so far.
  std::size_t count() const {
    const std::lock_guard lock(mutex_);
    return count_;
  }
  /// The first `count` are done.
  void done(std::size_t count) {
    const std::lock_guard lock(mutex_);
    done_ = std::max(done_, count);
  }
  /// "dense0_fwd (net.cpp:12), relu0 (net.cpp:13)", the last one first, or nothing.
  std::string str() const {
    const std::lock_guard lock(mutex_);
    const std::size_t running = count_ - done_;
    std::string text;
    for (std::size_t i = 0; i < std::min(running, last_.size()); ++i) {
      const Kernel& k = last_[(count_ - 1 - i) % last_.size()];
      text += (i == 0 ? "" : ", ") + k.name + (k.line.empty() ? "" : " (" + k.line + ")");
    }
    return running > last_.size() ? text + ", and earlier ones" : text;
  }

 private:
  struct Kernel {
    std::string name, line;
  };
  mutable Mutex mutex_;
  std::array<Kernel, 8> last_;
  std::size_t count_ = 0, done_ = 0;
};

}  // namespace kiln::nvidia

// The replacement of an executable by a faster one.
#pragma once
#include "runtime/fork_gate.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace kiln {

class Executable;

/// The executable that takes the place of another after some calls: of the same plan, with faster kernels. It
/// is made once. Any thread.
class Refinement {
 public:
  using Make = std::function<std::shared_ptr<const Executable>()>;
  /// Call number `calls` + 1 makes it. `of`: the executable that runs before that call, and afterwards if
  /// `make` throws.
  Refinement(Make make, std::int64_t calls, const Executable& of);

  /// The executable for the next call. Counts the call.
  const Executable& next();
  /// The executable for many calls: makes it.
  const Executable& made();

 private:
  Make make_;
  std::atomic<std::int64_t> calls_before_;
  const Executable& of_;
  Mutex mutex_;  // of `made_`
  std::shared_ptr<const Executable> made_;
  std::atomic<const Executable*> ready_ = nullptr;
};

}  // namespace kiln

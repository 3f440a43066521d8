#pragma once
#include "runtime/executable.h"

#include <kiln/profile.h>

#include <unordered_map>

namespace kiln {

/// What a Profile has seen.
struct Profile::Record {
  std::unordered_map<const Step*, Kernel> kernels;
  Record* outer = nullptr;

  void add(const Step& step, double seconds);
  /// The calling thread's, or null.
  static Record*& current();
};

}  // namespace kiln

// The streams of random numbers.
#pragma once
#include "runtime/executable.h"

namespace kiln {

/// Random numbers come from streams of (seed, counter). A call that draws advances the current stream of its
/// thread. Parameter initializers have a separate stream: deferred initialisation does not shift the
/// program's numbers.
enum class RandomStream { program, initializer };

/// Reserves `draws` counters of the current stream. Any thread.
RandomState reserve_random(std::int64_t draws);

/// Reserves `draws` counters. During its lifetime, draws of this thread from the program's stream use these.
/// An eager branch or loop thus takes a fixed number of counters, as its compiled form does.
class RandomBlock {
 public:
  explicit RandomBlock(std::int64_t draws);
  /// Uses counters reserved earlier, from `first` on.
  explicit RandomBlock(RandomState first);
  ~RandomBlock();
  RandomBlock(const RandomBlock&) = delete;

 private:
  RandomState block_;
  RandomState* outer_;
};

/// Makes `stream` current on this thread during its lifetime.
class RandomStreamScope {
 public:
  explicit RandomStreamScope(RandomStream stream);
  ~RandomStreamScope();
  RandomStreamScope(const RandomStreamScope&) = delete;

 private:
  RandomStream outer_;
};

}  // namespace kiln

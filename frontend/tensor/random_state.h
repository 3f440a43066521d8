#pragma once
#include "runtime/executable.h"

namespace kiln {

/// Random numbers come from streams of (seed, counter); a call that draws takes the next counters of the
/// stream that is current on its thread. Initialisers of parameters draw from a stream of their own, so that
/// when a parameter gets its values does not shift the program's numbers.
enum class RandomStream { program, initializer };

/// Takes `draws` counters from the current stream. Safe from any thread.
RandomState reserve_random(std::int64_t draws);

/// Takes `draws` counters at once. While it lives, what this thread draws from the program's stream comes
/// from these: so a branch or loop takes as many whatever runs of it, as its compiled form does.
class RandomBlock {
 public:
  explicit RandomBlock(std::int64_t draws);
  /// Counters taken before, from `first` on.
  explicit RandomBlock(RandomState first);
  ~RandomBlock();
  RandomBlock(const RandomBlock&) = delete;

 private:
  RandomState block_;
  RandomState* outer_;
};

/// While it lives, this thread draws from `stream`.
class RandomStreamScope {
 public:
  explicit RandomStreamScope(RandomStream stream);
  ~RandomStreamScope();
  RandomStreamScope(const RandomStreamScope&) = delete;

 private:
  RandomStream outer_;
};

}  // namespace kiln

#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kiln::passes {

/// A block of memory that is live from step `begin` to step `end`, both included.
struct Lifetime {
  std::int64_t bytes = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct ArenaPlan {
  std::vector<std::int64_t> offsets;  ///< one for each lifetime, 64-byte aligned
  std::int64_t bytes = 0;             ///< of the arena
  /// No plan can be smaller: the largest sum of blocks that are live in one step.
  std::int64_t lower_bound = 0;
};

/// Offsets for all blocks, so that blocks that are live in one step do not overlap. Equal blocks, equal plan.
ArenaPlan plan_arena(std::span<const Lifetime> blocks);

}  // namespace kiln::passes

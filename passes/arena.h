// Offsets in the arena of an executable, from the lifetimes of its blocks.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace kiln::passes {

/// A block of memory that is live from step `begin` to step `end`, both included.
struct Lifetime {
  std::int64_t bytes = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
  std::optional<std::int64_t> offset = {};  ///< given, 64-byte aligned
};

struct ArenaPlan {
  std::vector<std::int64_t> offsets;  ///< one for each lifetime, 64-byte aligned
  std::int64_t bytes = 0;             ///< of the part that follows the saved part
  /// No plan can be smaller: the largest sum of blocks that are live in one step, without the saved part.
  std::int64_t lower_bound = 0;
};

/// Offsets for all blocks, so that blocks that are live in one step do not overlap. The first `saved_bytes`
/// of the arena are its saved part; no block crosses the end of that part. A block with a given offset lies
/// in the saved part, and such blocks do not overlap. Equal blocks give an equal plan.
ArenaPlan plan_arena(std::span<const Lifetime> blocks, std::int64_t saved_bytes = 0);

}  // namespace kiln::passes

// Which contractions have lanes that are chunks of k, and how their operands are read.
#pragma once
#include "codegen/cpu/contraction/contraction.h"
#include "codegen/emit/plan_fields.h"
#include "codegen/emit/tile.h"
#include "codegen/target/choices.h"

#include <optional>
#include <tuple>

namespace kiln::codegen {

/// A or B: lines of `k_extent` elements.
struct ChunkSide {
  int operand;
  bool interleaved;  // elements of all lines at one k are contiguous; otherwise the elements of a line
  int lines;         // built in if interleaved, or held; else 0
  static constexpr auto fields() {
    return std::tuple(PlanField{"operand", &ChunkSide::operand},
                      PlanField{"interleaved", &ChunkSide::interleaved},
                      PlanField{"lines", &ChunkSide::lines});
  }
};

/// Everything that the code depends on, with its epilogue: equal plans, equal code.
struct ChunkLanesPlan {
  Tile tile;  // of one register of accumulators
  ChunkSide lhs, rhs;
  bool holds_rhs;
  bool streams;  // operands are in L3 or memory
  std::size_t batch_axes;

  const ChunkSide& held() const { return holds_rhs ? rhs : lhs; }
  const ChunkSide& other() const { return holds_rhs ? lhs : rhs; }
  int chunks() const { return choices::registers_of_chunks * tile.lanes; }  // of a group
  /// Elements of a chunk that are transposed together.
  int square() const { return tile.lanes >= 4 ? tile.lanes / 2 : tile.lanes; }
  /// Values of k of a side that are transposed one after the other: the elements of a line of the cache, at
  /// least. Chunks are a multiple of 2 KiB apart, so that a line may be gone when it is read again.
  int step(const ChunkSide& side) const;
  /// Values of k whose held elements are on the stack.
  std::int64_t block() const;
  static constexpr auto fields() {
    return std::tuple(
        PlanField{"tile", &ChunkLanesPlan::tile}, PlanField{"lhs", &ChunkLanesPlan::lhs},
        PlanField{"rhs", &ChunkLanesPlan::rhs}, PlanField{"holds_rhs", &ChunkLanesPlan::holds_rhs},
        PlanField{"streams", &ChunkLanesPlan::streams}, PlanField{"batch_axes", &ChunkLanesPlan::batch_axes});
  }
};

/// The plan of a contraction of `rows` rows, `row_stride` elements apart, with unpacked operands. Nothing for
/// contractions that other kernels suit better. `tile`: one register of accumulators.
std::optional<ChunkLanesPlan> plan_chunk_lanes(const Contraction& contraction, const Tile& tile,
                                               std::int64_t rows, std::int64_t row_stride,
                                               std::size_t batch_axes, const CpuTarget& target);

}  // namespace kiln::codegen

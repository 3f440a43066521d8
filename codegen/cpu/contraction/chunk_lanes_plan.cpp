// Lines, squares and blocks of contractions whose lanes are chunks of k.
#include "codegen/cpu/contraction/chunk_lanes_plan.h"

#include <llvm/ADT/bit.h>

#include <algorithm>

namespace kiln::codegen {

int ChunkLanesPlan::step(const ChunkSide& side) const {
  constexpr int line_bytes = 64;
  const int line = std::max(line_bytes / static_cast<int>(size_of(tile.dtype)), square());
  return side.interleaved && side.lines > 3 ? square() : line;
}

std::int64_t ChunkLanesPlan::block() const {
  const std::int64_t bytes_of_k =
      std::int64_t{held().lines} * chunks() * static_cast<std::int64_t>(size_of(tile.wide()));
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(llvm::bit_floor(
                                      static_cast<std::uint64_t>(choices::held_bytes / bytes_of_k))),
                                  std::max(step(lhs), step(rhs)), Tile::chunk);
}

std::optional<ChunkLanesPlan> plan_chunk_lanes(const Contraction& p, const Tile& tile, std::int64_t rows,
                                               std::int64_t row_stride, std::size_t batch_axes,
                                               const CpuTarget& target) {
  if (!choices::has_lanes_of_chunks(rows, p.columns, p.k_extent, tile.lanes, /*of_parameter=*/false))
    return std::nullopt;
  const bool holds_rhs = p.columns <= rows;
  const auto side = [](std::int64_t lines, std::int64_t line_stride, std::int64_t k_stride, bool held,
                       int operand) -> std::optional<ChunkSide> {
    const bool interleaved = k_stride != 1;
    if (interleaved && (line_stride != 1 || k_stride != lines)) return std::nullopt;
    return ChunkSide{operand, interleaved, interleaved || held ? static_cast<int>(lines) : 0};
  };
  const auto lhs = side(rows, row_stride, p.k_stride, !holds_rhs,
                        static_cast<int>(llvm::cast<mlir::BlockArgument>(p.lhs.base).getArgNumber())),
             rhs = side(p.columns, p.unpacked->column_stride, p.unpacked->row_stride, holds_rhs,
                        static_cast<int>(p.rhs));
  if (!lhs || !rhs) return std::nullopt;
  const std::int64_t bytes = (rows + p.columns) * p.k_extent * static_cast<std::int64_t>(size_of(tile.dtype));
  return ChunkLanesPlan{
      tile, *lhs, *rhs, holds_rhs, bytes > choices::private_cache_bytes(*target.machine), batch_axes};
}

}  // namespace kiln::codegen

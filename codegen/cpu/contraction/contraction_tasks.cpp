// How a contraction is divided into tasks, for caches and threads.
#include "codegen/cpu/contraction/contraction_plan.h"
#include "codegen/target/choices.h"
#include "codegen/target/tuning.h"

#include <llvm/Support/MathExtras.h>

namespace kiln::codegen {
namespace {

using llvm::divideCeilSigned;

/// Tasks of a kernel that packs B itself.
void split_packing(const Contraction& p, const ContractionPlan& plan, const CpuTarget& target,
                   ContractionSizes& sizes) {
  const std::int64_t column_block_bytes = plan.rhs.packs_batch
                                              ? choices::small_packed_block_bytes(*target.machine)
                                              : choices::packed_block_bytes(*target.machine),
                     products = sizes.row_tiles / std::max<std::int64_t>(sizes.product_row_tiles, 1);
  const auto element_bytes = static_cast<std::int64_t>(size_of(plan.tile.dtype));
  const std::int64_t tile_bytes = std::min(p.k_extent, Tile::chunk) * plan.tile.width() * element_bytes;
  const std::int64_t tiles = std::max<std::int64_t>(sizes.column_tiles, 1);
  const std::int64_t block_tiles = column_block_bytes / std::max<std::int64_t>(tile_bytes, 1);  // k may be 0
  sizes.column_blocks = divideCeilSigned(tiles, std::max<std::int64_t>(block_tiles, 1));
  sizes.block_column_tiles = divideCeilSigned(tiles, sizes.column_blocks);
  sizes.column_blocks = divideCeilSigned(tiles, sizes.block_column_tiles);
  const auto row_tiles_of = [&](std::int64_t rows) {
    return std::max<std::int64_t>(divideCeilSigned(rows, plan.rows.rows()), 1);
  };
  sizes.block_row_tiles = std::clamp<std::int64_t>(
      sizes.product_row_tiles, 1,
      row_tiles_of(plan.lhs.packs ? tuning::max_packed_rows : tuning::max_rows_per_packing));
  while (sizes.block_row_tiles > row_tiles_of(2 * tuning::min_rows_per_packing) &&
         products * sizes.row_blocks_of_product() * sizes.column_blocks < tuning::min_packing_tasks)
    sizes.block_row_tiles = divideCeilSigned(sizes.block_row_tiles, 2);
  sizes.scratch_bytes = sizes.block_column_tiles * tile_bytes;
  if (plan.lhs.packs) sizes.scratch_bytes += sizes.block_row_tiles * plan.strip_elements() * element_bytes;
}

/// Tasks of a kernel whose B is packed.
void split_packed(const Contraction& p, const ContractionPlan& plan, const Machine& machine,
                  ContractionSizes& sizes) {
  const auto element_bytes = static_cast<std::int64_t>(size_of(plan.tile.dtype));
  const std::int64_t row_tiles = std::max<std::int64_t>(sizes.row_tiles, 1),
                     tiles = std::max<std::int64_t>(sizes.column_tiles, 1);
  const std::int64_t lhs_tile_bytes = p.lhs_elements * element_bytes / row_tiles,
                     lhs_chunk_bytes =
                         std::min(lhs_tile_bytes,
                                  plan.rows.rows() * std::min(p.k_extent, Tile::chunk) * element_bytes);
  const std::int64_t tile_total_bytes = plan.tile_elements() * std::max<std::int64_t>(4, element_bytes);
  const auto divide_columns = [&](std::int64_t blocks) {
    sizes.block_column_tiles = divideCeilSigned(tiles, blocks);
    sizes.column_blocks = divideCeilSigned(tiles, sizes.block_column_tiles);
  };
  sizes.block_row_tiles = row_tiles;
  sizes.column_blocks = tiles;
  if (plan.lhs.copies) {
    // Several column tiles share the copies; an even number of column blocks balances two threads.
    const std::int64_t blocks = divideCeilSigned(tiles, tuning::tiles_per_copy);
    divide_columns(blocks > 1 ? blocks + blocks % 2 : blocks);
  } else {
    // A B that stays in L2 is read again for each row block. Then A and the results, which are written in
    // parts of a line, should stay in L1.
    const std::int64_t columns_bytes = p.groups * p.panels * p.panel * element_bytes;
    const bool small = p.k_extent * columns_bytes <= choices::small_rhs_bytes(machine);
    const std::int64_t result_bytes = small ? plan.rows.rows() / plan.rows.pooled_rows() * columns_bytes : 0,
                       block_bytes =
                           small ? choices::small_block_bytes(machine) : choices::block_lhs_bytes(machine);
    const auto row_tiles_of = [&](std::int64_t lhs_bytes) {
      return std::clamp<std::int64_t>(block_bytes / std::max<std::int64_t>(1, lhs_bytes + result_bytes), 1,
                                      row_tiles);
    };
    sizes.block_row_tiles = row_tiles_of(lhs_tile_bytes);
    // With long rows a chunk of k stays there, so that more rows share a panel of B. Several column tiles
    // share the chunk. The taps of a convolution read the same elements in each chunk.
    const bool by_chunks = !plan.tasks.one_chunk && row_tiles_of(lhs_chunk_bytes) > sizes.block_row_tiles;
    if (by_chunks) sizes.block_row_tiles = row_tiles_of(lhs_chunk_bytes);
    const bool streams_rhs =
        plan.columns.panels == 1 && p.k_extent * columns_bytes > choices::l2_rhs_bytes(machine);
    if (!streams_rhs) {  // otherwise each row block would stream B again
      // At least two row blocks, so that a thread finds the rows that it wrote in the preceding kernel in its
      // caches, and at least tuning::min_tasks tasks.
      sizes.block_row_tiles = std::min(sizes.block_row_tiles, divideCeilSigned(row_tiles, 2));
      while (sizes.block_row_tiles > 1 &&
             divideCeilSigned(sizes.row_tiles, sizes.block_row_tiles) * sizes.column_tiles <
                 tuning::min_tasks)
        sizes.block_row_tiles = divideCeilSigned(sizes.block_row_tiles, 2);
    }
    if (by_chunks) {
      const std::int64_t totals = choices::totals_bytes(machine) / tile_total_bytes,
                         row_blocks = divideCeilSigned(row_tiles, sizes.block_row_tiles);
      sizes.block_column_tiles = std::clamp<std::int64_t>(totals / sizes.block_row_tiles, 1, tiles);
      while (sizes.block_column_tiles > 1 &&
             row_blocks * divideCeilSigned(tiles, sizes.block_column_tiles) < tuning::min_tasks)
        sizes.block_column_tiles = divideCeilSigned(sizes.block_column_tiles, 2);
      divide_columns(divideCeilSigned(tiles, sizes.block_column_tiles));
    }
  }
  if (plan.tasks.one_chunk) return;
  const std::int64_t total_bytes = sizes.block_column_tiles * tile_total_bytes;
  sizes.block_row_tiles = std::min(sizes.block_row_tiles,
                                   std::max<std::int64_t>(choices::totals_bytes(machine) / total_bytes, 1));
  sizes.scratch_bytes = sizes.block_row_tiles * plan.copy_elements() * element_bytes;
}

}  // namespace

void split_tasks(const Contraction& p, const ContractionPlan& plan, const CpuTarget& target,
                 ContractionSizes& sizes) {
  plan.rhs.packer ? split_packing(p, plan, target, sizes) : split_packed(p, plan, *target.machine, sizes);
  if (!plan.tasks.one_chunk)
    sizes.scratch_bytes += sizes.block_row_tiles * sizes.block_column_tiles * plan.tile_elements() *
                           std::max<std::int64_t>(4, static_cast<std::int64_t>(size_of(plan.tile.dtype)));
}

std::int64_t ContractionSizes::row_blocks_of_product() const {
  return divideCeilSigned(product_row_tiles, block_row_tiles);
}

std::int64_t ContractionSizes::tasks() const {
  if (product_row_tiles == 0) return 0;
  return row_tiles / product_row_tiles * row_blocks_of_product() * column_blocks;
}

std::int64_t lhs_prefetch_distance(const ContractionPlan& plan, const ContractionSizes& sizes) {
  const std::int64_t row_tile = std::max<std::int64_t>(plan.rows.rows() * sizes.lhs_strides.back(), 1);
  return (1 + tuning::lhs_prefetch_elements / row_tile) * row_tile;
}

}  // namespace kiln::codegen

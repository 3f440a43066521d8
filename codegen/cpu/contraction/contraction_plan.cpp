// How contractions are divided into tiles and tasks, for registers and caches.
#include "codegen/cpu/contraction/contraction_plan.h"

#include "codegen/target/choices.h"
#include "codegen/target/tuning.h"

#include <llvm/Support/MathExtras.h>

#include <numeric>

namespace kiln::codegen {
namespace {

using llvm::divideCeilSigned;

/// The largest tile, limited by registers for accumulators and by cache conflicts. There are `row_groups`
/// groups of `m` rows each; `whole`: a tile has only whole row groups; `may_lack_panels`: the last tile need
/// not have all of its panels.
struct LargestTile {
  int row_groups, rows_per_group, panels;
};
LargestTile largest_tile(std::int64_t m, std::int64_t row_groups, std::int64_t row_bytes, std::int64_t panels,
                         int vectors, bool whole, bool may_lack_panels, const CpuTarget& target) {
  const auto most = [&](int joined, int limit = tuning::usual_conflicting_rows) {
    return std::min(Tile::most_rows(target, joined * vectors),
                    Tile::rows_without_conflicts(row_bytes, limit));
  };
  const auto sums = [&](int joined) {
    return std::min<std::int64_t>(most(joined), m * row_groups) * joined * vectors;
  };
  // Two panels where one has too few accumulators per load, or all (joined_registers). Where rows are too few
  // to hide the latency of FMAs, as many panels as that takes.
  int joined = panels % 2 == 0 && 2 * vectors < target.registers() / 4 && sums(2) > sums(1) ? 2 : 1;
  if (vectors == 1 && panels == joined_registers && sums(joined_registers) >= tuning::least_accumulators)
    joined = joined_registers;
  for (int more = joined + 1; more <= tuning::least_accumulators && sums(joined) < tuning::least_accumulators;
       ++more)
    if ((panels % more == 0 || (may_lack_panels && panels >= 8 * more)) && most(more) >= m * row_groups)
      joined = more;
  // A few short row groups make one tile, even with conflicts: tiles of half the height would load packed B
  // twice as often.
  if (const int rows = most(joined, tuning::most_conflicting_rows);
      whole || (row_groups > 1 && m > 0 && 2 * m <= rows))
    return {static_cast<int>(std::clamp<std::int64_t>(rows / m, 1, std::max<std::int64_t>(row_groups, 1))),
            static_cast<int>(m), joined};
  return {most(joined), 1, joined};
}

/// The tile of a kernel for any number of rows: the panels that registers allow.
LargestTile generic_tile(std::int64_t panels, int vectors, const CpuTarget& target) {
  constexpr int rows = ContractionPlan::generic_rows;
  return {rows, 1, panels % 2 == 0 && Tile::most_rows(target, 2 * vectors) >= rows ? 2 : 1};
}

/// Whether tiles divide the last two axes as one: A's strides allow it, and tiles of the last axis alone
/// would have too few accumulators to hide the latency of FMAs. (Otherwise it is not worth the epilogue's
/// index arithmetic for each row.)
bool collapses_outer(const ContractionSizes& sizes, const LargestTile& largest, int vectors) {
  const std::size_t axes = sizes.extents.size();
  if (axes < 2 || largest.rows_per_group > 1 || sizes.rhs_strides[axes - 2] != 0 ||
      sizes.lhs_strides[axes - 2] != sizes.extents.back() * sizes.lhs_strides.back())
    return false;
  const TileRows rows = TileSplit(sizes.extents.back(), largest.row_groups).rows;
  return (rows.most - !rows.even) * largest.panels * vectors < tuning::least_accumulators;
}

/// Whether a column tile finds the lines of A that the tile before it read evicted from L2, half of which
/// holds the packed B: where consecutive k lie on lines of their own, too many of which map to the same sets.
/// Such an A is packed, if enough columns use it again.
bool reads_evicted_lines(const Contraction& p, DType dtype, const CpuTarget& target) {
  const std::int64_t k_stride = p.k_offsets.size() < 2 ? p.k_stride : p.k_offsets[1] - p.k_offsets[0];
  if (!p.unpacked || target.lanes(4) == 1 || k_stride <= 1 || p.columns < tuning::least_packed_lhs_columns)
    return false;
  const std::int64_t stride_bytes = k_stride * static_cast<std::int64_t>(size_of(dtype)),
                     way_bytes = target.machine->l2.bytes / target.machine->l2.ways,
                     step = std::max(std::gcd(way_bytes, stride_bytes), tuning::cache_line_bytes);
  return std::min(p.k_extent, Tile::chunk) > way_bytes / step * target.machine->l2.ways / 2;
}

/// Tasks of a kernel that packs B itself.
void split_packing(const Contraction& p, const ContractionPlan& plan, const CpuTarget& target,
                   ContractionSizes& sizes) {
  const std::int64_t column_block_bytes = plan.packs_batch
                                              ? choices::small_packed_block_bytes(*target.machine)
                                              : choices::packed_block_bytes(*target.machine),
                     products = sizes.row_tiles / std::max<std::int64_t>(sizes.product_row_tiles, 1);
  const auto element_bytes = static_cast<std::int64_t>(size_of(plan.tile.dtype));
  const std::int64_t tile_bytes = std::min(p.k_extent, Tile::chunk) * plan.tile.width() * element_bytes;
  const std::int64_t tiles = std::max<std::int64_t>(sizes.column_tiles, 1);
  sizes.column_blocks = divideCeilSigned(tiles, std::max<std::int64_t>(column_block_bytes / tile_bytes, 1));
  sizes.block_column_tiles = divideCeilSigned(tiles, sizes.column_blocks);
  sizes.column_blocks = divideCeilSigned(tiles, sizes.block_column_tiles);
  const auto row_tiles_of = [&](std::int64_t rows) {
    return std::max<std::int64_t>(divideCeilSigned(rows, plan.size.rows()), 1);
  };
  sizes.block_row_tiles = std::clamp<std::int64_t>(
      sizes.product_row_tiles, 1,
      row_tiles_of(plan.packs_lhs ? tuning::most_packed_rows : tuning::most_rows_per_packing));
  while (sizes.block_row_tiles > row_tiles_of(2 * tuning::least_rows_per_packing) &&
         products * sizes.row_blocks_of_product() * sizes.column_blocks < tuning::least_packing_tasks)
    sizes.block_row_tiles = divideCeilSigned(sizes.block_row_tiles, 2);
  sizes.scratch_bytes = sizes.block_column_tiles * tile_bytes;
  if (plan.packs_lhs) sizes.scratch_bytes += sizes.block_row_tiles * plan.strip_elements() * element_bytes;
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
                                  plan.size.rows() * std::min(p.k_extent, Tile::chunk) * element_bytes);
  const std::int64_t tile_total_bytes = plan.tile_elements() * std::max<std::int64_t>(4, element_bytes);
  const auto divide_columns = [&](std::int64_t blocks) {
    sizes.block_column_tiles = divideCeilSigned(tiles, blocks);
    sizes.column_blocks = divideCeilSigned(tiles, sizes.block_column_tiles);
  };
  sizes.block_row_tiles = row_tiles;
  sizes.column_blocks = tiles;
  if (plan.copies_lhs) {
    // Several column tiles share the copies; an even number of column blocks balances two threads.
    const std::int64_t blocks = divideCeilSigned(tiles, tuning::tiles_per_copy);
    divide_columns(blocks > 1 ? blocks + blocks % 2 : blocks);
  } else {
    // A B that stays in L2 is read again for each row block. Then A and the results, which are written in
    // parts of a line, should stay in L1.
    const std::int64_t columns_bytes = p.groups * p.panels * p.panel * element_bytes;
    const bool small = p.k_extent * columns_bytes <= choices::small_rhs_bytes(machine);
    const std::int64_t result_bytes = small ? plan.size.rows() / plan.pooled_rows() * columns_bytes : 0,
                       block_bytes =
                           small ? choices::small_block_bytes(machine) : choices::block_lhs_bytes(machine);
    const auto row_tiles_of = [&](std::int64_t lhs_bytes) {
      return std::clamp<std::int64_t>(block_bytes / std::max<std::int64_t>(1, lhs_bytes + result_bytes), 1,
                                      row_tiles);
    };
    sizes.block_row_tiles = row_tiles_of(lhs_tile_bytes);
    // Of long rows a chunk of k stays there, so that more rows share a panel of B. Several column tiles share
    // the chunk. The taps of a convolution read the same elements in each chunk.
    const bool by_chunks = !plan.one_chunk && row_tiles_of(lhs_chunk_bytes) > sizes.block_row_tiles;
    if (by_chunks) sizes.block_row_tiles = row_tiles_of(lhs_chunk_bytes);
    const bool streams_rhs =
        plan.size.panels == 1 && p.k_extent * columns_bytes > choices::l2_rhs_bytes(machine);
    if (!streams_rhs) {  // otherwise each row block would stream B again
      // At least two row blocks, so that a thread finds the rows that it wrote in the preceding kernel in its
      // own caches; and enough tasks for a few threads.
      sizes.block_row_tiles = std::min(sizes.block_row_tiles, divideCeilSigned(row_tiles, 2));
      while (sizes.block_row_tiles > 1 &&
             divideCeilSigned(sizes.row_tiles, sizes.block_row_tiles) * sizes.column_tiles <
                 tuning::least_tasks)
        sizes.block_row_tiles = divideCeilSigned(sizes.block_row_tiles, 2);
    }
    if (by_chunks) {
      const std::int64_t totals = choices::totals_bytes(machine) / tile_total_bytes,
                         row_blocks = divideCeilSigned(row_tiles, sizes.block_row_tiles);
      sizes.block_column_tiles = std::clamp<std::int64_t>(totals / sizes.block_row_tiles, 1, tiles);
      while (sizes.block_column_tiles > 1 &&
             row_blocks * divideCeilSigned(tiles, sizes.block_column_tiles) < tuning::least_tasks)
        sizes.block_column_tiles = divideCeilSigned(sizes.block_column_tiles, 2);
      divide_columns(divideCeilSigned(tiles, sizes.block_column_tiles));
    }
  }
  if (plan.one_chunk) return;
  const std::int64_t total_bytes = sizes.block_column_tiles * tile_total_bytes;
  sizes.block_row_tiles = std::min(sizes.block_row_tiles,
                                   std::max<std::int64_t>(choices::totals_bytes(machine) / total_bytes, 1));
  sizes.scratch_bytes = sizes.block_row_tiles * plan.copy_elements() * element_bytes;
}

}  // namespace

std::string ContractionPlan::key() const {
  return fmt::format(
      "{} rows={}{}x{} vectors={}x{} lanes={}{} lhs={} rhs={}{} steps={}{} k={}{}{} outer={}{}{}{}{}{}{}",
      name_of(tile.dtype), generic ? "any/" : "", size.row_groups.key(), size.rows_per_group, size.panels,
      vectors_per_panel, tile.lanes,
      any_columns       ? "/any"
      : lacks_panels    ? fmt::format("-{}", last_columns)
      : !is_ragged()    ? ""
      : one_column_tile ? fmt::format("={}", last_columns)
                        : fmt::format("+{}", last_columns),
      lhs_operand, rhs_operand,
      packer ? fmt::format(" packs-{}{}", packer->key(), packs_lhs ? "-both" : "") : "",
      even_rows ? "even" : fmt::format("{},{}", row_group_stride, row_stride),
      window_points.empty() ? "" : fmt::format(" points={}", fmt::join(window_points, ",")),
      table          ? "table"
      : k_class == 1 ? "1"
                     : "any",
      one_chunk    ? ""
      : copies_lhs ? "+copied"
                   : "+",
      one_chunk && rolls_epilogue ? " rolled" : "", outer_count, collapses_outer ? " runs-on" : "",
      column_block_outer ? " by-block" : "", packs_batch ? " batch" : "", prefetch_rhs ? " shares" : "",
      prefetch_lhs ? " streams" : "", prefetch_epilogue ? " end" : "");
}

std::int64_t ContractionSizes::row_blocks_of_product() const {
  return divideCeilSigned(product_row_tiles, block_row_tiles);
}

std::int64_t ContractionSizes::tasks() const {
  if (product_row_tiles == 0) return 0;
  return row_tiles / product_row_tiles * row_blocks_of_product() * column_blocks;
}

std::int64_t lhs_prefetch_distance(const ContractionPlan& plan, const ContractionSizes& sizes) {
  const std::int64_t row_tile = std::max<std::int64_t>(plan.size.rows() * sizes.lhs_strides.back(), 1);
  return (1 + tuning::lhs_prefetch_elements / row_tile) * row_tile;
}

std::optional<ContractionPlan> plan_contraction(const Contraction& p, DType dtype, const Epilogue& epilogue,
                                                int operands, const CpuTarget& target, RowCounts counts,
                                                ContractionSizes& sizes) {
  const bool generic = counts == RowCounts::any;
  const Machine& machine = *target.machine;
  const auto element_bytes = static_cast<std::int64_t>(size_of(dtype));
  const std::int64_t rhs_bytes = p.groups * p.panels * p.k_extent * p.panel * element_bytes;
  const int lanes = Tile::lanes_of(target, dtype, p.panel);
  const bool pools = !p.window_points.empty();
  const auto vectors_per_panel = static_cast<int>(p.panel / lanes);
  // Rows of two axes may share a tile if their B is the same.
  const std::size_t axes = sizes.extents.size();
  const std::int64_t rows = pools ? static_cast<std::int64_t>(p.window_points.size()) : sizes.extents.back(),
                     row_groups = pools                                          ? sizes.extents.back()
                                  : axes > 1 && sizes.rhs_strides[axes - 2] == 0 ? sizes.extents[axes - 2]
                                                                                 : 1;
  // Copy the rows of a tile that would conflict in L1, chunk by chunk, if one row block then has all rows, so
  // that B is read once.
  const bool one_chunk = p.k_extent <= Tile::chunk;
  const std::int64_t row_stride = sizes.lhs_strides.back(),
                     all_rows = mlir::ShapedType::getNumElements(sizes.extents) * (pools ? rows : 1);
  const bool copies_lhs =
      !generic && !one_chunk && !p.unpacked && p.k_offsets.empty() && p.k_stride == 1 && p.groups == 1 &&
      p.lhs_elements * element_bytes > choices::block_lhs_bytes(machine) &&
      all_rows * ContractionPlan::copied_row_stride * element_bytes <= choices::copy_bytes(machine) &&
      Tile::rows_without_conflicts(row_stride * element_bytes, tuning::usual_conflicting_rows) <
          std::min(Tile::most_rows(target, vectors_per_panel), tuning::most_tile_rows);
  const bool packs_batch =
      p.unpacked && llvm::any_of(sizes.rhs_strides, [](std::int64_t s) { return s != 0; });
  const bool packs_lhs = !pools && row_stride == 1 && reads_evicted_lines(p, dtype, target);
  if (generic && (pools || packs_lhs || !p.k_offsets.empty())) return std::nullopt;
  const LargestTile largest =
      generic ? generic_tile(p.panels, vectors_per_panel, target)
              : largest_tile(rows, row_groups,
                             (copies_lhs ? ContractionPlan::copied_row_stride : row_stride) * element_bytes,
                             p.panels, vectors_per_panel, pools, !p.unpacked && p.groups == 1, target);
  const bool collapses = !generic && !pools && collapses_outer(sizes, largest, vectors_per_panel);
  if (collapses) {
    sizes.epilogue_rows = sizes.extents.back();
    sizes.extents[axes - 2] *= sizes.epilogue_rows;
    sizes.lhs_strides[axes - 2] = row_stride;
  }
  if (collapses || (largest.rows_per_group > 1 && !pools))
    for (Dims* list : {&sizes.extents, &sizes.lhs_strides, &sizes.rhs_strides}) list->pop_back();
  TileSplit split(sizes.extents.back(), largest.row_groups);
  if (generic) split.rows = {largest.row_groups, true};
  sizes.rows = sizes.extents.back();
  const TileSize size{split.rows, largest.rows_per_group, largest.panels};
  sizes.tiles_of_axis = split.tiles;
  sizes.larger_tiles = split.larger;
  sizes.row_tiles =
      mlir::ShapedType::getNumElements(llvm::ArrayRef(sizes.extents).drop_back()) * sizes.tiles_of_axis;
  const std::int64_t column_tiles = divideCeilSigned(p.panels, size.panels);  // of a group
  sizes.column_tiles = p.groups * column_tiles;

  const Tile tile{dtype, size.rows(), vectors_per_panel * size.panels, lanes};
  // Masks of narrower elements would be branches.
  const bool any_columns = generic && lanes > 1 && element_bytes >= 4;
  const bool even_rows = size.rows_per_group == 1 && !pools && !packs_lhs && p.k_offsets.empty(),
             row_follows_row = even_rows && p.k_stride == 1 && row_stride == p.k_extent;
  ContractionPlan plan{
      .tile = tile,
      .size = size,
      .last_columns =
          any_columns ? tile.width() : static_cast<int>(p.columns - (column_tiles - 1) * tile.width()),
      .one_column_tile = !any_columns && p.panels == size.panels,
      .any_columns = any_columns,
      .lacks_panels = p.panels % size.panels != 0,
      .vectors_per_panel = vectors_per_panel,
      .panel = p.panel,
      .even_rows = even_rows,
      .row_stride = even_rows ? 0 : row_stride,
      .row_group_stride = even_rows ? 0 : sizes.lhs_strides.back(),
      .window_points = p.window_points,
      .generic = generic,
      .k_class = stride_class(p.k_stride),
      .table = !p.k_offsets.empty(),
      .one_chunk = one_chunk,
      .copies_lhs = copies_lhs,
      .rolls_epilogue = generic || !one_chunk || epilogue.has_functions(),
      .column_block_outer = p.unpacked ? !packs_lhs
                                       : !generic && rhs_bytes > choices::private_cache_bytes(machine) &&
                                             rhs_bytes > p.lhs_elements * element_bytes,
      .prefetch_rhs = !generic && size.panels == 1 && !p.unpacked &&
                      rhs_bytes > (sizes.row_tiles <= tuning::few_row_tiles ? tuning::first_miss_bytes
                                                                            : choices::l2_rhs_bytes(machine)),
      .prefetch_lhs = !generic && row_follows_row && sizes.column_tiles <= tuning::few_column_tiles &&
                      choices::prefetches_stream(machine, p.lhs_elements * element_bytes),
      .prefetch_epilogue = !generic && epilogue.reads_rows() && p.k_extent <= tuning::short_k &&
                           size.rows_per_group == 1 && !collapses &&
                           all_rows * p.columns * element_bytes > choices::private_cache_bytes(machine),
      .collapses_outer = collapses,
      .outer_count = sizes.extents.size() - 1,
      .lhs_operand = static_cast<int>(llvm::cast<mlir::BlockArgument>(p.lhs.base).getArgNumber()),
      .rhs_operand = static_cast<int>(p.rhs),
      .table_operand = operands,
      .scratch_operand = operands + !p.k_offsets.empty(),
      .packer = {},
      .packs_lhs = packs_lhs,
      .packs_batch = packs_batch};
  if (p.unpacked)
    plan.packer =
        Packer{dtype, lanes, Packer::neighbours_of(p.unpacked->row_stride, p.unpacked->column_stride)};
  sizes.product_row_tiles = packs_batch ? sizes.tiles_of_axis : sizes.row_tiles;
  plan.packer ? split_packing(p, plan, target, sizes) : split_packed(p, plan, machine, sizes);
  if (!one_chunk)
    sizes.scratch_bytes += sizes.block_row_tiles * sizes.block_column_tiles * plan.tile_elements() *
                           std::max<std::int64_t>(4, element_bytes);
  return plan;
}

}  // namespace kiln::codegen

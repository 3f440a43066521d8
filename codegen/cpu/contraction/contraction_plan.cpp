// The tiles of a contraction, for registers and caches, and how they read A and B.
#include "codegen/cpu/contraction/contraction_plan.h"

#include "codegen/cpu/contraction/matrix_unit.h"
#include "codegen/target/choices.h"
#include "codegen/target/tuning.h"

#include <llvm/Support/MathExtras.h>

#include <numeric>

namespace kiln::codegen {
namespace {

using llvm::divideCeilSigned;

/// The inputs of a plan's choices.
struct PlanRequest {
  const Contraction& p;
  const DType dtype;
  const Epilogue& epilogue;
  const int operands;
  const CpuTarget& target;
  const bool generic;

  const Machine& machine() const { return *target.machine; }
  int lanes() const { return Tile::lanes_of(target, dtype, p.panel); }
  int vectors_per_panel() const { return static_cast<int>(p.panel / lanes()); }
  std::int64_t element_bytes() const { return static_cast<std::int64_t>(size_of(dtype)); }
  std::int64_t lhs_bytes() const { return p.lhs_elements * element_bytes(); }
  std::int64_t rhs_bytes() const {
    return p.groups * p.panels * p.k_extent * p.panel * static_cast<std::int64_t>(size_of(p.rhs_dtype));
  }
  bool pools() const { return !p.window_points.empty(); }
  bool one_chunk() const { return p.k_extent <= Tile::chunk; }
  bool on_matrix_unit() const { return p.on_matrix_unit(target); }
};

/// Rows for which a tile by paired32 has registers for both chains of its sums.
int rows_of_both_chains(const CpuTarget& target, int vectors) {
  return std::max(1, (target.registers() - 2 * vectors - 1) / (2 * vectors));
}

/// The largest tile, limited by registers for accumulators and by cache conflicts. There are `row_groups`
/// groups of `m` rows each; `whole`: a tile has only whole row groups; `may_lack_panels`: the last tile need
/// not have all of its panels.
struct LargestTile {
  int row_groups, rows_per_group, panels;
};

/// A tile of whole row groups within `rows` rows, if tiles are to have whole ones, or if a few short row
/// groups make one.
std::optional<LargestTile> tile_of_groups(std::int64_t rows, std::int64_t m, std::int64_t row_groups,
                                          bool whole, int panels) {
  if (!whole && (row_groups <= 1 || m <= 0 || 2 * m > rows)) return std::nullopt;
  return LargestTile{
      static_cast<int>(std::clamp<std::int64_t>(rows / m, 1, std::max<std::int64_t>(row_groups, 1))),
      static_cast<int>(m), panels};
}

LargestTile largest_tile(std::int64_t m, std::int64_t row_groups, std::int64_t row_bytes, std::int64_t panels,
                         int vectors, bool whole, bool may_lack_panels, bool pairs, const CpuTarget& target) {
  // With fewer rows, B would be widened too often for its uses: the chains run one after the other.
  constexpr int enough = 4;
  const bool both_chains = pairs && rows_of_both_chains(target, vectors) >= enough;
  const auto most = [&](int joined, int limit = tuning::usual_conflicting_rows) {
    const int registers = joined * vectors;
    return std::min(both_chains ? rows_of_both_chains(target, registers) : Tile::max_rows(target, registers),
                    Tile::rows_without_conflicts(row_bytes, limit));
  };
  const auto sums = [&](int joined) {
    return std::min<std::int64_t>(most(joined), m * row_groups) * joined * vectors;
  };
  // Two panels where one has too few accumulators per load, or all (joined_registers). Where rows are too few
  // to hide the latency of FMAs, as many panels as that takes.
  int joined = panels % 2 == 0 && 2 * vectors < target.registers() / 4 && sums(2) > sums(1) ? 2 : 1;
  if (vectors == 1 && panels == joined_registers && sums(joined_registers) >= tuning::min_accumulators)
    joined = joined_registers;
  for (int more = joined + 1; more <= tuning::min_accumulators && sums(joined) < tuning::min_accumulators;
       ++more)
    if ((panels % more == 0 || (may_lack_panels && panels >= 8 * more)) && most(more) >= m * row_groups)
      joined = more;
  // A few short row groups make one tile, even with conflicts: tiles of half the height would load packed B
  // twice as often.
  const auto of_groups =
      tile_of_groups(most(joined, tuning::max_conflicting_rows), m, row_groups, whole, joined);
  return of_groups.value_or(LargestTile{most(joined), 1, joined});
}

/// The tile of a kernel for any number of rows: the panels that registers allow.
LargestTile generic_tile(std::int64_t panels, int vectors, const CpuTarget& target) {
  constexpr int rows = RowTilePlan::generic_rows;
  return {rows, 1, panels % 2 == 0 && Tile::max_rows(target, 2 * vectors) >= rows ? 2 : 1};
}

/// Registers of rows of a tile on the matrix unit, whose sums hide the latency of products.
int matrix_blocks(int vectors) { return vectors == 1 ? 4 : vectors == 2 ? 2 : 1; }

/// The tile on the matrix unit, for rows of `m` in each row group. Each line of A is read as a whole, so that
/// conflicts in L1 do not matter.
LargestTile matrix_tile(std::int64_t m, std::int64_t row_groups, int vectors, bool whole) {
  const int blocks = matrix_blocks(vectors), rows = blocks * matrix_unit::rows;
  if (!whole && row_groups > 1 && RowTilePlan::fill_matrix_register(m))
    return {static_cast<int>(std::min<std::int64_t>(blocks, row_groups)), static_cast<int>(m), 1};
  return tile_of_groups(rows, m, row_groups, whole, 1).value_or(LargestTile{rows, 1, 1});
}

/// Whether tiles of an axis of `m` rows leave much of the matrix unit idle. It takes a row of A at a time,
/// and a register of B takes as long as some rows.
bool wastes_matrix_unit(std::int64_t m, int vectors) {
  constexpr int rhs_rows = 10;
  const int rows = TileSplit(m, matrix_blocks(vectors) * matrix_unit::rows).rows.most,
            last = rows % matrix_unit::rows, idle = last == 0 ? 0 : std::max(rhs_rows - last, 0);
  return 8 * idle > rows;
}

/// Whether tiles may divide the last two axes as one.
bool axes_join(const ContractionSizes& sizes) {
  const std::size_t axes = sizes.extents.size();
  return axes >= 2 && sizes.rhs_strides[axes - 2] == 0 &&
         sizes.lhs_strides[axes - 2] == sizes.extents.back() * sizes.lhs_strides.back();
}

/// Whether tiles on the matrix unit divide the last two axes as one.
bool joins_for_matrix_unit(const PlanRequest& r, const ContractionSizes& sizes) {
  return !r.generic && !r.pools() && axes_join(sizes) && sizes.extents[sizes.extents.size() - 2] > 1 &&
         wastes_matrix_unit(sizes.extents.back(), r.vectors_per_panel());
}

/// The tile, whose rows of A are copied or not. Rows of two axes may share a tile if their B is the same.
LargestTile largest_tile(const PlanRequest& r, const ContractionSizes& sizes, bool copies_lhs) {
  const Contraction& p = r.p;
  if (r.generic)
    return r.on_matrix_unit() ? LargestTile{RowTilePlan::generic_rows, 1, 1}
                              : generic_tile(p.panels, r.vectors_per_panel(), r.target);
  const std::size_t axes = sizes.extents.size();
  const std::int64_t rows =
                         r.pools() ? static_cast<std::int64_t>(p.window_points.size()) : sizes.extents.back(),
                     row_groups = r.pools()                                      ? sizes.extents.back()
                                  : axes > 1 && sizes.rhs_strides[axes - 2] == 0 ? sizes.extents[axes - 2]
                                                                                 : 1;
  if (r.on_matrix_unit())
    return matrix_tile(rows, joins_for_matrix_unit(r, sizes) ? 1 : row_groups, r.vectors_per_panel(),
                       r.pools());
  const std::int64_t row_stride = copies_lhs ? LhsPlan::copied_row_stride : sizes.lhs_strides.back();
  return largest_tile(rows, row_groups, row_stride * r.element_bytes(), p.panels, r.vectors_per_panel(),
                      r.pools(), !p.unpacked && p.groups == 1, p.of_pairs(), r.target);
}

/// Whether tiles divide the last two axes as one: tiles of the last axis alone would leave units idle, or
/// have too few accumulators to hide the latency of FMAs. Otherwise it does not pay for the epilogue's index
/// arithmetic for each row.
bool joins_axes(const PlanRequest& r, const ContractionSizes& sizes, const LargestTile& largest) {
  if (r.on_matrix_unit()) return joins_for_matrix_unit(r, sizes);
  if (r.generic || r.pools() || largest.rows_per_group > 1 || !axes_join(sizes)) return false;
  const TileRows rows = TileSplit(sizes.extents.back(), largest.row_groups).rows;
  return (rows.most - !rows.even) * largest.panels * r.vectors_per_panel() < tuning::min_accumulators;
}

/// Whether the rows of a tile, which would conflict in L1, are copied chunk by chunk. Applies if one row
/// block then has all rows, so that B is read once.
bool copies_lhs(const PlanRequest& r, const ContractionSizes& sizes, std::int64_t all_rows) {
  const Contraction& p = r.p;
  return !r.generic && !r.one_chunk() && !p.unpacked && !r.on_matrix_unit() && p.k_offsets.empty() &&
         p.k_stride == 1 && p.groups == 1 && r.lhs_bytes() > choices::block_lhs_bytes(r.machine()) &&
         all_rows * LhsPlan::copied_row_stride * r.element_bytes() <= choices::copy_bytes(r.machine()) &&
         Tile::rows_without_conflicts(sizes.lhs_strides.back() * r.element_bytes(),
                                      tuning::usual_conflicting_rows) <
             std::min(Tile::max_rows(r.target, r.vectors_per_panel()), tuning::max_tile_rows);
}

/// Whether each column tile misses A in L2: k is strided by whole cache lines that alias to few sets, and
/// packed B holds half of L2. Such an A is packed, if enough columns use it again.
bool reads_evicted_lines(const Contraction& p, DType dtype, const CpuTarget& target) {
  const std::int64_t k_stride = p.k_offsets.size() < 2 ? p.k_stride : p.k_offsets[1] - p.k_offsets[0];
  if (!p.unpacked || target.lanes(4) == 1 || k_stride <= 1 || p.columns < tuning::min_packed_lhs_columns)
    return false;
  const std::int64_t stride_bytes = k_stride * static_cast<std::int64_t>(size_of(dtype)),
                     way_bytes = target.machine->l2.bytes / target.machine->l2.ways,
                     step = std::max(std::gcd(way_bytes, stride_bytes), tuning::cache_line_bytes);
  return std::min(p.k_extent, Tile::chunk) > way_bytes / step * target.machine->l2.ways / 2;
}

/// The tiles of the rows. The axes of `sizes` become the axes of tiles, and their numbers of tiles are set.
RowTilePlan plan_rows(const PlanRequest& r, const LargestTile& largest, bool packs_lhs,
                      ContractionSizes& sizes) {
  const std::int64_t row_stride = sizes.lhs_strides.back();
  const bool joins = joins_axes(r, sizes, largest);
  if (const std::size_t axes = sizes.extents.size(); joins) {
    sizes.epilogue_rows = sizes.extents.back();
    sizes.extents[axes - 2] *= sizes.epilogue_rows;
    sizes.lhs_strides[axes - 2] = row_stride;
  }
  if (joins || (largest.rows_per_group > 1 && !r.pools()))
    for (Dims* list : {&sizes.extents, &sizes.lhs_strides, &sizes.rhs_strides}) list->pop_back();
  const TileSplit split(sizes.extents.back(), largest.row_groups);
  sizes.rows = sizes.extents.back();
  sizes.tiles_of_axis = split.tiles;
  sizes.larger_tiles = split.larger;
  sizes.row_tiles =
      mlir::ShapedType::getNumElements(llvm::ArrayRef(sizes.extents).drop_back()) * sizes.tiles_of_axis;
  const bool even = largest.rows_per_group == 1 && !r.pools() && !packs_lhs && r.p.k_offsets.empty();
  return {.groups = r.generic ? TileRows{largest.row_groups, true} : split.rows,
          .rows_per_group = largest.rows_per_group,
          .generic = r.generic,
          .even = even,
          .row_stride = even ? 0 : row_stride,
          .group_stride = even ? 0 : sizes.lhs_strides.back(),
          .window_points = r.p.window_points,
          .joins_axes = joins};
}

ColumnTilePlan plan_columns(const PlanRequest& r, int panels, ContractionSizes& sizes) {
  const Contraction& p = r.p;
  const std::int64_t tiles = divideCeilSigned(p.panels, panels),  // of a group
      width = panels * p.panel;
  sizes.column_tiles = p.groups * tiles;
  // Masks of narrower elements would be branches.
  const bool any = r.generic && r.lanes() > 1 && r.element_bytes() >= 4;
  const std::int64_t last = any ? width : p.columns - (tiles - 1) * width;
  return {.panels = panels,
          .vectors_per_panel = r.vectors_per_panel(),
          .panel = p.panel,
          .last = static_cast<int>(last),
          .one_tile = last < width && p.panels == panels,
          .any = any,
          .lacks_panels = p.panels % panels != 0};
}

LhsPlan plan_lhs(const PlanRequest& r, const RowTilePlan& rows, bool packs, bool copies,
                 const ContractionSizes& sizes) {
  const Contraction& p = r.p;
  const bool has_table = !p.k_offsets.empty(),
             row_follows_row = rows.even && p.k_stride == 1 && sizes.lhs_strides.back() == p.k_extent;
  LhsPlan lhs{.operand = FactorOperands::of(p.lhs, p.rhs).lhs,
              .table = {},
              .along_k = !has_table && p.k_stride == 1,
              .packs = packs,
              .copies = copies,
              .prefetches = !r.generic && row_follows_row && sizes.column_tiles <= tuning::few_column_tiles &&
                            choices::prefetches_stream(r.machine(), r.lhs_bytes())};
  if (has_table) lhs.table = r.operands;
  return lhs;
}

RhsPlan plan_rhs(const PlanRequest& r, const Tile& tile, const ColumnTilePlan& columns, bool packs_batch,
                 const ContractionSizes& sizes) {
  const Contraction& p = r.p;
  const std::int64_t far_bytes = sizes.row_tiles <= tuning::few_row_tiles
                                     ? tuning::first_miss_bytes
                                     : choices::l2_rhs_bytes(r.machine());
  RhsPlan rhs{.operand = static_cast<int>(p.rhs),
              .dtype = p.rhs_dtype,
              .packer = {},
              .packs_batch = packs_batch,
              .prefetches = !r.generic && !p.unpacked && !tile.matrix_unit &&
                            (tile.sums_in_memory() ? choices::prefetches_stream(r.machine(), r.rhs_bytes())
                                                   : columns.panels == 1 && r.rhs_bytes() > far_bytes)};
  if (p.unpacked)
    rhs.packer = Packer{p.rhs_dtype, r.lanes(),
                        Packer::neighbours_of(p.unpacked->row_stride, p.unpacked->column_stride)};
  return rhs;
}

/// RhsPlan::lines_ahead. Plans have few different numbers of lines, so that sizes share kernels.
int lines_ahead(const PlanRequest& r, std::int64_t row_tiles) {
  if (!r.on_matrix_unit() || r.generic || r.rhs_bytes() <= r.machine().l1.bytes) return 0;
  const std::int64_t lines = matrix_unit::words * r.p.panel * r.element_bytes() / tuning::cache_line_bytes;
  return static_cast<int>(llvm::PowerOf2Ceil(
      static_cast<std::uint64_t>(divideCeilSigned(lines, std::max<std::int64_t>(row_tiles, 1)))));
}

TaskPlan plan_tasks(const PlanRequest& r, bool packs_lhs, const ContractionSizes& sizes) {
  // The matrix unit takes A faster than it arrives from L3: a row block of it stays in L2.
  const bool lhs_may_stream = !r.on_matrix_unit() || r.lhs_bytes() <= choices::block_lhs_bytes(r.machine());
  const bool has_large_rhs = r.rhs_bytes() > choices::private_cache_bytes(r.machine()) &&
                             r.rhs_bytes() > r.lhs_bytes() && lhs_may_stream;
  return {.by_column_blocks = r.p.unpacked ? !packs_lhs : !r.generic && has_large_rhs,
          .one_chunk = r.one_chunk(),
          .outer_count = sizes.extents.size() - 1,
          .scratch_operand = r.operands + !r.p.k_offsets.empty()};
}

TileEndPlan plan_end(const PlanRequest& r, const Tile& tile, const RowTilePlan& rows, std::int64_t all_rows) {
  const std::int64_t result_bytes = all_rows * r.p.columns * r.element_bytes();
  return {.rolled = r.generic || !r.one_chunk() || r.epilogue.has_functions() || tile.sums_in_memory(),
          .prefetches = !r.generic && r.epilogue.reads_rows() && r.p.k_extent <= tuning::short_k &&
                        rows.rows_per_group == 1 && !rows.joins_axes &&
                        result_bytes > choices::private_cache_bytes(r.machine()),
          // The matrix unit is done before the lines of a tile arrive.
          .prefetches_next = tile.matrix_unit && !r.generic};
}

}  // namespace

std::optional<ContractionPlan> plan_contraction(const Contraction& p, DType dtype, const Epilogue& epilogue,
                                                int operands, const CpuTarget& target, RowCounts counts,
                                                ContractionSizes& sizes) {
  const PlanRequest r{p, dtype, epilogue, operands, target, counts == RowCounts::any};
  const std::int64_t all_rows = mlir::ShapedType::getNumElements(sizes.extents) *
                                static_cast<std::int64_t>(std::max<std::size_t>(p.window_points.size(), 1));
  const bool copies = copies_lhs(r, sizes, all_rows);
  const bool packs = !r.pools() && sizes.lhs_strides.back() == 1 && reads_evicted_lines(p, dtype, target);
  const bool packs_batch =
      p.unpacked && llvm::any_of(sizes.rhs_strides, [](std::int64_t s) { return s != 0; });
  if (r.generic && (r.pools() || packs || !p.k_offsets.empty())) return std::nullopt;
  const LargestTile largest = largest_tile(r, sizes, copies);
  ContractionPlan plan;
  plan.rows = plan_rows(r, largest, packs, sizes);
  plan.columns = plan_columns(r, largest.panels, sizes);
  plan.tile = {.dtype = dtype,
               .rows = plan.rows.rows(),
               .vectors = plan.columns.vectors(),
               .lanes = r.lanes(),
               .bytes = p.byte_products(target, r.lanes()),
               .pairs = p.of_pairs(),
               .matrix_unit = r.on_matrix_unit()};
  plan.lhs = plan_lhs(r, plan.rows, packs, copies, sizes);
  plan.rhs = plan_rhs(r, plan.tile, plan.columns, packs_batch, sizes);
  plan.tasks = plan_tasks(r, packs, sizes);
  plan.end = plan_end(r, plan.tile, plan.rows, all_rows);
  sizes.product_row_tiles = packs_batch ? sizes.tiles_of_axis : sizes.row_tiles;
  split_tasks(p, plan, target, sizes);
  plan.rhs.lines_ahead = lines_ahead(r, sizes.block_row_tiles);
  return plan;
}

}  // namespace kiln::codegen

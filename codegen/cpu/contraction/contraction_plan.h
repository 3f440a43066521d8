#pragma once
#include "codegen/cpu/contraction/contraction.h"
#include "codegen/cpu/contraction/pack.h"
#include "codegen/emit/epilogue.h"
#include "codegen/emit/tile.h"

namespace kiln::codegen {

/// The rows of a tile, in row groups. Tiles divide the axis of row groups. A row group is a single row, or,
/// where the epilogue pools, a window, or all rows of a short innermost axis.
struct TileSize {
  TileRows row_groups;
  int rows_per_group, panels;
  int rows() const { return row_groups.most * rows_per_group; }
};

/// Everything that the code of a contraction depends on, with its epilogue: equal plans, equal code.
struct ContractionPlan {
  Tile tile;
  TileSize size;
  int last_columns;       // of the last tile of a group of columns
  bool one_column_tile;   // the last tile of columns is the first
  bool any_columns;       // columns that the last tile lacks are found at run time
  bool lacks_panels;      // the last tile lacks whole panels, too
  int vectors_per_panel;  // registers
  std::int64_t panel;     // columns
  /// Whether A's rows are one distance apart, a parameter, so that arrays of all widths share a kernel.
  bool even_rows;
  /// Otherwise A's distance between the rows of a group, and between groups.
  std::int64_t row_stride, row_group_stride;
  std::vector<std::int64_t> window_points;  // where a row group is a window: A's offset of each of its rows
  /// Whether the code is for any number of rows: all tiles have `generic_rows`. Where there are more rows,
  /// the last tile ends with the last row and stores those that the tile before it has left; where there are
  /// fewer, it computes the last row several times and stores it once.
  bool generic;
  int k_class;
  bool table, one_chunk, copies_lhs;
  // Whether the epilogue is a loop over the row groups of a tile, whose sums are in memory: where totals are
  // anyway, and where functions would make the code long.
  bool rolls_epilogue;
  bool column_block_outer;  // tasks are ordered by column block, then by row block; else the reverse
  // Software prefetch of packed B, of A, and of the epilogue's operands.
  bool prefetch_rhs, prefetch_lhs, prefetch_epilogue;
  // Tiles divide the last two axes of A as one axis, while the epilogue, which writes into an array with a
  // border, walks them separately.
  bool collapses_outer;
  std::size_t outer_count;  // axes outside of the one that tiles divide
  int lhs_operand, rhs_operand, table_operand, scratch_operand;
  std::optional<Packer> packer;  // of B, if it is not packed yet
  bool packs_lhs;                // the kernel packs A, too
  bool packs_batch;              // each product of a batch has a B of its own to pack

  /// No more than those that EvenRows::append repeats where rows are missing.
  static constexpr int generic_rows = 4;

  /// Between copied rows of A: not a multiple of a page.
  static constexpr std::int64_t copied_row_stride = Tile::chunk + 16;
  std::int64_t tile_elements() const { return size.rows() * tile.width(); }
  /// Of A, for a row tile.
  std::int64_t copy_elements() const { return copies_lhs ? size.rows() * copied_row_stride : 0; }

  /// Of packed A, for a row tile and a chunk of k: the elements of all rows at one k, then those at the next.
  /// The last store may write a register; not a multiple of a page.
  std::int64_t strip_elements() const { return size.rows() * Tile::chunk + tile.lanes + 16; }

  /// A's offset of row r of a tile, relative to the tile, unless rows are even.
  std::int64_t offset_in_lhs(int r) const {
    const int in_group = r % size.rows_per_group;
    return r / size.rows_per_group * row_group_stride +
           (window_points.empty() ? in_group * row_stride
                                  : window_points[static_cast<std::size_t>(in_group)]);
  }
  /// Rows that the epilogue reduces to one.
  int pooled_rows() const { return window_points.empty() ? 1 : size.rows_per_group; }
  /// Whether the epilogue sees the axis of row groups as an outer axis.
  bool row_groups_are_outer() const { return window_points.empty() && size.rows_per_group > 1; }
  /// Whether the last tile has fewer columns than the others.
  bool is_ragged() const { return last_columns < tile.width(); }
  /// Registers of columns of the last tile.
  int last_vectors() const { return (last_columns + tile.lanes - 1) / tile.lanes; }
  /// Whether the last tile has code of its own, for fewer registers.
  bool narrows_last() const { return size.panels == 1 && !one_column_tile && last_vectors() < tile.vectors; }
  std::string key() const;
};

/// The sizes that the kernel gets as parameters. A row tile is the rows of one tile. A task is a block of
/// `block_row_tiles` row tiles by a block of `block_column_tiles` column tiles.
struct ContractionSizes {
  Dims extents, lhs_strides, rhs_strides;  // of the axes of rows; tiles divide the last
  std::int64_t rows = 0;                   // row groups along that axis
  std::int64_t tiles_of_axis = 0, larger_tiles = 0, row_tiles = 0, column_tiles = 0;
  std::int64_t epilogue_rows = 0;  // extent of the epilogue's last axis, for ContractionPlan::collapses_outer
  std::int64_t block_row_tiles = 1, block_column_tiles = 1, column_blocks = 1;
  /// Row tiles that share a B which the kernel packs: those of a product. No row block has tiles of two.
  std::int64_t product_row_tiles = 0;
  std::int64_t scratch_bytes = 0;

  std::int64_t row_blocks_of_product() const;
  std::int64_t tasks() const;
};

/// How far ahead A's rows are prefetched, in elements: whole row tiles.
std::int64_t lhs_prefetch_distance(const ContractionPlan& plan, const ContractionSizes& sizes);

/// Kernels for the numbers of rows that a product has, or for all numbers.
enum class RowCounts { given, any };

/// `sizes` comes with the axes of rows; the other members are computed. `operands`: of the fusion, results
/// included. For any number of rows, there is a plan only for even rows.
std::optional<ContractionPlan> plan_contraction(const Contraction& contraction, DType dtype,
                                                const Epilogue& epilogue, int operands,
                                                const CpuTarget& target, RowCounts counts,
                                                ContractionSizes& sizes);

}  // namespace kiln::codegen

// The plan of a contraction's code, level by level, and the sizes that the code gets as parameters.
#pragma once
#include "codegen/cpu/contraction/contraction.h"
#include "codegen/cpu/contraction/pack.h"
#include "codegen/emit/epilogue.h"
#include "codegen/emit/tile.h"
#include "codegen/target/matrix_unit.h"

namespace kiln::codegen {

/// The tiles of the rows, in row groups. Tiles divide the axis of row groups. A row group is a single row,
/// or, where the epilogue pools, a window, or all rows of a short innermost axis.
struct RowTilePlan {
  TileRows groups;  // heights
  int rows_per_group;
  /// Whether the code is for any number of rows: each tile has `generic_rows` rows. The last tile ends with
  /// the last row, and stores only the rows after the preceding tile. If there are fewer rows than a tile
  /// has, it computes the last row several times and stores it once.
  bool generic;
  /// Whether A's rows are one distance apart, a parameter, so that arrays of all widths share a kernel.
  bool even;
  /// Otherwise A's distance between the rows of a group, and between groups.
  std::int64_t row_stride, group_stride;
  std::vector<std::int64_t> window_points;  // where a row group is a window: A's offset of each of its rows
  /// Tiles divide the last two axes of A as one axis, while the epilogue, which writes into an array with a
  /// border, walks them separately.
  bool joins_axes;
  static constexpr auto fields() {
    return std::tuple(PlanField{"groups", &RowTilePlan::groups},
                      PlanField{"rows_per_group", &RowTilePlan::rows_per_group},
                      PlanField{"generic", &RowTilePlan::generic}, PlanField{"even", &RowTilePlan::even},
                      PlanField{"row_stride", &RowTilePlan::row_stride},
                      PlanField{"group_stride", &RowTilePlan::group_stride},
                      PlanField{"window_points", &RowTilePlan::window_points},
                      PlanField{"joins_axes", &RowTilePlan::joins_axes});
  }

  /// At most the number of rows that EvenRows::append repeats where rows are missing.
  static constexpr int generic_rows = 4;

  int rows_of(int row_groups) const { return row_groups * rows_per_group; }
  /// Rows of the highest tile.
  int rows() const { return rows_of(groups.most); }
  /// A's offset of row r of a tile, relative to the tile, unless rows are even.
  std::int64_t offset_in_lhs(int r) const {
    const int in_group = r % rows_per_group;
    return r / rows_per_group * group_stride + (window_points.empty()
                                                    ? in_group * row_stride
                                                    : window_points[static_cast<std::size_t>(in_group)]);
  }
  /// Whether registers of the matrix unit read A where it is: rows of a register are one distance apart. They
  /// are rows of a row group, if that fills enough of a register.
  bool matrix_reads_in_place() const {
    return !generic && window_points.empty() && (rows_per_group == 1 || fill_matrix_register(rows_per_group));
  }
  /// Whether a register of the matrix unit has these rows, of its 16. With fewer, products take as long as
  /// copying rows to full registers.
  static bool fill_matrix_register(std::int64_t rows) { return rows >= 6 && rows <= matrix_unit::rows; }
  /// Rows that the epilogue reduces to one.
  int pooled_rows() const { return window_points.empty() ? 1 : rows_per_group; }
  /// Whether the epilogue sees the axis of row groups as an outer axis.
  bool groups_are_outer() const { return window_points.empty() && rows_per_group > 1; }
};

/// The tiles of the columns of a group.
struct ColumnTilePlan {
  int panels;             // of a tile
  int vectors_per_panel;  // registers
  std::int64_t panel;     // columns
  int last;               // columns of the last tile
  bool one_tile;          // a ragged last tile is the first
  bool any;               // columns that the last tile lacks are found at run time
  bool lacks_panels;      // the last tile lacks whole panels, too
  static constexpr auto fields() {
    return std::tuple(PlanField{"panels", &ColumnTilePlan::panels},
                      PlanField{"vectors_per_panel", &ColumnTilePlan::vectors_per_panel},
                      PlanField{"panel", &ColumnTilePlan::panel}, PlanField{"last", &ColumnTilePlan::last},
                      PlanField{"one_tile", &ColumnTilePlan::one_tile},
                      PlanField{"any", &ColumnTilePlan::any},
                      PlanField{"lacks_panels", &ColumnTilePlan::lacks_panels});
  }

  int vectors() const { return panels * vectors_per_panel; }
  int lanes() const { return static_cast<int>(panel) / vectors_per_panel; }
  int width() const { return panels * static_cast<int>(panel); }
  /// Whether the last tile has fewer columns than the others.
  bool is_ragged() const { return last < width(); }
  /// Registers of columns of the last tile.
  int last_vectors() const { return (last + lanes() - 1) / lanes(); }
  /// Whether the last tile has separate code, for fewer registers.
  bool narrows_last() const { return panels == 1 && !one_tile && last_vectors() < vectors(); }
};

/// How a tile reads A.
struct LhsPlan {
  int operand;
  std::optional<int> table;  // operand: A's offset for each k
  bool along_k;              // without a table: elements at consecutive k are neighbours
  bool packs, copies;        // a row tile's A, before it is multiplied
  bool prefetches;
  static constexpr auto fields() {
    return std::tuple(PlanField{"operand", &LhsPlan::operand}, PlanField{"table", &LhsPlan::table},
                      PlanField{"along_k", &LhsPlan::along_k}, PlanField{"packs", &LhsPlan::packs},
                      PlanField{"copies", &LhsPlan::copies}, PlanField{"prefetches", &LhsPlan::prefetches});
  }

  /// Between copied rows: not a multiple of a page.
  static constexpr std::int64_t copied_row_stride = Tile::chunk + 16;
};

/// How a tile reads B.
struct RhsPlan {
  int operand;
  DType dtype;                   // in memory; the tile widens it
  std::optional<Packer> packer;  // of a B that is not packed yet
  bool packs_batch;              // each product of a batch packs a separate B
  bool prefetches;
  /// On the matrix unit: lines of the next panel that a tile prefetches in each step, so that the row tiles
  /// of a block prefetch it together.
  int lines_ahead = 0;
  static constexpr auto fields() {
    return std::tuple(PlanField{"operand", &RhsPlan::operand}, PlanField{"dtype", &RhsPlan::dtype},
                      PlanField{"packer", &RhsPlan::packer}, PlanField{"packs_batch", &RhsPlan::packs_batch},
                      PlanField{"prefetches", &RhsPlan::prefetches},
                      PlanField{"lines_ahead", &RhsPlan::lines_ahead});
  }
};

/// The blocks that are tasks.
struct TaskPlan {
  bool by_column_blocks;    // tasks are ordered by column block, then by row block; else the reverse
  bool one_chunk;           // of k
  std::size_t outer_count;  // axes outside of the one that tiles divide
  int scratch_operand;
  static constexpr auto fields() {
    return std::tuple(PlanField{"by_column_blocks", &TaskPlan::by_column_blocks},
                      PlanField{"one_chunk", &TaskPlan::one_chunk},
                      PlanField{"outer_count", &TaskPlan::outer_count},
                      PlanField{"scratch_operand", &TaskPlan::scratch_operand});
  }
};

/// The epilogue of a tile.
struct TileEndPlan {
  /// Whether it is a loop over the row groups of a tile, whose sums are in memory: if totals are there
  /// anyway, or if functions would make the code long.
  bool rolled;
  bool prefetches;       // its operands, while the tile is computed
  bool prefetches_next;  // its operands and results for the next column tile, row by row
  static constexpr auto fields() {
    return std::tuple(PlanField{"rolled", &TileEndPlan::rolled},
                      PlanField{"prefetches", &TileEndPlan::prefetches},
                      PlanField{"prefetches_next", &TileEndPlan::prefetches_next});
  }
};

/// Everything that the code of a contraction depends on, with its epilogue: equal plans, equal code.
struct ContractionPlan {
  Tile tile;
  RowTilePlan rows;
  ColumnTilePlan columns;
  LhsPlan lhs;
  RhsPlan rhs;
  TaskPlan tasks;
  TileEndPlan end;
  static constexpr auto fields() {
    return std::tuple(PlanField{"tile", &ContractionPlan::tile}, PlanField{"rows", &ContractionPlan::rows},
                      PlanField{"columns", &ContractionPlan::columns},
                      PlanField{"lhs", &ContractionPlan::lhs}, PlanField{"rhs", &ContractionPlan::rhs},
                      PlanField{"tasks", &ContractionPlan::tasks}, PlanField{"end", &ContractionPlan::end});
  }

  /// The offset of row r of a tile where the tile reads A: packed, copied, or in place unless rows are even.
  std::int64_t lhs_row_offset(int r) const {
    return lhs.packs ? r : lhs.copies ? r * LhsPlan::copied_row_stride : rows.offset_in_lhs(r);
  }
  std::int64_t tile_elements() const { return rows.rows() * tile.width(); }
  /// Elements of copied A, for a row tile.
  std::int64_t copy_elements() const { return lhs.copies ? rows.rows() * LhsPlan::copied_row_stride : 0; }
  /// Elements of packed A, for a row tile and a chunk of k: all rows at one k, then all rows at the next. The
  /// last store may write a register; not a multiple of a page.
  std::int64_t strip_elements() const { return rows.rows() * Tile::chunk + tile.lanes + 16; }
};

/// The sizes that the kernel gets as parameters. A row tile is the rows of one tile. A task is a block of
/// `block_row_tiles` row tiles by a block of `block_column_tiles` column tiles.
struct ContractionSizes {
  Dims extents, lhs_strides, rhs_strides;  // of the axes of rows; tiles divide the last
  std::int64_t rows = 0;                   // row groups along that axis
  std::int64_t tiles_of_axis = 0, larger_tiles = 0, row_tiles = 0, column_tiles = 0;
  std::int64_t epilogue_rows = 0;  // extent of the epilogue's last axis, for RowTilePlan::joins_axes
  std::int64_t block_row_tiles = 1, block_column_tiles = 1, column_blocks = 1;
  /// Row tiles that share a B which the kernel packs: the tiles of one product of a batch. A row block has
  /// tiles of one product only.
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

/// Divides a contraction of this plan into tasks.
void split_tasks(const Contraction& contraction, const ContractionPlan& plan, const CpuTarget& target,
                 ContractionSizes& sizes);

}  // namespace kiln::codegen

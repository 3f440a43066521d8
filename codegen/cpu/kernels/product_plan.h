#pragma once
#include "codegen/cpu/kernels/pack.h"
#include "codegen/cpu/kernels/product.h"
#include "codegen/cpu/loops/tile.h"

namespace kiln::codegen {

/// Rows of a tile come in spans. Those of a span lie one step apart, spans another; tiles follow each other
/// along the axis of spans. Mostly a span is one row; where the end pools, it is a window.
struct TileSize {
  TileRows spans;
  int span_rows, panels;
  int rows() const { return spans.most * span_rows; }
};

/// What the code of a product is made from: equal plans (and epilogues), equal code.
struct ProductPlan {
  Tile tile;
  TileSize size;
  int last_columns;    // of the last tile of a group
  bool one_tile;       // the last tile of columns is the first
  int units;           // registers of a panel
  std::int64_t panel;  // columns of a panel
  std::int64_t row_step, span_step;
  std::vector<std::int64_t> points;  // where a span is a window: of its rows' left factors, from its first
  int k_class;
  bool table, one_chunk, copied;
  bool by_strip;  // the blocks of a strip follow each other, else the strips of a block
  // What is asked for in advance: right factors, left factors, what the end reads.
  bool prefetch_rhs, prefetch_lhs, prefetch_epilogue;
  // Tiles run on from one point of the axis before to the next, which the end, unlike the left factors, does
  // not walk as one: it writes into an array with a border.
  bool runs_on;
  std::size_t outer_count;  // axes before the one that tiles follow each other along
  int lhs_operand, rhs_operand, table_operand, scratch_operand;
  std::optional<Packer> packer;  // of right factors that come as they are

  /// Between copied rows: not a multiple of a page.
  static constexpr std::int64_t copied_row = Tile::chunk + 16;
  std::int64_t item_elements() const { return size.rows() * tile.width(); }
  std::int64_t copied_elements() const { return copied ? size.rows() * copied_row : 0; }  // of an item

  /// Of the left factor of row r, from the tile's first.
  std::int64_t row_offset(int r) const { return copied ? r * copied_row : offset_in_lhs(r); }
  std::int64_t offset_in_lhs(int r) const {
    const int in_span = r % size.span_rows;
    return r / size.span_rows * span_step +
           (points.empty() ? in_span * row_step : points[static_cast<std::size_t>(in_span)]);
  }
  /// Rows that the end makes one of.
  int pooled_rows() const { return points.empty() ? 1 : size.span_rows; }
  /// Whether the end finds the rows of a span by the span's index.
  bool spans_are_outer() const { return points.empty() && size.span_rows > 1; }
  /// Whether the last tile has fewer columns than the others.
  bool is_ragged() const { return last_columns < tile.width(); }
  std::string key() const;
};

/// The sizes that the code is given. An item is a tile's rows. A unit is `block` items with `columns` column
/// tiles, a strip of which there are `strips`.
struct ProductWork {
  Dims extents, lhs_steps, rhs_steps;  // axes of rows, the last the one that tiles follow each other along
  std::int64_t row_tiles = 0, larger_tiles = 0, items = 0, column_tiles = 0;
  std::int64_t end_rows = 0;  // of the end's last axis, where tiles run on
  std::int64_t block = 1, columns = 1, strips = 1;
  std::int64_t scratch_bytes = 0;

  std::int64_t units() const;
};

/// `work` comes with the axes of rows and leaves complete. `end_reads_rows`: what follows the sums reads an
/// array as large as the result. `operands`: of the fusion, results included.
ProductPlan plan_product(const Product& product, DType dtype, bool end_reads_rows, int operands,
                         const Target& target, ProductWork& work);

}  // namespace kiln::codegen

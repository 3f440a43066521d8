// The kernel of all products. Work is numbered (block of row tiles, column tile); within one piece the rows
// of a block pass by one panel, so that the panel stays in the nearest caches and the block's left factors in
// the second.
#include "codegen/product.h"

#include "codegen/epilogue.h"
#include "codegen/tile.h"
#include "runtime/fail.h"

#include <llvm/Support/MathExtras.h>

#include <numeric>

namespace kiln::codegen {
namespace {

/// Left factors that the rows of a block read should take no more than this, a part of a core's second cache.
constexpr std::int64_t block_bytes = 384 * 1024;
/// The same, with the results, where right factors take no more than `small_bytes`.
constexpr std::int64_t small_block_bytes = 48 * 1024, small_bytes = 128 * 1024;
/// Right factors of more than that come from memory or the third cache each time.
constexpr std::int64_t far_bytes = 1024 * 1024;
constexpr std::int64_t line_bytes = 64;
/// Sums of a block's rows between chunks.
constexpr std::int64_t totals_bytes = 192 * 1024;
/// Left factors of a chunk that are copied for a block.
constexpr std::int64_t copy_bytes = 320 * 1024;
/// Column tiles that share the copies.
constexpr std::int64_t tiles_of_copy = 8;
/// Pieces of work that are worth a smaller block.
constexpr std::int64_t least_units = 8;
/// More rows than that make the code longer and not faster.
constexpr int most_rows = 14;

/// Rows of a tile come in spans. Those of a span lie one step apart, spans another; tiles follow each other
/// along the axis of spans. Mostly a span is one row.
struct TileSize {
  int spans, span_rows, panels;
  int rows() const { return spans * span_rows; }
};

/// Left factors of neighbouring rows that lie a multiple of a page apart compete for the same few lines of
/// the first cache. How many rows it bears.
int rows_in_cache(std::int64_t row_bytes) {
  const std::int64_t page = 4096,
                     places = page / std::gcd(page, std::max<std::int64_t>(std::abs(row_bytes), 1));
  return static_cast<int>(std::min<std::int64_t>(6 * places, most_rows));
}

/// As many sums as registers hold; fewer where that leaves fewer rows to be computed twice at the end. `m`
/// rows lie a step apart, and `spans` of those another.
TileSize size_of_tile(std::int64_t m, std::int64_t spans, std::int64_t row_bytes, std::int64_t panels,
                      int vectors, const Target& target) {
  const int limit = rows_in_cache(row_bytes);
  const auto most = [&](int joined) { return std::min(Tile::most_rows(target, joined * vectors), limit); };
  // Two panels where one has too few sums: to hide the latency of an addition, or to be worth the loads.
  const auto sums = [&](int joined) {
    return std::min<std::int64_t>(most(joined), m * spans) * joined * vectors;
  };
  const int joined = panels % 2 == 0 && 2 * vectors < target.registers() / 4 && sums(2) > sums(1) ? 2 : 1;
  // A few short spans make one tile.
  if (spans > 1 && m > 0 && 2 * m <= most(joined))
    return {static_cast<int>(std::min<std::int64_t>(most(joined) / m, spans)), static_cast<int>(m), joined};
  if (m <= most(joined)) return {static_cast<int>(std::max<std::int64_t>(m, 1)), 1, joined};
  // In units of a multiply-add of one register, with what a step costs beside those.
  const auto cost = [&](int rows) { return llvm::divideCeilSigned(m, rows) * (rows * joined * vectors + 4); };
  int best = most(joined);
  for (int rows = best; rows > 0; --rows)
    if (cost(rows) < cost(best)) best = rows;
  return {best, 1, joined};
}

/// What the code is made from: equal plans (and epilogues), equal code.
struct Plan {
  Tile tile;
  TileSize size;
  int units;           // registers of a panel
  std::int64_t panel;  // columns of a panel
  std::int64_t row_step, span_step;
  int k_class;
  bool table, per_column, one_chunk, copied, far, ragged_rows, ragged_columns;
  std::size_t outer_count;  // axes before the one that tiles follow each other along
  int lhs_operand, rhs_operand, table_operand, scratch_operand;

  /// Between copied rows: not a multiple of a page.
  static constexpr std::int64_t copied_row = Tile::chunk + 16;
  std::int64_t item_elements() const { return size.rows() * tile.width(); }
  std::int64_t copied_elements() const { return copied ? size.rows() * copied_row : 0; }  // of an item

  /// Of the left factor of row r, from the tile's first.
  std::int64_t row_offset(int r) const { return copied ? r * copied_row : offset_in_lhs(r); }
  std::int64_t offset_in_lhs(int r) const {
    return r / size.span_rows * span_step + r % size.span_rows * row_step;
  }
  std::string key() const {
    return fmt::format("{} rows={}x{}{} vectors={}x{} lanes={}{} lhs={}{} rhs={} steps={},{} k={}{} outer={}",
                       name_of(tile.dtype), size.spans, size.span_rows, ragged_rows ? "+" : "", size.panels,
                       units, tile.lanes, ragged_columns ? "+" : "", lhs_operand,
                       per_column ? " per-column" : "", rhs_operand, span_step, row_step,
                       table          ? "table"
                       : k_class == 1 ? "1"
                                      : "any",
                       one_chunk ? ""
                       : copied  ? "+copied"
                                 : "+",
                       outer_count) +
           (far ? " far" : "");
  }
};

enum Param : std::int64_t {
  K,
  M,  // spans, along the axis of tiles
  N,
  row_tiles,
  items,
  items_of_block,
  column_tiles,
  column_tiles_of_unit,
  column_strips,
  column_tiles_of_group,
  lhs_offset,
  lhs_group,
  lhs_k,
  panel_step,
  group_step,
  first_outer  // extent, step of the left and of the right factor of each outer axis
};

/// Emits the kernel. An item is a tile's rows, a unit a block of items with a column tile.
class Emitter {
 public:
  using Value = mlir::Value;

  Emitter(Emit& e, const Plan& plan, Epilogue& finish, Value buffers, Value params)
      : e(e), plan_(plan), tile_(plan.tile), finish_(finish), buffers_(buffers), params_(params) {}

  void run(Value begin, Value end) {
    left_ = e.element(e.buffer(buffers_, plan_.lhs_operand), param(lhs_offset), tile_.dtype);
    right_ = e.buffer(buffers_, plan_.rhs_operand);
    if (plan_.table) offsets_ = e.buffer(buffers_, plan_.table_operand);
    panel_step_ = param(panel_step);
    k_step_ = param(lhs_k);
    if (!plan_.one_chunk) {
      totals_ = e.buffer(buffers_, plan_.scratch_operand);
      const Value unit_items = e.mul(param(column_tiles_of_unit), param(items_of_block));
      copies_ = e.element(totals_, e.mul(unit_items, e.index(plan_.item_elements())), wide());
    }
    const Value strips = param(column_strips), one = e.index(1);
    e.loop(begin, end, one, [&](Value unit) {
      first_item_ = e.mul(e.div(unit, strips), param(items_of_block));
      last_item_ = e.min(e.add(first_item_, param(items_of_block)), param(items));
      first_tile_ = e.mul(e.rem(unit, strips), param(column_tiles_of_unit));
      last_tile_ = e.min(e.add(first_tile_, param(column_tiles_of_unit)), param(column_tiles));
      if (plan_.one_chunk) return columns_over(e.index(0), param(K));
      // Chunk by chunk for all rows of the block, so that a panel's part stays in a near cache; the sums so
      // far wait in memory.
      clear_totals();
      const Value length = e.index(Tile::chunk);
      e.loop(e.index(0), param(K), length, [&](Value from) {
        const Value to = e.min(e.add(from, length), param(K));
        if (plan_.copied)
          each_item(left_,
                    [&](Value lhs, Value row_tile, Value number) { copy(lhs, row_tile, number, from, to); });
        columns_over(from, to);
      });
    });
  }

 private:
  Value param(std::int64_t p) { return e.param(params_, p); }
  /// What sums are held as.
  DType wide() const {
    return tile_.dtype == DType::f16 || tile_.dtype == DType::bf16 ? DType::f32 : tile_.dtype;
  }

  /// All that the unit computes, over k in [from, to).
  void columns_over(Value from, Value to) {
    e.loop(first_tile_, last_tile_, e.index(1), [&](Value tile) {
      choose_columns(tile);
      tile_number_ = e.sub(tile, first_tile_);
      each_item(group_left_,
                [&](Value lhs, Value row_tile, Value number) { item(lhs, row_tile, number, from, to); });
    });
  }

  void choose_columns(Value column_tile) {
    const Value group = e.div(column_tile, param(column_tiles_of_group)),
                in_group = e.rem(column_tile, param(column_tiles_of_group));
    first_column_ = e.mul(in_group, e.index(tile_.width()));
    columns_before_ = e.mul(group, param(N));
    panels_ = e.element(right_, e.mul(group, param(group_step)), tile_.dtype);
    panels_ =
        e.element(panels_, e.mul(e.mul(in_group, e.index(plan_.size.panels)), panel_step_), tile_.dtype);
    group_left_ = e.element(left_, e.mul(group, param(lhs_group)), tile_.dtype);
    if (plan_.per_column) group_left_ = e.element(group_left_, first_column_, tile_.dtype);
    is_column_.assign(static_cast<std::size_t>(tile_.vectors), {});
    masks_ = is_column_;
    if (!plan_.ragged_columns) return;
    for (int v = 0; v < tile_.vectors; ++v) {
      const Value rest = e.sub(param(N), e.add(first_column_, e.index(v * tile_.lanes)));
      is_column_[static_cast<std::size_t>(v)] = e.less(e.index(0), rest);
      if (tile_.lanes > 1) masks_[static_cast<std::size_t>(v)] = e.mask_below(rest, tile_.lanes);
    }
  }

  void clear_totals() {
    const Value zero = e.number(wide(), is_floating(tile_.dtype) ? -0.0 : 0, tile_.lanes);
    const Value count =
        e.mul(e.mul(param(column_tiles_of_unit), param(items_of_block)), e.index(plan_.item_elements()));
    e.loop(e.index(0), count, e.index(tile_.lanes),
           [&](Value at) { e.store(zero, e.element(totals_, at, wide()), wide(), tile_.lanes); });
  }

  /// The items of the block: where the left factors of its outer index begin, the tile's number along its
  /// axis, and the item's in the block.
  void each_item(Value left, llvm::function_ref<void(Value lhs, Value row_tile, Value number)> body) {
    const Value zero = e.index(0), one = e.index(1), tiles = param(row_tiles);
    const Value end_outer = e.div(e.add(last_item_, e.sub(tiles, one)), tiles);
    e.loop(e.div(first_item_, tiles), end_outer, one, [&](Value o) {
      outer_index_.assign(plan_.outer_count, {});
      Value lhs = left, rest = o;
      rhs_offset_ = zero;
      for (std::size_t i = plan_.outer_count; i-- > 0;) {
        const auto at = first_outer + 3 * static_cast<std::int64_t>(i);
        const Value extent = param(at);
        outer_index_[i] = i == 0 ? rest : e.rem(rest, extent);
        if (i > 0) rest = e.div(rest, extent);
        lhs = e.element(lhs, e.mul(outer_index_[i], param(at + 1)), tile_.dtype);
        rhs_offset_ = e.add(rhs_offset_, e.mul(outer_index_[i], param(at + 2)));
      }
      if (plan_.size.span_rows == 1) finish_.prepare(e, buffers_, params_, first_epilogue(), outer_index_);
      const Value first = e.mul(o, tiles);
      e.loop(e.max(zero, e.sub(first_item_, first)), e.min(tiles, e.sub(last_item_, first)), one,
             [&](Value row_tile) { body(lhs, row_tile, e.sub(e.add(first, row_tile), first_item_)); });
    });
  }

  std::int64_t first_epilogue() const {
    return first_outer + 3 * static_cast<std::int64_t>(plan_.outer_count);
  }

  /// The last tile begins early enough to be whole; the rows that another one has are not stored.
  Value first_of(Value row_tile) {
    const Value spans = e.index(plan_.size.spans), fresh = e.mul(row_tile, spans);
    return plan_.ragged_rows ? e.min(fresh, e.sub(param(M), spans)) : fresh;
  }

  /// The left factors of an item, row by row.
  void copy(Value lhs, Value row_tile, Value number, Value from, Value to) {
    const Value base = e.element(lhs, e.mul(first_of(row_tile), e.index(plan_.span_step)), tile_.dtype);
    const Value own = e.element(copies_, e.mul(number, e.index(plan_.copied_elements())), tile_.dtype);
    const Value lanes = e.index(tile_.lanes), count = e.sub(to, from);
    for (int r = 0; r < plan_.size.rows(); ++r) {
      const Value row = e.element(base, e.add(from, e.index(plan_.offset_in_lhs(r))), tile_.dtype);
      e.loop(e.index(0), count, lanes, [&](Value k) {
        const Value mask = tile_.lanes > 1 ? e.mask_below(e.sub(count, k), tile_.lanes) : Value();
        e.store(e.load(e.element(row, k, tile_.dtype), tile_.dtype, tile_.lanes, mask),
                e.element(own, e.add(k, e.index(r * Plan::copied_row)), tile_.dtype), tile_.dtype,
                tile_.lanes);
      });
    }
  }

  void item(Value lhs, Value row_tile, Value number, Value from, Value to) {
    const Value first = first_of(row_tile), fresh = e.mul(row_tile, e.index(plan_.size.spans));
    const Value base =
        plan_.copied
            ? e.element(copies_, e.sub(e.mul(number, e.index(plan_.copied_elements())), from), tile_.dtype)
            : e.element(lhs, e.mul(first, e.index(plan_.span_step)), tile_.dtype);
    const auto sums = sums_over(base, number, from, to);
    if (plan_.one_chunk) return store_tile(first, fresh, [&](std::size_t i) { return sums[i]; });

    const Value own = e.element(
        totals_,
        e.mul(e.add(e.mul(tile_number_, param(items_of_block)), number), e.index(plan_.item_elements())),
        wide());
    const auto place = [&](std::size_t i) {
      return e.element(own, e.index(static_cast<std::int64_t>(i) * tile_.lanes), wide());
    };
    const auto total = [&](std::size_t i) {
      return tile_.plus(e, e.load(place(i), wide(), tile_.lanes), sums[i]);
    };
    e.when(e.less(to, param(K)), [&] {
      for (std::size_t i = 0; i < sums.size(); ++i) e.store(total(i), place(i), wide(), tile_.lanes);
    });
    e.when(e.less(e.sub(param(K), e.index(1)), to), [&] { store_tile(first, fresh, total); });
  }

  llvm::SmallVector<Value> sums_over(Value base, Value number, Value from, Value to) {
    const Value right = e.element(panels_, rhs_offset_, tile_.dtype);
    const Prefetch next = plan_.far ? share_of(number, right, from, to) : Prefetch();
    return tile_.emit(e, from, to, [&](Value k) {
      Value step = k;
      if (plan_.table)
        step = e.load_scalar(e.element(offsets_, k, DType::i64), DType::i64);
      else if (plan_.k_class != 1)
        step = e.mul(k, k_step_);
      Tile::Factors f;
      const Value row_of_panel = e.element(right, e.mul(k, e.index(plan_.panel)), tile_.dtype);
      for (int v = 0; v < tile_.vectors; ++v) {
        Value at = row_of_panel;
        if (v >= plan_.units) at = e.element(at, panel_step_, tile_.dtype);
        at = e.element(at, e.index(v % plan_.units * tile_.lanes), tile_.dtype);
        f.right.push_back(plan_.per_column ? e.load(at, tile_.dtype, tile_.lanes)
                                           : tile_.right(e, at, plan_.panel));
      }
      if (plan_.far) {
        const Value line = e.add(next.first, e.div(e.mul(e.sub(k, from), next.lines), e.index(Tile::chunk)));
        e.prefetch(e.bytes_behind(next.base, e.mul(line, e.index(line_bytes))));
      }
      const auto of_row = [this, here = e.element(base, step, tile_.dtype)](int r) {
        return e.element(here, e.index(plan_.row_offset(r)), tile_.dtype);
      };
      f.left = tile_.repeated(e, of_row);
      if (plan_.per_column)
        f.left = [this, of_row](int r, int v) {
          return e.load(e.element(of_row(r), e.index(v * tile_.lanes), tile_.dtype), tile_.dtype, tile_.lanes,
                        masks_[static_cast<std::size_t>(v)]);
        };
      return f;
    });
  }

  /// Right factors from memory: while an item is computed, its share of those that follow is asked for.
  struct Prefetch {
    Value base, first, lines;
  };
  Prefetch share_of(Value number, Value right, Value from, Value to) {
    const Value elements = e.mul(e.sub(to, from), e.index(plan_.panel)),
                count = e.sub(last_item_, first_item_);
    const Value all =
        e.div(e.mul(elements, e.index(static_cast<std::int64_t>(size_of(tile_.dtype)))), e.index(line_bytes));
    const Value lines = e.div(e.add(all, e.sub(count, e.index(1))), count);
    // The same chunk of the next panel, where the unit has several; else what lies behind.
    const Value behind = e.element(right, plan_.copied ? panel_step_ : elements, tile_.dtype);
    return {e.element(behind, e.mul(from, e.index(plan_.panel)), tile_.dtype), e.mul(number, lines), lines};
  }

  /// `first` and `fresh`: where the tile and its own rows begin, along the axis of tiles.
  void store_tile(Value first, Value fresh, const std::function<Value(std::size_t)>& sum) {
    for (int s = 0; s < plan_.size.spans; ++s) {
      const Value along = e.add(first, e.index(s));
      const auto span = [&] {
        if (plan_.size.span_rows == 1) return store_row(s, along, sum);
        auto index = outer_index_;
        index.push_back(along);
        finish_.prepare(e, buffers_, params_, first_epilogue(), index);
        for (int r = 0; r < plan_.size.span_rows; ++r)
          store_row(s * plan_.size.span_rows + r, e.index(r), sum);
      };
      // The last span is always fresh.
      if (plan_.ragged_rows && s + 1 < plan_.size.spans)
        e.when(e.less(e.sub(fresh, e.index(1)), along), span);
      else
        span();
    }
  }

  void store_row(int r, Value row, const std::function<Value(std::size_t)>& sum) {
    for (int v = 0; v < tile_.vectors; ++v) {
      const auto store = [&] {
        finish_.store(e, tile_.value(e, sum(static_cast<std::size_t>(r * tile_.vectors + v))), row,
                      e.add(columns_before_, e.add(first_column_, e.index(v * tile_.lanes))), tile_.lanes,
                      masks_[static_cast<std::size_t>(v)]);
      };
      if (plan_.ragged_columns)
        e.when(is_column_[static_cast<std::size_t>(v)], store);
      else
        store();
    }
  }

  Emit& e;
  const Plan& plan_;
  const Tile& tile_;
  Epilogue& finish_;
  Value buffers_, params_;
  Value left_, right_, offsets_, panel_step_, k_step_, totals_, copies_;
  // Of the unit.
  Value first_item_, last_item_, first_tile_, last_tile_;
  // Of the column tile.
  Value tile_number_, first_column_, columns_before_, panels_, group_left_;
  llvm::SmallVector<Value> is_column_, masks_;  // of each vector of columns, where some stick out
  // Of the outer index.
  llvm::SmallVector<Value> outer_index_;
  Value rhs_offset_;
};

/// How the work is cut: a unit is `block` items with `columns` column tiles, of which there are `strips`.
struct Cut {
  std::int64_t block, columns, strips, scratch_bytes;
};

Cut cut(const Product& p, const Plan& plan, std::int64_t items, std::int64_t column_tiles) {
  const auto element_bytes = static_cast<std::int64_t>(size_of(plan.tile.dtype));
  const std::int64_t some_items = std::max<std::int64_t>(items, 1),
                     some_tiles = std::max<std::int64_t>(column_tiles, 1);
  Cut c{.block = some_items, .columns = 1, .strips = some_tiles, .scratch_bytes = 0};
  if (plan.copied) {
    // Copies are shared by several column tiles, in an even number of strips for the sake of threads.
    std::int64_t strips = llvm::divideCeilSigned(some_tiles, tiles_of_copy);
    if (strips > 1) strips += strips % 2;
    c.columns = llvm::divideCeilSigned(some_tiles, strips);
    c.strips = llvm::divideCeilSigned(some_tiles, c.columns);
  } else {
    // Right factors that stay in the second cache themselves are read again and again: then a block's results
    // count too, which are written in pieces of a line, and its rows stay in the first cache.
    const std::int64_t columns_bytes = p.groups * p.panels * p.panel * element_bytes;
    const bool small = p.k_extent * columns_bytes <= small_bytes;
    const std::int64_t item_bytes = std::max<std::int64_t>(
        1, p.lhs_elements * element_bytes / some_items + (small ? plan.size.rows() * columns_bytes : 0));
    c.block = std::clamp<std::int64_t>((small ? small_block_bytes : block_bytes) / item_bytes, 1, some_items);
    // Enough pieces for a few threads, unless each would read right factors from afar.
    while (!plan.far && c.block > 1 && llvm::divideCeilSigned(items, c.block) * column_tiles < least_units)
      c.block = llvm::divideCeilSigned(c.block, 2);
  }
  if (plan.one_chunk) return c;
  const std::int64_t total_bytes =
      c.columns * plan.item_elements() * std::max<std::int64_t>(4, element_bytes);
  c.block = std::min(c.block, std::max<std::int64_t>(totals_bytes / total_bytes, 1));
  c.scratch_bytes = c.block * (total_bytes + plan.copied_elements() * element_bytes);
  return c;
}

}  // namespace

Launch launch_product(ir::FusionOp fusion, mlir::Value root, const Product& p, const char* family,
                      const Target& target) {
  const Dims guests[] = {p.lhs_strides, p.rhs_strides};
  const Epilogue epilogue(fusion, root, ir::ranked(root).getRank() - 1, guests);
  Dims extents = epilogue.extents(), lhs_steps = epilogue.guest(0), rhs_steps = epilogue.guest(1);
  if (rhs_steps.back() != 0) fail_internal("the rows of a product have right factors of their own");

  const DType dtype = dtype_of_value(root);
  const auto element_bytes = static_cast<std::int64_t>(size_of(dtype));
  const int lanes = Tile::lanes_of(target, dtype, p.panel);
  const auto units = static_cast<int>(p.panel / lanes);
  // Rows of two axes may share a tile if their right factors are the same.
  const std::size_t axes = extents.size();
  const std::int64_t spans = axes > 1 && rhs_steps[axes - 2] == 0 ? extents[axes - 2] : 1;
  // Rows that lie a multiple of a page apart are copied chunk by chunk, if then one block has all of them:
  // right factors are read once.
  const bool one_chunk = p.k_extent <= Tile::chunk;
  const std::int64_t all_rows = mlir::ShapedType::getNumElements(extents);
  const bool copied = !one_chunk && p.k_offsets.empty() && p.k_stride == 1 && p.groups == 1 &&
                      p.lhs_elements * element_bytes > block_bytes &&
                      all_rows * Plan::copied_row * element_bytes <= copy_bytes &&
                      rows_in_cache(lhs_steps.back() * element_bytes) < most_rows;
  const TileSize size =
      size_of_tile(extents.back(), spans, (copied ? Plan::copied_row : lhs_steps.back()) * element_bytes,
                   p.per_column ? 1 : p.panels, units, target);
  const std::int64_t row_step = lhs_steps.back();
  if (size.span_rows > 1)
    for (Dims* list : {&extents, &lhs_steps, &rhs_steps}) list->pop_back();
  const std::int64_t m = extents.back();

  const std::int64_t tiles = llvm::divideCeilSigned(m, size.spans),
                     outer = mlir::ShapedType::getNumElements(llvm::ArrayRef(extents).drop_back()),
                     all = outer * tiles;
  const Tile tile{dtype, size.rows(), units * size.panels, lanes};
  const auto operands = static_cast<int>(fusion.getNumOperands() + fusion.getNumResults());
  const Plan plan{.tile = tile,
                  .size = size,
                  .units = units,
                  .panel = p.panel,
                  .row_step = row_step,
                  .span_step = lhs_steps.back(),
                  .k_class = stride_class(p.k_stride),
                  .table = !p.k_offsets.empty(),
                  .per_column = p.per_column,
                  .one_chunk = one_chunk,
                  .copied = copied,
                  .far = size.panels == 1 && !p.per_column &&
                         p.groups * p.panels * p.k_extent * p.panel * element_bytes > far_bytes,
                  .ragged_rows = m % size.spans != 0,
                  .ragged_columns = p.columns % tile.width() != 0,
                  .outer_count = extents.size() - 1,
                  .lhs_operand = static_cast<int>(llvm::cast<mlir::BlockArgument>(p.lhs.base).getArgNumber()),
                  .rhs_operand = static_cast<int>(p.rhs),
                  .table_operand = operands,
                  .scratch_operand = operands + !p.k_offsets.empty()};

  const std::int64_t columns = p.groups * p.panels / size.panels, panel_elements = p.k_extent * p.panel;
  const auto [block, columns_of_unit, strips, scratch_bytes] = cut(p, plan, all, columns);

  Launch launch{{name_of_location(fusion.getLoc()),
                 fmt::format("{} {}{}", family, plan.key(), epilogue.key()),
                 fusion.getLoc(),
                 {}},
                {}};
  launch.params = {p.k_extent,   m,           p.columns,       tiles,          all,
                   block,        columns,     columns_of_unit, strips,         p.panels / size.panels,
                   p.lhs.offset, p.lhs_group, p.k_stride,      panel_elements, p.panels * panel_elements};
  for (std::size_t i = 0; i < plan.outer_count; ++i)
    launch.params.insert(launch.params.end(), {extents[i], lhs_steps[i], rhs_steps[i]});
  epilogue.append_params(launch.params);
  launch.table = p.k_offsets;
  const bool nothing = all * size.span_rows == 0 || p.columns == 0 || p.groups == 0;
  launch.extent = nothing ? 0 : llvm::divideCeilSigned(all, block) * strips;
  // A register's multiply-adds take half a cycle each, with a left factor of its own one; its end some more.
  const std::int64_t cost_of_register = p.k_extent / (p.per_column ? 2 : 4) + 4;
  launch.grain = grain_for(size.rows() * tile.vectors * cost_of_register * block * columns_of_unit, 1);
  launch.scratch_bytes = scratch_bytes;
  launch.request.emit = [=](Emit& e, mlir::Value buffers, mlir::Value params, mlir::Value begin,
                            mlir::Value end) {
    Epilogue finish = epilogue;
    Emitter(e, plan, finish, buffers, params).run(begin, end);
  };
  return launch;
}

}  // namespace kiln::codegen

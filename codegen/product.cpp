// The kernel of all products. Work is numbered (block of row tiles, column tile); within one piece the rows
// of a block pass by one panel, so that the panel stays in the nearest caches and the block's left factors in
// the second.
#include "codegen/product.h"

#include "codegen/epilogue.h"
#include "codegen/tile.h"
#include "runtime/fail.h"

#include <numeric>

namespace kiln::codegen {
namespace {

/// Left factors that the rows of a block read should take no more than this, a part of a core's second cache.
constexpr std::int64_t block_bytes = 384 * 1024;
/// The same, with the results, where right factors take no more than `small_bytes`.
constexpr std::int64_t small_block_bytes = 48 * 1024, small_bytes = 128 * 1024;
/// Values of k that right factors are asked for in advance: they may come from the third cache or memory, and
/// within the processor's own window there are too few multiply-adds to hide that.
constexpr std::int64_t ahead = 16;
/// On the stack, for the sums of a block's rows between chunks.
constexpr std::int64_t scratch_bytes = 64 * 1024;
/// More rows than that make the code longer and not faster.
constexpr int most_rows = 14;

/// How far apart the left factors of a tile's rows lie. Rows come in spans: those of a span are `row_step`
/// apart, spans are `span_step` apart. Tiles follow each other along one axis, by spans of `span_rows` rows.
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

/// As many sums as registers hold beside one row of right factors and a left factor; fewer where that leaves
/// fewer rows to be computed twice at the end. `m` rows lie a step apart, and `spans` of those another.
TileSize size_of_tile(std::int64_t m, std::int64_t spans, std::int64_t row_bytes, std::int64_t panels,
                      int vectors, const Target& target) {
  const int registers = target.vector_bytes == 64 ? 32 : 16, limit = rows_in_cache(row_bytes);
  const auto most = [&](int joined) {
    const int wide = joined * vectors;
    return std::clamp((registers - wide - 1) / wide, 1, limit);
  };
  // Two panels where one has too few sums: to hide the latency of an addition, or to be worth the loads.
  const auto sums = [&](int joined) {
    return std::min<std::int64_t>(most(joined), m * spans) * joined * vectors;
  };
  const int joined = panels % 2 == 0 && 2 * vectors < registers / 4 && sums(2) > sums(1) ? 2 : 1;
  // A few short spans make one tile.
  if (spans > 1 && m > 0 && 2 * m <= most(joined))
    return {static_cast<int>(std::min<std::int64_t>(most(joined) / m, spans)), static_cast<int>(m), joined};
  if (m <= most(joined)) return {static_cast<int>(std::max<std::int64_t>(m, 1)), 1, joined};
  // In units of a multiply-add of one register, with what a step costs beside those.
  const auto cost = [&](int rows) { return (m + rows - 1) / rows * (rows * joined * vectors + 4); };
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
  bool table, per_column, one_chunk, ragged_rows, ragged_columns;
  std::size_t outer_count;  // axes before the one that tiles follow each other along
  std::int64_t items_in_scratch;
  int lhs_operand, rhs_operand, table_operand;

  /// Of the left factor of row r, from the tile's first.
  std::int64_t row_offset(int r) const {
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
                       one_chunk ? "" : "+", outer_count);
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
    if (!plan_.one_chunk)
      totals_ = mlir::LLVM::AllocaOp::create(e.b, e.loc, e.ptr(), e.register_type(tile_.dtype),
                                             e.index(plan_.items_in_scratch * item_elements()), 64);
    e.loop(begin, end, e.index(1), [&](Value unit) {
      choose_columns(e.rem(unit, param(column_tiles)));
      first_item_ = e.mul(e.div(unit, param(column_tiles)), param(items_of_block));
      last_item_ = e.min(e.add(first_item_, param(items_of_block)), param(items));
      if (plan_.one_chunk) return items_over(e.index(0), param(K));
      // Chunk by chunk for all rows of the block, so that a panel's part stays in a near cache; the sums so
      // far wait in memory.
      clear_totals();
      const Value length = e.index(Tile::chunk);
      e.loop(e.index(0), param(K), length,
             [&](Value from) { items_over(from, e.min(e.add(from, length), param(K))); });
    });
  }

 private:
  Value param(std::int64_t p) { return e.param(params_, p); }
  std::int64_t item_elements() const { return plan_.size.rows() * tile_.width(); }
  /// What sums are held as.
  DType wide() const {
    return tile_.dtype == DType::f16 || tile_.dtype == DType::bf16 ? DType::f32 : tile_.dtype;
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
    e.loop(e.index(0), e.mul(e.sub(last_item_, first_item_), e.index(item_elements())), e.index(tile_.lanes),
           [&](Value at) { e.store(zero, e.element(totals_, at, wide()), wide(), tile_.lanes); });
  }

  /// All items of the block, over k in [from, to).
  void items_over(Value from, Value to) {
    const Value zero = e.index(0), one = e.index(1), tiles = param(row_tiles);
    const Value end_outer = e.div(e.add(last_item_, e.sub(tiles, one)), tiles);
    e.loop(e.div(first_item_, tiles), end_outer, one, [&](Value o) {
      outer_index_.assign(plan_.outer_count, {});
      Value lhs = group_left_, rest = o;
      rhs_ = panels_;
      for (std::size_t i = plan_.outer_count; i-- > 0;) {
        const auto at = first_outer + 3 * static_cast<std::int64_t>(i);
        const Value extent = param(at);
        outer_index_[i] = i == 0 ? rest : e.rem(rest, extent);
        if (i > 0) rest = e.div(rest, extent);
        lhs = e.element(lhs, e.mul(outer_index_[i], param(at + 1)), tile_.dtype);
        rhs_ = e.element(rhs_, e.mul(outer_index_[i], param(at + 2)), tile_.dtype);
      }
      if (plan_.size.span_rows == 1) finish_.prepare(e, buffers_, params_, first_epilogue(), outer_index_);
      const Value first = e.mul(o, tiles);
      e.loop(e.max(zero, e.sub(first_item_, first)), e.min(tiles, e.sub(last_item_, first)), one,
             [&](Value row_tile) { item(lhs, row_tile, e.add(first, row_tile), from, to); });
    });
  }

  std::int64_t first_epilogue() const {
    return first_outer + 3 * static_cast<std::int64_t>(plan_.outer_count);
  }

  void item(Value lhs, Value row_tile, Value number, Value from, Value to) {
    const Value spans = e.index(plan_.size.spans), fresh = e.mul(row_tile, spans);
    // The last tile begins early enough to be whole; the rows that another one has are not stored.
    const Value first = plan_.ragged_rows ? e.min(fresh, e.sub(param(M), spans)) : fresh;
    const auto sums =
        sums_over(e.element(lhs, e.mul(first, e.index(plan_.span_step)), tile_.dtype), from, to);
    if (plan_.one_chunk) return store_tile(first, fresh, [&](std::size_t i) { return sums[i]; });

    const Value own = e.element(totals_, e.mul(e.sub(number, first_item_), e.index(item_elements())), wide());
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

  llvm::SmallVector<Value> sums_over(Value base, Value from, Value to) {
    return tile_.emit(e, from, to, [&](Value k) {
      Value step = k;
      if (plan_.table)
        step = e.load_scalar(e.element(offsets_, k, DType::i64), DType::i64);
      else if (plan_.k_class != 1)
        step = e.mul(k, k_step_);
      Tile::Factors f;
      const Value row_of_panel = e.element(rhs_, e.mul(k, e.index(plan_.panel)), tile_.dtype);
      for (int v = 0; v < tile_.vectors; ++v) {
        Value at = row_of_panel;
        if (v >= plan_.units) at = e.element(at, panel_step_, tile_.dtype);
        at = e.element(at, e.index(v % plan_.units * tile_.lanes), tile_.dtype);
        f.right.push_back(e.load(at, tile_.dtype, tile_.lanes));
        if (!plan_.per_column) e.prefetch(e.element(at, e.index(ahead * plan_.panel), tile_.dtype));
      }
      f.left = [this, here = e.element(base, step, tile_.dtype), all = Value()](int r, int v) mutable {
        const Value of_row = e.element(here, e.index(plan_.row_offset(r)), tile_.dtype);
        if (plan_.per_column)
          return e.load(e.element(of_row, e.index(v * tile_.lanes), tile_.dtype), tile_.dtype, tile_.lanes,
                        masks_[static_cast<std::size_t>(v)]);
        if (v == 0) all = e.splat(e.load_scalar(of_row, tile_.dtype), tile_.lanes);
        return all;
      };
      return f;
    });
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
  Value left_, right_, offsets_, panel_step_, k_step_, totals_;
  // Of the unit.
  Value first_column_, columns_before_, panels_, group_left_, first_item_, last_item_;
  llvm::SmallVector<Value> is_column_, masks_;  // of each vector of columns, where some stick out
  // Of the outer index.
  llvm::SmallVector<Value> outer_index_;
  Value rhs_;
};

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

Launch launch_product(ir::FusionOp fusion, mlir::Value root, const Product& p, const char* family,
                      const Target& target) {
  const Dims guests[] = {p.lhs_strides, p.rhs_strides};
  const Epilogue epilogue(fusion, root, ir::ranked(root).getRank() - 1, guests);
  Dims extents = epilogue.extents(), lhs_steps = epilogue.guest(0), rhs_steps = epilogue.guest(1);
  if (rhs_steps.back() != 0) fail_internal("the rows of a product have right factors of their own");

  const DType dtype = dtype_of_value(root);
  const auto element_bytes = static_cast<std::int64_t>(size_of(dtype));
  const int lanes = p.panel % target.lanes(size_of(dtype)) == 0 ? target.lanes(size_of(dtype)) : 1;
  const auto units = static_cast<int>(p.panel / lanes);
  // Rows of two axes may share a tile if their right factors are the same.
  const std::size_t axes = extents.size();
  const std::int64_t spans = axes > 1 && rhs_steps[axes - 2] == 0 ? extents[axes - 2] : 1;
  const TileSize size = size_of_tile(extents.back(), spans, lhs_steps.back() * element_bytes,
                                     p.per_column ? 1 : p.panels, units, target);
  const std::int64_t row_step = lhs_steps.back();
  if (size.span_rows > 1)
    for (Dims* list : {&extents, &lhs_steps, &rhs_steps}) list->pop_back();
  const std::int64_t m = extents.back();

  const std::int64_t tiles = ceil_div(m, size.spans),
                     outer = mlir::ShapedType::getNumElements(llvm::ArrayRef(extents).drop_back()),
                     all = outer * tiles;
  const Tile tile{dtype, size.rows(), units * size.panels, lanes};
  const bool one_chunk = p.k_extent <= Tile::chunk;
  const Plan plan{
      .tile = tile,
      .size = size,
      .units = units,
      .panel = p.panel,
      .row_step = row_step,
      .span_step = lhs_steps.back(),
      .k_class = stride_class(p.k_stride),
      .table = !p.k_offsets.empty(),
      .per_column = p.per_column,
      .one_chunk = one_chunk,
      .ragged_rows = m % size.spans != 0,
      .ragged_columns = p.columns % tile.width() != 0,
      .outer_count = extents.size() - 1,
      .items_in_scratch = std::max<std::int64_t>(
          1, scratch_bytes / (size.rows() * tile.width() * std::max<std::int64_t>(4, element_bytes))),
      .lhs_operand = static_cast<int>(llvm::cast<mlir::BlockArgument>(p.lhs.base).getArgNumber()),
      .rhs_operand = static_cast<int>(p.rhs),
      .table_operand = static_cast<int>(fusion.getNumOperands() + fusion.getNumResults())};

  // Right factors that stay in the second cache themselves are read again and again: then a block's results
  // count too, which are written in pieces of a line, and its rows stay in the first cache.
  const std::int64_t columns_bytes = p.groups * p.panels * p.panel * element_bytes;
  const bool small = p.k_extent * columns_bytes <= small_bytes;
  const std::int64_t item_bytes =
      std::max<std::int64_t>(1, p.lhs_elements * element_bytes / std::max<std::int64_t>(all, 1) +
                                    (small ? size.rows() * columns_bytes : 0));
  std::int64_t block = std::clamp<std::int64_t>((small ? small_block_bytes : block_bytes) / item_bytes, 1,
                                                std::max<std::int64_t>(all, 1));
  if (!one_chunk) block = std::min(block, plan.items_in_scratch);
  const std::int64_t columns = p.groups * p.panels / size.panels, panel_elements = p.k_extent * p.panel;

  Launch launch{{name_of_location(fusion.getLoc()),
                 fmt::format("{} {}{}", family, plan.key(), epilogue.key()),
                 fusion.getLoc(),
                 {}},
                {}};
  launch.params = {p.k_extent,
                   m,
                   p.columns,
                   tiles,
                   all,
                   block,
                   columns,
                   p.panels / size.panels,
                   p.lhs.offset,
                   p.lhs_group,
                   p.k_stride,
                   panel_elements,
                   p.panels * panel_elements};
  for (std::size_t i = 0; i < plan.outer_count; ++i)
    launch.params.insert(launch.params.end(), {extents[i], lhs_steps[i], rhs_steps[i]});
  epilogue.append_params(launch.params);
  launch.table = p.k_offsets;
  const bool nothing = all * size.span_rows == 0 || p.columns == 0 || p.groups == 0;
  launch.extent = nothing ? 0 : ceil_div(all, block) * columns;
  launch.grain = grain_for(std::max<std::int64_t>(1, p.k_extent * size.rows() * tile.vectors / 4 * block), 1);
  launch.request.emit = [=](Emit& e, mlir::Value buffers, mlir::Value params, mlir::Value begin,
                            mlir::Value end) {
    Epilogue finish = epilogue;
    Emitter(e, plan, finish, buffers, params).run(begin, end);
  };
  return launch;
}

}  // namespace kiln::codegen

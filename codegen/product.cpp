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

/// Rows and panels of a tile.
struct TileSize {
  int rows, panels;
};

/// Left factors of neighbouring rows that lie a multiple of a page apart compete for the same few lines of
/// the first cache. How many rows it bears.
int rows_in_cache(std::int64_t row_bytes) {
  const std::int64_t page = 4096,
                     places = page / std::gcd(page, std::max<std::int64_t>(std::abs(row_bytes), 1));
  return static_cast<int>(std::min<std::int64_t>(6 * places, most_rows));
}

/// As many sums as registers hold beside one row of right factors and a left factor; fewer where that leaves
/// fewer rows to be computed twice at the end.
TileSize size_of_tile(std::int64_t m, std::int64_t row_bytes, std::int64_t panels, int vectors,
                      const Target& target) {
  const int registers = target.vector_bytes == 64 ? 32 : 16, limit = rows_in_cache(row_bytes);
  const auto most = [&](int joined) {
    const int wide = joined * vectors;
    return std::clamp((registers - wide - 1) / wide, 1, limit);
  };
  // Two panels where one has too few sums: to hide the latency of an addition, or to be worth the loads.
  const auto sums = [&](int joined) { return std::min<std::int64_t>(most(joined), m) * joined * vectors; };
  const int joined = panels % 2 == 0 && 2 * vectors < registers / 4 && sums(2) > sums(1) ? 2 : 1;
  if (m <= most(joined)) return {static_cast<int>(std::max<std::int64_t>(m, 1)), joined};
  // In units of a multiply-add of one register, with what a step costs beside those.
  const auto cost = [&](int rows) { return (m + rows - 1) / rows * (rows * joined * vectors + 4); };
  int best = most(joined);
  for (int rows = best; rows > 0; --rows)
    if (cost(rows) < cost(best)) best = rows;
  return {best, joined};
}

}  // namespace

Launch launch_product(ir::FusionOp fusion, mlir::Value root, const Product& p, const char* family,
                      const Target& target) {
  const auto shape = ir::ranked(root).getShape();
  const std::size_t column_axis = shape.size() - 1;
  const Dims guests[] = {p.lhs_strides, p.rhs_strides};
  Epilogue epilogue(fusion, root, column_axis, guests);
  const Dims& extents = epilogue.extents();
  const Dims &lhs_steps = epilogue.guest(0), &rhs_steps = epilogue.guest(1);
  const std::size_t outer_count = extents.size() - 1;
  const std::int64_t m = extents.back(), row_step = lhs_steps.back();
  if (rhs_steps.back() != 0) fail_internal("the rows of a product have right factors of their own");

  const DType dtype = dtype_of_value(root);
  int lanes = target.lanes(size_of(dtype));
  if (p.panel % lanes != 0) lanes = 1;
  const auto units = static_cast<int>(p.panel / lanes);
  const auto [rows, joined] = size_of_tile(m, row_step * static_cast<std::int64_t>(size_of(dtype)),
                                           p.per_column ? 1 : p.panels, units, target);
  const Tile tile{dtype, rows, units * joined, lanes};
  const bool ragged_rows = m % rows != 0, ragged_columns = p.columns % tile.width() != 0;

  std::int64_t outer = 1;
  for (std::int64_t d : llvm::ArrayRef(extents).drop_back()) outer *= d;
  const std::int64_t row_tiles = (m + rows - 1) / rows, items = outer * row_tiles;
  // Right factors that stay in the second cache themselves are read again and again: then a block's results
  // count too, which are written in pieces of a line, and its rows stay in the first cache.
  const auto element_bytes = static_cast<std::int64_t>(size_of(dtype));
  const std::int64_t columns_bytes = p.groups * p.panels * p.panel * element_bytes;
  const bool small = p.k_extent * columns_bytes <= small_bytes;
  const std::int64_t item_bytes =
      std::max<std::int64_t>(1, p.lhs_elements * element_bytes / std::max<std::int64_t>(items, 1) +
                                    (small ? rows * columns_bytes : 0));
  const bool one_chunk = p.k_extent <= Tile::chunk;
  const DType wide = dtype == DType::f16 || dtype == DType::bf16 ? DType::f32 : dtype;
  const std::int64_t items_in_scratch = std::max<std::int64_t>(
      1, scratch_bytes / (rows * tile.width() * static_cast<std::int64_t>(size_of(wide))));
  std::int64_t block = std::clamp<std::int64_t>((small ? small_block_bytes : block_bytes) / item_bytes, 1,
                                                std::max<std::int64_t>(items, 1));
  if (!one_chunk) block = std::min(block, items_in_scratch);
  const std::int64_t column_tiles = p.groups * p.panels / joined;

  const auto lhs_argument = llvm::cast<mlir::BlockArgument>(p.lhs.base).getArgNumber();
  const unsigned rhs_argument = p.rhs;
  const bool table = !p.k_offsets.empty(), per_column = p.per_column;
  const auto table_operand = static_cast<int>(fusion.getNumOperands() + fusion.getNumResults());
  const std::int64_t panel = p.panel;
  const int k_class = stride_class(p.k_stride);
  Launch launch{
      {name_of_location(fusion.getLoc()),
       fmt::format("{} {} rows={}{} vectors={}x{} lanes={}{} lhs={}{} rhs={} row-step={} k={}{} outer={}",
                   family, name_of(dtype), rows, ragged_rows ? "+" : "", joined, units, lanes,
                   ragged_columns ? "+" : "", lhs_argument, per_column ? " per-column" : "", rhs_argument,
                   row_step,
                   table          ? "table"
                   : k_class == 1 ? "1"
                                  : "any",
                   one_chunk ? "" : "+", outer_count) +
           epilogue.key(),
       fusion.getLoc(),
       {}},
      {}};
  enum Param : std::int64_t {
    K,
    M,
    N,
    row_tile_count,
    item_count,
    items_of_block,
    column_tile_count,
    column_tiles_of_group,
    lhs_offset,
    lhs_group,
    lhs_k,
    panel_step,
    group_step,
    first_outer
  };
  const std::int64_t panel_elements = p.k_extent * p.panel;
  launch.params = {p.k_extent,
                   m,
                   p.columns,
                   row_tiles,
                   items,
                   block,
                   column_tiles,
                   p.panels / joined,
                   p.lhs.offset,
                   p.lhs_group,
                   p.k_stride,
                   panel_elements,
                   p.panels * panel_elements};
  for (std::size_t i = 0; i < outer_count; ++i)
    launch.params.insert(launch.params.end(), {extents[i], lhs_steps[i], rhs_steps[i]});
  const auto epilogue_param = static_cast<std::int64_t>(launch.params.size());
  epilogue.append_params(launch.params);
  launch.table = p.k_offsets;
  const bool nothing = outer * m == 0 || p.columns == 0 || p.groups == 0;
  launch.extent = nothing ? 0 : (items + block - 1) / block * column_tiles;
  launch.grain = grain_for(std::max<std::int64_t>(1, p.k_extent * rows * tile.vectors / 4 * block), 1);

  launch.request.emit = [=, rows = rows, joined = joined](Emit& e, mlir::Value buffers, mlir::Value params,
                                                          mlir::Value begin, mlir::Value end) {
    Epilogue finish = epilogue;
    const mlir::Value k_value = e.param(params, K), row_count = e.param(params, M),
                      columns = e.param(params, N);
    const mlir::Value tiles_m = e.param(params, row_tile_count), all_items = e.param(params, item_count),
                      block_items = e.param(params, items_of_block),
                      tiles_n = e.param(params, column_tile_count),
                      group_tiles = e.param(params, column_tiles_of_group);
    const mlir::Value k_stride = e.param(params, lhs_k), panel_stride = e.param(params, panel_step);
    const mlir::Value left = e.element(e.buffer(buffers, lhs_argument), e.param(params, lhs_offset), dtype);
    const mlir::Value right = e.buffer(buffers, rhs_argument);
    const mlir::Value offsets = table ? e.buffer(buffers, table_operand) : mlir::Value();
    const mlir::Value zero = e.index(0), one = e.index(1);
    mlir::Value totals;
    if (!one_chunk)
      totals = mlir::LLVM::AllocaOp::create(e.b, e.loc, e.ptr(), e.register_type(dtype),
                                            e.index(items_in_scratch * rows * tile.width()), 64);
    const auto place = [&](mlir::Value of_item, std::size_t i) {
      return e.element(of_item, e.index(static_cast<std::int64_t>(i) * lanes), wide);
    };

    e.loop(begin, end, one, [&](mlir::Value unit) {
      const mlir::Value which_block = e.div(unit, tiles_n), column_tile = e.rem(unit, tiles_n);
      const mlir::Value group = e.div(column_tile, group_tiles), in_group = e.rem(column_tile, group_tiles);
      const mlir::Value first_column = e.mul(in_group, e.index(tile.width()));
      const mlir::Value before = e.mul(group, columns);  // columns of the groups before
      mlir::Value panels = e.element(right, e.mul(group, e.param(params, group_step)), dtype);
      panels = e.element(panels, e.mul(e.mul(in_group, e.index(joined)), panel_stride), dtype);
      mlir::Value group_left = e.element(left, e.mul(group, e.param(params, lhs_group)), dtype);
      if (per_column) group_left = e.element(group_left, first_column, dtype);
      // Of vectors that stick out behind the last column.
      llvm::SmallVector<mlir::Value> behind(static_cast<std::size_t>(tile.vectors)), masks(behind.size());
      if (ragged_columns)
        for (int v = 0; v < tile.vectors; ++v) {
          const mlir::Value rest = e.sub(columns, e.add(first_column, e.index(v * lanes)));
          behind[static_cast<std::size_t>(v)] = e.less(zero, rest);
          if (lanes > 1) masks[static_cast<std::size_t>(v)] = e.mask_below(rest, lanes);
        }

      const mlir::Value first_item = e.mul(which_block, block_items),
                        last_item = e.min(e.add(first_item, block_items), all_items);
      const mlir::Value first_outer_index = e.div(first_item, tiles_m),
                        end_outer = e.div(e.add(last_item, e.sub(tiles_m, one)), tiles_m);
      // Chunk by chunk for all rows of the block, so that a panel's part stays in a near cache; the sums so
      // far wait in memory.
      const mlir::Value item_elements = e.index(rows * tile.width());
      if (!one_chunk)
        e.loop(zero, e.mul(e.sub(last_item, first_item), item_elements), e.index(lanes), [&](mlir::Value at) {
          e.store(e.number(wide, is_floating(dtype) ? -0.0 : 0, lanes), e.element(totals, at, wide), wide,
                  lanes);
        });
      const auto pass = [&](mlir::Value from, mlir::Value to) {
        e.loop(first_outer_index, end_outer, one, [&](mlir::Value o) {
          llvm::SmallVector<mlir::Value> index(outer_count);
          mlir::Value lhs = group_left, rhs = panels, rest = o;
          for (std::size_t i = outer_count; i-- > 0;) {
            const auto at = first_outer + 3 * static_cast<std::int64_t>(i);
            const mlir::Value extent = e.param(params, at);
            index[i] = i == 0 ? rest : e.rem(rest, extent);
            if (i > 0) rest = e.div(rest, extent);
            lhs = e.element(lhs, e.mul(index[i], e.param(params, at + 1)), dtype);
            rhs = e.element(rhs, e.mul(index[i], e.param(params, at + 2)), dtype);
          }
          finish.prepare(e, buffers, params, epilogue_param, index);
          const mlir::Value item = e.mul(o, tiles_m);
          const mlir::Value tiles_from = e.max(zero, e.sub(first_item, item)),
                            tiles_to = e.min(tiles_m, e.sub(last_item, item));
          e.loop(tiles_from, tiles_to, one, [&](mlir::Value row_tile) {
            const mlir::Value fresh = e.mul(row_tile, e.index(rows));
            // The last tile begins early enough to be whole; the rows that another one has are not stored.
            const mlir::Value first = ragged_rows ? e.min(fresh, e.sub(row_count, e.index(rows))) : fresh;
            const mlir::Value base = e.element(lhs, e.mul(first, e.index(row_step)), dtype);
            const auto sums = tile.emit(e, from, to, [&](mlir::Value k) {
              mlir::Value step = k;
              if (table)
                step = e.load_scalar(e.element(offsets, k, DType::i64), DType::i64);
              else if (k_class != 1)
                step = e.mul(k, k_stride);
              const mlir::Value here = e.element(base, step, dtype);
              const mlir::Value row_of_panel = e.element(rhs, e.mul(k, e.index(panel)), dtype);
              Tile::Factors f;
              for (int v = 0; v < tile.vectors; ++v) {
                mlir::Value at = row_of_panel;
                if (v >= units) at = e.element(at, panel_stride, dtype);
                const mlir::Value vector = e.element(at, e.index(v % units * lanes), dtype);
                f.right.push_back(e.load(vector, dtype, lanes));
                e.prefetch(e.element(vector, e.index(ahead * panel), dtype));
              }
              f.left = [&, here, all = mlir::Value()](int r, int v) mutable {
                const mlir::Value of_row = e.element(here, e.index(r * row_step), dtype);
                if (per_column)
                  return e.load(e.element(of_row, e.index(v * lanes), dtype), dtype, lanes,
                                masks[static_cast<std::size_t>(v)]);
                if (v == 0) all = e.splat(e.load_scalar(of_row, dtype), lanes);
                return all;
              };
              return f;
            });

            const auto end_of_tile = [&](const std::function<mlir::Value(std::size_t)>& sum) {
              for (int r = 0; r < rows; ++r) {
                const mlir::Value row = e.add(first, e.index(r));
                const auto store = [&](int v) {
                  finish.store(e, tile.value(e, sum(static_cast<std::size_t>(r * tile.vectors + v))), row,
                               e.add(before, e.add(first_column, e.index(v * lanes))), lanes,
                               masks[static_cast<std::size_t>(v)]);
                };
                const auto store_row = [&] {
                  for (int v = 0; v < tile.vectors; ++v) {
                    if (ragged_columns)
                      e.when(behind[static_cast<std::size_t>(v)], [&] { store(v); });
                    else
                      store(v);
                  }
                };
                // The last row is always fresh.
                if (ragged_rows && r + 1 < rows)
                  e.when(e.less(e.sub(fresh, one), row), store_row);
                else
                  store_row();
              }
            };
            if (one_chunk) return end_of_tile([&](std::size_t i) { return sums[i]; });
            const mlir::Value of_item =
                e.element(totals, e.mul(e.sub(e.add(item, row_tile), first_item), item_elements), wide);
            const auto total = [&](std::size_t i) {
              return tile.plus(e, e.load(place(of_item, i), wide, lanes), sums[i]);
            };
            e.when(e.less(to, k_value), [&] {
              for (std::size_t i = 0; i < sums.size(); ++i) e.store(total(i), place(of_item, i), wide, lanes);
            });
            e.when(e.less(e.sub(k_value, one), to), [&] { end_of_tile(total); });
          });
        });
      };
      if (one_chunk) return pass(zero, k_value);
      const mlir::Value length = e.index(Tile::chunk);
      e.loop(zero, k_value, length,
             [&](mlir::Value from) { pass(from, e.min(e.add(from, length), k_value)); });
    });
  };
  return launch;
}

}  // namespace kiln::codegen

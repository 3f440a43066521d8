// The epilogue of a tile: its position in the arrays of the epilogue, and the columns that it stores.
#include "codegen/cpu/contraction/tile_end.h"

namespace kiln::codegen {

void TileEnd::enter(mlir::ValueRange outer) {
  if (!prepares_each_group()) epilogue_.prepare(k_.e, k_.args, k_.outer.end(), outer);
}

void TileEnd::prefetch(const RowTile& row_tile, const ColumnTile& columns, Value k) {
  KernelBuilder& e = k_.e;
  const Value column = e.add(columns.group_column, columns.first_column);
  const Value row = e.add(row_tile.first, e.min(k, e.index(row_tile.row_groups - 1)));
  epilogue_.prefetch(e, row, column, k_.plan.tile.width());
}

TileEnd::Value TileEnd::has_all_columns(const ContractionKernel& k, const ColumnTile& columns) {
  return k.e.less(k.e.add(columns.first_column, k.e.index(k.plan.tile.width() - 1)), k.params["columns"]);
}

void TileEnd::each_width(const ColumnTile& columns, llvm::function_ref<void(const Width&)> body) {
  KernelBuilder& e = k_.e;
  const ColumnTilePlan& plan = k_.plan.columns;
  const Tile& tile = k_.plan.tile;
  llvm::SmallVector<Value> masks;
  if (plan.any)
    for (int v = 0; v < tile.vectors; ++v) {
      const Value before = e.add(columns.first_column, e.index(std::int64_t{v} * tile.lanes));
      masks.push_back(e.mask_below(e.sub(k_.params["columns"], before), tile.lanes));
    }
  if (plan.narrows_last()) return body({columns.vectors == tile.vectors ? tile.width() : plan.last, masks});
  if (plan.one_tile || !plan.is_ragged()) return body({plan.last, masks});
  e.when(
      has_all_columns(k_, columns),
      [&] {
        body({tile.width(), masks});
      },
      [&] {
        body({plan.last, masks});
      });
}

void TileEnd::store(const RowTile& row_tile, const ColumnTile& columns, const Sum& sum) {
  const int registers = k_.plan.rows.rows_per_group * columns.vectors;
  each_width(columns, [&](const Width& width) {
    Position at = first_position(row_tile);
    for (int group = 0; group < row_tile.row_groups; ++group, at = next(at))
      store_group(row_tile, columns, at, width, [&](int i) { return sum(group * registers + i); });
  });
}

void TileEnd::store_from(Value sums, const RowTile& row_tile, const ColumnTile& columns) {
  KernelBuilder& e = k_.e;
  const int lanes = k_.plan.tile.lanes;
  const Value elements = e.index(std::int64_t{k_.plan.rows.rows_per_group} * columns.vectors * lanes);
  each_width(columns, [&](const Width& width) {
    e.loop(row_tile.begin, row_tile.end, e.index(1), first_position(row_tile),
           [&](Value group, mlir::ValueRange range) {
             const Position at(range);
             const Value own = e.element(sums, e.mul(group, elements), k_.wide());
             store_group(row_tile, columns, at, width, [&](int i) {
               return e.load(e.element(own, e.index(std::int64_t{i} * lanes), k_.wide()), k_.wide(), lanes);
             });
             return next(at);
           });
  });
}

TileEnd::Position TileEnd::first_position(const RowTile& row_tile) {
  KernelBuilder& e = k_.e;
  if (!k_.plan.rows.joins_axes) return {e.add(row_tile.first, row_tile.begin)};
  const Value rows = k_.params["epilogue_rows"];
  return {e.div(row_tile.first, rows), e.rem(row_tile.first, rows)};
}

TileEnd::Position TileEnd::next(const Position& at) {
  KernelBuilder& e = k_.e;
  const Value following = e.add(at.back(), e.index(1));
  if (!k_.plan.rows.joins_axes) return {following};
  const Value stays = e.less(following, k_.params["epilogue_rows"]);
  return {e.select(stays, at[0], e.add(at[0], e.index(1))), e.select(stays, following, e.index(0))};
}

void TileEnd::store_group(const RowTile& row_tile, const ColumnTile& columns, const Position& at,
                          const Width& width, const Sum& sum) {
  if (prepares_each_group()) {
    auto index = row_tile.outer;
    index.push_back(at[0]);
    epilogue_.prepare(k_.e, k_.args, k_.outer.end(), index);
  }
  if (!k_.plan.rows.groups_are_outer()) return store_row(columns, 0, at.back(), width, sum);
  for (int r = 0; r < k_.plan.rows.rows_per_group; ++r) store_row(columns, r, k_.e.index(r), width, sum);
}

void TileEnd::store_row(const ColumnTile& columns, int r, Value row, const Width& width, const Sum& sum) {
  KernelBuilder& e = k_.e;
  const Tile& tile = k_.plan.tile;
  for (int v = 0; v < columns.vectors && v * tile.lanes < width.columns; ++v) {
    const int rest = width.columns - v * tile.lanes;
    llvm::SmallVector<Value> sums;
    for (int i = r; i < r + k_.plan.rows.pooled_rows(); ++i)
      sums.push_back(tile.value(e, sum(i * columns.vectors + v)));
    const Value mask = k_.plan.columns.any ? width.masks[static_cast<std::size_t>(v)]
                       : rest < tile.lanes ? e.mask_below(rest, tile.lanes)
                                           : Value();
    epilogue_.store(e, sums, row,
                    e.add(columns.group_column, e.add(columns.first_column, e.index(v * tile.lanes))),
                    tile.lanes, mask);
  }
  if (k_.plan.end.prefetches_next)
    epilogue_.prefetch_all(e, row,
                           e.add(columns.group_column, e.add(columns.first_column, e.index(tile.width()))),
                           tile.width());
}

}  // namespace kiln::codegen

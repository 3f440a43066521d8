// The loop over k of a tile.
#include "codegen/cpu/contraction/tile_loop.h"

namespace kiln::codegen {

TileLoop::TileLoop(const ContractionKernel& kernel, const Staging& staging, TileEnd& end)
    : k_(kernel), staging_(staging), end_(end), words_(kernel) {
  if (k_.plan.tasks.one_chunk && k_.plan.end.rolled) sums_ = k_.e.stack(k_.wide(), k_.plan.tile_elements());
}

void TileLoop::clear_totals() const {
  if (words_.begins_from_zero()) return;
  KernelBuilder& e = k_.e;
  clear(staging_.totals(), e.mul(e.mul(k_.params["block_column_tiles"], k_.params["block_row_tiles"]),
                                 e.index(k_.plan.tile_elements())));
}

void TileLoop::clear(Value sums, Value elements) const {
  KernelBuilder& e = k_.e;
  const Tile& tile = k_.plan.tile;
  const Value none = tile.initial_total(e);
  e.loop(e.index(0), elements, e.index(tile.lanes),
         [&](Value at) { e.store(none, e.element(sums, at, k_.wide()), k_.wide(), tile.lanes); });
}

void TileLoop::compute(const TaskBlock& block, const RowTile& row_tile, ColumnTile columns, Value from,
                       Value to) {
  if (!k_.plan.columns.narrows_last()) return compute_registers(block, row_tile, columns, from, to);
  // Registers that no column of the last tile is in are not computed.
  const auto compute_vectors = [&](int vectors) {
    columns.vectors = vectors;
    compute_registers(block, row_tile, columns, from, to);
  };
  k_.e.when(
      TileEnd::has_all_columns(k_, columns), [&] { compute_vectors(k_.plan.tile.vectors); },
      [&] { compute_vectors(k_.plan.columns.last_vectors()); });
}

void TileLoop::compute_registers(const TaskBlock& block, const RowTile& row_tile, const ColumnTile& columns,
                                 Value from, Value to) {
  if (k_.plan.tile.sums_in_memory()) return compute_in_memory(block, row_tile, columns, from, to);
  KernelBuilder& e = k_.e;
  const Tile& tile = k_.plan.tile;
  const bool one_chunk = k_.plan.tasks.one_chunk;
  const auto sums = sums_over(block, row_tile, columns, from, to);
  if (one_chunk && !k_.plan.end.rolled)
    return end_.store(row_tile, columns, [&](int i) { return sums[static_cast<std::size_t>(i)]; });

  const Value own = one_chunk ? sums_ : totals_of(row_tile, columns);
  const auto place = [&](std::size_t i) {
    return e.element(own, e.index(static_cast<std::int64_t>(i) * tile.lanes), k_.wide());
  };
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const Value sum = one_chunk ? sums[i] : tile.plus(e, e.load(place(i), k_.wide(), tile.lanes), sums[i]);
    e.store(sum, place(i), k_.wide(), tile.lanes);
  }
  finish(own, row_tile, columns, to);
}

void TileLoop::compute_in_memory(const TaskBlock& block, const RowTile& row_tile, const ColumnTile& columns,
                                 Value from, Value to) {
  KernelBuilder& e = k_.e;
  const Tile& tile = k_.plan.tile;
  const int rows = k_.plan.rows.rows_of(row_tile.row_groups);
  const bool one_chunk = k_.plan.tasks.one_chunk;
  const Value own = one_chunk ? sums_ : totals_of(row_tile, columns);
  if (one_chunk) {
    const auto begin = [&] { clear(own, e.index(std::int64_t{rows} * columns.vectors * tile.lanes)); };
    words_.begins_from_zero() ? e.when(e.less(to, e.index(1)), begin) : begin();  // there may be no k
  }
  const Value rhs = rhs_of(row_tile, columns);
  WordOperands operands{staging_.lhs_of(row_tile, from), panels_of(columns, rhs), own, from, to, {}};
  if (k_.plan.rhs.lines_ahead > 0) operands.next_rhs = slice_of(block, row_tile.number, rhs, from, to);
  words_.add(rows, columns.vectors, operands);
  finish(own, row_tile, columns, to);
}

void TileLoop::finish(Value sums, const RowTile& row_tile, const ColumnTile& columns, Value to) const {
  const auto store_all = [&] { end_.store_from(sums, row_tile, columns); };
  if (k_.plan.tasks.one_chunk) return store_all();
  k_.e.when(k_.e.less(k_.e.sub(k_.params["k_extent"], k_.e.index(1)), to), store_all);
}

TileLoop::Value TileLoop::rhs_of(const RowTile& row_tile, const ColumnTile& columns) const {
  return k_.plan.rhs.packer ? columns.panels : k_.rhs_element(columns.panels, row_tile.rhs_offset);
}

TileLoop::Value TileLoop::totals_of(const RowTile& row_tile, const ColumnTile& columns) const {
  KernelBuilder& e = k_.e;
  const Value number = k_.plan.rhs.packer
                           ? e.add(e.mul(row_tile.number, k_.params["block_column_tiles"]), columns.in_task)
                           : e.add(e.mul(columns.in_task, k_.params["block_row_tiles"]), row_tile.number);
  return e.element(staging_.totals(), e.mul(number, e.index(k_.plan.tile_elements())), k_.wide());
}

llvm::SmallVector<TileLoop::Value> TileLoop::panels_of(const ColumnTile& columns, Value rhs) const {
  KernelBuilder& e = k_.e;
  llvm::SmallVector<Value> panels{rhs};
  for (int number = 1; number < k_.plan.columns.panels; ++number) {
    Value next = k_.rhs_element(panels.back(), k_.memory.panel_stride);
    if (k_.plan.columns.lacks_panels) {  // missing panels are computed from the last one, and not stored
      const Value column = e.add(columns.first_column, e.index(number * k_.plan.columns.panel));
      next = e.select(e.less(column, k_.params["columns"]), next, panels.back());
    }
    panels.push_back(next);
  }
  return panels;
}

llvm::SmallVector<TileLoop::Value> TileLoop::sums_over(const TaskBlock& block, const RowTile& row_tile,
                                                       const ColumnTile& columns, Value from, Value to) {
  KernelBuilder& e = k_.e;
  const ContractionPlan& plan = k_.plan;
  Tile tile = plan.tile;
  tile.rows = plan.rows.rows_of(row_tile.row_groups);
  tile.vectors = columns.vectors;
  const Value lhs = staging_.lhs_of(row_tile, from);
  const Value rhs = rhs_of(row_tile, columns);
  const auto panels = panels_of(columns, rhs);
  const auto slice =
      plan.rhs.prefetches ? std::optional(slice_of(block, row_tile.number, rhs, from, to)) : std::nullopt;
  Tile::Carried carried;
  if (slice) carried.push_back(slice->begin(e));
  const bool moves = plan.rows.even && !plan.lhs.copies;  // pointers to A, with k
  if (moves)
    llvm::append_range(carried, k_.lhs_rows.pointers(e, k_.element(lhs, k_.lhs_offset(from)), tile.rows));
  return tile.emit(e, from, to, carried, [&](Value k, Tile::Carried& at) {
    Tile::Operands operands;
    const Value row_of_panel = e.mul(k, e.index(plan.columns.panel));
    for (const Value panel : panels)
      tile.load_rhs(e, k_.rhs_element(panel, row_of_panel), plan.rhs.dtype,
                    tile.vectors / plan.columns.panels, plan.columns.panel, operands.rhs);
    if (slice) at[0] = slice->prefetch(e, at[0]);
    if (plan.lhs
            .prefetches)  // a row tile's part of the rows some tiles later, which no cache of a core keeps
      e.prefetch(k_.element(lhs, e.add(k_.params["lhs_prefetch"], e.mul(k, e.index(plan.rows.rows())))));
    if (plan.end.prefetches) end_.prefetch(row_tile, columns, k);
    if (moves) {
      const llvm::MutableArrayRef<Value> moving = llvm::MutableArrayRef(at).drop_front(slice.has_value());
      operands.lhs_address = [this, pointers = llvm::to_vector(moving)](int r) {
        return k_.lhs_rows.address(k_.e, pointers, r);
      };
      for (Value& pointer : moving) pointer = k_.element(pointer, k_.lhs_step());
    } else {
      operands.lhs_address = k_.lhs_rows_at(lhs, k, tile.rows);
    }
    return operands;
  });
}

PrefetchSlice TileLoop::slice_of(const TaskBlock& block, Value number, Value rhs, Value from,
                                 Value to) const {
  KernelBuilder& e = k_.e;
  const std::int64_t panel = k_.plan.columns.panel;
  const Value length = e.sub(to, from);
  // The same chunk of the next panel, if the task has several column tiles; otherwise the following memory.
  Value distance = e.mul(length, e.index(panel));
  if (!k_.plan.tasks.one_chunk)
    distance =
        e.select(e.less(e.index(1), k_.params["block_column_tiles"]), k_.memory.panel_stride, distance);
  const Value next = k_.rhs_element(rhs, distance);
  return {e,
          k_.rhs_element(next, e.mul(from, e.index(panel))),
          panel * static_cast<std::int64_t>(size_of(k_.plan.rhs.dtype)),
          length,
          number,
          e.sub(block.end_row_tile, block.first_row_tile)};
}

}  // namespace kiln::codegen

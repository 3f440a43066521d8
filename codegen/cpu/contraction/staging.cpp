// A and B of a block in scratch memory: packed B, and A packed or copied if its unpacked rows would compete
// for the sets of a cache.
#include "codegen/cpu/contraction/staging.h"

#include "codegen/target/tuning.h"

namespace kiln::codegen {

Staging::Staging(const ContractionKernel& kernel, const RowTiles& rows) : k_(kernel), rows_(rows) {
  KernelBuilder& e = k_.e;
  const ContractionPlan& plan = k_.plan;
  Value free = plan.tasks.one_chunk && !plan.rhs.packer
                   ? Value()
                   : e.buffer(k_.args.buffers, plan.tasks.scratch_operand);
  if (!plan.tasks.one_chunk) {
    totals_ = free;
    const Value row_tiles_of_task = e.mul(k_.params["block_column_tiles"], k_.params["block_row_tiles"]);
    free = e.element(totals_, e.mul(row_tiles_of_task, e.index(plan.tile_elements())), k_.wide());
  }
  (plan.rhs.packer ? packed_ : copies_) = free;
  if (plan.lhs.packs) {
    const Value panels = e.mul(k_.params["block_column_tiles"], e.index(plan.columns.panels));
    strips_ = k_.rhs_element(packed_, e.mul(panels, k_.memory.panel_stride));
  }
}

void Staging::pack_rhs(const TaskBlock& block, Value from, Value to) const {
  KernelBuilder& e = k_.e;
  const ContractionPlan& plan = k_.plan;
  const Value column = e.mul(block.first_column_tile, e.index(plan.tile.width())),
              stride = k_.params["rhs_column_stride"];
  plan.rhs.packer->emit(e, {.in = k_.rhs_element(block.rhs, e.mul(column, stride)),
                            .out = packed_,
                            .columns = e.sub(k_.params["columns"], column),
                            .panels = e.mul(e.sub(block.end_column_tile, block.first_column_tile),
                                            e.index(plan.columns.panels)),
                            .panel_columns = e.index(plan.columns.panel),
                            .panel_stride = k_.memory.panel_stride,
                            .column_stride = stride,
                            .from = from,
                            .to = to,
                            .k_stride = k_.params["rhs_k_stride"],
                            .table = {}});
}

void Staging::pack_rows(int rows, Value in, Value out) const {
  KernelBuilder& e = k_.e;
  const RowTilePlan& plan = k_.plan.rows;
  const DType dtype = k_.plan.tile.dtype;
  const int all_lanes = k_.plan.tile.lanes;
  const bool has_masks = size_of(dtype) >= 4;
  for (int row = 0, run; row < rows; row += run) {
    for (run = 1; run < all_lanes && row + run < rows; ++run)
      if (plan.offset_in_lhs(row + run) != plan.offset_in_lhs(row) + run) break;
    if (run < all_lanes && !has_masks) run = 1;
    const int lanes = run == 1 ? 1 : all_lanes;
    const Value mask = run < lanes ? e.mask_below(run, lanes) : Value();
    e.store(e.load(e.element(in, e.index(plan.offset_in_lhs(row)), dtype), dtype, lanes, mask),
            e.element(out, e.index(row), dtype), dtype, lanes);
  }
}

void Staging::pack_lhs(const TaskBlock& block, Value from, Value to) const {
  KernelBuilder& e = k_.e;
  const Value length = e.index(tuning::packed_lhs_k);
  e.loop(from, to, length, [&](Value first) {
    const Value end = e.min(e.add(first, length), to);
    rows_.each(block, k_.memory.lhs, [&](const RowTile& row_tile) {
      const Value strip = strip_of(row_tile, from);
      const int rows = k_.plan.rows.rows_of(row_tile.row_groups);
      e.loop(first, end, e.index(1), [&](Value k) {
        const Value in = k_.element(row_tile.lhs, k_.lhs_offset(k)),
                    out = k_.element(strip, e.mul(k, e.index(rows)));
        pack_rows(rows, in, out);
      });
    });
  });
}

Staging::Value Staging::strip_of(const RowTile& row_tile, Value from) const {
  KernelBuilder& e = k_.e;
  const Value number = e.mul(row_tile.number, e.index(k_.plan.strip_elements()));
  return k_.element(strips_, e.sub(number, e.mul(from, e.index(k_.plan.rows.rows_of(row_tile.row_groups)))));
}

void Staging::copy_lhs(const TaskBlock& block, Value from, Value to) const {
  rows_.each(block, k_.memory.lhs, [&](const RowTile& row_tile) { copy_rows(row_tile, from, to); });
}

void Staging::copy_rows(const RowTile& row_tile, Value from, Value to) const {
  KernelBuilder& e = k_.e;
  const RowTilePlan& plan = k_.plan.rows;
  const DType dtype = k_.plan.tile.dtype;
  const int lanes = k_.plan.tile.lanes;
  const Value own = k_.element(copies_, e.mul(row_tile.number, e.index(k_.plan.copy_elements())));
  for (int r = 0; r < plan.rows_of(row_tile.row_groups); ++r) {
    const Value row = plan.even ? e.byte_offset(row_tile.lhs, e.mul(e.index(r), k_.lhs_rows.distance()))
                                : k_.element(row_tile.lhs, e.index(plan.offset_in_lhs(r)));
    const Value count = e.sub(to, from), in = k_.element(row, from);
    const Value out = k_.element(own, e.index(r * LhsPlan::copied_row_stride));
    e.each_register(count, lanes, [&](Value k, Value mask) {
      e.store(e.load(e.element(in, k, dtype), dtype, lanes, mask), e.element(out, k, dtype), dtype, lanes);
    });
  }
}

ColumnTile Staging::columns(const TaskBlock& block, Value number, Value from) const {
  KernelBuilder& e = k_.e;
  const ContractionPlan& plan = k_.plan;
  const Value group = e.div(number, k_.params["column_tiles_of_group"]),
              in_group = e.rem(number, k_.params["column_tiles_of_group"]);
  ColumnTile tile;
  tile.in_task = e.sub(number, block.first_column_tile);
  tile.first_column = e.mul(in_group, e.index(plan.tile.width()));
  tile.group_column = e.mul(group, k_.params["columns"]);
  const auto panels_before = [&](Value columns) {
    return e.mul(e.mul(columns, e.index(plan.columns.panels)), k_.memory.panel_stride);
  };
  if (plan.rhs.packer) {  // the packed panels begin at k = from
    tile.panels =
        k_.rhs_element(packed_, e.sub(panels_before(tile.in_task), e.mul(from, e.index(plan.columns.panel))));
  } else {
    tile.panels = k_.rhs_element(k_.memory.rhs, e.mul(group, k_.params["rhs_group_stride"]));
    tile.panels = k_.rhs_element(tile.panels, panels_before(in_group));
  }
  tile.lhs = k_.element(k_.memory.lhs, e.mul(group, k_.params["lhs_group_stride"]));
  tile.vectors = plan.tile.vectors;
  return tile;
}

Staging::Value Staging::lhs_of(const RowTile& row_tile, Value from) const {
  KernelBuilder& e = k_.e;
  if (k_.plan.lhs.packs) return strip_of(row_tile, from);
  if (!k_.plan.lhs.copies) return row_tile.lhs;
  return k_.element(copies_, e.sub(e.mul(row_tile.number, e.index(k_.plan.copy_elements())), from));
}

}  // namespace kiln::codegen

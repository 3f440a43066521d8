// The row tiles of a block: the outer axes around them, and their heights.
#include "codegen/cpu/contraction/row_tiles.h"

namespace kiln::codegen {

/// Calls `body` for the row tiles that code is emitted for, with their first row group along the axis, their
/// number of row groups, and the range of groups to store.
void RowTiles::each_height(
    Value number, llvm::function_ref<void(Value first, int row_groups, Value begin, Value end)> body) const {
  KernelBuilder& e = k_.e;
  const TileRows& heights = k_.plan.rows.groups;
  if (!k_.plan.rows.generic)
    return heights.emit(e, number, k_.params["larger_tiles"], [&](Value first, int row_groups) {
      body(first, row_groups, e.index(0), e.index(row_groups));
    });
  const Value zero = e.index(0), height = e.index(heights.most), rows = k_.params["rows"],
              not_stored = e.mul(number, height), first = e.max(zero, e.min(not_stored, e.sub(rows, height)));
  body(first, heights.most, e.sub(not_stored, first), e.min(height, e.sub(rows, first)));
}

void RowTiles::each(const TaskBlock& block, Value base, llvm::function_ref<void(const RowTile&)> body) const {
  KernelBuilder& e = k_.e;
  const Value zero = e.index(0), one = e.index(1), tiles = k_.params["tiles_of_axis"];
  const Value outer_end = e.div(e.add(block.end_row_tile, e.sub(tiles, one)), tiles);
  e.loop(e.div(block.first_row_tile, tiles), outer_end, one, [&](Value o) {
    const auto outer = k_.outer.index(e, o);
    const Value lhs = k_.element(base, k_.outer.lhs_offset(e, outer));
    const Value rhs_offset = k_.outer.rhs_offset(e, outer);
    end_.enter(outer);
    const Value first = e.mul(o, tiles);
    e.loop(e.max(zero, e.sub(block.first_row_tile, first)), e.min(tiles, e.sub(block.end_row_tile, first)),
           one, [&](Value row_tile) {
             const Value number = e.sub(e.add(first, row_tile), block.first_row_tile);
             each_height(row_tile, [&](Value first_group, int row_groups, Value begin, Value end) {
               body({.number = number,
                     .lhs = e.byte_offset(lhs, e.mul(first_group, k_.lhs_rows.distance())),
                     .first = first_group,
                     .row_groups = row_groups,
                     .begin = begin,
                     .end = end,
                     .outer = outer,
                     .rhs_offset = rhs_offset});
             });
           });
  });
}

}  // namespace kiln::codegen

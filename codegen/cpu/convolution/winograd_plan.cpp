// The division of a Winograd convolution into blocks that stay in L2, and of these into register tiles.
#include "codegen/cpu/convolution/winograd_plan.h"

#include "codegen/target/choices.h"
#include "ir/windows.h"

#include <llvm/Support/MathExtras.h>

#include <algorithm>

namespace kiln::codegen {

WinogradSizes::WinogradSizes(ir::WinogradOp op) {
  const auto x = ir::ranked(op.getX()).getShape(), result = ir::ranked(op.getResult()).getShape(),
             w = ir::ranked(op.getW()).getShape();
  height = x[1];
  width = x[2];
  channels = x[3];
  out_height = result[1];
  out_width = result[2];
  columns = result[3];
  pooled = ir::pooled_windows(op).has_value();
  tiles_down = llvm::divideCeilSigned(out_height, 2);
  tiles_across = llvm::divideCeilSigned(out_width, 2);
  tiles = x[0] * tiles_down * tiles_across;
  panels = w[0];
  panel = w[3];
}

WinogradPlan plan_winograd(const WinogradSizes& sizes, const WinogradFusion& fusion,
                           const CpuTarget& target) {
  const int lanes = Tile::lanes_of(target, DType::f32, sizes.panel);
  const auto vectors_per_panel = static_cast<int>(sizes.panel / lanes);
  const std::int64_t row_elements = llvm::divideCeilSigned(sizes.channels, lanes) * lanes + lanes,
                     tile_bytes = winograd_positions * row_elements * 4,
                     some_tiles = std::max<std::int64_t>(1, sizes.tiles);
  const std::int64_t max_rows = std::min<std::int64_t>(Tile::max_rows(target, vectors_per_panel), some_tiles);
  const bool streams_weights = winograd_positions * sizes.channels * sizes.panels * sizes.panel * 4 >
                               choices::l2_rhs_bytes(*target.machine);
  const std::int64_t max_tiles =
      std::clamp(std::max(choices::packed_block_bytes(*target.machine) / tile_bytes,
                          streams_weights ? tuning::min_streaming_tiles : 0),
                 max_rows, some_tiles);
  // Divide as evenly as possible: all tiles into blocks, then a block into rows.
  const std::int64_t tile_block =
      llvm::divideCeilSigned(some_tiles, llvm::divideCeilSigned(some_tiles, max_tiles));
  return {.tile_block = tile_block,
          .split = TileSplit(tile_block, static_cast<int>(max_rows)),
          .vectors_per_panel = vectors_per_panel,
          .lanes = lanes,
          .row_elements = row_elements,
          .streams_weights = streams_weights,
          .pooled = sizes.pooled,
          .chunks = sizes.channels > Tile::chunk,
          .ragged_channels = sizes.channels % lanes != 0,
          .ragged_columns = sizes.columns % sizes.panel != 0,
          .odd_height = sizes.out_height % 2 == 1,
          .odd_width = sizes.out_width % 2 == 1,
          .axes = fusion.axes,
          .x_operand = fusion.x_operand,
          .w_operand = fusion.w_operand,
          .scratch_operand = fusion.scratch_operand};
}

}  // namespace kiln::codegen

// The blocks and register tiles of a Winograd convolution, and its scratch memory.
#pragma once
#include "codegen/cpu/convolution/winograd_transforms.h"
#include "codegen/emit/plan_fields.h"
#include "codegen/emit/tile.h"
#include "codegen/target/tuning.h"
#include "ir/dialect.h"

#include <tuple>

namespace kiln::codegen {

/// The sizes of the computation.
struct WinogradSizes {
  std::int64_t height, width, channels;          // of the input
  std::int64_t out_height, out_width, columns;   // of the result
  bool pooled;                                   // a tile is a pooling window of the epilogue
  std::int64_t tiles_down, tiles_across, tiles;  // of an image, of an image, in all
  std::int64_t panels, panel;

  explicit WinogradSizes(ir::WinogradOp op);
  std::int64_t result_height() const { return pooled ? out_height / 2 : out_height; }
  std::int64_t result_width() const { return pooled ? out_width / 2 : out_width; }
};

/// Everything that the code depends on, with its epilogue: equal plans, equal code. A tile block is
/// `tile_block` tiles, split into the rows of register tiles.
struct WinogradPlan {
  std::int64_t tile_block;
  TileSplit split;  // of a tile block
  int vectors_per_panel, lanes;
  /// A tile's transformed inputs at one position. Padded, since with a power of two consecutive tiles would
  /// compete for the same L1 sets.
  std::int64_t row_elements;
  bool streams_weights;                  // weights do not stay in L2
  bool pooled;                           // WinogradSizes::pooled
  bool chunks;                           // of channels
  bool ragged_channels, ragged_columns;  // registers, or panels, are not full
  bool odd_height, odd_width;            // an odd extent ends in the middle of a tile
  std::size_t axes;                      // of the epilogue
  int x_operand, w_operand, scratch_operand;
  static constexpr auto fields() {
    return std::tuple(
        PlanField{"tile_block", &WinogradPlan::tile_block}, PlanField{"split", &WinogradPlan::split},
        PlanField{"vectors_per_panel", &WinogradPlan::vectors_per_panel},
        PlanField{"lanes", &WinogradPlan::lanes}, PlanField{"row_elements", &WinogradPlan::row_elements},
        PlanField{"streams_weights", &WinogradPlan::streams_weights},
        PlanField{"pooled", &WinogradPlan::pooled}, PlanField{"chunks", &WinogradPlan::chunks},
        PlanField{"ragged_channels", &WinogradPlan::ragged_channels},
        PlanField{"ragged_columns", &WinogradPlan::ragged_columns},
        PlanField{"odd_height", &WinogradPlan::odd_height}, PlanField{"odd_width", &WinogradPlan::odd_width},
        PlanField{"axes", &WinogradPlan::axes}, PlanField{"x_operand", &WinogradPlan::x_operand},
        PlanField{"w_operand", &WinogradPlan::w_operand},
        PlanField{"scratch_operand", &WinogradPlan::scratch_operand});
  }

  std::int64_t panel() const { return std::int64_t{vectors_per_panel} * lanes; }
  // Scratch memory: the number of the tile block in it, from 1 on; zeros for one pixel; transformed inputs
  // (position, tile, channel); sums (tile, position, column).
  std::int64_t position_elements() const { return tile_block * row_elements; }
  static constexpr std::int64_t zeros_at = tuning::cache_line_bytes / 4;
  std::int64_t inputs_at() const { return zeros_at + row_elements; }
  std::int64_t sums_at() const { return inputs_at() + winograd_positions * position_elements(); }
  std::int64_t scratch_elements() const { return sums_at() + tile_block * winograd_positions * panel(); }
};

/// The facts that the code takes from its fusion.
struct WinogradFusion {
  std::size_t axes;  // of the epilogue
  int x_operand, w_operand, scratch_operand;
};

WinogradPlan plan_winograd(const WinogradSizes& sizes, const WinogradFusion& fusion, const CpuTarget& target);

}  // namespace kiln::codegen

// How windows along lines are computed: the tiles of a plane, the lines that a block of tiles copies.
#pragma once
#include "codegen/emit/loop_nest.h"
#include "codegen/emit/plan_fields.h"
#include "codegen/emit/tile.h"
#include "ir/views.h"

#include <optional>
#include <tuple>

namespace kiln::codegen {

/// The axis of columns, or of lines.
struct WindowAxis {
  std::int64_t taps = 1, stride = 1, dilate = 1;
  static constexpr auto fields() {
    return std::tuple(PlanField{"taps", &WindowAxis::taps}, PlanField{"stride", &WindowAxis::stride},
                      PlanField{"dilate", &WindowAxis::dilate});
  }

  std::int64_t reach() const { return (taps - 1) * dilate + 1; }
};

/// The operands of a depthwise convolution or a reduction of windows.
struct PlaneWindows {
  ir::View x;
  int x_operand, w_operand = -1;
  std::optional<ir::Reduce> reduces;
  Dims kernel, stride, dilate, pad_low;

  explicit PlaneWindows(mlir::Operation* root);

  bool has_lines() const { return kernel.size() > 1; }
  std::int64_t width() const { return x.shape.back(); }
  std::int64_t height() const { return has_lines() ? x.shape[2] : 1; }
  std::int64_t pad_top() const { return has_lines() ? pad_low[0] : 0; }
  std::int64_t pad_left() const { return pad_low.back(); }
  WindowAxis axis(std::size_t i) const { return {kernel[i], stride[i], dilate[i]}; }
};

/// A plane of the result: `lines` of `points`.
struct ResultPlane {
  std::int64_t lines, points;
};

/// A plane of short lines, which one tile reads without copying them.
struct SmallPlane {
  std::int64_t height, width, pad_top, pad_left;
  static constexpr auto fields() {
    return std::tuple(PlanField{"height", &SmallPlane::height}, PlanField{"width", &SmallPlane::width},
                      PlanField{"pad_top", &SmallPlane::pad_top},
                      PlanField{"pad_left", &SmallPlane::pad_left});
  }
};

/// A line that is copied to scratch memory.
struct CopiedLine {
  std::int64_t left;   // columns before its inputs: the padding, up to whole vectors
  std::int64_t shift;  // the number of columns before the first tap
  std::int64_t pitch;  // between its parts, which have every stride-th column each
  int tail;            // inputs in the last step of copying it; 0: it is full
  static constexpr auto fields() {
    return std::tuple(PlanField{"left", &CopiedLine::left}, PlanField{"shift", &CopiedLine::shift},
                      PlanField{"pitch", &CopiedLine::pitch}, PlanField{"tail", &CopiedLine::tail});
  }
};

/// Everything that the code depends on, with its epilogue: equal plans, equal code.
struct PlaneWindowsPlan {
  DType dtype;
  std::optional<ir::Reduce> reduces;  // none: multiplies by weights and adds
  int lanes, vectors;                 // of a tile
  int tail;                           // results in the last tile of a line; 0: it is full
  TileRows lines;                     // of a tile
  WindowAxis down, across;
  std::optional<CopiedLine> copied;  // none: one tile reads the lines of a plane
  std::optional<SmallPlane> plane;   // that plane
  std::size_t outer_count;
  int x_operand, w_operand, scratch_operand;  // w_operand: -1 without weights

  std::int64_t taps() const { return down.taps * across.taps; }
  std::int64_t line_pitch() const { return copied ? across.stride * copied->pitch : 0; }
  /// Of copied elements: narrow floats are converted once.
  DType copied_type() const { return Tile{dtype, 1, 1, lanes}.wide(); }
  /// The weights of a plane stay in registers, beside an input and the sums of six lines.
  bool keeps_weights(int registers) const { return !reduces && taps() + 7 <= registers; }
  static constexpr auto fields() {
    return std::tuple(
        PlanField{"dtype", &PlaneWindowsPlan::dtype}, PlanField{"reduces", &PlaneWindowsPlan::reduces},
        PlanField{"lanes", &PlaneWindowsPlan::lanes}, PlanField{"vectors", &PlaneWindowsPlan::vectors},
        PlanField{"tail", &PlaneWindowsPlan::tail}, PlanField{"lines", &PlaneWindowsPlan::lines},
        PlanField{"down", &PlaneWindowsPlan::down}, PlanField{"across", &PlaneWindowsPlan::across},
        PlanField{"copied", &PlaneWindowsPlan::copied}, PlanField{"plane", &PlaneWindowsPlan::plane},
        PlanField{"outer_count", &PlaneWindowsPlan::outer_count},
        PlanField{"x_operand", &PlaneWindowsPlan::x_operand},
        PlanField{"w_operand", &PlaneWindowsPlan::w_operand},
        PlanField{"scratch_operand", &PlaneWindowsPlan::scratch_operand});
  }
};

/// Divides a plane of the result into tiles, which the plan then has.
TileSplit divide_plane(PlaneWindowsPlan& plan, const PlaneWindows& windows, const ResultPlane& result,
                       const CpuTarget& target);

/// The blocks of tiles of a plane.
struct PlaneBlocks {
  std::int64_t tiles, count;                    // of a block, and of blocks
  std::int64_t copied_lines, copied_bytes = 0;  // for a block

  /// The number of tiles that leaves half of L1 to the arrays that stream through it.
  PlaneBlocks(const PlaneWindowsPlan& plan, const ResultPlane& result, std::int64_t all_tiles,
              const Machine& machine);
};

}  // namespace kiln::codegen

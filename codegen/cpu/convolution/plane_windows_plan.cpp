// The tiles and blocks of windows along lines, by registers and L1.
#include "codegen/cpu/convolution/plane_windows_plan.h"

#include "codegen/target/choices.h"
#include "codegen/target/tuning.h"
#include "runtime/fail.h"

#include <llvm/Support/MathExtras.h>

namespace kiln::codegen {
namespace {

using llvm::divideCeilSigned;

int argument_number_of(const ir::View& v) {
  return static_cast<int>(llvm::cast<mlir::BlockArgument>(v.base).getArgNumber());
}

template <class Op>
void set_steps(PlaneWindows& w, Op op) {
  w.stride = Dims(op.getStride());
  w.dilate = Dims(op.getDilate());
  w.pad_low = Dims(op.getPadLow());
}

/// The layout of a copied line.
CopiedLine copied_line(const PlaneWindowsPlan& plan, const PlaneWindows& w, const ResultPlane& result) {
  const auto whole = [](std::int64_t n, std::int64_t multiple) {
    return divideCeilSigned(n, multiple) * multiple;
  };
  const std::int64_t step = plan.across.stride * plan.lanes;
  const std::int64_t left = whole(w.pad_left(), step), shift = left - w.pad_left();
  const std::int64_t pitch = whole(
      std::max((left + whole(w.width(), step)) / plan.across.stride,
               whole(result.points, plan.lanes) + (shift + plan.across.reach() - 1) / plan.across.stride),
      plan.lanes);
  return {left, shift, pitch, static_cast<int>(w.width() % step)};
}

}  // namespace

PlaneWindows::PlaneWindows(mlir::Operation* root)
    : x(ir::view_of(root->getOperand(0))), x_operand(argument_number_of(x)) {
  bool fits = x.strides.back() == 1;
  if (auto depthwise = llvm::dyn_cast<ir::DepthwiseOp>(root)) {
    const ir::View w = ir::view_of(depthwise.getW());
    kernel.append(w.shape.begin() + 2, w.shape.end());
    w_operand = argument_number_of(w);
    fits = fits && w.is_contiguous();
    set_steps(*this, depthwise);
  } else {
    auto reduce = llvm::cast<ir::ReduceWindowOp>(root);
    kernel.append(reduce.getKernel().begin(), reduce.getKernel().end());
    reduces = reduce.getKind();
    set_steps(*this, reduce);
  }
  if (!fits) fail_internal("a kernel of windows along lines reads lines or weights that are not contiguous");
}

TileSplit divide_plane(PlaneWindowsPlan& plan, const PlaneWindows& w, const ResultPlane& result,
                       const CpuTarget& target) {
  // Where weights are loaded for each use, two vectors share them. No tile has longer code than this.
  constexpr std::int64_t max_multiply_adds = 256;
  const std::int64_t registers = divideCeilSigned(result.points, plan.lanes);
  const bool keeps_weights = plan.keeps_weights(target.registers());
  plan.vectors = keeps_weights || registers < 2 ? 1 : 2;
  const std::int64_t sums = target.registers() - plan.vectors - (keeps_weights ? plan.taps() : 1);
  // Lines that are not copied. With a stride of 1 loads are masked; else lanes are selected from one
  // register, or from two, which AVX2 has no instruction for. A result is complete before most of the lines
  // are read, so that registers do not limit the tile.
  constexpr std::int64_t max_plane_taps = 400;
  const bool is_small =
      result.lines > 0 && result.lines * plan.taps() <= max_plane_taps && result.points <= plan.lanes &&
      (plan.across.stride == 1 || w.width() <= (target.registers() > 16 ? 2 : 1) * plan.lanes);
  const std::int64_t max_lines = std::clamp<std::int64_t>(
      std::min(sums, max_multiply_adds / plan.taps()) / plan.vectors, 1, tuning::min_accumulators);
  const TileSplit split(result.lines, static_cast<int>(is_small ? result.lines : max_lines));
  plan.lines = split.rows;
  plan.tail = static_cast<int>(result.points % (plan.vectors * plan.lanes));
  if (is_small)
    plan.plane = {w.height(), w.width(), w.pad_top(), w.pad_left()};
  else
    plan.copied = copied_line(plan, w, result);
  return split;
}

PlaneBlocks::PlaneBlocks(const PlaneWindowsPlan& plan, const ResultPlane& result, std::int64_t all_tiles,
                         const Machine& machine) {
  const auto lines_of = [&](std::int64_t tiles) {
    return (std::clamp<std::int64_t>(result.lines, 1, tiles * plan.lines.most) - 1) * plan.down.stride +
           plan.down.reach();
  };
  const auto line_bytes = plan.line_pitch() * static_cast<std::int64_t>(size_of(plan.copied_type()));
  tiles = 1;
  while (tiles < all_tiles && lines_of(tiles + 1) * line_bytes <= choices::lines_bytes(machine)) ++tiles;
  count = divideCeilSigned(all_tiles, tiles);
  tiles = divideCeilSigned(all_tiles, std::max<std::int64_t>(count, 1));
  copied_lines = lines_of(tiles);
  if (!plan.plane) copied_bytes = copied_lines * line_bytes;
}

}  // namespace kiln::codegen

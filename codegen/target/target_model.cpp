// The answers of CPUs to the questions of passes.
#include "codegen/target/target_model.h"

#include "codegen/target/choices.h"

#include <llvm/Support/MathExtras.h>

#include <algorithm>

namespace kiln::codegen {

std::int64_t CpuTargetModel::panel_width(std::int64_t columns, unsigned bits) const {
  // The unit is a vector; in scalar code two columns, so that panels are not too narrow. A panel is two or
  // three units wide, whichever leaves more than one for the last. With one unit, half of the kernel's
  // instructions load elements of A; with four too few registers are left for the rows of a tile.
  std::int64_t unit = std::max<std::int64_t>(2, lanes_of(bits));
  // Few columns take half a vector or a quarter, which some processors multiply in half of the time.
  const std::int64_t min_unit = 128 / std::max(bits, 32U);
  while (unit > min_unit && columns <= unit / 2) unit /= 2;
  const std::int64_t units = std::max<std::int64_t>(1, llvm::divideCeilSigned(columns, unit));
  if (units <= 3) return unit * units;
  if (units == joined_registers) return unit;
  return unit * (units % 2 == 1 && units % 3 != 1 ? 3 : 2);
}

std::int64_t CpuTargetModel::vector_length(unsigned bits) const {
  return std::max<std::int64_t>(1, lanes_of(bits));
}

bool CpuTargetModel::vectorizes_lines(std::int64_t channels, std::int64_t line, std::int64_t input_lines,
                                      std::int64_t stride, bool alone, unsigned bits) const {
  const std::int64_t lanes = lanes_of(bits);
  if (lanes <= 1 || line == 0) return false;
  // Vectors of a line for each channel, and of the channels for each point. The last vector of a line is
  // masked.
  const std::int64_t along_lines = channels * llvm::divideCeilSigned(line, lanes),
                     along_channels = line * llvm::divideCeilSigned(channels, lanes);
  // The results may be wanted in another order: hence the quarter.
  if (channels < lanes && 4 * along_lines <= 3 * along_channels) return true;
  // Alone, channels last would need two transposes; deinterleaving lines costs as much as one of them. Lines
  // share loads, which a tile of one vector of channels does not. But each block of channels reads the inputs
  // again, which two vectors of each line bring to L1.
  constexpr std::int64_t max_channels = 64;
  const std::int64_t max_percent = stride == 1 || channels <= lanes ? 120 : 105;
  return alone && channels <= max_channels && 100 * along_lines <= max_percent * along_channels &&
         input_lines * stride * 2 * lanes * (bits / 8) <= choices::lines_bytes(machine_);
}

bool CpuTargetModel::filters_channels_first(std::int64_t line, std::int64_t lines, std::int64_t input_line,
                                            unsigned bits) const {
  // The lines that a result reads are copied, and stay in L1.
  return lanes_ > 1 && line > 0 && lines * input_line * (bits / 8) <= choices::lines_bytes(machine_);
}

bool CpuTargetModel::multiplies_channels_first(std::int64_t images, std::int64_t channels,
                                               std::int64_t places, std::int64_t filters,
                                               unsigned bits) const {
  // Fewer would leave a large part of the last panel empty.
  constexpr std::int64_t min_vectors = 6;
  if (lanes_ == 1 || bits < 32 || places < min_vectors * lanes_of(bits)) return false;
  // With channels last, the results are transposed, which are fewer here, and the images, from L2.
  return filters >= channels ||
         images * channels * places * (bits / 8) > choices::transposed_image_bytes(machine_);
}

// Scalar code packs two columns, for which a kernel with more in it does not pay.
bool CpuTargetModel::packs_in_products() const { return lanes_ > 1; }

// Kernels of GPUs, which are scalar, read B in its place.
bool CpuTargetModel::widens_panels() const { return lanes_ > 1; }
bool CpuTargetModel::multiplies_bytes() const { return lanes_ > 1; }

bool CpuTargetModel::has_lanes_of_chunks(std::int64_t rows, std::int64_t columns, std::int64_t k_extent,
                                         unsigned bits) const {
  return choices::has_lanes_of_chunks(rows, columns, k_extent, lanes_of(bits), /*of_parameter=*/true);
}

std::int64_t CpuTargetModel::max_merged_rows() const { return 8; }

// The narrowest tiles have four rows.
std::int64_t CpuTargetModel::max_window_points() const { return 4; }

std::int64_t CpuTargetModel::min_row_fusion_bytes() const { return choices::min_row_fusion_bytes(machine_); }

}  // namespace kiln::codegen

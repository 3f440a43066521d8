// The greatest magnitude that the integers of an activation represent, from its distribution.
#pragma once
#include "frontend/gluon/quantize/histogram.h"

#include <kiln/export.h>
#include <kiln/quantize.h>

#include <cstdint>
#include <span>

namespace kiln::detail {

/// The greatest magnitude that the integers represent: 255 levels of i8 on both sides of 0, 256 of u8 from 0.
/// 0 if all elements are.
double calibrated_threshold(const Histogram& histogram, Calibration calibration, DType dtype);

/// The range of a distribution with the least Kullback-Leibler divergence.
struct EntropyRange {
  std::int64_t bins;  ///< the range is [-bins, bins], or [0, bins] of a distribution without negative bins
  double divergence;
};
/// `counts` has an element for each bin: bins -half to half if `is_signed`, else 0 to half. A range's
/// elements beyond it count as its last bins. These are P. Q are the elements in the range, quantised to
/// `levels` groups of bins, each spread evenly over its bins that are not empty. As in MXNet's
/// calibrate_entropy, the first bin of a signed range has no elements in Q. Of many ranges, some are left
/// out.
KILN_API EntropyRange entropy_range(std::span<const std::int64_t> counts, bool is_signed,
                                    std::int64_t levels);

}  // namespace kiln::detail

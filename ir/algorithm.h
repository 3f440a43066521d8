#pragma once
#include "ir/dialect.h"

namespace kiln::ir {

// The choice of a contraction's algorithm, which is part of its definition: the algorithm fixes the bits. It
// depends on the logical shapes of one matrix or picture alone, never on the batch, the target or the number
// of threads. build.cpp asks once, where a graph becomes the dialect.

/// For the product of one m by n matrix.
Algorithm dot_algorithm(std::int64_t m, std::int64_t n);

/// For weights `w` (o, c / groups, kernel...) and a result (n, o, spatial...).
Algorithm convolution_algorithm(mlir::RankedTensorType w, mlir::RankedTensorType result, const Window& window,
                                std::int64_t groups);

/// Whether F(2x2, 3x3) is defined for a convolution with these weights.
bool winograd_is_defined(mlir::RankedTensorType w, const Window& window, std::int64_t groups);

}  // namespace kiln::ir

// The choice of a contraction's algorithm by its shape.
#pragma once
#include "ir/dialect.h"

#include <kiln/precision.h>

namespace kiln::ir {

// The algorithm of a contraction is part of its definition: it fixes the bits. For a dot it depends on
// neither the rows nor the columns: a row has the same bits alone, in any batch, and in a step of a decoder.
// For a convolution it depends on the shape of one image. It depends on neither the number of threads nor,
// except for tensor cores, the target. ir/contraction.h chooses it once, when build.cpp builds the dialect
// from a graph.

/// The part of a target and its options that contractions depend on.
struct ContractionTarget {
  bool has_tensor_cores = false;
  Precision precision = Precision::exact;  ///< of nodes that do not set one
};

/// For weights `w` (o, c / groups, kernel...) and a result (n, o, spatial...).
Algorithm convolution_algorithm(mlir::RankedTensorType w, mlir::RankedTensorType result, const Window& window,
                                std::int64_t groups);

/// Whether F(2x2, 3x3) is defined for a convolution with these weights.
bool winograd_is_defined(mlir::RankedTensorType w, const Window& window, std::int64_t groups);

}  // namespace kiln::ir

// The choice of a contraction's algorithm.
#pragma once
#include "ir/dialect.h"

#include <kiln/precision.h>

#include <optional>

namespace kiln::ir {

// The algorithm of a contraction is part of its definition: it fixes the bits. For a dot it depends on
// neither the rows nor the columns: a row has the same bits alone, in any batch, and in a step of a decoder.
// For a convolution it depends on the shape of one image. It depends on neither the number of threads nor,
// except for tensor cores, the target. build.cpp chooses it once, when it builds the dialect from a graph.

/// The operands of contractions that a target computes on tensor cores.
enum class TensorCores { none, halves, halves_and_f32 };
/// Whether a target has tensor cores, and the precision of nodes that do not set one.
struct ContractionTarget {
  bool gpu = false;
  Precision precision = Precision::exact;

  TensorCores cores(const std::optional<Precision>& own = {}) const {
    const Precision p = own.value_or(precision);
    if (!gpu || p == Precision::exact) return TensorCores::none;
    return p == Precision::tf32 ? TensorCores::halves_and_f32 : TensorCores::halves;
  }
};

/// For weights `w` (o, c / groups, kernel...) and a result (n, o, spatial...).
Algorithm convolution_algorithm(mlir::RankedTensorType w, mlir::RankedTensorType result, const Window& window,
                                std::int64_t groups);

/// Whether F(2x2, 3x3) is defined for a convolution with these weights.
bool winograd_is_defined(mlir::RankedTensorType w, const Window& window, std::int64_t groups);

}  // namespace kiln::ir

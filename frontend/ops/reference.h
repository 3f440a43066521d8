// Sentences of the reference that several operators share.
#pragma once
#include "frontend/ops/common.h"

/// Sentences of the reference that several operators share.
namespace kiln::ops {

/// A function of each element of one array.
inline constexpr OpReference pointwise_reference{
    .shapes = "x (...) -> (...)",
    .dtypes = "Any; the result has the dtype of x.",
    .nan = "NaN.",
    .empty = "An empty array gives an empty array.",
    .source = "MXNet 1.9.1.",
};

}  // namespace kiln::ops

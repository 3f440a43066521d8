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

// Pointwise operators.

/// Functions that have formulas for floats alone.
inline constexpr std::string_view integers_in_float32 =
    "Computed in float32, then truncated and wrapped to the dtype. NaN, infinities and numbers beyond int64 "
    "give 0, in int64 its least number. Of bools: whether the number is not 0.";
inline constexpr std::string_view integers_unchanged = "Unchanged.";
inline constexpr std::string_view gradient_zeros = "None: zeros.";

/// A function of each element of the array `data`.
inline constexpr OpReference of_data =
    pointwise_reference |
    OpReference{.shapes = "data (...) -> (...)", .dtypes = "Any; the result has the dtype of data."};

/// Functions of two arrays of one shape, and of two arrays that are broadcast.
inline constexpr OpReference of_equal_shapes{
    .shapes = "lhs (...), rhs (...) -> (...)",
    .dtypes = "Any, one for both inputs; the result has it.",
    .nan = "NaN if lhs or rhs is.",
    .empty = "Empty arrays give an empty array.",
};
inline constexpr OpReference of_broadcast_shapes{
    .shapes = "lhs (L), rhs (R) -> (B); B is L and R broadcast to each other",
    .dtypes = of_equal_shapes.dtypes,
    .broadcasting =
        "Axes are aligned from the last one; an axis of extent 1, or a missing one, is repeated. "
        "Gradients are summed over the repeated axes.",
    .nan = of_equal_shapes.nan,
    .empty = "An axis of extent 0 broadcasts with 0 and 1, and the result is empty.",
};

}  // namespace kiln::ops

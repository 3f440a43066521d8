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
/// An array beside a number that is converted.
inline constexpr std::string_view number_in_dtype =
    "Exact. If is_int is True, scalar is truncated, and wrapped to the dtype: 300 is 44 in uint8. NaN, "
    "infinities and numbers beyond int64 are 0, in int64 its least number.";
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

// Layers, losses and contractions.

/// A function of one array with several roundings.
inline constexpr std::string_view wide_dtypes =
    "Any; the result has the dtype of data. Half precision is computed in float32 and rounded once.";
/// A function of data and parameters, or of two factors.
inline constexpr std::string_view one_wide_dtype =
    "Any, one for all inputs; the result has it too. Half precision is computed in float32 and rounded once.";
/// A formula of floating-point numbers.
inline constexpr std::string_view truncated_integers =
    "Computes the formula in integers: each operation and attribute is truncated to the dtype, and x / 0 is "
    "0. Cast to a floating-point dtype first.";
/// The same with a factor 1 / deviation.
inline constexpr std::string_view truncated_deviation =
    "Computes in integers: 1 / deviation is truncated too, so that it is 1 for a variance of 1 and 0 for any "
    "other one. Cast to a floating-point dtype first.";
/// Contractions.
inline constexpr std::string_view wrapping_products =
    "Products and sums wrap modulo 2^n. A sum of products of bool is 1 if one of them is.";

/// A contraction of data with a weight, and a bias.
inline constexpr OpReference weighted_reference{
    .dtypes = one_wide_dtype,
    .integers = wrapping_products,
};

/// A contraction of two arrays.
inline constexpr OpReference contraction_reference{
    .dtypes = one_wide_dtype,
    .empty = "Rows, columns or a batch without elements give an empty array; a sum of no products is 0.",
    .integers = wrapping_products,
};

// Layout: shapes, slices, joined arrays, indices.

inline constexpr std::string_view matrix_op_source = "MXNet 1.9.1 (src/operator/tensor/matrix_op.cc).";
inline constexpr std::string_view index_op_source = "MXNet 1.9.1 (src/operator/tensor/indexing_op.cc).";

/// Elements of the first input, copied to other positions; no arithmetic.
inline constexpr OpReference layout_reference{
    .dtypes = "Any; the result has the dtype of data.",
    .nan = "Copied as any other element.",
    .empty = "An array without elements gives one without elements.",
    .integers = "Copied exactly.",
};

/// The same elements in C order with another shape.
inline constexpr OpReference reshape_reference =
    layout_reference |
    OpReference{
        .gradient = "data: g with the shape of data.",
        .formula = "Element i of the result is element i of data, both counted in C order.",
    };

/// Slices.
inline constexpr OpReference slice_reference =
    layout_reference |
    OpReference{
        .empty = "An axis without elements, and bounds that select none, give a result without elements.",
    };
inline constexpr std::string_view slice_begin =
    "The first position on each leading axis; negative: from the end. None: the first of the axis, or the "
    "last if step is negative.";
inline constexpr std::string_view slice_end =
    "The position after the last one, for each axis of begin; negative: from the end. None: the end of the "
    "axis, or its beginning if step is negative.";
inline constexpr std::string_view slice_step =
    "The distance of neighbours on each axis of begin; not 0. Negative: backwards. None: 1. (): 1 for all.";

// Reductions.

inline constexpr std::string_view reduced_axes = "The reduced axes; negative: from the end. None or (): all.";

inline constexpr std::string_view numpy_reduced_axes =
    "The reduced axes; negative: from the end. None: all; (): none.";
inline constexpr std::string_view kept_axes = "Whether reduced axes are kept, with extent 1.";

/// The sum, the product or an extreme of elements.
inline constexpr OpReference reduction_reference{
    .nan = "NaN.",
    .integers =
        "Computed in the dtype of data, modulo 2^n; of bool a sum is the logical or, a product the logical "
        "and.",
};
/// Maximum and minimum.
inline constexpr OpReference extreme_reference{
    .ties = "Of zeros of both signs either is the result.",
    .integers = "Exact.",
    .gradient =
        "Each element that equals the result has the gradient g, the others 0; if the result is NaN, all "
        "have 0.",
};
/// The index of an extreme, in the dtype of the data.
inline constexpr OpReference place_reference{
    .dtypes =
        "Any; the result has the dtype of data, to which indices are converted as by Cast: they may be "
        "rounded, or wrap.",
    .nan = "The index of the first NaN.",
    .ties = "The least index of equal elements; -0 and 0 are equal.",
    .empty = "The index along an empty axis is 2147483647, converted to the dtype of data.",
    .integers = "Compared exactly.",
    .gradient = "None: zeros.",
};

}  // namespace kiln::ops

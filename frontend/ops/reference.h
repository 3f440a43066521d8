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

// Layers, losses and contractions.

/// A function of one array with several roundings.
inline constexpr std::string_view wide_dtypes =
    "Any; the result has the dtype of data. Half precision is computed in float32 and rounded once.";
/// The same with parameters, which may have a wider dtype.
inline constexpr std::string_view wide_dtypes_with_parameters =
    "Any; the result has the dtype of data. The other inputs have that dtype too, but half precision and "
    "float32 may be mixed. Half precision is computed in float32 and rounded once.";
/// A formula of floating-point numbers.
inline constexpr std::string_view truncated_integers =
    "Computes the formula in integers: each operation and attribute is truncated to the dtype, and x / 0 is "
    "0. Cast to a floating-point dtype first.";
/// Contractions.
inline constexpr std::string_view wrapping_products =
    "Products and sums wrap modulo 2^n. A sum of products of bool is 1 if an odd number of them is 1.";

/// A contraction of data with a weight, and a bias.
inline constexpr OpReference weighted_reference{
    .dtypes = wide_dtypes_with_parameters,
    .integers = wrapping_products,
};

/// A contraction of two arrays.
inline constexpr OpReference contraction_reference{
    .dtypes =
        "Any, one for all inputs; the result has it too. Half precision is computed in float32 and rounded "
        "once.",
    .empty = "Rows, columns or a batch without elements give an empty array; a sum of no products is 0.",
    .integers = wrapping_products,
};

}  // namespace kiln::ops

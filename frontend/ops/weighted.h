// Parts of dense layers and convolutions that their float and int8 operators share.
#pragma once
#include "frontend/ops/common.h"
#include "ir/shape_rule.h"

/// Parts of dense layers and convolutions that their float and int8 operators share.
namespace kiln::ops {

inline constexpr std::string_view no_bias_meaning = "Whether there is no input bias.";

// Dense layers: data, weight (O, K).

struct DenseShapes {
  Shape rows;    ///< of data as a matrix: (n, K)
  Shape result;  ///< of the layer's result
};
/// Throws unless the weight fits data and num_hidden.
DenseShapes dense_shapes(const Shape& data, const Shape& weight, const Attrs& a);
/// Facts of data, weight and, if there is a third input, of that one: (O,).
void dense_shape_rule(ShapeFacts& f, const Attrs& a);
/// num_hidden, no_bias and flatten.
std::vector<AttrSpec> dense_attrs();

// Convolutions: data (N, C, spatial...), weight (O, C/g, kernel...).

/// Throws unless the weight fits data and the attributes.
ir::ConvSpec fitting_conv_spec(const Shape& data, const Shape& weight, const Attrs& a);
/// Facts of data, weight and, if there is a third input, of that one: (O,).
void convolution_shape_rule(ShapeFacts& f, const Attrs& a);

}  // namespace kiln::ops

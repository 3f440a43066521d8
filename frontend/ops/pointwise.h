// The lists that make up elementwise_ops(), and the definition of a function of one array.
#pragma once
#include "frontend/ops/own_gradient.h"
#include "frontend/ops/reference.h"

/// The lists that make up elementwise_ops(), and the definition of a function of one array.
namespace kiln::ops {

/// The reference of functions that MXNet defines in one file.
inline constexpr OpReference unary_basic =
    of_data | OpReference{.source = "MXNet 1.9.1 (src/operator/tensor/elemwise_unary_op_basic.cc)."};

/// A primitive of one element as an operator.
template <Unary op>
std::vector<Value> unary(Primitives& p, Args in, const Attrs&) {
  return {p.unary(op, in[0])};
}

/// The definition of a function of one array, `data`, whose result has its shape.
OpDef pointwise(std::string_view name, std::string_view summary, decltype(OpDef::compose) compose,
                const OpReference& reference, std::vector<std::string_view> aliases = {},
                std::vector<AttrSpec> attrs = {}, Gradient gradient = nullptr);

std::vector<OpDef> rounding_ops();    ///< absolute values, signs and roundings
std::vector<OpDef> elementary_ops();  ///< powers, logarithms, trigonometric and hyperbolic functions
std::vector<OpDef> piecewise_ops();   ///< functions in pieces, and of attributes
std::vector<OpDef> identity_ops();    ///< the input with another gradient or dtype, and constants like it
std::vector<OpDef> pair_ops();        ///< functions of two and more arrays

}  // namespace kiln::ops

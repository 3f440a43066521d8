#pragma once
#include "ir/primitives.h"

#include <span>
#include <string_view>
#include <vector>

/// The gradient rule of each primitive: one table, written against Primitives as an operator is.
namespace kiln::ir {

/// The contributions of a primitive to the gradients of its operands, given the gradient `g` of its result
/// (of the result's type). One value for each operand, of the operand's type; invalid where the derivative is
/// zero everywhere (floor, comparisons, indices), and where it is not `wanted`. Integers have gradients as
/// floats have, of their own type and computed in it: a cast passes the gradient cast to the type of its
/// operand, as in MXNet. A contribution is a function of the primitive's operands, result and `g` alone;
/// half-precision contributions of arithmetic are computed in f32 and rounded once. Throws for a primitive
/// that has no rule (a scan of extrema), by what it does.
std::vector<Value> contributions(Primitives& p, const Primitives::Taped& primitive, Value g,
                                 const std::vector<bool>& wanted);

/// Whether results of this kind depend smoothly on any operand: false for comparisons, orders and checks.
bool may_have_gradient(Primitives::Kind kind);

/// What a rule of an operator's own may need too.
/// The sum of g over what `broadcast` repeated: the gradient of an operand of type `to` that was broadcast
/// with `dims`.
Value sum_to(Primitives& p, Value g, const TensorType& to, const Shape& dims);
/// An array of `to` elements with g in the slice start, start + step, ..., zeros elsewhere.
Value in_zeros(Primitives& p, Value g, const Shape& to, const Shape& start, const Shape& step);
/// `indices` as int64, clamped to [0, extent).
Value clamped(Primitives& p, Value indices, std::int64_t extent);

}  // namespace kiln::ir

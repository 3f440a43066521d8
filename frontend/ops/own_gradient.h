// Helpers of the gradients that operators define themselves (OpDef::gradient).
#pragma once
#include "frontend/ops/common.h"

/// Helpers of the gradients that operators define themselves (OpDef::gradient). They compute half precision
/// in float32 and round once.
namespace kiln::ops {

using ir::GradientArgs;
using Gradient = decltype(OpDef::gradient);

/// The gradient of output `i`, in the dtype of x's computation; invalid if there is none.
Value head_of(Primitives& p, const GradientArgs& args, std::size_t i, Value x);

/// dy/dx of y = f(x); x and y are at least float32.
using Slope = Value (*)(Primitives& p, Value x, Value y, const Attrs& a);
/// The gradient of a function of one array: its head times the slope.
template <Slope slope>
Values head_times(Primitives& p, const GradientArgs& args) {
  const Value x = widen(p, args.in[0]), y = convert(p, args.out[0], p.dtype(x));
  const Value dx = p.mul(head_of(p, args, 0, x), slope(p, x, y, args.attrs));
  return {convert(p, dx, p.dtype(args.in[0]))};
}

/// The head where y = relu(x) is above 0, whatever it is elsewhere; NaN where y is; else 0, at x = 0 too. The
/// result, unlike x, is in memory for whatever reads it next; where it is not, two masks are saved, a byte
/// each.
Value through_relu(Primitives& p, Value head, Value y);
Values relu_gradient(Primitives& p, const GradientArgs& args);
/// y (1 - y), the slope of y = sigmoid(x).
Value sigmoid_slope(Primitives& p, Value x, Value y, const Attrs& a);
/// 1 / (1 + |x|)^2, the slope of softsign.
Value softsign_slope(Primitives& p, Value x, Value y, const Attrs& a);

/// `reduced` over `axes` of `shape`, repeated along them.
Value spread(Primitives& p, Value reduced, const Shape& shape, const Shape& axes);

}  // namespace kiln::ops

// Helpers of the gradients that operators define themselves.
#include "frontend/ops/own_gradient.h"

#include <limits>

namespace kiln::ops {

Value head_of(Primitives& p, const GradientArgs& args, std::size_t i, Value x) {
  return args.heads[i].valid() ? convert(p, args.heads[i], p.dtype(x)) : Value();
}

Value through_relu(Primitives& p, Value head, Value y) {
  const Value zero = p.like(y, 0);
  const Value elsewhere =
      is_floating(p.dtype(y))
          ? p.select(p.compare(Compare::eq, y, y), zero, p.like(y, std::numeric_limits<double>::quiet_NaN()))
          : zero;
  return p.select(p.compare(Compare::gt, y, zero), head, elsewhere);
}

Values relu_gradient(Primitives& p, const GradientArgs& args) {
  return {through_relu(p, args.heads[0], args.out[0])};
}

Value sigmoid_slope(Primitives& p, Value, Value y, const Attrs&) { return p.mul(y, p.sub(p.like(y, 1), y)); }

Value softsign_slope(Primitives& p, Value x, Value, const Attrs&) {
  const Value share = p.div(p.like(x, 1), p.add(p.like(x, 1), p.unary(Unary::abs, x)));
  return p.mul(share, share);
}

Value spread(Primitives& p, Value reduced, const Shape& shape, const Shape& axes) {
  return p.broadcast_to(p.keep_dims(reduced, shape, axes), shape);
}

}  // namespace kiln::ops

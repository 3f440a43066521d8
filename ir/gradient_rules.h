#pragma once
// Helpers of the gradients of several primitives.
#include "ir/at.h"
#include "ir/gradients.h"
#include "ir/primitives.h"
#include "runtime/dtype_table.h"

namespace kiln::ir {

using Values = std::vector<Value>;
using Wanted = std::vector<bool>;

/// Arithmetic of a pointwise rule: half precision in f32, rounded once at the end.
class Wide {
 public:
  explicit Wide(Primitives& primitives) : p(primitives) {}
  Value in(Value x) { return is_narrow_float(p.dtype(x)) ? p.cast(x, wide_dtype(p.dtype(x))) : x; }
  Value number(Value like, double v) { return p.like(like, v); }
  Value add(Value a, Value b) { return p.add(a, b); }
  Value sub(Value a, Value b) { return p.sub(a, b); }
  Value mul(Value a, Value b) { return p.mul(a, b); }
  Value mul(Value a, double b) { return p.mul(a, p.like(a, b)); }
  Value div(Value a, Value b) { return p.div(a, b); }
  Value hypot(Value a, Value b) { return p.binary(Binary::hypot, a, b); }
  Value square(Value a) { return p.mul(a, a); }
  Value unary(Unary op, Value a) { return p.unary(op, a); }
  Value plus(Value a, double b) { return p.add(a, p.like(a, b)); }
  Value one_minus(Value a) { return p.sub(p.like(a, 1), a); }
  Value where(Compare op, Value a, double b, Value then, Value otherwise) {
    return p.select(p.compare(op, a, p.like(a, b)), then, otherwise);
  }

 private:
  Primitives& p;
};

}  // namespace kiln::ir

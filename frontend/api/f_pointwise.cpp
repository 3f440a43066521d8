// F's pointwise operators.
#include "frontend/api/f_call.h"
#include "frontend/api/operators.h"

namespace kiln {

Tensor F::add(const Operand& a, const Operand& b, Where where) {
  return arithmetic(Arithmetic::add, a, b, where);
}
Tensor F::subtract(const Operand& a, const Operand& b, Where where) {
  return arithmetic(Arithmetic::sub, a, b, where);
}
Tensor F::multiply(const Operand& a, const Operand& b, Where where) {
  return arithmetic(Arithmetic::mul, a, b, where);
}
Tensor F::divide(const Operand& a, const Operand& b, Where where) {
  return arithmetic(Arithmetic::div, a, b, where);
}
Tensor F::modulo(const Operand& a, const Operand& b, Where where) {
  return arithmetic(Arithmetic::mod, a, b, where);
}
Tensor F::power(const Operand& a, const Operand& b, Where where) {
  return arithmetic(Arithmetic::pow, a, b, where);
}
Tensor F::maximum(const Operand& a, const Operand& b, Where where) {
  return arithmetic(Arithmetic::max, a, b, where);
}
Tensor F::minimum(const Operand& a, const Operand& b, Where where) {
  return arithmetic(Arithmetic::min, a, b, where);
}
Tensor F::hypot(const Operand& a, const Operand& b, Where where) {
  return arithmetic(Arithmetic::hypot, a, b, where);
}
Tensor F::equal(const Operand& a, const Operand& b, Where where) {
  return arithmetic(Arithmetic::eq, a, b, where);
}
Tensor F::not_equal(const Operand& a, const Operand& b, Where where) {
  return arithmetic(Arithmetic::ne, a, b, where);
}
Tensor F::greater(const Operand& a, const Operand& b, Where where) {
  return arithmetic(Arithmetic::gt, a, b, where);
}
Tensor F::greater_equal(const Operand& a, const Operand& b, Where where) {
  return arithmetic(Arithmetic::ge, a, b, where);
}
Tensor F::lesser(const Operand& a, const Operand& b, Where where) {
  return arithmetic(Arithmetic::lt, a, b, where);
}
Tensor F::lesser_equal(const Operand& a, const Operand& b, Where where) {
  return arithmetic(Arithmetic::le, a, b, where);
}
Tensor F::logical_and(const Operand& a, const Operand& b, Where where) {
  return arithmetic(Arithmetic::logical_and, a, b, where);
}
Tensor F::logical_or(const Operand& a, const Operand& b, Where where) {
  return arithmetic(Arithmetic::logical_or, a, b, where);
}
Tensor F::logical_xor(const Operand& a, const Operand& b, Where where) {
  return arithmetic(Arithmetic::logical_xor, a, b, where);
}

Tensor F::clip(const Tensor& x, Number a_min, Number a_max, Where where) {
  return clip(x, ClipOptions{.a_min = a_min, .a_max = a_max}, where);
}
Tensor F::clip(const Tensor& x, const ClipOptions& o, Where where) {
  CallAttributes<2> given;
  given.set("a_min", o.a_min);
  given.set("a_max", o.a_max);
  return call<"clip">({&x}, given, where, o.name);
}

Tensor F::cast(const Tensor& x, DType dtype, Where where) {
  CallAttributes<1> given;
  given.set("dtype", dtype);
  return call<"cast">({&x}, given, where);
}
Tensor F::Cast(const Tensor& x, DType dtype, Where where) { return cast(x, dtype, where); }

Tensor F::where(const Tensor& condition, const Operand& x, const Operand& y, Where where) {
  const Tensor& like = x.is_tensor() ? x.tensor() : y.is_tensor() ? y.tensor() : condition;
  // Ones times the number, operators that MXNet's files have: zeros plus the number would lose -0.
  const auto filled = [&](const Operand& number) {
    const Tensor one = ones_like(like, where);
    const Tensor all = arithmetic(Arithmetic::mul, Operand(one, where), number, where);
    return all.dtype() == like.dtype() ? all : cast(all, like.dtype(), where);
  };
  Tensor of_x, of_y;
  if (!x.is_tensor()) of_x = filled(x);
  if (!y.is_tensor()) of_y = filled(y);
  return call<"where">({&condition, x.is_tensor() ? &x.tensor() : &of_x, y.is_tensor() ? &y.tensor() : &of_y},
                       where);
}

}  // namespace kiln

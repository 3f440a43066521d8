// F's pointwise operators.
#include "frontend/api/f_call.h"
#include "frontend/api/operators.h"

namespace kiln {

Tensor F::relu(const Tensor& x, Where where) { return call<"relu">({&x}, where); }
Tensor F::sigmoid(const Tensor& x, Where where) { return call<"sigmoid">({&x}, where); }
Tensor F::tanh(const Tensor& x, Where where) { return call<"tanh">({&x}, where); }
Tensor F::softsign(const Tensor& x, Where where) { return call<"softsign">({&x}, where); }
Tensor F::exp(const Tensor& x, Where where) { return call<"exp">({&x}, where); }
Tensor F::log(const Tensor& x, Where where) { return call<"log">({&x}, where); }
Tensor F::log2(const Tensor& x, Where where) { return call<"log2">({&x}, where); }
Tensor F::log10(const Tensor& x, Where where) { return call<"log10">({&x}, where); }
Tensor F::log1p(const Tensor& x, Where where) { return call<"log1p">({&x}, where); }
Tensor F::expm1(const Tensor& x, Where where) { return call<"expm1">({&x}, where); }
Tensor F::sqrt(const Tensor& x, Where where) { return call<"sqrt">({&x}, where); }
Tensor F::rsqrt(const Tensor& x, Where where) { return call<"rsqrt">({&x}, where); }
Tensor F::cbrt(const Tensor& x, Where where) { return call<"cbrt">({&x}, where); }
Tensor F::rcbrt(const Tensor& x, Where where) { return call<"rcbrt">({&x}, where); }
Tensor F::square(const Tensor& x, Where where) { return call<"square">({&x}, where); }
Tensor F::reciprocal(const Tensor& x, Where where) { return call<"reciprocal">({&x}, where); }
Tensor F::abs(const Tensor& x, Where where) { return call<"abs">({&x}, where); }
Tensor F::sign(const Tensor& x, Where where) { return call<"sign">({&x}, where); }
Tensor F::negative(const Tensor& x, Where where) { return call<"negative">({&x}, where); }
Tensor F::floor(const Tensor& x, Where where) { return call<"floor">({&x}, where); }
Tensor F::ceil(const Tensor& x, Where where) { return call<"ceil">({&x}, where); }
Tensor F::round(const Tensor& x, Where where) { return call<"round">({&x}, where); }
Tensor F::rint(const Tensor& x, Where where) { return call<"rint">({&x}, where); }
Tensor F::trunc(const Tensor& x, Where where) { return call<"trunc">({&x}, where); }
Tensor F::fix(const Tensor& x, Where where) { return call<"fix">({&x}, where); }
Tensor F::sin(const Tensor& x, Where where) { return call<"sin">({&x}, where); }
Tensor F::cos(const Tensor& x, Where where) { return call<"cos">({&x}, where); }
Tensor F::tan(const Tensor& x, Where where) { return call<"tan">({&x}, where); }
Tensor F::arcsin(const Tensor& x, Where where) { return call<"arcsin">({&x}, where); }
Tensor F::arccos(const Tensor& x, Where where) { return call<"arccos">({&x}, where); }
Tensor F::arctan(const Tensor& x, Where where) { return call<"arctan">({&x}, where); }
Tensor F::sinh(const Tensor& x, Where where) { return call<"sinh">({&x}, where); }
Tensor F::cosh(const Tensor& x, Where where) { return call<"cosh">({&x}, where); }
Tensor F::arcsinh(const Tensor& x, Where where) { return call<"arcsinh">({&x}, where); }
Tensor F::arccosh(const Tensor& x, Where where) { return call<"arccosh">({&x}, where); }
Tensor F::arctanh(const Tensor& x, Where where) { return call<"arctanh">({&x}, where); }
Tensor F::erf(const Tensor& x, Where where) { return call<"erf">({&x}, where); }
Tensor F::erfinv(const Tensor& x, Where where) { return call<"erfinv">({&x}, where); }
Tensor F::gamma(const Tensor& x, Where where) { return call<"gamma">({&x}, where); }
Tensor F::gammaln(const Tensor& x, Where where) { return call<"gammaln">({&x}, where); }
Tensor F::degrees(const Tensor& x, Where where) { return call<"degrees">({&x}, where); }
Tensor F::radians(const Tensor& x, Where where) { return call<"radians">({&x}, where); }
Tensor F::logical_not(const Tensor& x, Where where) { return call<"logical_not">({&x}, where); }
Tensor F::zeros_like(const Tensor& x, Where where) { return call<"zeros_like">({&x}, where); }
Tensor F::ones_like(const Tensor& x, Where where) { return call<"ones_like">({&x}, where); }
Tensor F::identity(const Tensor& x, Where where) { return call<"identity">({&x}, where); }
Tensor F::BlockGrad(const Tensor& x, Where where) { return call<"BlockGrad">({&x}, where); }
Tensor F::stop_gradient(const Tensor& x, Where where) { return call<"stop_gradient">({&x}, where); }
Tensor F::MakeLoss(const Tensor& x, Where where) { return call<"MakeLoss">({&x}, where); }
Tensor F::make_loss(const Tensor& x, Where where) { return call<"make_loss">({&x}, where); }
Tensor F::flatten(const Tensor& x, Where where) { return call<"flatten">({&x}, where); }
Tensor F::Flatten(const Tensor& x, Where where) { return call<"Flatten">({&x}, where); }
Tensor F::shape_array(const Tensor& x, Where where) { return call<"shape_array">({&x}, where); }
Tensor F::size_array(const Tensor& x, Where where) { return call<"size_array">({&x}, where); }

Tensor F::elemwise_add(const Tensor& a, const Tensor& b, Where where) {
  return call<"elemwise_add">({&a, &b}, where);
}
Tensor F::elemwise_sub(const Tensor& a, const Tensor& b, Where where) {
  return call<"elemwise_sub">({&a, &b}, where);
}
Tensor F::elemwise_mul(const Tensor& a, const Tensor& b, Where where) {
  return call<"elemwise_mul">({&a, &b}, where);
}
Tensor F::elemwise_div(const Tensor& a, const Tensor& b, Where where) {
  return call<"elemwise_div">({&a, &b}, where);
}
Tensor F::broadcast_add(const Tensor& a, const Tensor& b, Where where) {
  return call<"broadcast_add">({&a, &b}, where);
}
Tensor F::broadcast_plus(const Tensor& a, const Tensor& b, Where where) {
  return call<"broadcast_plus">({&a, &b}, where);
}
Tensor F::broadcast_sub(const Tensor& a, const Tensor& b, Where where) {
  return call<"broadcast_sub">({&a, &b}, where);
}
Tensor F::broadcast_minus(const Tensor& a, const Tensor& b, Where where) {
  return call<"broadcast_minus">({&a, &b}, where);
}
Tensor F::broadcast_mul(const Tensor& a, const Tensor& b, Where where) {
  return call<"broadcast_mul">({&a, &b}, where);
}
Tensor F::broadcast_div(const Tensor& a, const Tensor& b, Where where) {
  return call<"broadcast_div">({&a, &b}, where);
}
Tensor F::broadcast_mod(const Tensor& a, const Tensor& b, Where where) {
  return call<"broadcast_mod">({&a, &b}, where);
}
Tensor F::broadcast_power(const Tensor& a, const Tensor& b, Where where) {
  return call<"broadcast_power">({&a, &b}, where);
}
Tensor F::broadcast_maximum(const Tensor& a, const Tensor& b, Where where) {
  return call<"broadcast_maximum">({&a, &b}, where);
}
Tensor F::broadcast_minimum(const Tensor& a, const Tensor& b, Where where) {
  return call<"broadcast_minimum">({&a, &b}, where);
}
Tensor F::broadcast_hypot(const Tensor& a, const Tensor& b, Where where) {
  return call<"broadcast_hypot">({&a, &b}, where);
}
Tensor F::broadcast_equal(const Tensor& a, const Tensor& b, Where where) {
  return call<"broadcast_equal">({&a, &b}, where);
}
Tensor F::broadcast_not_equal(const Tensor& a, const Tensor& b, Where where) {
  return call<"broadcast_not_equal">({&a, &b}, where);
}
Tensor F::broadcast_greater(const Tensor& a, const Tensor& b, Where where) {
  return call<"broadcast_greater">({&a, &b}, where);
}
Tensor F::broadcast_greater_equal(const Tensor& a, const Tensor& b, Where where) {
  return call<"broadcast_greater_equal">({&a, &b}, where);
}
Tensor F::broadcast_lesser(const Tensor& a, const Tensor& b, Where where) {
  return call<"broadcast_lesser">({&a, &b}, where);
}
Tensor F::broadcast_lesser_equal(const Tensor& a, const Tensor& b, Where where) {
  return call<"broadcast_lesser_equal">({&a, &b}, where);
}
Tensor F::broadcast_logical_and(const Tensor& a, const Tensor& b, Where where) {
  return call<"broadcast_logical_and">({&a, &b}, where);
}
Tensor F::broadcast_logical_or(const Tensor& a, const Tensor& b, Where where) {
  return call<"broadcast_logical_or">({&a, &b}, where);
}
Tensor F::broadcast_logical_xor(const Tensor& a, const Tensor& b, Where where) {
  return call<"broadcast_logical_xor">({&a, &b}, where);
}
Tensor F::broadcast_like(const Tensor& a, const Tensor& b, Where where) {
  return call<"broadcast_like">({&a, &b}, where);
}
Tensor F::reshape_like(const Tensor& a, const Tensor& b, Where where) {
  return call<"reshape_like">({&a, &b}, where);
}

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

Tensor F::add_n(const Tensors& args, Where where) {
  return call_list<"add_n">(args, CallAttributes<1>(), where);
}

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

// F's random numbers.
#include "frontend/api/f_call.h"

namespace kiln {

Tensor F::random_uniform(Number low, Number high, const Shape& shape, DType dtype, Where where) {
  return random_uniform(RandomUniformOptions{.low = low, .high = high, .shape = shape, .dtype = dtype},
                        where);
}
Tensor F::random_uniform(const RandomUniformOptions& o, Where where) {
  CallAttributes<4> given;
  given.set("low", o.low);
  given.set("high", o.high);
  given.set_tuple("shape", o.shape);
  given.set("dtype", o.dtype);
  return call<"_random_uniform">({}, given, where, o.name);
}
Tensor F::random_normal(Number loc, Number scale, const Shape& shape, DType dtype, Where where) {
  return random_normal(RandomNormalOptions{.loc = loc, .scale = scale, .shape = shape, .dtype = dtype},
                       where);
}
Tensor F::random_normal(const RandomNormalOptions& o, Where where) {
  CallAttributes<4> given;
  given.set("loc", o.loc);
  given.set("scale", o.scale);
  given.set_tuple("shape", o.shape);
  given.set("dtype", o.dtype);
  return call<"_random_normal">({}, given, where, o.name);
}

Tensor F::random_exponential(Number scale, const Shape& shape, DType dtype, Where where) {
  // As in MXNet's front end: the operator takes the rate.
  CallAttributes<3> given;
  given.set("lam", Number(1.0 / scale.value()));
  given.set_tuple("shape", shape);
  given.set("dtype", dtype);
  return call<"_random_exponential">({}, given, where);
}
Tensor F::random_gamma(Number alpha, Number beta, const Shape& shape, DType dtype, Where where) {
  CallAttributes<4> given;
  given.set("alpha", alpha);
  given.set("beta", beta);
  given.set_tuple("shape", shape);
  given.set("dtype", dtype);
  return call<"_random_gamma">({}, given, where);
}
Tensor F::random_poisson(Number lam, const Shape& shape, DType dtype, Where where) {
  CallAttributes<3> given;
  given.set("lam", lam);
  given.set_tuple("shape", shape);
  given.set("dtype", dtype);
  return call<"_random_poisson">({}, given, where);
}
Tensor F::random_randint(std::int64_t low, std::int64_t high, const Shape& shape, DType dtype, Where where) {
  CallAttributes<4> given;
  given.set("low", ir::AttrValue(low));
  given.set("high", ir::AttrValue(high));
  given.set_tuple("shape", shape);
  given.set("dtype", dtype);
  return call<"_random_randint">({}, given, where);
}
Tensor F::random::uniform_like(const Tensor& x, Number low, Number high, Where where) {
  CallAttributes<2> given;
  given.set("low", low);
  given.set("high", high);
  return call<"_random_uniform_like">({&x}, given, where);
}
Tensor F::random::normal_like(const Tensor& x, Number loc, Number scale, Where where) {
  CallAttributes<2> given;
  given.set("loc", loc);
  given.set("scale", scale);
  return call<"_random_normal_like">({&x}, given, where);
}

}  // namespace kiln

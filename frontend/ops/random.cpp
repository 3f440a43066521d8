#include "frontend/ops/common.h"

#include <numbers>

namespace kiln::ops {
namespace {

// Numbers are made in float32 and converted.

Value uniform(Primitives& p, const Shape& shape, double low, double high) {
  Value u = p.random_uniform(shape);
  return p.add(p.mul(u, p.like(u, high - low)), p.like(u, low));
}
/// Box and Muller's: sqrt(-2 log(1 - u)) cos(2 pi v).
Value normal(Primitives& p, const Shape& shape, double mean, double deviation) {
  Value u = p.random_uniform(shape), v = p.random_uniform(shape);
  Value radius = p.unary(Unary::sqrt, p.mul(p.unary(Unary::log, p.sub(p.like(u, 1), u)), p.like(u, -2)));
  Value z = p.mul(radius, p.unary(Unary::cos, p.mul(v, p.like(v, 2 * std::numbers::pi))));
  return p.add(p.mul(z, p.like(z, deviation)), p.like(z, mean));
}

Shape shape_of(const Attrs& a) {
  Shape s = a.is_none("shape") || a.tuple("shape").empty() ? Shape{1} : a.tuple("shape");
  for (std::int64_t d : s)
    if (d < 0) fail("an array cannot have the shape {}", s.str());
  return s;
}
DType dtype_of(const Attrs& a, DType fallback) { return a.is_none("dtype") ? fallback : a.dtype("dtype"); }

Values random_uniform(Primitives& p, Args, const Attrs& a) {
  return {convert(p, uniform(p, shape_of(a), a.real("low"), a.real("high")), dtype_of(a, DType::f32))};
}
Values random_normal(Primitives& p, Args, const Attrs& a) {
  return {convert(p, normal(p, shape_of(a), a.real("loc"), a.real("scale")), dtype_of(a, DType::f32))};
}
Values random_exponential(Primitives& p, Args, const Attrs& a) {
  // -log(1 - u) / lam
  Value u = p.random_uniform(shape_of(a));
  Value x = p.div(p.unary(Unary::neg, p.unary(Unary::log, p.sub(p.like(u, 1), u))), p.like(u, a.real("lam")));
  return {convert(p, x, dtype_of(a, DType::f32))};
}
Values random_randint(Primitives& p, Args, const Attrs& a) {
  std::int64_t low = a.integer("low"), high = a.integer("high");
  if (low >= high) fail("randint needs low below high, got {} and {}", low, high);
  Value u = p.cast(p.random_uniform(shape_of(a)), DType::f64);
  Value offset =
      p.cast(p.unary(Unary::floor, p.mul(u, p.like(u, static_cast<double>(high) - static_cast<double>(low)))),
             DType::i64);
  return {convert(p, p.add(offset, p.full_integer(p.type(offset), low)), dtype_of(a, DType::i32))};
}
Values uniform_like(Primitives& p, Args in, const Attrs& a) {
  return {convert(p, uniform(p, p.shape(in[0]), a.real("low"), a.real("high")), p.dtype(in[0]))};
}
Values normal_like(Primitives& p, Args in, const Attrs& a) {
  return {convert(p, normal(p, p.shape(in[0]), a.real("loc"), a.real("scale")), p.dtype(in[0]))};
}

int one(const Attrs&, bool) { return 1; }
int two(const Attrs&, bool) { return 2; }

std::vector<AttrSpec> attrs(std::vector<AttrSpec> own) {
  own.push_back(tuple_or_none("shape"));
  own.push_back(ignored_text("ctx"));
  own.push_back(dtype_or_none());
  return own;
}

}  // namespace

std::span<const OpDef> random_ops() {
  static const std::vector<OpDef> rows{
      {.name = "_random_uniform",
       .aliases = {"random_uniform", "uniform"},
       .summary = "Uniform in [low, high).",
       .attrs = attrs({real_attr("low", 0), real_attr("high", 1)}),
       .compose = random_uniform,
       .random_draws = one},
      {.name = "_random_normal",
       .aliases = {"normal", "random_normal"},
       .summary = "Normal with mean loc and deviation scale.",
       .attrs = attrs({real_attr("loc", 0), real_attr("scale", 1)}),
       .compose = random_normal,
       .random_draws = two},
      {.name = "_random_exponential",
       .aliases = {"random_exponential"},
       .summary = "Exponential with rate lam.",
       .attrs = attrs({real_attr("lam", 1)}),
       .compose = random_exponential,
       .random_draws = one},
      {.name = "_random_randint",
       .aliases = {"_npi_random_randint", "random_randint"},
       .summary = "Integers in [low, high).",
       .attrs = attrs({required("low", AttrKind::integer), required("high", AttrKind::integer)}),
       .compose = random_randint,
       .random_draws = one},
      {.name = "_random_uniform_like",
       .summary = "Uniform in [low, high), of the shape and dtype of data.",
       .inputs = {"data"},
       .attrs = {real_attr("low", 0), real_attr("high", 1)},
       .compose = uniform_like,
       .random_draws = one},
      {.name = "_random_normal_like",
       .summary = "Normal, of the shape and dtype of data.",
       .inputs = {"data"},
       .attrs = {real_attr("loc", 0), real_attr("scale", 1)},
       .compose = normal_like,
       .random_draws = two},
  };
  return rows;
}

}  // namespace kiln::ops

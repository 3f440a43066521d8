// Operators that draw random numbers.
#include "frontend/ops/random.h"

#include "frontend/ops/shape_rules.h"

namespace kiln::ops {
namespace {

// Random numbers are computed in float32, for float64 results in float64 (counts in int64), and converted.

/// A sampler: random values of a shape, in f32 or f64, for the operator's attributes.
using Sample = Value (*)(Primitives&, const TensorType&, const Attrs&);

/// numpy's spelling allows a low above high.
Value uniform_between(Primitives& p, const TensorType& type, const Attrs& a) {
  const double low = a.real("low"), high = a.real("high");
  Value u = p.random_uniform(type.shape, type.dtype);
  return p.add(p.mul(u, p.like(u, high - low)), p.like(u, low));
}
Value uniform(Primitives& p, const TensorType& type, const Attrs& a) {
  if (!(a.real("low") <= a.real("high")))
    fail("the uniform distribution needs a low of at most high, got {} and {}", a.real("low"),
         a.real("high"));
  return uniform_between(p, type, a);
}
Value normal(Primitives& p, const TensorType& type, const Attrs& a) {
  if (!(a.real("scale") >= 0))
    fail("the normal distribution needs a deviation scale of 0 or more, got {}", a.real("scale"));
  Value z = normal_sample(p, type);
  return p.add(p.mul(z, p.like(z, a.real("scale"))), p.like(z, a.real("loc")));
}
/// -log(1 - u) / lam
Value exponential(Primitives& p, const TensorType& type, const Attrs& a) {
  if (!(a.real("lam") > 0))
    fail("the exponential distribution needs a rate lam above 0, got {}", a.real("lam"));
  Value u = p.random_uniform(type.shape, type.dtype);
  return p.div(p.unary(Unary::neg, p.unary(Unary::log, p.sub(p.like(u, 1), u))), p.like(u, a.real("lam")));
}
Value gamma(Primitives& p, const TensorType& type, const Attrs& a) {
  if (!(a.real("beta") > 0))
    fail("the gamma distribution needs a scale beta above 0, got {}", a.real("beta"));
  Value x = gamma_sample(p, type, a.real("alpha"));
  return p.mul(x, p.like(x, a.real("beta")));
}
Value poisson(Primitives& p, const TensorType& type, const Attrs& a) {
  return poisson_sample(p, type, a.real("lam"));
}
Value randint(Primitives& p, const TensorType& type, const Attrs& a) {
  return integer_sample(p, type.shape, a.integer("low"), a.integer("high"));
}

Value drawn(Primitives& p, Sample sample, const TensorType& type, const Attrs& a) {
  return convert(p, sample(p, {drawn_in(type.dtype), type.shape}, a), type.dtype);
}
template <Sample sample, DType fallback = DType::f32>
Values of_shape(Primitives& p, Args, const Attrs& a) {
  return {drawn(p, sample, {a.is_none("dtype") ? fallback : a.dtype("dtype"), wanted_shape(p, a)}, a)};
}
template <Sample sample>
Values of_size(Primitives& p, Args, const Attrs& a) {
  return {drawn(p, sample, {a.dtype("dtype"), wanted_shape(p, a, "size")}, a)};
}
template <Sample sample>
Values like(Primitives& p, Args in, const Attrs& a) {
  return {drawn(p, sample, p.type(in[0]), a)};
}

/// Sorts rows by a random 64-bit key each.
Values shuffle(Primitives& p, Args in, const Attrs&) {
  const Shape& shape = p.shape(in[0]);
  if (shape.empty()) fail("shuffle needs an array of at least one axis");
  return {p.gather(in[0], p.sort(p.random_uniform({shape[0]}, DType::i64), /*descending=*/false), 0)};
}

std::vector<AttrSpec> attrs(std::vector<AttrSpec> own) {
  own.push_back(tuple_or_none("shape"));
  own.push_back(context_attr());
  own.push_back(dtype_or_none());
  return own;
}

/// A sampler whose result has the shape and dtype of its input.
template <Sample sample>
OpDef like_data(std::string_view name, std::string_view summary, const std::vector<AttrSpec>& own) {
  return {.name = name,
          .summary = summary,
          .inputs = {"data"},
          .attrs = own,
          .compose = like<sample>,
          .shape_rule = elementwise_shape};
}

}  // namespace

std::span<const OpDef> random_ops() {
  static const std::vector<AttrSpec> uniform_attrs{real_attr("low", 0), real_attr("high", 1)};
  static const std::vector<AttrSpec> normal_attrs{real_attr("loc", 0), real_attr("scale", 1)};
  static const std::vector<AttrSpec> gamma_attrs{real_attr("alpha", 1), real_attr("beta", 1)};
  static const std::vector<AttrSpec> rate{real_attr("lam", 1)};
  static const std::vector<OpDef> rows{
      {.name = "_random_uniform",
       .aliases = {"random_uniform", "uniform"},
       .summary = "Uniform in [low, high).",
       .attrs = attrs(uniform_attrs),
       .compose = of_shape<uniform>},
      {.name = "_random_normal",
       .aliases = {"normal", "random_normal"},
       .summary = "Normal with mean loc and deviation scale.",
       .attrs = attrs(normal_attrs),
       .compose = of_shape<normal>},
      {.name = "_random_exponential",
       .aliases = {"random_exponential"},
       .summary = "Exponential with rate lam.",
       .attrs = attrs(rate),
       .compose = of_shape<exponential>},
      {.name = "_random_gamma",
       .aliases = {"random_gamma"},
       .summary = "Gamma with shape parameter alpha and scale beta.",
       .attrs = attrs(gamma_attrs),
       .compose = of_shape<gamma>},
      {.name = "_random_poisson",
       .aliases = {"random_poisson"},
       .summary = "Poisson with mean lam.",
       .attrs = attrs(rate),
       .compose = of_shape<poisson>},
      {.name = "_random_randint",
       .aliases = {"_npi_random_randint", "random_randint"},
       .summary = "Integers in [low, high).",
       .attrs = attrs({required("low", AttrKind::integer), required("high", AttrKind::integer)}),
       .compose = of_shape<randint, DType::i32>},
      {.name = "_npi_uniform",
       .summary = "Uniform in [low, high).",
       .attrs = {required("low", AttrKind::real), required("high", AttrKind::real), tuple_or_none("size"),
                 context_attr(), dtype_attr("float32")},
       .compose = of_size<uniform_between>},
      {.name = "_npi_normal",
       .summary = "Normal with mean loc and deviation scale.",
       .attrs = {required("loc", AttrKind::real), required("scale", AttrKind::real), tuple_or_none("size"),
                 context_attr(), dtype_attr("float32")},
       .compose = of_size<normal>},
      like_data<uniform>("_random_uniform_like", "Uniform in [low, high), of the shape and dtype of data.",
                         uniform_attrs),
      like_data<normal>("_random_normal_like", "Normal, of the shape and dtype of data.", normal_attrs),
      like_data<exponential>("_random_exponential_like", "Exponential, of the shape and dtype of data.",
                             rate),
      like_data<gamma>("_random_gamma_like", "Gamma, of the shape and dtype of data.", gamma_attrs),
      like_data<poisson>("_random_poisson_like", "Poisson, of the shape and dtype of data.", rate),
      {.name = "_shuffle",
       .aliases = {"_npi_shuffle", "shuffle"},
       .summary = "Shuffles along the first axis.",
       .inputs = {"data"},
       .compose = shuffle,
       .shape_rule = elementwise_shape},
  };
  return rows;
}

}  // namespace kiln::ops

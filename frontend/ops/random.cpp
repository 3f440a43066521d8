// Operators that draw random numbers.
#include "frontend/ops/random.h"

#include "frontend/ops/reference.h"
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

constexpr OpReference random_reference{
    .shapes = "-> shape",
    .dtypes = "Any: the result has `dtype`, float32 for None.",
    .empty = "An extent of 0 gives an empty array.",
    .integers =
        "Drawn in float32, then truncated and wrapped to the dtype. In bool: whether the number is not 0.",
    .gradient = "None: there is no input.",
    .source =
        "MXNet 1.9.1 (src/operator/random/sample_op.cc) in distribution. The numbers are Kiln's: Philox "
        "4x32-10 (Salmon et al. 2011), by seed and position.",
};
constexpr OpReference like_reference =
    random_reference | OpReference{
                           .shapes = "data (...) -> (...)",
                           .dtypes = "Any; the result has the dtype of data, whose elements are not read.",
                           .empty = "An empty array gives an empty array.",
                           .gradient = gradient_zeros,
                       };

/// The formula of each distribution, and the result of parameters that are NaN.
constexpr OpReference uniform_law{
    .nan = "A NaN as low or high throws.",
    .formula =
        "low + (high - low) u, u uniform in [0, 1) with 24 bits, 53 for float64; rounding may give high",
};
constexpr OpReference normal_law{
    .nan = "A NaN as loc gives NaN; as scale it throws.",
    .formula = "loc + scale sqrt(-2 log(1 - u)) cos(2 pi v), u and v uniform in [0, 1) (Box and Muller 1958)",
};
constexpr OpReference exponential_law{
    .nan = "A NaN as lam throws.",
    .formula = "-log(1 - u) / lam, u uniform in [0, 1); the mean is 1 / lam",
};
constexpr OpReference gamma_law{
    .nan = "A NaN as alpha or beta throws.",
    .formula =
        "beta times a number of the density x^(alpha - 1) e^-x / gamma(alpha), by the method of "
        "Marsaglia and Tsang (2000); the mean is alpha beta",
};
constexpr OpReference poisson_law{
    .nan = "A NaN as lam throws.",
    .integers = "Drawn as int64, then wrapped to the dtype. In bool: whether the number is not 0.",
    .formula =
        "k with the probability lam^k e^-lam / k!, by inversion; above lam = 2^24 a rounded normal "
        "number with a correction of the skewness",
};

std::vector<AttrSpec> attrs(std::vector<AttrSpec> own, DType fallback = DType::f32) {
  own.push_back(tuple_or_none("shape", "The shape; None and () are a scalar, (1,) outside of numpy mode."));
  own.push_back(context_attr());
  own.push_back(or_none(
      "dtype", AttrKind::dtype,
      fallback == DType::f32 ? "The result's dtype; None: float32." : "The result's dtype; None: int32."));
  return own;
}

AttrSpec size_attr() { return tuple_or_none("size", "The shape; None and () are a scalar."); }

/// A sampler whose result has the shape and dtype of its input.
template <Sample sample>
OpDef like_data(std::string_view name, std::string_view summary, const std::vector<AttrSpec>& own,
                const OpReference& law) {
  return {.name = name,
          .summary = summary,
          .reference = like_reference | law,
          .inputs = {"data"},
          .attrs = own,
          .compose = like<sample>,
          .shape_rule = elementwise_shape};
}

std::vector<AttrSpec> uniform_attrs() {
  return {real_attr("low", 0, "The lower bound."), real_attr("high", 1, "The upper bound, not below low.")};
}
std::vector<AttrSpec> normal_attrs() {
  return {real_attr("loc", 0, "The mean."), real_attr("scale", 1, "The standard deviation, not below 0.")};
}
std::vector<AttrSpec> exponential_attrs() { return {real_attr("lam", 1, "The rate, above 0.")}; }
std::vector<AttrSpec> gamma_attrs() {
  return {real_attr("alpha", 1, "The shape parameter, above 0."),
          real_attr("beta", 1, "The scale, above 0.")};
}
std::vector<AttrSpec> poisson_attrs() { return {real_attr("lam", 1, "The mean, from 0 to 2^62.")}; }

/// Samplers of a shape.
std::vector<OpDef> shape_samplers() {
  return {
      {.name = "_random_uniform",
       .aliases = {"random_uniform", "uniform"},
       .summary = "Random numbers that are uniform in [low, high).",
       .reference = random_reference | uniform_law,
       .attrs = attrs(uniform_attrs()),
       .compose = of_shape<uniform>},
      {.name = "_random_normal",
       .aliases = {"normal", "random_normal"},
       .summary = "Random numbers of the normal distribution with mean loc and standard deviation scale.",
       .reference = random_reference | normal_law,
       .attrs = attrs(normal_attrs()),
       .compose = of_shape<normal>},
      {.name = "_random_exponential",
       .aliases = {"random_exponential"},
       .summary = "Random numbers of the exponential distribution with rate lam.",
       .reference = random_reference | exponential_law,
       .attrs = attrs(exponential_attrs()),
       .compose = of_shape<exponential>},
      {.name = "_random_gamma",
       .aliases = {"random_gamma"},
       .summary = "Random numbers of the gamma distribution with shape parameter alpha and scale beta.",
       .reference = random_reference | gamma_law,
       .attrs = attrs(gamma_attrs()),
       .compose = of_shape<gamma>},
      {.name = "_random_poisson",
       .aliases = {"random_poisson"},
       .summary = "Random numbers of the Poisson distribution with mean lam.",
       .reference = random_reference | poisson_law,
       .attrs = attrs(poisson_attrs()),
       .compose = of_shape<poisson>},
      {.name = "_random_randint",
       .aliases = {"_npi_random_randint", "random_randint"},
       .summary = "Random integers that are uniform in [low, high).",
       .reference =
           random_reference |
           OpReference{
               .dtypes = "Any: the result has `dtype`, int32 for None.",
               .nan = "There is none.",
               .integers = "Drawn as int64, then wrapped to the dtype. In bool: whether the number is not 0.",
               .formula = "low + r mod (high - low), r uniform in all of int64"},
       .attrs = attrs({required("low", AttrKind::integer, "The least number."),
                       required("high", AttrKind::integer, "The bound, above low, which is not drawn.")},
                      DType::i32),
       .compose = of_shape<randint, DType::i32>},
  };
}

/// numpy's samplers, and shuffling.
std::vector<OpDef> size_samplers() {
  constexpr OpReference of_dtype{.shapes = "-> size", .dtypes = "Any: the result has `dtype`."};
  return {
      {.name = "_npi_uniform",
       .summary = "Random numbers that are uniform in [low, high).",
       .reference = random_reference | of_dtype | uniform_law |
                    OpReference{.nan = "A NaN as low or high gives NaN.",
                                .source = "MXNet 1.9.1 (src/operator/numpy/random/np_uniform_op.cc) in "
                                          "distribution; the numbers are Kiln's, as of _random_uniform."},
       .attrs = {required("low", AttrKind::real, "The lower bound; it may be above high."),
                 required("high", AttrKind::real, "The upper bound."), size_attr(), context_attr(),
                 dtype_attr("float32")},
       .compose = of_size<uniform_between>},
      {.name = "_npi_normal",
       .summary = "Random numbers of the normal distribution with mean loc and standard deviation scale.",
       .reference = random_reference | of_dtype | normal_law |
                    OpReference{.source = "MXNet 1.9.1 (src/operator/numpy/random/np_normal_op.cc) in "
                                          "distribution; the numbers are Kiln's, as of _random_normal."},
       .attrs = {required("loc", AttrKind::real, "The mean."),
                 required("scale", AttrKind::real, "The standard deviation, not below 0."), size_attr(),
                 context_attr(), dtype_attr("float32")},
       .compose = of_size<normal>},
  };
}

std::vector<OpDef> like_samplers() {
  return {
      like_data<uniform>("_random_uniform_like",
                         "Random numbers that are uniform in [low, high), of the shape and dtype of data.",
                         uniform_attrs(), uniform_law),
      like_data<normal>("_random_normal_like",
                        "Random numbers of the normal distribution, of the shape and dtype of data.",
                        normal_attrs(), normal_law),
      like_data<exponential>(
          "_random_exponential_like",
          "Random numbers of the exponential distribution, of the shape and dtype of data.",
          exponential_attrs(), exponential_law),
      like_data<gamma>("_random_gamma_like",
                       "Random numbers of the gamma distribution, of the shape and dtype of data.",
                       gamma_attrs(), gamma_law),
      like_data<poisson>("_random_poisson_like",
                         "Random numbers of the Poisson distribution, of the shape and dtype of data.",
                         poisson_attrs(), poisson_law),
      {.name = "_shuffle",
       .aliases = {"_npi_shuffle", "shuffle"},
       .summary = "Puts the slices along the first axis in a random order.",
       .reference = {.shapes = "data (N, ...) -> (N, ...)",
                     .dtypes = "Any; the result has the dtype of data.",
                     .nan = "Moved as any element.",
                     .ties = "Slices are ordered by random numbers of 64 bits; equal ones keep their order.",
                     .empty = "An empty array gives an empty array.",
                     .integers = integers_unchanged,
                     .gradient = "g in the order of data",
                     .formula = "y[i] = data[p(i)], p a random permutation",
                     .source = "MXNet 1.9.1 (src/operator/random/shuffle_op.cc). The order is Kiln's."},
       .inputs = {"data"},
       .compose = shuffle,
       .shape_rule = elementwise_shape},
  };
}

}  // namespace

std::span<const OpDef> random_ops() {
  static const std::vector<OpDef> rows = [] {
    std::vector<OpDef> all;
    for (auto family : {shape_samplers, size_samplers, like_samplers})
      for (OpDef& op : family()) all.push_back(std::move(op));
    return all;
  }();
  return rows;
}

}  // namespace kiln::ops

// Normalisations of each sample.
#include "frontend/ops/norm.h"

#include "frontend/ops/norm_gradients.h"
#include "frontend/ops/reduce.h"
#include "frontend/ops/reference.h"
#include "frontend/ops/shape_rules.h"

#include <algorithm>

namespace kiln::ops {

Value inverse_deviation(Primitives& p, Value variance, double eps) {
  return p.unary(Unary::rsqrt, p.add(variance, p.like(variance, eps)));
}

int visible_statistics(const Attrs& a) {
  return a.find("output_mean_var") && a.boolean("output_mean_var") ? 3 : 1;
}

Value scale_and_shift(Primitives& p, Value x, Value scale, Value shift, int axis) {
  const Shape shape = p.shape(x);
  return p.fma(x, p.broadcast_along(scale, shape, axis), p.broadcast_along(shift, shape, axis));
}

Shape groups_of(const Shape& shape, const Attrs& a) {
  const std::int64_t groups = a.integer("num_groups");
  if (shape.rank() < 2 || groups < 1 || shape[1] % groups != 0)
    fail("num_groups {} must divide the channels of {}", groups, shape.str());
  const std::int64_t channels = shape[1] / groups;
  return {shape[0], groups, times(channels, Shape(shape.dims().subspan(2)).elements())};
}

Shape l2_axes(const Attrs& a, int rank) {
  const std::string& mode = a.word("mode");
  if (rank < (mode == "instance" ? 1 : 3))
    fail("L2Normalization with mode={} needs data of at least {} axes, got {}", mode,
         mode == "instance" ? 1 : 3, rank);
  if (mode == "channel") return {1};
  return mode == "spatial" ? other_axes({0, 1}, rank) : other_axes({0}, rank);
}

Value l2_size(Primitives& p, Value x, const Shape& axes, const Attrs& a) {
  Value sum = p.reduce(Reduce::sum_squares, x, axes);
  return p.unary(Unary::sqrt, p.add(sum, p.like(sum, a.real("eps"))));
}

namespace {

// (x - mean) * inverse deviation * gamma + beta.

Value normalized(Primitives& p, Value x, const Statistics& s, const Shape& axes, double eps) {
  const Shape shape = p.shape(x);
  auto spread = [&](Value v) { return p.broadcast_to(p.keep_dims(v, shape, axes), shape); };
  return p.mul(p.sub(x, spread(s.mean)), spread(inverse_deviation(p, s.variance, eps)));
}
Value deviation(Primitives& p, const Statistics& s, double eps) {
  return p.unary(Unary::sqrt, p.add(s.variance, p.like(s.variance, eps)));
}

Values layer_norm(Primitives& p, Args in, const Attrs& a) {
  const Shape shape = p.shape(in[0]);
  require_one_dtype(p, in, "LayerNorm");
  int axis = axis_of(a.integer("axis"), shape.rank());
  Value x = widen(p, in[0]);
  Statistics s = statistics(p, x, {axis});
  Value y = normalized(p, x, s, {axis}, a.real("eps"));
  y = scale_and_shift(p, y, widen(p, in[1]), widen(p, in[2]), axis);
  auto kept = [&](Value v) { return convert(p, p.keep_dims(v, shape, {axis}), p.dtype(in[0])); };
  return {convert(p, y, p.dtype(in[0])), kept(s.mean), kept(deviation(p, s, a.real("eps")))};
}

Values instance_norm(Primitives& p, Args in, const Attrs& a) {
  const Shape shape = p.shape(in[0]);
  require_one_dtype(p, in, "InstanceNorm");
  Shape axes = other_axes({0, 1}, shape.rank());
  Value x = widen(p, in[0]);
  Statistics s = statistics(p, x, axes);
  Value y = normalized(p, x, s, axes, a.real("eps"));
  y = scale_and_shift(p, y, widen(p, in[1]), widen(p, in[2]), 1);
  return {convert(p, y, p.dtype(in[0])), s.mean, s.variance};
}

Values group_norm(Primitives& p, Args in, const Attrs& a) {
  const Shape shape = p.shape(in[0]);
  require_one_dtype(p, in, "GroupNorm");
  Value x = p.reshape(widen(p, in[0]), groups_of(shape, a));
  Statistics s = statistics_in_one_pass(p, x, {2});
  Value y = normalized(p, x, s, {2}, a.real("eps"));
  y = scale_and_shift(p, y, widen(p, in[1]), widen(p, in[2]), 1);
  return {convert(p, p.reshape(y, shape), p.dtype(in[0])), convert(p, s.mean, p.dtype(in[0])),
          convert(p, deviation(p, s, a.real("eps")), p.dtype(in[0]))};
}
void group_norm_shape(ShapeFacts& f, const Attrs& a) {
  f.same(f.in[0], f.out[0]);
  for (PartialShape& x : f.in.subspan(1)) f.is(x, Shape{a.integer("num_groups")});
}

Values l2_normalization(Primitives& p, Args in, const Attrs& a) {
  const Shape shape = p.shape(in[0]);
  Shape axes = l2_axes(a, shape.rank());
  Value x = widen(p, in[0]), size = l2_size(p, x, axes, a);
  return {convert(p, p.div(x, p.broadcast_to(p.keep_dims(size, shape, axes), shape)), p.dtype(in[0])), size};
}

Values lrn(Primitives& p, Args in, const Attrs& a) {
  const Shape shape = p.shape(in[0]);
  std::int64_t size = a.integer("nsize");
  if (shape.rank() < 2 || size < 1 || size % 2 == 0)
    fail("LRN needs (N, C, ...) and an odd nsize, got {} and {}", shape.str(), size);
  Value x = widen(p, in[0]);
  if (shape.elements() == 0) return {in[0], x};
  // The window of neighbouring channels as a window over (N, 1, C, rest).
  Shape flat{shape[0], 1, shape[1], Shape(shape.dims().subspan(2)).elements()};
  ir::Window w{{size, 1}, {1, 1}, {1, 1}, {size / 2, 0}, {size / 2, 0}};
  Value sum = p.reshape(p.reduce_window(Reduce::sum, p.reshape(p.mul(x, x), flat), w), shape);
  Value scale =
      p.add(p.like(x, a.real("knorm")), p.mul(sum, p.like(x, a.real("alpha") / static_cast<double>(size))));
  return {convert(p, p.mul(x, p.binary(Binary::pow, scale, p.like(x, -a.real("beta")))), p.dtype(in[0])),
          scale};
}

}  // namespace

std::span<const OpDef> norm_ops() {
  static const std::vector<std::string_view> affine{"data", "gamma", "beta"};
  static const AttrSpec output_mean_var = bool_attr(
      "output_mean_var", false, "In symbol files: whether mean and standard deviation are results too.");
  static constexpr std::string_view of_eps = "Added to the variance.";
  static constexpr OpReference family{
      .dtypes = one_wide_dtype,
      .empty = "An empty array gives an empty array. The mean and deviation of no elements are NaN.",
      .integers = truncated_deviation,
      .gradient =
          "With n = (data - mean) / deviation and h = g gamma: data: (h - mean of h - n mean of h n) / "
          "deviation. gamma: the sum of g n. beta: the sum of g. Gradients of mean and std add g_mean / N + "
          "g_std n / N, N elements in a mean.",
  };
  static const std::vector<OpDef> rows{
      {.name = "LayerNorm",
       .aliases = {"_npx_layer_norm"},
       .summary = "Layer normalisation: normalises the elements along one axis, and scales and shifts each "
                  "by its own gamma and beta.",
       .reference = family |
                    OpReference{
                        .shapes = "data (..., C), gamma (C), beta (C) -> (..., C); with output_mean_var also "
                                  "mean (..., 1), std (..., 1). C is the extent of the axis.",
                        .nan = "A NaN or an infinity makes the elements along its axis NaN.",
                        .formula = "y = (data - mean) gamma / std + beta, std = sqrt(variance + eps), with "
                                   "mean and variance (divided by C) along the axis.",
                        .source = "MXNet 1.9.1 (src/operator/nn/layer_norm.cc); Ba, Kiros and Hinton 2016.",
                    },
       .inputs = affine,
       .attrs = {int_attr("axis", -1, "The axis; negative from the end."), real_attr("eps", 1e-5f, of_eps),
                 output_mean_var},
       .counted_outputs = outputs<3>,
       .visible_outputs = visible_statistics,
       .output_names = {"output", "mean", "std"},
       .compose = layer_norm,
       .gradient = layer_norm_gradient,
       .shape_rule = channels_shape},
      {.name = "InstanceNorm",
       .summary = "Instance normalisation: normalises each channel of each sample.",
       .reference =
           family |
           OpReference{
               .shapes = "data (N, C, ...), gamma (C), beta (C) -> (N, C, ...).",
               .nan = "A NaN or an infinity makes its channel of its sample NaN.",
               .formula = "y = (data - mean) gamma / sqrt(variance + eps) + beta, with mean and variance "
                          "(divided by the number of elements) over all axes except the first two.",
               .source = "MXNet 1.9.1 (src/operator/instance_norm.cc); Ulyanov, Vedaldi and Lempitsky 2016.",
           },
       .inputs = affine,
       .attrs = {real_attr("eps", 0.001f, of_eps)},
       .counted_outputs = outputs<3>,
       .compose = instance_norm,
       .gradient = instance_norm_gradient,
       .shape_rule = channels_shape},
      {.name = "GroupNorm",
       .summary = "Group normalisation: normalises each group of channels of each sample.",
       .reference =
           family |
           OpReference{
               .shapes = "data (N, C, ...), gamma (G), beta (G) -> (N, C, ...); with output_mean_var also "
                         "mean (N, G), std (N, G). G is num_groups and divides C.",
               .nan = "A NaN or an infinity makes its group of its sample NaN.",
               .formula = "y = (data - mean) gamma[group] / std + beta[group], std = sqrt(variance + eps), "
                          "with mean and variance (divided by the number of elements) of each group.",
               .source = "MXNet 1.9.1 (src/operator/nn/group_norm.cc), whose gamma and beta are one number "
                         "for each group; Wu and He 2018.",
           },
       .inputs = affine,
       .attrs = {int_attr("num_groups", 1, "G, the number of groups, 1 or more."),
                 real_attr("eps", 1e-5f, of_eps), output_mean_var},
       .counted_outputs = outputs<3>,
       .visible_outputs = visible_statistics,
       .output_names = {"output", "mean", "std"},
       .compose = group_norm,
       .gradient = group_norm_gradient,
       .shape_rule = group_norm_shape},
      {.name = "L2Normalization",
       .summary =
           "Divides data by its Euclidean norm, of each sample, of each channel or along the channels.",
       .reference =
           {
               .shapes = "data (N, C, ...) -> (N, C, ...). mode=instance takes any data of 1 or more axes, "
                         "the other modes 3 or more.",
               .dtypes = wide_dtypes,
               .nan = "A NaN makes all elements that share its norm NaN.",
               .empty = "An empty array gives an empty array.",
               .integers = truncated_integers,
               .gradient = "data: (g - y sum of g y) / size, with size = sqrt(sum of data^2 + eps) and the "
                           "sums over the axes of the norm.",
               .formula = "y = data / sqrt(sum of data^2 + eps), the sum over the axes of the norm.",
               .source = "MXNet 1.9.1 (src/operator/l2_normalization.cc).",
           },
       .inputs = {"data"},
       .attrs = {real_attr("eps", 1e-10f, "Added to the sum of squares."),
                 word_attr("mode", "instance", {"channel", "instance", "spatial"},
                           "The axes of a norm. instance: all except the first; channel: axis 1; spatial: "
                           "all except the first two.")},
       .counted_outputs = outputs<2>,
       .compose = l2_normalization,
       .gradient = l2_normalization_gradient,
       .shape_rule = first_shape},
      {.name = "LRN",
       .summary = "Local response normalisation: divides each element by a power of the squares of the "
                  "neighbouring channels.",
       .reference =
           {
               .shapes = "data (N, C, ...) -> (N, C, ...).",
               .dtypes = wide_dtypes,
               .nan = "A NaN makes the elements of the nsize channels around it NaN, in its place.",
               .empty = "An empty array gives an empty array.",
               .integers = truncated_integers,
               .gradient = "data: g s^-beta - 2 alpha beta / nsize data sum of g data s^(-beta - 1). s is "
                           "the sum in parentheses; the sum is over the channels whose window holds c.",
               .formula = "y[c] = data[c] (knorm + alpha / nsize sum of data[k]^2)^-beta, over the channels "
                          "k with |k - c| <= nsize / 2.",
               .source = "MXNet 1.9.1 (src/operator/nn/lrn.cc); Krizhevsky, Sutskever and Hinton 2012.",
           },
       .inputs = {"data"},
       .attrs = {real_attr("alpha", 1e-4f, "The factor of the mean of squares."),
                 real_attr("beta", 0.75, "The exponent."),
                 real_attr("knorm", 2, "The constant that is added."),
                 required("nsize", AttrKind::integer, "The number of channels of a window, odd.")},
       .counted_outputs = outputs<2>,
       .compose = lrn,
       .shape_rule = first_shape},
  };
  return rows;
}

}  // namespace kiln::ops

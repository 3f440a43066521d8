// Softmax, its relatives and their gradients.
#include "frontend/ops/own_gradient.h"
#include "frontend/ops/reference.h"
#include "frontend/ops/shape_rules.h"

#include <limits>

namespace kiln::ops {
namespace {

struct Shifted {
  Value x;      // minus the maximum
  Value alive;  // bool: the unmasked positions; invalid if none is masked
  Shape shape, axes;
  Value over(Primitives& p, Value reduced) const { return spread(p, reduced, shape, axes); }
  Value masked(Primitives& p, Value y, double dead) const {
    return alive.valid() ? p.select(alive, y, p.like(y, dead)) : y;
  }
};

/// length has one number for each vector along the axis: the shape of data without the axis.
void require_lengths(const PartialShape& data, const PartialShape& length, int axis) {
  PartialShape others = PartialShape::of_rank(0);
  for (int i = 0; i < data.extents.rank(); ++i)
    if (i != axis) others.extents.push_back(data.extents[at(i)]);
  if (!length.ranked || length.fits(others.extents)) return;
  const std::string text = fmt::format(
      "its input 'length' has the shape {}, but data {} along axis {} needs {}, "
      "the shape of the other axes",
      length.str(), data.str(), axis, others.str());
  if (length.extents.rank() != others.extents.rank()) fail(Mistake::wrong_rank, "{}", text);
  fail(Mistake::operand_shape, "{}", text);
}

Shifted shifted(Primitives& p, Args in, const Attrs& a, bool negate) {
  Shifted s;
  s.shape = p.shape(in[0]);
  int axis = axis_of(a.integer("axis"), s.shape.rank());
  s.axes = {axis};
  Value x = widen(p, in[0]);
  if (!is_floating(p.dtype(x))) x = p.cast(x, DType::f32);
  if (negate) x = p.unary(Unary::neg, x);
  if (!a.is_none("temperature") && a.real("temperature") != 1) x = p.div(x, p.like(x, a.real("temperature")));
  if (!a.is_none("use_length") && a.boolean("use_length")) {
    require_lengths(s.shape, p.shape(in[1]), axis);
    const Value length = s.over(p, convert(p, in[1], DType::i64));
    s.alive = p.compare(Compare::lt, p.iota({DType::i64, s.shape}, axis), length);
    x = p.select(s.alive, x, p.like(x, -std::numeric_limits<double>::infinity()));
  }
  s.x = below_largest(p, x, s.axes);
  return s;
}
Value softmax_of(Primitives& p, const Shifted& s) {
  return s.masked(p, over_sum(p, p.unary(Unary::exp_nonpositive, s.x), s.axes), 0);
}
Value log_softmax_of(Primitives& p, const Shifted& s) {
  Value total = p.reduce(Reduce::sum, p.unary(Unary::exp_nonpositive, s.x), s.axes);
  return s.masked(p, p.sub(s.x, s.over(p, p.unary(Unary::log, total))), 0);
}
Value in_result_type(Primitives& p, Value y, Value input, const Attrs& a) {
  return convert(p, y, a.is_none("dtype") ? p.dtype(input) : a.dtype("dtype"));
}
template <bool negate>
Values softmax(Primitives& p, Args in, const Attrs& a) {
  return {in_result_type(p, softmax_of(p, shifted(p, in, a, negate)), in[0], a)};
}
Values log_softmax(Primitives& p, Args in, const Attrs& a) {
  return {in_result_type(p, log_softmax_of(p, shifted(p, in, a, false)), in[0], a)};
}

/// dx, given the gradient of -x or x over the temperature.
Values unscaled(Primitives& p, Value dx, const GradientArgs& args, bool negate) {
  const Attrs& a = args.attrs;
  if (!a.is_none("temperature") && a.real("temperature") != 1)
    dx = p.div(dx, p.like(dx, a.real("temperature")));
  if (negate) dx = p.unary(Unary::neg, dx);
  Values out(args.in.size());
  out[0] = convert(p, dx, p.dtype(args.in[0]));
  return out;
}
/// y (g - sum(g y))
Value through_softmax(Primitives& p, Value y, Value g, const Shape& axes) {
  const Value sum = p.reduce(Reduce::sum, p.mul(g, y), axes);
  return p.mul(y, p.sub(g, spread(p, sum, p.shape(y), axes)));
}
template <bool negate>
Values softmax_gradient(Primitives& p, const GradientArgs& args) {
  const Shifted s = shifted(p, args.in, args.attrs, negate);
  // A rounded result is computed again.
  const bool exact = p.dtype(args.out[0]) == p.dtype(s.x);
  const Value y = exact ? args.out[0] : softmax_of(p, s);
  return unscaled(p, through_softmax(p, y, head_of(p, args, 0, s.x), s.axes), args, negate);
}
/// g - exp(y) sum(g); masked elements have neither a gradient nor a share in the sum.
Values log_softmax_gradient(Primitives& p, const GradientArgs& args) {
  const Shifted s = shifted(p, args.in, args.attrs, false);
  const bool exact = p.dtype(args.out[0]) == p.dtype(s.x);
  const Value y = exact ? args.out[0] : log_softmax_of(p, s);
  const Value g = s.masked(p, head_of(p, args, 0, s.x), 0);
  const Value sum = s.over(p, p.reduce(Reduce::sum, g, s.axes));
  const Value dx = p.sub(g, p.mul(p.unary(Unary::exp_nonpositive, y), sum));
  return unscaled(p, s.masked(p, dx, 0), args, false);
}
std::size_t softmax_inputs(const Attrs& a) {
  return !a.is_none("use_length") && a.boolean("use_length") ? 2 : 1;
}
void softmax_shape(ShapeFacts& f, const Attrs& a) {
  f.same(f.in[0], f.out[0]);
  if (f.in.size() < 2) return;
  if (const auto axis = axis_in(a.integer("axis"), f.in[0].extents.rank()); f.in[0].ranked && axis)
    require_lengths(f.in[0], f.in[1], *axis);
  without_axis(f, f.in[0], f.in[1], a.integer("axis"));
}
Shape activation_axes(Primitives& p, Value x, const Attrs& a) {
  return a.word("mode") == "channel" ? Shape{1} : other_axes({0}, p.shape(x).rank());
}
Values softmax_activation(Primitives& p, Args in, const Attrs& a) {
  return {convert(p, softmax_over(p, widen(p, in[0]), activation_axes(p, in[0], a)), p.dtype(in[0]))};
}
Values softmax_activation_gradient(Primitives& p, const GradientArgs& args) {
  const Value x = widen(p, args.in[0]);
  const Shape axes = activation_axes(p, x, args.attrs);
  const bool exact = p.dtype(args.out[0]) == p.dtype(x);
  const Value y = exact ? args.out[0] : softmax_over(p, x, axes);
  return {convert(p, through_softmax(p, y, head_of(p, args, 0, x), axes), p.dtype(args.in[0]))};
}

constexpr OpReference softmax_reference{
    .shapes = "data (..., n, ...) -> (..., n, ...); use_length: also length (...), of the other axes",
    .dtypes =
        "Any; the result has `dtype`, by default the dtype of data. length may have any dtype. "
        "Half precision is computed in float32 and rounded once.",
    .nan =
        "NaN in all elements along the axis, as of +infinity, and of -infinity alone. Masked elements are "
        "not read.",
    .empty = "An empty array gives an empty array.",
    .integers = "Computed in float32, then truncated and wrapped to the dtype; of bool: whether it is not 0.",
};

OpDef softmax_row(std::string_view name, std::vector<std::string_view> aliases, std::string_view summary,
                  decltype(OpDef::compose) compose, Gradient gradient, const OpReference& reference) {
  return {.name = name,
          .aliases = std::move(aliases),
          .summary = summary,
          .reference = softmax_reference | reference,
          .inputs = {"data", "length"},
          .active_inputs = softmax_inputs,
          .attrs = {int_attr("axis", -1, "The axis of the sums; negative: from the last."),
                    or_none("temperature", AttrKind::real, "x is divided by it; None: 1."), dtype_or_none(),
                    meaning({"use_length", AttrKind::boolean, false, true},
                            "Whether only the first elements along the axis count, `length` of them, "
                            "truncated to int64; the others give 0.")},
          .compose = compose,
          .gradient = gradient,
          .shape_rule = softmax_shape};
}
OpDef softmax_activation_row() {
  return {.name = "SoftmaxActivation",
          .summary = "The softmax over all axes but the first, or over the channels.",
          .reference =
              {.shapes = "data (N, ...) -> (N, ...); channel: data (N, C, ...) -> (N, C, ...)",
               .dtypes = "Any; the result has the dtype of data.",
               .nan = "NaN in all elements of the sum, as of +infinity, and of -infinity alone.",
               .empty = "An empty array gives an empty array.",
               .integers =
                   "Computed in the dtype: 1 where x is the only greatest element, else 0. Of bools: true.",
               .gradient = "y (g - sum(g y)), with y the result",
               .formula = "e^(x - max) / sum(e^(x - max)), over each (...) or over C",
               .source = "MXNet 1.9.1 (src/operator/nn/softmax_activation.cc)."},
          .inputs = {"data"},
          .attrs = {word_attr("mode", "instance", {"channel", "instance"},
                              "instance: over all axes but the first; channel: over axis 1.")},
          .compose = softmax_activation,
          .gradient = softmax_activation_gradient,
          .shape_rule = elementwise_shape};
}

}  // namespace

std::span<const OpDef> softmax_ops() {
  static const std::vector<OpDef> rows{
      softmax_row(
          "softmax", {"_npx_softmax"}, "The softmax of x along an axis.", softmax<false>,
          softmax_gradient<false>,
          {.gradient = "data: y (g - sum(g y)) / temperature, with y the result; length: zeros",
           .formula = "e^(z - max(z)) / sum(e^(z - max(z))), z = x / temperature; float32 exponentials below "
                      "2^-126.5 are 0",
           .source = "MXNet 1.9.1 (src/operator/nn/softmax.cc)."}),
      softmax_row(
          "softmin", {}, "The softmax of -x along an axis.", softmax<true>, softmax_gradient<true>,
          {.nan = "NaN in all elements along the axis, as of -infinity, and of +infinity alone. Masked "
                  "elements are not read.",
           .gradient = "data: -y (g - sum(g y)) / temperature, with y the result; length: zeros",
           .formula = "e^(z - max(z)) / sum(e^(z - max(z))), z = -x / temperature; float32 exponentials "
                      "below 2^-126.5 are 0",
           .source = "MXNet 1.9.1 (src/operator/nn/softmin.cc)."}),
      softmax_row("log_softmax", {"_npx_log_softmax"}, "The logarithm of the softmax of x along an axis.",
                  log_softmax, log_softmax_gradient,
                  {.gradient = "data: (g - e^y sum(g)) / temperature, with y the result; 0 where masked, and "
                               "such g are no terms of the sum; length: zeros",
                   .formula = "z - max(z) - log(sum(e^(z - max(z)))), z = x / temperature",
                   .source = "MXNet 1.9.1 (src/operator/nn/log_softmax.cc)."}),
      softmax_activation_row(),
  };
  return rows;
}

}  // namespace kiln::ops

// The output layers and the cross entropy.
#include "frontend/ops/own_gradient.h"
#include "frontend/ops/reference.h"
#include "frontend/ops/shape_rules.h"

#include <algorithm>
#include <cmath>

namespace kiln::ops {
namespace {

// The gradients of output layers are the gradients of losses and ignore the heads, as MXNet defines them.

Values softmax_output(Primitives& p, Args in, const Attrs& a) {
  int rank = p.shape(in[0]).rank();
  Shape axes;
  if (a.boolean("multi_output") && rank > 1)
    axes = {1};
  else if (a.boolean("preserve_shape") || rank < 2)
    axes = {rank - 1};
  else
    axes = other_axes({0}, rank);
  return {convert(p, softmax_over(p, widen(p, in[0]), axes), p.dtype(in[0]))};
}
/// Data as (samples, classes, places).
Shape classes_of(const Shape& data, const Attrs& a) {
  const int rank = data.rank();
  if (rank < 2) return {1, data.elements(), 1};
  if (a.boolean("multi_output")) return {data[0], data[1], Shape(data.dims().subspan(2)).elements()};
  if (a.boolean("preserve_shape")) return {Shape(data.dims().first(at(rank - 1))).elements(), data.back(), 1};
  return {data[0], Shape(data.dims().subspan(1)).elements(), 1};
}
/// (y - target) grad_scale / count. The target of a label is 1 - smooth_alpha at the label's class, and
/// smooth_alpha / (classes - 1) elsewhere; labels of the data's shape are targets.
Values softmax_output_gradient(Primitives& p, const GradientArgs& args) {
  const Attrs& a = args.attrs;
  const Value y = widen(p, args.out[0]), label = args.in[1];
  const Shape shape = p.shape(y), view = classes_of(shape, a);
  const auto finish = [&](Value dx) {
    return Values{convert(p, p.reshape(dx, shape), p.dtype(args.in[0])), {}};
  };
  const double scale = a.real("grad_scale");
  if (p.shape(label) == shape) {
    const Value away = p.sub(y, convert(p, label, p.dtype(y)));
    return finish(p.mul(away, p.like(y, scale)));
  }
  const std::int64_t samples = view[0], classes = view[1], places = view[2];
  if (p.shape(label).elements() != samples * places)
    fail("data {} needs a label for each of {} places or labels of its shape, got {}", shape.str(),
         samples * places, p.shape(label).str());
  const Value labels = p.reshape(convert(p, label, DType::i64), {samples, places});
  const auto over_classes = [&](Value v) { return p.broadcast(v, view, {0, 2}); };
  const Value hit = p.compare(Compare::eq, p.iota({DType::i64, view}, 1), over_classes(labels));
  const double smooth = a.real("smooth_alpha");
  const TensorType type{p.dtype(y), view};
  const Value target =
      p.select(hit, p.full(type, 1 - smooth),
               p.full(type, smooth / static_cast<double>(std::max<std::int64_t>(classes - 1, 1))));
  Value dx = p.sub(p.reshape(y, view), target);
  const Value ignored = p.compare(Compare::eq, labels, p.like(labels, std::trunc(a.real("ignore_label"))));
  if (a.boolean("use_ignore")) dx = p.select(over_classes(ignored), p.full(type, 0), dx);
  const std::string& by = a.word("normalization");
  if (by == "valid") {
    const Value valid = p.cast(p.unary(Unary::logical_not, ignored), p.dtype(y));
    const Value count = p.reduce(Reduce::sum, valid, {0, 1});
    const Value factor = p.div(p.like(count, scale), p.binary(Binary::max, count, p.like(count, 1)));
    dx = p.mul(dx, p.broadcast_to(factor, view));
  } else {
    const bool multi = a.boolean("multi_output") && shape.rank() > 1;
    const std::int64_t count = times(multi ? places : 1, by == "batch" ? samples : 1);
    dx = p.mul(dx, p.full(type, scale / static_cast<double>(count)));
  }
  if (a.boolean("out_grad")) dx = p.mul(dx, p.reshape(head_of(p, args, 0, y), view));
  return finish(dx);
}
/// One label per position, or a target per element.
void softmax_output_shape(ShapeFacts& f, const Attrs& a) {
  f.same(f.in[0], f.out[0]);
  if (!f.in[0].complete()) return;
  const Shape& data = f.in[0].extents;
  const int rank = data.rank();
  std::vector<Shape> labels;
  if (rank < 2) {
    labels = {data, Shape{}, Shape{1}};
  } else if (a.boolean("multi_output")) {
    const Shape rest(data.dims().subspan(2)), flat{data[0], rest.elements()};
    Shape places{data[0]}, kept = data;
    for (const std::int64_t d : rest) places.push_back(d);
    kept[1] = 1;
    labels = {flat, places, kept, data};
  } else {
    const Shape places(data.dims().first(at(rank - 1)));
    labels = {a.boolean("preserve_shape") ? places : Shape{data[0]}, places, data};
  }
  one_of(f, f.in[1], labels);
}
/// A label per element: the shape of the data, or another one with as many elements of each sample.
void regression_shape(ShapeFacts& f, const Attrs&) {
  PartialShape &data = f.in[0], &label = f.in[1];
  f.same(data, f.out[0]);
  f.same(Axis{data, 0}, Axis{label, 0});
  if (!data.complete()) return;
  if (label.ranked)
    f.same_product(axes_between(label, 0, label.extents.rank()), axes_between(data, 0, data.extents.rank()));
  const bool column = data.extents.rank() == 2 && data.extents[1] == 1;
  f.otherwise(label, column ? PartialShape(Shape{data.extents[0]}) : data);
}
Values data_itself(Primitives&, Args in, const Attrs&) { return {in[0]}; }
Values logistic(Primitives& p, Args in, const Attrs&) { return {sigmoid(p, in[0])}; }
/// The loss of y - label, or of its sign, over the values of a sample.
template <bool of_sign>
Values regression_gradient(Primitives& p, const GradientArgs& args) {
  const Value y = widen(p, args.out[0]), label = args.in[1];
  const Shape shape = p.shape(y), labels = p.shape(label);
  if (labels.elements() != shape.elements())
    fail("data {} needs as many labels, got {}", shape.str(), labels.str());
  const Value target = p.reshape(convert(p, label, p.dtype(y)), shape);
  const Value away = p.sub(y, target);
  const double values = labels.empty() ? 1 : static_cast<double>(Shape(labels.dims().subspan(1)).elements());
  const Value dx = p.mul(of_sign ? p.unary(Unary::sign, away) : away,
                         p.like(y, args.attrs.real("grad_scale") / std::max(values, 1.0)));
  return {convert(p, dx, p.dtype(args.in[0])), {}};
}
Values softmax_cross_entropy(Primitives& p, Args in, const Attrs&) {
  const Shape shape = p.shape(in[0]);
  if (shape.rank() != 2 || !(p.shape(in[1]) == Shape{shape[0]}))
    fail("softmax_cross_entropy takes data (n, classes) and label (n,), got {} and {}", shape.str(),
         p.shape(in[1]).str());
  Value x = widen(p, in[0]);
  Value shifted = below_largest(p, x, {1});
  Value total = p.unary(Unary::log, p.reduce(Reduce::sum, p.unary(Unary::exp_nonpositive, shifted), {1}));
  TensorType places{DType::i64, shape};
  const Value label = clipped_indices(p, convert(p, in[1], DType::i64), shape[1]);
  Value labels = p.broadcast_along(label, shape, 0);
  Value chosen = p.select(p.compare(Compare::eq, p.iota(places, 1), labels), shifted, p.like(shifted, 0));
  Value loss = p.sub(total, p.reduce(Reduce::sum, chosen, {1}));
  return {convert(p, p.reshape(p.reduce(Reduce::sum, loss, {0}), {1}), p.dtype(in[0]))};
}

constexpr OpReference output_reference{
    .dtypes =
        "Any; the result has the dtype of data. label may have another dtype. Half precision is computed in "
        "float32 and rounded once.",
    .integers = truncated_integers,
};
constexpr OpReference regression_reference =
    output_reference |
    OpReference{.shapes =
                    "data (N, ...), label (N, ...) -> (N, ...). label has the shape of data, or another one "
                    "with as many elements of each sample. M is the number of elements of a sample.",
                .empty = "An empty array gives an empty array.",
                .source = "MXNet 1.9.1 (src/operator/regression_output.cc)."};

}  // namespace

std::span<const OpDef> output_ops() {
  static const std::vector<std::string_view> labelled{"data", "label"};
  static const AttrSpec grad_scale = real_attr("grad_scale", 1, "The factor of the gradient of data.");
  static const std::vector<OpDef> rows{
      {.name = "SoftmaxOutput",
       .aliases = {"Softmax"},
       .summary = "The softmax of data; its gradient is the gradient of the cross entropy with label.",
       .reference =
           output_reference |
           OpReference{
               .shapes = "data (N, C), label (N) or (N, C) -> (N, C). Of data (N, ...) all axes except the "
                         "first are classes. preserve_shape: data (..., C), label (...). multi_output: data "
                         "(N, C, ...), label (N, ...).",
               .nan = "A NaN or +inf in data makes its whole distribution NaN. -inf has the probability 0. A "
                      "label that is NaN or outside of the classes names none.",
               .empty = "No samples give no samples; no classes give none.",
               .gradient =
                   "data: (y - t) grad_scale / n, where g is ignored unless out_grad. t is 1 - smooth_alpha "
                   "at the label's class and smooth_alpha / (C - 1) at others. A label of the shape of data "
                   "is t, and of the attributes grad_scale alone counts. label: zeros.",
               .formula =
                   "y[c] = exp(x[c] - max x) * (1 / sum over k of exp(x[k] - max x)), over the classes.",
               .source = "MXNet 1.9.1 (src/operator/softmax_output.cc)."},
       .inputs = labelled,
       .attrs = {real_attr("grad_scale", 1, "The factor of the gradient of data."),
                 real_attr("ignore_label", -1, "The label, truncated to an integer, that use_ignore means."),
                 bool_attr("multi_output", false,
                           "Whether axis 1 has the classes, and later axes are places."),
                 bool_attr("use_ignore", false, "Whether places of ignore_label have the gradient 0."),
                 bool_attr("preserve_shape", false, "Whether the last axis has the classes."),
                 word_attr("normalization", "null", {"batch", "null", "valid"},
                           "n, the divisor of the gradient. With null it is 1, with batch the number of "
                           "samples; both times the number of places with multi_output. With valid it is "
                           "the number of labels that are not ignore_label, at least 1."),
                 bool_attr("out_grad", false, "Whether the gradient is multiplied by g."),
                 real_attr("smooth_alpha", 0, "The part of the target that the other classes share.")},
       .compose = softmax_output,
       .gradient = softmax_output_gradient,
       .shape_rule = softmax_output_shape},
      {.name = "LinearRegressionOutput",
       .summary = "Returns data; its gradient is the gradient of half the squared error to label.",
       .reference = regression_reference |
                    OpReference{.nan = "NaN.",
                                .gradient = "data: (y - label) grad_scale / M, whatever g is. label: zeros.",
                                .formula = "y = data."},
       .inputs = labelled,
       .attrs = {grad_scale},
       .compose = data_itself,
       .gradient = regression_gradient<false>,
       .shape_rule = regression_shape},
      {.name = "MAERegressionOutput",
       .summary = "Returns data; its gradient is the gradient of the absolute error to label.",
       .reference =
           regression_reference |
           OpReference{.nan = "NaN. The gradient at a NaN is 0.",
                       .gradient = "data: sign(y - label) grad_scale / M, whatever g is. label: zeros.",
                       .formula = "y = data."},
       .inputs = labelled,
       .attrs = {grad_scale},
       .compose = data_itself,
       .gradient = regression_gradient<true>,
       .shape_rule = regression_shape},
      {.name = "LogisticRegressionOutput",
       .summary = "The sigmoid of data; its gradient is the gradient of the logistic loss with label.",
       .reference = regression_reference |
                    OpReference{.nan = "NaN.",
                                .gradient = "data: (y - label) grad_scale / M, whatever g is. label: zeros.",
                                .formula = "y = 1 / (1 + exp(-data))."},
       .inputs = labelled,
       .attrs = {grad_scale},
       .compose = logistic,
       .gradient = regression_gradient<false>,
       .shape_rule = regression_shape},
      {.name = "softmax_cross_entropy",
       .summary = "The cross entropy of softmax(data) with the labels, summed over all samples.",
       .reference =
           {.shapes = "data (N, C), label (N) -> (1).",
            .dtypes = output_reference.dtypes,
            .nan = "A NaN or +inf in data gives NaN. -inf has the probability 0: the result is +inf if a "
                   "label names it.",
            .empty = "No samples give 0. Samples without classes give -inf.",
            .integers = truncated_integers,
            .gradient =
                "data: g (softmax(data) - t), where t is 1 at the label's class, else 0. label: zeros.",
            .formula = "y = sum over n of log(sum over c of exp(x[n, c] - m[n])) - (x[n, label[n]] - m[n]), "
                       "with m[n] the maximum of row n.",
            .source = "MXNet 1.9.1 (src/operator/loss_binary_op.cc). A label that is NaN or outside of the "
                      "classes has no term x[n, label[n]] - m[n]; under KILN_CHECK=indices it throws."},
       .inputs = labelled,
       .compose = softmax_cross_entropy},
  };
  return rows;
}

}  // namespace kiln::ops

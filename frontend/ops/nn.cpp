// FullyConnected, Embedding and the output layers.
#include "frontend/ops/own_gradient.h"
#include "frontend/ops/shape_rules.h"

#include <algorithm>
#include <cmath>

namespace kiln::ops {
namespace {

// FullyConnected.

Values fully_connected(Primitives& p, Args in, const Attrs& a) {
  const Shape data = p.shape(in[0]), weight = p.shape(in[1]);
  std::int64_t hidden = count_of(a, "num_hidden");
  if (data.empty()) fail("FullyConnected needs data of at least one axis");
  if (weight.rank() != 2 || weight[0] != hidden)
    fail("weight must have the shape ({}, k), got {}", hidden, weight.str());
  bool flat = a.boolean("flatten");
  std::int64_t k = flat ? Shape(data.dims().subspan(1)).elements() : data.back();
  if (k != weight[1])
    fail(
        Mistake::weight_does_not_fit,
        "Shape inconsistent, Provided = [{},{}], inferred shape=({},{}): the weight does not fit data of the "
        "shape {}",
        weight[0], weight[1], hidden, k, data.str());
  DType d = p.dtype(in[0]);
  std::int64_t rows = flat ? data[0] : Shape(data.dims().first(data.size() - 1)).elements();
  Value x = p.reshape(in[0], {rows, k});
  for (const Value v : in.subspan(1)) require_one_wide_dtype(p, in[0], v, "FullyConnected");
  Value lhs = widen(p, x), rhs = widen(p, in[1]);
  Value y = p.dot(lhs, rhs, {false, true});
  if (!a.boolean("no_bias")) y = p.add(y, p.broadcast_along(widen(p, in[2]), p.shape(y), 1));
  Shape to = flat ? Shape{data[0]} : data;
  if (flat)
    to.push_back(hidden);
  else
    to[to.size() - 1] = hidden;
  return {p.reshape(convert(p, y, d), to)};
}
void fully_connected_shape(ShapeFacts& f, const Attrs& a) {
  PartialShape &data = f.in[0], &weight = f.in[1], &out = f.out[0];
  const std::int64_t hidden = count_of(a, "num_hidden");
  f.is(weight, Shape{hidden, unknown});
  if (f.in.size() > 2) f.is(f.in[2], Shape{hidden});
  if (a.boolean("flatten")) {
    f.is(out, Shape{unknown, hidden});
    f.same(Axis{data, 0}, Axis{out, 0});
    if (data.ranked) f.same_product(axes_between(data, 1, data.extents.rank()), {{weight, 1}});
    return;
  }
  f.ranks(data, out);
  for (int i = 0; i + 1 < data.extents.rank(); ++i) f.same(Axis{data, i}, Axis{out, i});
  f.is(Axis{out, -1}, hidden);
  f.same(Axis{data, -1}, Axis{weight, 1});
}

// Embedding: rows of a table.

Values embedding(Primitives& p, Args in, const Attrs& a) {
  Shape table{count_of(a, "input_dim"), count_of(a, "output_dim")};
  if (!(p.shape(in[1]) == table))
    fail("weight must have the shape {}, got {}", table.str(), p.shape(in[1]).str());
  return {p.gather(in[1], clipped_indices(p, convert(p, in[0], DType::i64), table[0]), 0)};
}
void embedding_shape(ShapeFacts& f, const Attrs& a) {
  f.is(f.in[1], Shape{count_of(a, "input_dim"), count_of(a, "output_dim")});
  without_axis(f, f.out[0], f.in[0], -1);
  f.is(Axis{f.out[0], -1}, count_of(a, "output_dim"));
}
std::optional<DType> dtype_of_table(std::size_t input, const Attrs& a) {
  return input == 1 ? std::optional(a.dtype("dtype")) : std::nullopt;
}

// Dropout.

bool drops(const Attrs& a, bool train) { return (train || a.word("mode") == "always") && a.real("p") > 0; }

Values dropout(Primitives& p, Args in, const Attrs& a) {
  if (!(a.real("p") >= 0 && a.real("p") <= 1))
    fail("p, the share of elements to drop, must be from 0 to 1, got {}", a.real("p"));
  if (!drops(a, p.train())) return {in[0], Value{}};
  return {drop(p, in[0], a.real("p"), a.tuple("axes")), Value{}};
}

// Output layers. Their gradients are the gradients of losses and ignore the heads, as MXNet defines them.

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

}  // namespace

std::span<const OpDef> nn_ops() {
  static const std::vector<std::string_view> labelled{"data", "label"};
  static const std::vector<OpDef> rows{
      {.name = "FullyConnected",
       .aliases = {"_npx_fully_connected"},
       .summary = "data . weight^T + bias",
       .inputs = {"data", "weight", "bias"},
       .active_inputs = inputs_with_bias,
       .attrs = {required("num_hidden", AttrKind::integer), bool_attr("no_bias", false),
                 bool_attr("flatten", true)},
       .compose = fully_connected,
       .shape_rule = fully_connected_shape},
      {.name = "Embedding",
       .aliases = {"_npx_embedding"},
       .summary = "Gathers rows of the weight by indices.",
       .inputs = {"data", "weight"},
       .attrs = {required("input_dim", AttrKind::integer), required("output_dim", AttrKind::integer),
                 dtype_attr("float32"), of_gradient(bool_attr("sparse_grad", false))},
       .compose = embedding,
       .shape_rule = embedding_shape,
       .undeclared_dtype = dtype_of_table},
      {.name = "Dropout",
       .aliases = {"_npx_dropout"},
       .summary = "In training zero with probability p, else x / (1 - p).",
       .inputs = {"data"},
       .attrs = {real_attr("p", 0.5), word_attr("mode", "training", {"always", "training"}),
                 tuple_attr("axes"), library_hint({"cudnn_off", AttrKind::boolean, false, true})},
       .counted_outputs = outputs<2>,
       .compose = dropout,
       .shape_rule = first_shape,
       .train_sensitive = true},
      {.name = "SoftmaxOutput",
       .aliases = {"Softmax"},
       .summary = "Softmax; its gradient is that of the cross entropy with label.",
       .inputs = labelled,
       .attrs = {real_attr("grad_scale", 1), real_attr("ignore_label", -1), bool_attr("multi_output", false),
                 bool_attr("use_ignore", false), bool_attr("preserve_shape", false),
                 word_attr("normalization", "null", {"batch", "null", "valid"}), bool_attr("out_grad", false),
                 real_attr("smooth_alpha", 0)},
       .compose = softmax_output,
       .gradient = softmax_output_gradient,
       .shape_rule = softmax_output_shape},
      {.name = "LinearRegressionOutput",
       .summary = "data; its gradient is that of the squared error.",
       .inputs = labelled,
       .attrs = {real_attr("grad_scale", 1)},
       .compose = data_itself,
       .gradient = regression_gradient<false>,
       .shape_rule = regression_shape},
      {.name = "MAERegressionOutput",
       .summary = "data; its gradient is that of the absolute error.",
       .inputs = labelled,
       .attrs = {real_attr("grad_scale", 1)},
       .compose = data_itself,
       .gradient = regression_gradient<true>,
       .shape_rule = regression_shape},
      {.name = "LogisticRegressionOutput",
       .summary = "sigmoid(data); its gradient is that of the logistic loss.",
       .inputs = labelled,
       .attrs = {real_attr("grad_scale", 1)},
       .compose = logistic,
       .gradient = regression_gradient<false>,
       .shape_rule = regression_shape},
      {.name = "softmax_cross_entropy",
       .summary = "The sum of -log softmax(data) at the labels.",
       .inputs = labelled,
       .compose = softmax_cross_entropy},
  };
  return rows;
}

}  // namespace kiln::ops

#include "frontend/ops/common.h"

namespace kiln::ops {
namespace {

// FullyConnected.

std::size_t with_bias(const Attrs& a) { return a.boolean("no_bias") ? 2 : 3; }

Values fully_connected(Primitives& p, Args in, const Attrs& a) {
  const Shape data = p.shape(in[0]), weight = p.shape(in[1]);
  std::int64_t hidden = a.integer("num_hidden");
  if (data.empty()) fail("FullyConnected needs data of at least one axis");
  if (weight.rank() != 2 || weight[0] != hidden)
    fail("weight must have the shape ({}, k), got {}", hidden, weight.str());
  bool flat = a.boolean("flatten");
  std::int64_t k = flat ? Shape(data.dims().subspan(1)).elements() : data.back();
  if (k != weight[1])
    fail(
        "Shape inconsistent, Provided = [{},{}], inferred shape=({},{}): the weight does not fit data of the "
        "shape {}",
        weight[0], weight[1], hidden, k, data.str());
  DType d = p.dtype(in[0]);
  std::int64_t rows = flat ? data[0] : Shape(data.dims().first(data.size() - 1)).elements();
  Value x = p.reshape(in[0], {rows, k});
  Value y = p.dot(widen(p, x), widen(p, in[1]), {false, true});
  if (!a.boolean("no_bias")) y = p.add(y, p.broadcast_along(widen(p, in[2]), p.shape(y), 1));
  Shape to = flat ? Shape{data[0]} : data;
  if (flat)
    to.push_back(hidden);
  else
    to[to.size() - 1] = hidden;
  return {p.reshape(convert(p, y, d), to)};
}
void infer_fully_connected(std::span<PartialShape> in, const Attrs& a) {
  std::int64_t hidden = a.integer("num_hidden"), k = 0;
  if (in[0].known && in[0].shape.rank() > 0) {
    const Shape& s = in[0].shape;
    k = a.boolean("flatten") ? Shape(s.dims().subspan(1)).elements() : s.back();
  }
  if (!in[1].known) in[1] = {{hidden, k}, true};
  if (in[1].shape.rank() == 2 && in[1].shape[0] == 0) in[1].shape[0] = hidden;
  if (in[1].shape.rank() == 2 && in[1].shape[1] == 0) in[1].shape[1] = k;
  if (in.size() > 2 && (!in[2].known || in[2].shape == Shape{0})) in[2] = {{hidden}, true};
}

void infer_fully_connected_data(std::span<PartialShape> in, const PartialShape& out, const Attrs& a) {
  if (!in[0].known || !out.known) return;
  // All axes but the contracted ones are those of the result.
  int shared = a.boolean("flatten") ? 1 : in[0].shape.rank() - 1;
  for (int i = 0; i < shared && i < out.shape.rank(); ++i)
    if (in[0].shape[at(i)] == 0) in[0].shape[at(i)] = out.shape[at(i)];
}

// Embedding: rows of a table.

Values embedding(Primitives& p, Args in, const Attrs& a) {
  Shape table{a.integer("input_dim"), a.integer("output_dim")};
  if (!(p.shape(in[1]) == table))
    fail("weight must have the shape {}, got {}", table.str(), p.shape(in[1]).str());
  return {p.gather(in[1], convert(p, in[0], DType::i64), 0)};
}
void infer_embedding(std::span<PartialShape> in, const Attrs& a) {
  in[1] = {{a.integer("input_dim"), a.integer("output_dim")}, true};
}
std::optional<DType> dtype_of_table(std::size_t input, const Attrs& a) {
  return input == 1 ? std::optional(a.dtype("dtype")) : std::nullopt;
}

// Dropout.

bool drops(const Attrs& a, bool train) { return (train || a.word("mode") == "always") && a.real("p") > 0; }
int dropout_draws(const Attrs& a, bool train) { return drops(a, train) ? 1 : 0; }

Values dropout(Primitives& p, Args in, const Attrs& a) {
  if (!(a.real("p") >= 0 && a.real("p") <= 1))
    fail("p, the share of elements to drop, must be from 0 to 1, got {}", a.real("p"));
  if (!drops(a, p.train())) return {in[0], Value{}};
  return {drop(p, in[0], a.real("p"), a.tuple("axes")), Value{}};
}

// Output layers; forward only.

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
void infer_softmax_output(std::span<PartialShape> in, const Attrs& a) {
  if (!in[0].known || in.size() < 2 || in[1].known) return;
  const Shape& s = in[0].shape;
  Shape label;
  if (a.boolean("multi_output")) {
    for (int i = 0; i < s.rank(); ++i)
      if (i != 1) label.push_back(s[at(i)]);
  } else if (a.boolean("preserve_shape")) {
    for (int i = 0; i + 1 < s.rank(); ++i) label.push_back(s[at(i)]);
  } else if (s.rank() > 0) {
    label.push_back(s[0]);
  }
  in[1] = {label, true};
}
Values data_itself(Primitives&, Args in, const Attrs&) { return {in[0]}; }
Values logistic(Primitives& p, Args in, const Attrs&) { return {sigmoid(p, in[0])}; }
Values softmax_cross_entropy(Primitives& p, Args in, const Attrs&) {
  const Shape shape = p.shape(in[0]);
  if (shape.rank() != 2 || !(p.shape(in[1]) == Shape{shape[0]}))
    fail("softmax_cross_entropy takes data (n, classes) and label (n,), got {} and {}", shape.str(),
         p.shape(in[1]).str());
  Value x = widen(p, in[0]);
  Value shifted = below_largest(p, x, {1});
  Value total = p.unary(Unary::log, p.reduce(Reduce::sum, p.unary(Unary::exp_nonpositive, shifted), {1}));
  TensorType places{DType::i64, shape};
  Value labels = p.broadcast_along(convert(p, in[1], DType::i64), shape, 0);
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
       .active_inputs = with_bias,
       .attrs = {required("num_hidden", AttrKind::integer), bool_attr("no_bias", false),
                 bool_attr("flatten", true)},
       .compose = fully_connected,
       .infer_inputs = infer_fully_connected,
       .infer_from_output = infer_fully_connected_data},
      {.name = "Embedding",
       .aliases = {"_npx_embedding"},
       .summary = "Rows of the weight chosen by indices.",
       .inputs = {"data", "weight"},
       .attrs = {required("input_dim", AttrKind::integer), required("output_dim", AttrKind::integer),
                 dtype_attr("float32"), of_gradient(bool_attr("sparse_grad", false))},
       .compose = embedding,
       .infer_inputs = infer_embedding,
       .undeclared_dtype = dtype_of_table},
      {.name = "Dropout",
       .aliases = {"_npx_dropout"},
       .summary = "In training zero with probability p, else x / (1 - p).",
       .inputs = {"data"},
       .attrs = {real_attr("p", 0.5), word_attr("mode", "training", {"always", "training"}),
                 tuple_attr("axes"), library_hint({"cudnn_off", AttrKind::boolean, false, true})},
       .counted_outputs = outputs<2>,
       .compose = dropout,
       .train_sensitive = true,
       .random_draws = dropout_draws},
      {.name = "SoftmaxOutput",
       .aliases = {"Softmax"},
       .summary = "Softmax; its gradient is that of the cross entropy with label.",
       .inputs = labelled,
       .attrs = {of_gradient(real_attr("grad_scale", 1)), of_gradient(real_attr("ignore_label", -1)),
                 bool_attr("multi_output", false), of_gradient(bool_attr("use_ignore", false)),
                 bool_attr("preserve_shape", false),
                 of_gradient(word_attr("normalization", "null", {"batch", "null", "valid"})),
                 of_gradient(bool_attr("out_grad", false)), of_gradient(real_attr("smooth_alpha", 0))},
       .compose = softmax_output,
       .infer_inputs = infer_softmax_output},
      {.name = "LinearRegressionOutput",
       .summary = "data; its gradient is that of the squared error.",
       .inputs = labelled,
       .attrs = {of_gradient(real_attr("grad_scale", 1))},
       .compose = data_itself,
       .infer_inputs = infer_equal},
      {.name = "MAERegressionOutput",
       .summary = "data; its gradient is that of the absolute error.",
       .inputs = labelled,
       .attrs = {of_gradient(real_attr("grad_scale", 1))},
       .compose = data_itself,
       .infer_inputs = infer_equal},
      {.name = "LogisticRegressionOutput",
       .summary = "sigmoid(data); its gradient is that of the logistic loss.",
       .inputs = labelled,
       .attrs = {of_gradient(real_attr("grad_scale", 1))},
       .compose = logistic,
       .infer_inputs = infer_equal},
      {.name = "softmax_cross_entropy",
       .summary = "The sum of -log softmax(data) at the labels.",
       .inputs = labelled,
       .compose = softmax_cross_entropy},
  };
  return rows;
}

}  // namespace kiln::ops

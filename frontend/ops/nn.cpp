// FullyConnected, Embedding and Dropout.
#include "frontend/ops/layers.h"
#include "frontend/ops/reference.h"

namespace kiln::ops {

DenseCall dense_call(Primitives& p, Value x, Value w, const Attrs& a) {
  const Shape data = p.shape(x), weight = p.shape(w);
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
  std::int64_t rows = flat ? data[0] : Shape(data.dims().first(data.size() - 1)).elements();
  Shape to = flat ? Shape{data[0]} : data;
  if (flat)
    to.push_back(hidden);
  else
    to[to.size() - 1] = hidden;
  return {p.reshape(x, {rows, k}), to};
}
void fully_connected_shape(ShapeFacts& f, const Attrs& a) {
  PartialShape &data = f.in[0], &weight = f.in[1], &out = f.out[0];
  const std::int64_t hidden = count_of(a, "num_hidden");
  f.is(weight, Shape{hidden, unknown});
  if (!a.boolean("no_bias")) f.is(f.in[2], Shape{hidden});
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

Value embedded_rows(Primitives& p, Value data, Value weight, const Attrs& a) {
  Shape table{count_of(a, "input_dim"), count_of(a, "output_dim")};
  if (!(p.shape(weight) == table))
    fail("weight must have the shape {}, got {}", table.str(), p.shape(weight).str());
  return p.gather(weight, clipped_indices(p, convert(p, data, DType::i64), table[0]), 0);
}
void embedding_shape(ShapeFacts& f, const Attrs& a) {
  f.is(f.in[1], Shape{count_of(a, "input_dim"), count_of(a, "output_dim")});
  without_axis(f, f.out[0], f.in[0], -1);
  f.is(Axis{f.out[0], -1}, count_of(a, "output_dim"));
}

namespace {

Values fully_connected(Primitives& p, Args in, const Attrs& a) {
  const DenseCall call = dense_call(p, in[0], in[1], a);
  require_one_dtype(p, in, "FullyConnected");
  Value lhs = widen_factor(p, call.rows), rhs = widen_factor(p, in[1]);
  Value y = p.dot(lhs, rhs, {false, true});
  if (!a.boolean("no_bias")) y = p.add(y, p.broadcast_along(widen_factor(p, in[2]), p.shape(y), 1));
  return {p.reshape(convert(p, y, p.dtype(in[0])), call.result)};
}

// Embedding: rows of a table.

Values embedding(Primitives& p, Args in, const Attrs& a) { return {embedded_rows(p, in[0], in[1], a)}; }
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

}  // namespace

std::span<const OpDef> nn_ops() {
  static const std::vector<OpDef> rows{
      {.name = "FullyConnected",
       .aliases = {"_npx_fully_connected"},
       .summary = "A dense layer: multiplies each row of data by the transposed weight and adds the bias.",
       .reference =
           weighted_reference |
           OpReference{
               .shapes =
                   "data (N, ...), weight (O, K), bias (O) -> (N, O). K is the number of elements of a row "
                   "of data. With flatten=False data (..., K) -> (..., O). With no_bias there is no bias.",
               .nan = "A NaN in a row of data makes that row NaN. A NaN in a row of weight or in bias makes "
                      "the column of that unit NaN.",
               .empty = "No rows give no rows. With K = 0 the result is the bias, or 0 without one.",
               .gradient =
                   "data: g weight. weight: g^T data. bias: the sum of g over all axes except the last.",
               .formula = "y[n, o] = sum over k of data[n, k] weight[o, k] + bias[o].",
               .source =
                   "MXNet 1.9.1 (src/operator/nn/fully_connected.cc). The order of additions is Kiln's own."},
       .inputs = {"data", "weight", "bias"},
       .active_inputs = inputs_with_bias,
       .attrs = {required("num_hidden", AttrKind::integer, "O, the number of units, 1 or more."),
                 bool_attr("no_bias", false, "Whether there is no bias: the inputs are data and weight."),
                 bool_attr("flatten", true,
                           "Whether all axes of data except the first are the features of a row. False: the "
                           "last axis alone.")},
       .compose = fully_connected,
       .shape_rule = fully_connected_shape},
      {.name = "Embedding",
       .aliases = {"_npx_embedding"},
       .summary = "Looks up the rows of weight that the indices in data name.",
       .reference =
           {.shapes = "data (...), weight (V, D) -> (..., D).",
            .dtypes = "Any; the result has the dtype of weight. The indices in data may have another dtype.",
            .nan = "A NaN in weight stays in its row. A NaN index is taken for 0.",
            .empty = "No indices give no rows.",
            .integers = "Rows are copied. Fractions of indices are cut off; an index below 0 is 0, one above "
                        "V - 1 is V - 1. Under KILN_CHECK=indices such an index throws.",
            .gradient = "weight: each row is the sum of the rows of g whose index names it, added in C order "
                        "of the indices. data: zeros.",
            .formula = "y[..., d] = weight[clip(trunc(data[...]), 0, V - 1), d].",
            .source = "MXNet 1.9.1 (src/operator/tensor/indexing_op.cc)."},
       .inputs = {"data", "weight"},
       .attrs =
           {required("input_dim", AttrKind::integer, "V, the number of rows of weight, 1 or more."),
            required("output_dim", AttrKind::integer, "D, the number of elements of a row, 1 or more."),
            meaning(dtype_attr("float32"), "The dtype of weight where the network does not declare one."),
            of_gradient(bool_attr("sparse_grad", false,
                                  "Whether MXNet's gradient of weight is row-sparse; Kiln's is dense."))},
       .compose = embedding,
       .shape_rule = embedding_shape,
       .undeclared_dtype = dtype_of_table},
      {.name = "Dropout",
       .aliases = {"_npx_dropout"},
       .summary =
           "Sets elements to zero at random, each with probability p, and scales the others by 1 / (1 - p).",
       .reference = {.shapes = "data (...) -> (...).",
                     .dtypes = wide_dtypes,
                     .nan = "NaN where the element is kept; a dropped NaN is 0.",
                     .empty = "An empty array gives an empty array.",
                     .integers = "The factor 1 / (1 - p) is truncated to an integer: it is 1 for p below "
                                 "0.5. Of bool it is 1.",
                     .gradient =
                         "data: g / (1 - p) where the element is kept, else 0. Outside of training: g.",
                     .formula =
                         "y = u < 1 - p ? x * (1 / (1 - p)) : 0, with u uniform in [0, 1) and drawn anew by "
                         "each call. With p = 1 the result is 0. Outside of training, and with p = 0, y = x.",
                     .source = "MXNet 1.9.1 (src/operator/nn/dropout.cc); Srivastava et al. 2014. The random "
                               "numbers are Kiln's own."},
       .inputs = {"data"},
       .attrs = {real_attr("p", 0.5, "The probability that an element is dropped, from 0 to 1."),
                 word_attr("mode", "training", {"always", "training"},
                           "always: elements are dropped outside of training too."),
                 tuple_attr("axes", "Axes along which all elements are kept or dropped together."),
                 library_hint(meaning({"cudnn_off", AttrKind::boolean, false, true},
                                      "Whether MXNet leaves cuDNN's dropout aside."))},
       .counted_outputs = outputs<2>,
       .compose = dropout,
       .shape_rule = first_shape,
       .train_sensitive = true},
  };
  return rows;
}

}  // namespace kiln::ops

// Products of matrices: thin ones, batches of small ones, and weights as parameter, which is packed ahead,
// and as argument.
#include "bench/kinds.h"

using namespace kiln;

namespace bench {
namespace {

/// A kind of two inputs with the sizes' shapes "a" and "b".
Kind product(const char* name, std::function<Sizes(Draw&)> draw, Function::Body body) {
  return {name, std::move(draw), [body = std::move(body)](const Sizes& sizes) {
            return function(body, {randn(shape_of(sizes, "a")), randn(shape_of(sizes, "b"))});
          }};
}

Sizes matrix_and_vector(Draw& d, bool transposed) {
  const std::int64_t columns = d.extent(256, 8192), rows = d.count(columns, 1 << 22);
  return {{"a", {rows, columns}}, {"b", Sizes::array({transposed ? rows : columns})}};
}
Sizes matrices(Draw& d, std::int64_t low, std::int64_t high, std::int64_t low_sum, std::int64_t high_sum) {
  const std::int64_t rows = d.extent(low, high), columns = d.extent(low, high),
                     sum = d.extent(low_sum, high_sum);
  return {{"a", {rows, sum}}, {"b", {sum, columns}}};
}
/// x (rows, in_units) by weights (units, in_units) and a bias.
Sizes layer(Draw& d) {
  const std::int64_t rows = d.extent(64, 1024), in = d.extent(64, 1024);
  return {{"x", {rows, in}}, {"units", d.extent(64, 1024)}};
}
Sizes scores(Draw& d) {
  const std::int64_t rows = d.extent(1, 4), in = d.extent(128, 768);
  return {{"x", {rows, in}}, {"units", d.extent(8'000, 52'000)}};
}
/// The heads of attention: (heads, time, width) by (heads, keys, width), or the scores by the values.
Sizes heads(Draw& d, bool of_scores) {
  const std::int64_t count = d.extent(4, 96), time = d.extent(8, 256), keys = d.extent(8, 256),
                     width = d.extent(16, 128);
  return {{"a", {count, time, of_scores ? keys : width}}, {"b", {count, keys, width}}};
}

Workload dense(const Sizes& sizes) {
  const Tensor x = randn(shape_of(sizes, "x"));
  return {std::make_shared<nn::Dense>(sizes.at("units").get<std::int64_t>(),
                                      nn::DenseOptions{.in_units = x.shape()[1]}),
          {x}};
}
Workload dense_by_argument(const Sizes& sizes) {
  const Shape x = shape_of(sizes, "x");
  const std::int64_t units = sizes.at("units");
  return function(
      [=](F& f, const Tensors& in) { return f.FullyConnected(in[0], in[1], in[2], {.num_hidden = units}); },
      {randn(x), randn({units, x[1]}), randn({units})});
}

}  // namespace

std::vector<Kind> product_kinds() {
  const auto dot = [](F& f, const Tensors& in) { return f.dot(in[0], in[1]); };
  const auto dot_transposed = [](F& f, const Tensors& in) {
    return f.dot(in[0], in[1], {.transpose_a = true});
  };
  return {
      product(
          "matrix_vector", [](Draw& d) { return matrix_and_vector(d, false); }, dot),
      product(
          "transposed_matrix_vector", [](Draw& d) { return matrix_and_vector(d, true); }, dot_transposed),
      product(
          "thin", [](Draw& d) { return matrices(d, 1, 16, 10'000, 200'000); }, dot),
      product(
          "matmul", [](Draw& d) { return matrices(d, 32, 768, 32, 768); }, dot),
      {"few_rows", scores, dense},
      {"dense_parameter", layer, dense},
      {"dense_argument", layer, dense_by_argument},
      product(
          "attention_scores", [](Draw& d) { return heads(d, false); },
          [](F& f, const Tensors& in) { return f.batch_dot(in[0], in[1], {.transpose_b = true}); }),
      product(
          "attention_values", [](Draw& d) { return heads(d, true); },
          [](F& f, const Tensors& in) { return f.batch_dot(in[0], in[1]); }),
  };
}

}  // namespace bench

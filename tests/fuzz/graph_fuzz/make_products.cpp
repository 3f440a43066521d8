// Products of matrices: any extents, 1 in every place, batches, dense layers and recurrent cells.
#include "families.h"

#include <fmt/format.h>

namespace graphs {

using namespace kiln;

namespace {

/// (batch, m, k) times (batch, k, n).
struct Sizes {
  std::int64_t batch, m, n, k;
};

Sizes some_sizes(Maker& m) {
  Sizes s{};
  s.batch = m.extent({2, 3});
  s.m = m.extent({2, 3, 5, 7, 9});
  s.n = m.extent({3, 5, 16, 17, 33});
  s.k = m.chance(12) ? m.one_of(std::vector<std::int64_t>{0, 67, 521}) : m.extent({2, 3, 5, 16, 17});
  return s;
}

std::string flag(bool b) { return b ? "True" : "False"; }

Made matrix(Maker& m, const Shape& batch, std::int64_t rows, std::int64_t columns, bool transposed,
            DType dtype) {
  Shape shape = batch;
  shape.push_back(transposed ? columns : rows);
  shape.push_back(transposed ? rows : columns);
  return m.array(shape, dtype);
}

MadeList of_matrices(Maker& m) {
  const std::string op = m.one_of({"dot", "dot", "batch_dot", "_linalg_gemm2"});
  const bool gemm = op == "_linalg_gemm2", a_transposed = m.chance(3), b_transposed = m.chance(3);
  const DType dtype = gemm ? m.one_of(std::vector{DType::f32, DType::f64}) : m.pick_float();
  const Sizes s = some_sizes(m);
  Shape batch;
  if (op == "batch_dot" || (gemm && m.chance(2))) batch.push_back(s.batch);
  const Made a = matrix(m, batch, s.m, s.k, a_transposed, dtype),
             b = matrix(m, batch, s.k, s.n, b_transposed, dtype);
  Attributes attrs{{"transpose_a", flag(a_transposed)}, {"transpose_b", flag(b_transposed)}};
  if (gemm && m.chance(2)) attrs["alpha"] = m.one_of({"2", "-0.5"});
  return m.node(op, {a, b}, attrs);
}

/// A value times weights of the caller, or the other way round: any rank, whatever extents it has.
MadeList of_value(Maker& m) {
  const Made x = m.as_float(m.some_array());
  const std::int64_t k = x.shape().back(), n = m.extent({2, 5, 16, 17});
  if (k > 2000) throw Error("larger than wanted");
  const bool transposed = m.chance(2);
  return m.node("dot", {x, matrix(m, {}, k, n, transposed, x.dtype())}, {{"transpose_b", flag(transposed)}});
}

MadeList dense(Maker& m) {
  const Made x = m.as_float(m.some_array());
  const bool flatten = m.chance(2), bias = !m.chance(3);
  const Shape shape = x.shape();
  const std::int64_t k = flatten && shape[0] > 0 ? shape.elements() / shape[0] : shape.back(),
                     n = m.extent({3, 5, 16, 17});
  if (k > 2000) throw Error("larger than wanted");
  MadeList inputs{x, m.variable({n, k}, x.dtype())};
  if (bias) inputs.push_back(m.variable({n}, x.dtype()));
  Made y =
      m.one("FullyConnected", inputs,
            {{"num_hidden", fmt::format("{}", n)}, {"flatten", flag(flatten)}, {"no_bias", flag(!bias)}});
  if (m.chance(2)) y = pointwise_of(m, y);
  return {y};
}

}  // namespace

MadeList product(Maker& m) {
  switch (m.pick(5)) {
    case 0:
      return of_value(m);
    case 1:
    case 2:
      return dense(m);
    default:
      return of_matrices(m);
  }
}

MadeList unrolled_cell(Maker& m) {
  const std::int64_t steps = 2 + static_cast<std::int64_t>(m.pick(3));
  const Sizes s{m.extent({2, 3, 5, 8, 9}), 1,
                m.chance(8) ? 1 : m.one_of(std::vector<std::int64_t>{5, 16, 17}), m.extent({2, 5, 16, 17})};
  const DType dtype = m.pick_float();
  // Rows of one array: mostly the steps come first.
  const bool steps_first = !m.chance(4), by_layer = m.chance(2), recurrent = !m.chance(3);
  const Shape shape = steps_first ? Shape{steps, s.batch, s.k} : Shape{s.batch, steps, s.k};
  Made data = m.array(shape, dtype);
  // A computed array; the parts are all of its rows.
  if (m.chance(2)) data = m.adapted(pointwise_of(m, data), shape, dtype);
  const MadeList parts = m.node("SliceChannel", {data},
                                {{"axis", steps_first ? "0" : "1"},
                                 {"num_outputs", fmt::format("{}", steps)},
                                 {"squeeze_axis", "True"}});
  const Made w = m.variable(by_layer ? Shape{s.n, s.k} : Shape{s.k, s.n}, dtype),
             bias = m.variable({1, s.n}, dtype), u = m.variable({s.n, s.n}, dtype);
  const Attributes layer{{"num_hidden", fmt::format("{}", s.n)}, {"no_bias", "True"}};
  const std::string end = m.one_of({"tanh", "sigmoid", "relu", "softsign"});
  MadeList states;
  for (const Made& part : parts) {
    if (parts.size() > 3 && m.chance(8)) continue;  // not all rows are used
    Made x = by_layer ? m.one("FullyConnected", {part, w}, layer) : m.one("dot", {part, w});
    x = m.one("broadcast_add", {x, bias});
    if (recurrent && !states.empty()) x = m.one("elemwise_add", {x, m.one("dot", {states.back(), u})});
    states.push_back(m.one(end, {x}));
  }
  if (recurrent && m.chance(2)) return {states.back()};
  return m.node("stack", states, {{"num_args", fmt::format("{}", states.size())}, {"axis", "0"}});
}

}  // namespace graphs

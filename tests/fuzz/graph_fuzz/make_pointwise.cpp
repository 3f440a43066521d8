// Operators of the sample table, pointwise ones, constants and random numbers.
#include "families.h"
#include "graphs/samples.h"

#include <fmt/format.h>

namespace graphs {

using namespace kiln;

namespace {

/// In range even where a block writes into the graph's inputs: the operator throws for other indices.
Made in_range(Maker& m, const Input& input, DType dtype) {
  const Made x = m.variable(input.shape, dtype, input.values);
  return m.one("clip", {x}, {{"a_min", "0"}, {"a_max", fmt::format("{}", input.values.limit - 1)}});
}

}  // namespace

MadeList sampled(Maker& m) {
  const Row& row = sample_rows()[m.pick(sample_rows().size())];
  const Sample& sample = row.samples[m.pick(row.samples.size())];
  if (sample.large) throw Error("larger than wanted");
  const DType dtype = m.chance(3) ? m.pick_dtype() : m.some_value().dtype();
  MadeList inputs;
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
    const Input& input = sample.inputs[i];
    if (input.shape.elements() > m.max_elements()) throw Error("larger than wanted");
    const DType d = input.dtype.value_or(dtype);
    const bool indices = input.values.kind == Values::Kind::indices,
               own = indices || input.shape.elements() == 0 || i + row.states >= sample.inputs.size();
    if (indices && input.values.checked)
      inputs.push_back(in_range(m, input, d));
    else
      inputs.push_back(own ? m.variable(input.shape, d, input.values) : m.array(input.shape, d));
  }
  return m.node(m.one_of(row.operators), inputs, sample.attrs, sample.subgraphs);
}

Made pointwise_of(Maker& m, const Made& x) {
  static const std::vector<std::string> operators{
      "negative", "abs",   "square", "relu",        "tanh",  "sigmoid", "exp",   "sqrt",      "log1p",
      "erf",      "floor", "sign",   "reciprocal",  "sin",   "cbrt",    "rint",  "softsign",  "zeros_like",
      "arctan",   "round", "_copy",  "logical_not", "expm1", "cos",     "rsqrt", "BlockGrad", "ones_like"};
  static const std::vector<std::string> with_number{
      "_plus_scalar", "_mul_scalar",   "_rminus_scalar",  "_div_scalar",  "_maximum_scalar",
      "_mod_scalar",  "_power_scalar", "_greater_scalar", "_rdiv_scalar", "_equal_scalar"};
  if (!m.chance(3)) return m.one(m.one_of(operators), {x});
  const std::string op = m.one_of(with_number);
  return m.one(op, {x}, {{"scalar", m.one_of({"0", "1", "-1", "2", "0.5", "-1.25", "3", "1e-3", "-0.0"})}});
}

MadeList pointwise(Maker& m) { return {pointwise_of(m, m.some_value())}; }

MadeList of_two(Maker& m) {
  static const std::vector<std::string> operators{"add",         "sub",   "mul",    "div",   "maximum",
                                                  "minimum",     "hypot", "power",  "equal", "lesser",
                                                  "logical_and", "mod",   "greater"};
  const std::string op = "broadcast_" + m.one_of(operators);
  const Made a = m.some_value();
  // A neighbour of a's shape, or one that repeats along some axes.
  Shape shape = a.shape();
  if (m.chance(3))
    for (std::int64_t& d : shape)
      if (d > 1 && m.chance(2)) d = 1;
  const Made b = m.chance(6) ? m.some_value() : m.array(shape, a.dtype());
  return m.node(op, {a, b});
}

MadeList constants(Maker& m) {
  const Made x = m.some_array();
  Shape shape = x.shape();
  for (std::int64_t& d : shape)
    if (m.chance(4)) d = 1;
  if (shape.elements() == 0) throw Error("a 0 in the attribute is an extent that is not known");
  const std::string dtype(name_of(x.dtype()));
  Made c = x;
  switch (m.pick(4)) {
    case 0:
      c = m.one("_ones", {}, {{"shape", shape.str()}, {"dtype", dtype}});
      break;
    case 1:
      c = m.one("_full", {},
                {{"shape", shape.str()}, {"dtype", dtype}, {"value", m.one_of({"2", "-0.0", "1", "3"})}});
      break;
    default: {
      if (x.dtype() == DType::boolean) throw Error("it does not count");
      const std::int64_t last = shape.back();
      c = m.one("_arange", {}, {{"start", "0"}, {"stop", fmt::format("{}", last)}, {"dtype", dtype}});
    }
  }
  for (std::size_t more = m.pick(3); more > 0; --more) c = pointwise_of(m, c);
  if (m.chance(3)) return {c};
  const std::string op = m.one_of({"broadcast_add", "broadcast_mul", "broadcast_sub", "broadcast_maximum"});
  c = m.adapted(c, c.shape(), x.dtype());
  return m.node(op, m.chance(2) ? MadeList{c, x} : MadeList{x, c});
}

MadeList random_numbers(Maker& m) {
  const Made x = m.some_array();
  if (!is_floating(x.dtype()) || x.value.size() == 0) throw Error("not drawn");
  const std::string op = m.one_of({"_random_uniform", "_random_normal"}), dtype(name_of(x.dtype()));
  if (x.dtype() == DType::bf16) throw Error("not drawn");
  const Made drawn = m.one(op, {}, {{"shape", x.shape().str()}, {"dtype", dtype}});
  return m.node("elemwise_add", {x, drawn});
}

}  // namespace graphs

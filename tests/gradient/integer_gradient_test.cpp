// Gradients through integers: a cast passes the gradient cast to the type of its operand, and operators of
// integers compute theirs in integers. The numbers are MXNet 1.9.1's.
#include "function_net.h"
#include "golden_files.h"
#include "graphs/samples.h"

#include <algorithm>
#include <fmt/format.h>

using namespace kiln;
using namespace graphs;
using golden::error_of;

namespace {

using Floats = std::vector<float>;

const Floats kNumbers{1.7f, -2.2f, 3, -300.5f}, kWeights{1.7f, -2.6f, 30, 0.3f};

/// The gradient of the sum of the function's result, after a check that compiled runs give the same bits.
Floats gradient(const Net::Body& body, const Floats& numbers = kNumbers) {
  Tensor first;
  for (const bool hybridized : {false, true})
    for (const int threads : {1, 2}) {
      const ThreadLimit limit(threads);
      Net net(body);
      if (hybridized) net.hybridize();
      Tensor x(numbers, {static_cast<std::int64_t>(numbers.size())});
      x.attach_grad();
      const Tensors y = autograd::record([&] { return net({x}); });
      CHECK(autograd::is_recorded(y[0]));
      y[0].backward();
      if (!first.defined()) first = x.grad().copy();
      CHECK(same_bits(x.grad(), first));
    }
  return first.to_vector<float>();
}

Tensor to_float(const Tensor& x) { return x.astype(DType::f32); }
Tensor to_int(const Tensor& x) { return x.astype(DType::i32); }
Tensor weights() { return Tensor(kWeights, {4}); }

}  // namespace

TEST_CASE("a cast to another type and back casts the gradient", "[integer_gradient]") {
  const Floats w{1.7f, -2.6f, 300, 0.3f};
  const auto through = [&](DType d) {
    return [&, d](F& f, const Tensors& in) -> Tensors {
      return {f.Cast(f.Cast(in[0], d), DType::f32) * Tensor(w, {4})};
    };
  };
  CHECK(gradient(through(DType::i32)) == Floats{1, -2, 300, 0});
  CHECK(gradient(through(DType::i64)) == Floats{1, -2, 300, 0});
  CHECK(gradient(through(DType::i8)) == Floats{1, -2, 44, 0});
  CHECK(gradient(through(DType::u8)) == Floats{1, 254, 44, 0});
  CHECK(gradient(through(DType::boolean)) == Floats{1, 1, 1, 1});
  CHECK(gradient([](F&, const Tensors& in) -> Tensors { return {to_float(to_int(in[0])) * in[0]}; },
                 {1.7f, -2.2f, 3}) == Floats{2, -4, 6});
  for (const std::string op : {"_npi_cast", "_npx_cast"}) {
    graphs::Graph graph;
    const Ref x = graph.add_variable("x", Tensor(kNumbers, {4}));
    const Ref whole = graph.add(op, "whole", {x}, {{"dtype", "int32"}});
    const Ref again = graph.add(op, "again", {whole}, {{"dtype", "float32"}});
    graph.outputs = {graph.add("elemwise_mul", "weighted", {again, graph.add_variable("w", weights())})};
    const Symbol symbol = Symbol::load_json(to_json(graph));
    INFO(op);
    CHECK(gradient([&](F&, const Tensors& in) {
            return SymbolBlock(symbol, {sym::var("x"), sym::var("w")})({in[0], weights()});
          }) == Floats{1, -2, 30, 0});
  }
  // Integers pass a cast of mixed precision as they are.
  for (const DType d : {DType::i32, DType::i64, DType::f64}) {
    const Tensor x = Tensor(w, {4}).astype(d);
    CHECK(F::amp_cast(x, {.dtype = DType::f16}).dtype() == d);
  }
  // Integers as heads.
  CHECK(gradient([](F&, const Tensors& in) -> Tensors { return {to_int(in[0])}; }) == Floats{1, 1, 1, 1});
}

TEST_CASE("operators of integers have gradients of integers", "[integer_gradient]") {
  using Function = Tensor (*)(F&, const Tensor& x, const Tensor& n);
  const auto of = [](Function function) {
    return gradient(
        [function](F& f, const Tensors& in) -> Tensors { return {function(f, in[0], to_int(in[0]))}; });
  };
#define KILN_OF(expression)                                      \
  of([]([[maybe_unused]] F& f, [[maybe_unused]] const Tensor& x, \
        [[maybe_unused]] const Tensor& n) -> Tensor { return expression; })
  CHECK(KILN_OF(to_float(n * 3) * weights()) == Floats{3, -6, 90, 0});
  CHECK(KILN_OF(to_float(n + n) * weights()) == Floats{2, -4, 60, 0});
  CHECK(KILN_OF(to_float(n * n) * weights()) == Floats{2, 8, 180, 0});
  CHECK(KILN_OF(to_float(f.square(n)) * weights()) == Floats{2, 8, 180, 0});
  CHECK(KILN_OF(to_float(n.reshape({2, 2})) * weights().reshape({2, 2})) == Floats{1, -2, 30, 0});
  CHECK(KILN_OF(to_float(n[slice(1, 3)]) * weights()[slice(1, 3)]) == Floats{0, -2, 30, 0});
  CHECK(KILN_OF(to_float(f.sum(n)) * 2.6) == Floats{2, 2, 2, 2});
  CHECK(KILN_OF(to_float(f.max(n)) * 2.6) == Floats{0, 0, 2, 0});
  CHECK(KILN_OF(to_float(f.clip(n, -2, 2)) * weights()) == Floats{1, -2, 0, 0});
  CHECK(KILN_OF(to_float(f.maximum(n, to_int(-x))) * weights()) == Floats{1, 2, 30, 0});
  CHECK(KILN_OF(to_float(f.abs(n)) * weights()) == Floats{1, 2, 30, 0});
  CHECK(KILN_OF(to_float(f.floor(n)) * weights()) == Floats{0, 0, 0, 0});
  CHECK(KILN_OF(to_float(n > 1) * weights()) == Floats{0, 0, 0, 0});
  CHECK(KILN_OF(to_float(f.stack({n, n}))) == Floats{2, 2, 2, 2});
  CHECK(KILN_OF(to_float(f.reverse(n, Shape{0})) * weights()) == Floats{0, 30, -2, 1});
  CHECK(KILN_OF(to_float(f.BlockGrad(n)) + x) == Floats{1, 1, 1, 1});
  CHECK(KILN_OF(f.where(n, x, -x)) == Floats{1, 1, 1, 1});
  CHECK(KILN_OF(f.take(x, to_int(f.abs(x)), {.mode = "clip"}) * weights()) == Floats{0, 1.7f, -2.6f, 30.3f});
  // Places have none.
  CHECK(KILN_OF(to_float(f.argmax(x, {.axis = 0}))) == Floats{0, 0, 0, 0});
  CHECK(KILN_OF(to_float(f.argsort(x, {.dtype = DType::i32})) * weights()) == Floats{0, 0, 0, 0});
  CHECK(KILN_OF(f.one_hot(to_int(f.abs(x)), {.depth = 4})) == Floats{0, 0, 0, 0});
#undef KILN_OF
}

TEST_CASE("every operator takes integers that depend on a variable", "[integer_gradient]") {
  for (const Row& row : sample_rows())
    for (const std::string& op : row.operators) {
      bool tried = false;
      for (const Sample& sample : row.samples) {
        if (sample.large || !sample.subgraphs.empty() || row.states > 0 || tried) continue;
        const bool has_indices =
            std::any_of(sample.inputs.begin(), sample.inputs.end(), [](const Input& input) {
              return input.dtype.value_or(DType::f32) == DType::i32 ||
                     input.values.kind == Values::Kind::indices;
            });
        for (const DType dtype : {DType::i32, DType::f32}) {
          if (dtype == DType::f32 && !has_indices) continue;  // no integers
          graphs::Graph graph;
          std::vector<Symbol> symbols;
          std::vector<Ref> inputs;
          Tensors values;
          for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
            const Input& input = sample.inputs[i];
            const DType own =
                input.dtype.value_or(input.values.kind == Values::Kind::indices ? DType::i32 : dtype);
            const std::string name = fmt::format("in{}", i);
            values.push_back(make_values(input.shape, DType::f32, input.values, i + 1, false));
            const Ref variable = graph.add_variable(name, values.back());
            symbols.push_back(sym::var(name));
            inputs.push_back(
                graph.add("Cast", name + "_cast", {variable}, {{"dtype", std::string(name_of(own))}}));
          }
          const Ref node = graph.add(op, "called", inputs, sample.attrs);
          graph.outputs = {graph.add("Cast", "result", {node}, {{"dtype", "float32"}})};
          INFO(op << " of " << name_of(dtype) << ": " << to_json(graph));
          Tensors first;
          const std::string error = error_of([&] {
            for (const bool hybridized : {false, true}) {
              SymbolBlock block(Symbol::load_json(to_json(graph)), symbols);
              if (hybridized) block.hybridize();
              Tensors in;
              for (const Tensor& v : values) {
                in.push_back(v.copy());
                in.back().attach_grad();
              }
              random::seed(1);
              const Tensors out = autograd::record([&] { return block(in); });
              if (!autograd::is_recorded(out[0])) continue;
              out[0].backward();
              for (std::size_t i = 0; i < in.size(); ++i) {
                if (first.size() == i) first.push_back(in[i].grad().copy());
                CHECK(same_bits(in[i].grad(), first[i]));
              }
            }
          });
          // An operator may refuse integers; none fails once it has a result.
          CHECK(error.find("internal error") == std::string::npos);
          tried = tried || error.empty();
        }
      }
    }
}

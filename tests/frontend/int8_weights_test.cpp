// Layers of int8 weights and floating-point data: the operator against its formula, networks in every mode,
// files of them, and the bytes of their packed weights.
#include "operator_call.h"
#include "quantized_nets.h"
#include "temporary_folder.h"

#include <catch2/catch.hpp>
#include <functional>

using namespace kiln;
using namespace graphs;

namespace {

/// x (N, K), weight (O, K), steps (O), bias (O): the float layer of the integers.
Tensor of_integers(const Tensor& x, const Tensor& weight, const Tensor& steps, const Tensor& bias) {
  return F::dot(x, weight.astype(DType::f32), {.transpose_b = true}) * steps + bias;
}

}  // namespace

TEST_CASE("a dense layer with an int8 weight is the float layer of the integers", "[int8]") {
  random::seed(5);
  const std::int64_t rows = GENERATE(1, 4, 40), k = GENERATE(1, 64, 1031);
  const Tensor weight = integers({70, k});
  const Tensor values[] = {nd::random::normal(0, 1, {rows, k}), nd::random::uniform(0.01, 0.02, {70}),
                           nd::random::normal(0, 1, {70})};
  Tensor results[2], gradients[2][3];
  SymbolBlock block =
      operator_block("_int8_weight_fully_connected", {{"num_hidden", "70"}},
                     {{{rows, k}, DType::f32}, {{70, k}, DType::i8}, {{70}, DType::f32}, {{70}, DType::f32}});
  for (const bool is_operator : {false, true}) {
    std::vector<Tensor> in;
    for (const Tensor& v : values) in.push_back(v.copy());
    for (Tensor& x : in) x.attach_grad();
    {
      const autograd::Record record;
      results[is_operator] =
          is_operator ? block({in[0], weight, in[1], in[2]}).at(0) : of_integers(in[0], weight, in[1], in[2]);
      results[is_operator].backward();
    }
    for (std::size_t i = 0; i < 3; ++i) gradients[is_operator][i] = in[i].grad();
  }
  CHECK(same_bits(results[1], results[0]));
  CHECK(same_bits(gradients[1][0], gradients[0][0]));
  CHECK(largest_difference(gradients[1][1], gradients[0][1]) < 1e-3 * static_cast<double>(rows * k));
  CHECK(largest_difference(gradients[1][2], gradients[0][2]) < 1e-6 * static_cast<double>(rows));
}

TEST_CASE("weights alone in int8", "[quantize]") {
  random::seed(18);
  const DType dtype = GENERATE(DType::f32, DType::f16, DType::bf16, DType::f64);
  auto net = convolutions();
  Tensor x = nd::random::normal(0, 1, {3, 3, 10, 10});
  net(x);
  if (dtype != DType::f32) {
    net.cast(dtype);
    x = x.astype(dtype);
  }
  std::vector<QuantizedLayer> layers;
  // The first batch has the shapes; no other one is read.
  SymbolBlock int8 = quantize(net, {{x}, {}}, {.weights_only = true, .layers = &layers});
  REQUIRE(layers.size() == 4);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    CHECK(layers[i].weights_only);
    CHECK(layers[i].data_step == 0);
    CHECK(layers[i].float_because == (i < 2 ? "no dense layer" : ""));
  }
  CHECK(layers[2].float_bytes == 16 * 8 * 25 * static_cast<std::int64_t>(size_of(dtype)));
  CHECK(layers[2].int8_bytes == 16 * 8 * 25 + 16 * 4);
  const Tensor expected = net(x), y = int8(x);
  const double tolerance = dtype == DType::bf16 ? 0.03 : 0.01;  // bfloat16 has 8 significant bits
  CHECK(y.dtype() == x.dtype());
  CHECK(largest_difference(y, expected) > 0);
  CHECK(largest_difference(y, expected) < tolerance * expected.abs().max().item<double>());
  check_modes(int8, x);

  const TemporaryFolder folder;
  const std::string prefix = (folder.path / "net").string();
  int8.export_model(prefix);
  SymbolBlock imported = SymbolBlock::imports(prefix + "-symbol.json", {"data"}, prefix + "-0000.params");
  CHECK(same_bits(imported(x), y));
  check_modes(imported, x);
}

TEST_CASE("weights alone in int8 are read in their own bytes", "[quantize]") {
  if (!DeviceScope::current().is_cpu()) return;
  random::seed(19);
  nn::HybridSequential net;
  net.add(nn::Dense(1536, {.activation = "relu", .in_units = 1024}));
  net.initialize(init::Xavier());
  // Precision::bf16 rounds data alone: bfloat16 represents the integers exactly.
  const Precision precision = GENERATE(Precision::exact, Precision::bf16);
  const PrecisionScope scope(precision);
  for (const std::int64_t rows : {1, 4, 20}) {
    CAPTURE(rows, static_cast<int>(precision));
    const Tensor x = nd::random::normal(0, 1, {rows, 1024});
    SymbolBlock int8 = quantize(net, {{x}}, {.weights_only = true});
    const auto packed_bytes = [&](const std::function<Tensor()>& call) {
      const std::uint64_t before = stats().prepacked_bytes;
      const Tensor y = call();
      CHECK(same_bits(y, int8(x)));
      return stats().prepacked_bytes - before;
    };
    CHECK(packed_bytes([&] { return int8(x); }) == 1536 * 1024);
    SymbolBlock bound = quantize(net, {{x}}, {.weights_only = true});
    bound.hybridize();
    CHECK(packed_bytes([&] { return bound.bind({x}).run().at(0).copy(); }) == 1536 * 1024);
    SymbolBlock hybridized = quantize(net, {{x}}, {.weights_only = true});
    hybridized.hybridize();
    CHECK(packed_bytes([&] { return hybridized(x); }) == 1536 * 1024);
    CHECK(hybridized.compiled_calls().at(0).kernels == (precision == Precision::bf16 ? 2 : 1));
  }
}

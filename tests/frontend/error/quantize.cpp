// Mistakes with quantize().
#include "expect.h"
#include "quantized_nets.h"

#include <limits>

TEST_CASE("mistakes with quantize()", "[error]") {
  const auto net = convolutions();
  const Tensor x = ones({2, 3, 10, 10});
  const auto mistake = [&](const std::vector<Tensors>& batches, const QuantizeOptions& options = {}) {
    return message_of([&] { quantize(net, batches, options); });
  };
  const std::string line = line_below();
  const std::string none = message_of([&] { quantize(net, std::vector<Tensors>()); });
  CHECK_THAT(none, Contains(line + "quantize() needs at least one batch"));
  CHECK_THAT(mistake({{}}), Contains("batch 0 has no arrays"));
  net(x);
  CHECK_THAT(mistake({{x}, {ones({2, 4, 10, 10})}}),
             Contains("quantize(): batch 1: ") && Contains("(2, 4, 10, 10)"));
  CHECK_THAT(mistake({{x}, {ones({2, 3, 10, 10}, DType::i32)}}),
             Contains("quantize(): batch 1: ") && Contains("int32"));

  const std::string layer = net[0].name() + "_fwd";
  CHECK_THAT(mistake({{x}, {x * std::numeric_limits<float>::infinity()}}),
             Contains("batch 1") && Contains("'" + layer + "' inf"));
  CHECK_THAT(mistake({{x * std::numeric_limits<float>::quiet_NaN()}}), Contains("'" + layer + "' nan"));
  CHECK_THAT(
      mistake({{zeros({2, 3, 10, 10})}}, {.exclude = {net[3].name(), net[7].name(), net[8].name()}}),
      Contains("no layer of the network can compute in int8") && Contains("its input is 0 in all batches"));

  CHECK_THAT(mistake({{x}}, {.exclude = {net[7].name() + "x"}}),
             Contains("'" + net[7].name() + "x'") && Contains("Is '" + net[7].name() + "' meant?"));
  CHECK_THAT(mistake({{-x}}, {.activations = DType::u8}),
             Contains("negative") && Contains("'" + layer + "'"));
  CHECK_THAT(mistake({{x}}, {.activations = DType::f32}), Contains("int8 or uint8, not float32"));

  CHECK_THAT(mistake({}, {.weights_only = true}), Contains("at least one batch for the shapes of inputs"));
  CHECK_THAT(mistake({{x}}, {.weights_only = true, .activations = DType::i8}), Contains("weights_only"));
  CHECK_THAT(mistake({{x}}, {.exclude = {net[7].name(), net[8].name()}, .weights_only = true}),
             Contains("no layer of the network can have an int8 weight") && Contains("no dense layer; '"));
}

TEST_CASE("mistakes with networks that quantize() takes", "[error]") {
  const Tensor x = ones({2, 3});
  nn::HybridSequential fresh;
  fresh.add(nn::Dense(2));
  CHECK_THAT(message_of([&] { quantize(fresh, {{x}}); }), Contains("initialize()"));
  nn::HybridSequential none;
  none.add(nn::Activation("relu"));
  CHECK_THAT(message_of([&] { quantize(none, {{x}}); }), Contains("no dense layer and no convolution"));

  fresh.initialize();
  fresh(x);
  Parameter weight = fresh[0].as<nn::Dense>().weight;
  weight.set_data(x * std::numeric_limits<float>::quiet_NaN());
  CHECK_THAT(message_of([&] { quantize(fresh, {{x}}); }),
             Contains("'" + weight.name() + "'") && Contains("nan"));

  nn::HybridSequential dense;
  dense.add(nn::Dense(2, {.in_units = 3}));
  dense.initialize();
  CHECK_THAT(message_of([&] { quantize(dense, {{x, x}}); }), Contains("quantize(): batch 0, of 2 arrays: "));
  CHECK_THAT(message_of([&] {
               quantize(dense, {{ones({2, 4})}});
             }),
             Contains("quantize(): batch 0: ") && Contains("(2, 4)"));
  const SymbolBlock int8 = quantize(dense, {{x}});
  CHECK_THAT(message_of([&] { quantize(int8, {{x}}); }), Contains("are int8 already"));
  CHECK_THAT(message_of([&] { dense.cast(DType::i8); }),
             Contains("cast() takes a floating-point dtype, and not int8: quantize()"));

  const data::DataLoader loader(data::ArrayDataset(x), {.batch_size = 2});
  CHECK_THAT(message_of([&] { quantize(fresh, loader, {.num_inputs = 2}); }), Contains("num_inputs is 2"));
}

// quantize(): int8 operators against their formula, int8 networks in every mode, and files of them.
#include "frontend/gluon/quantize/threshold.h"
#include "golden_files.h"
#include "operator_call.h"
#include "quantized_nets.h"
#include "temporary_folder.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

using namespace kiln;
using namespace graphs;

namespace {

/// The integers by which an int8 operator represents a number.
std::int64_t integer_of(float x, float step, bool is_unsigned) {
  const float least = is_unsigned ? 0.F : -127.F, greatest = is_unsigned ? 255.F : 127.F;
  if (std::isnan(x)) return 0;
  return static_cast<std::int64_t>(std::clamp(std::nearbyint(x * (1 / step)), least, greatest));
}

/// Sums of integers and their results by the definition: x (N, K), weight (O, K).
std::vector<float> dense_by_definition(const Tensors& in, float step, bool is_unsigned) {
  const auto x = in[0].to_vector<float>(), steps = in[2].to_vector<float>(), bias = in[3].to_vector<float>();
  const auto w = in[1].to_vector<std::int64_t>();
  const std::size_t units = steps.size(), k = w.size() / units;
  std::vector<float> out;
  for (std::size_t n = 0; n < x.size() / k; ++n)
    for (std::size_t o = 0; o < units; ++o) {
      std::int64_t sum = 0;
      for (std::size_t i = 0; i < k; ++i) sum += integer_of(x[n * k + i], step, is_unsigned) * w[o * k + i];
      const float scale = steps[o] * step, product = static_cast<float>(sum) * scale;
      out.push_back(product + bias[o]);
    }
  return out;
}

}  // namespace

TEST_CASE("an int8 dense layer computes its formula", "[int8]") {
  random::seed(3);
  const bool is_unsigned = GENERATE(false, true);
  const std::int64_t k = GENERATE(1, 5, 64, 131);
  Tensor x = nd::random::normal(0, 40, {3, k});
  if (k == 5) {  // ties, the ends of the range, infinities and NaN
    const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    x = nd::array(
        {{0.25F, 0.75F, -0.25F, 1.25F, 63.5F}, {-63.5F, 200.F, -200.F, inf, -inf}, {nan, 1, nan, 0, 2}});
  }
  const Tensors in{x, integers({7, k}), nd::random::uniform(0.01, 0.02, {7}), nd::random::normal(0, 1, {7})};
  SymbolBlock block = operator_block(
      "_int8_fully_connected",
      {{"num_hidden", "7"}, {"data_step", "0.5"}, {"data_dtype", is_unsigned ? "uint8" : "int8"}},
      {{{3, k}, DType::f32}, {{7, k}, DType::i8}, {{7}, DType::f32}, {{7}, DType::f32}});
  CHECK(block(in).at(0).to_vector<float>() == dense_by_definition(in, 0.5F, is_unsigned));
}

TEST_CASE("an int8 convolution is the dense layer of its windows", "[int8]") {
  random::seed(4);
  const std::int64_t c = 5, kernel = 3;
  const Tensor x = nd::random::normal(0, 1, {2, c, 6, 7}), weight = integers({4, c, kernel, kernel}),
               steps = nd::random::uniform(0.01, 0.02, {4}), bias = nd::random::normal(0, 1, {4});
  SymbolBlock block = operator_block(
      "_int8_convolution",
      {{"num_filter", "4"},
       {"kernel", "(3, 3)"},
       {"pad", "(1, 1)"},
       {"stride", "(2, 1)"},
       {"data_step", "0.03"}},
      {{x.shape(), DType::f32}, {weight.shape(), DType::i8}, {{4}, DType::f32}, {{4}, DType::f32}});
  const Tensor y = block({x, weight, steps, bias}).at(0);
  const Tensor windows = nd::im2col(x, {.kernel = {3, 3}, .stride = {2, 1}, .pad = {1, 1}});
  const std::int64_t k = c * kernel * kernel, places = windows.shape()[2];
  const Tensor rows = windows.transpose({0, 2, 1}).reshape({2 * places, k});
  const Tensor expected =
      nd::array(dense_by_definition({rows, weight.reshape({4, k}), steps, bias}, 0.03F, false))
          .reshape({2, places, 4})
          .transpose({0, 2, 1});
  CHECK(same_bits(y.reshape({2, 4, places}), expected));
}

TEST_CASE("an int8 operator refuses a step or an array that does not fit", "[int8]") {
  const auto mistake = [](const Attributes& attrs, const std::vector<OperatorInput>& inputs,
                          const char* op = "_int8_fully_connected") {
    Attributes all = attrs;
    all.insert({"num_hidden", "3"});
    all.insert({"no_bias", "True"});
    Tensors zeros_of;
    for (const OperatorInput& i : inputs) zeros_of.push_back(zeros(i.shape, i.dtype));
    try {
      operator_block(op, all, inputs)(zeros_of);
    } catch (const Error& e) {
      CHECK(e.kind() == Error::Kind::user);
      return std::string(e.what());
    }
    return std::string("no error");
  };
  using Catch::Contains;
  const OperatorInput x{{2, 4}, DType::f32}, w{{3, 4}, DType::i8}, s{{3}, DType::f32};
  for (const char* step : {"0", "-1", "inf", "nan", "1e-45", "1e40"})
    CHECK_THAT(mistake({{"data_step", step}}, {x, w, s}), Contains("data_step"));
  CHECK_THAT(mistake({}, {x, w, s}), Contains("data_step"));
  CHECK_THAT(mistake({{"data_step", "1"}, {"data_dtype", "int32"}}, {x, w, s}), Contains("uint8"));
  CHECK_THAT(mistake({{"data_step", "1"}}, {x, {{3, 4}, DType::f32}, s}), Contains("weight must be int8"));
  CHECK_THAT(mistake({{"data_step", "1"}}, {{{2, 4}, DType::i32}, w, s}), Contains("floating-point"));
  CHECK_THAT(mistake({{"data_step", "1"}}, {x, w, {{4}, DType::f32}}), Contains("(3,)"));
  CHECK_THAT(mistake({}, {x, {{3, 4}, DType::u8}, s}, "_int8_weight_fully_connected"),
             Contains("weight must be int8"));
  CHECK_THAT(mistake({}, {{{2, 4}, DType::i32}, w, s}, "_int8_weight_fully_connected"),
             Contains("floating-point"));
}

TEST_CASE("an int8 network is near the float one and has one result in all modes", "[quantize]") {
  const Calibration calibration =
      GENERATE(Calibration::extremes, Calibration::percentile, Calibration::entropy);
  random::seed(11);
  const auto net = convolutions();
  std::vector<Tensors> batches;
  for (int i = 0; i < 3; ++i) batches.push_back({nd::random::normal(0, 1, {8, 3, 10, 10})});
  std::vector<QuantizedLayer> layers;
  SymbolBlock int8 = quantize(net, batches, {.calibration = calibration, .layers = &layers});
  const Tensor x = batches[0][0], expected = net(x);
  CHECK(expected.shape() == int8(x).shape());
  CHECK(largest_difference(int8(x), expected) > 0);
  CHECK(largest_difference(int8(x), expected) < 0.05 * expected.abs().max().item<double>());
  check_modes(int8, x);
  REQUIRE(layers.size() == 4);
  const std::vector<DType> dtypes{DType::i8, DType::u8, DType::u8, DType::i8};
  for (std::size_t i = 0; i < layers.size(); ++i) {
    CHECK(layers[i].float_because.empty());
    CHECK(layers[i].data_dtype == dtypes[i]);
    CHECK(layers[i].data_step > 0);
    CHECK(layers[i].int8_bytes < layers[i].float_bytes);
  }
  CHECK(layers[0].op == "Convolution");
  CHECK(layers[3].op == "FullyConnected");
  CHECK(layers[0].float_bytes == 8 * 3 * 9 * 4);
  CHECK(layers[0].int8_bytes == 8 * 3 * 9 + 8 * 4);
}

TEST_CASE("weights become multiples of the step of their unit", "[quantize]") {
  nn::HybridSequential net;
  net.add(nn::Dense(3, {.use_bias = false, .in_units = 2}));
  net.initialize();
  Parameter weight = net.collect_params().items()[0];
  weight.set_data(nd::array({{1.0F, -2.54F}, {0.F, 0.F}, {0.5F, 1.27F}}));
  SymbolBlock int8 = quantize(net, {{nd::array({{1.F, 2.F}})}}, {.calibration = Calibration::extremes});
  const ParameterDict params = int8.collect_params();
  CHECK(params[weight.name() + "_int8"].data().to_vector<int>() == std::vector<int>{50, -127, 0, 0, 50, 127});
  CHECK(params[weight.name() + "_step"].data().to_vector<float>() ==
        std::vector<float>{2.54F / 127, 1, 1.27F / 127});
  CHECK_FALSE(params.contains(weight.name()));
  CHECK(params[weight.name() + "_int8"].grad_req() == GradReq::null);
}

TEST_CASE("zeros do not count, and extremes of all batches do", "[quantize]") {
  nn::HybridSequential net;
  net.add(nn::Dense(2, {.in_units = 2}));
  net.initialize();
  std::vector<QuantizedLayer> layers;
  const QuantizeOptions extremes{.calibration = Calibration::extremes, .layers = &layers};
  quantize(net, {{nd::array({{0.F, 1.F}})}, {nd::array({{0.F, -4.F}})}, {nd::array({{2.F, 0.F}})}}, extremes);
  CHECK(layers.at(0).data_dtype == DType::i8);
  CHECK(layers.at(0).data_step == static_cast<float>(4.0 / 127));
  quantize(net, {{nd::array({{0.F, 1e-6F}})}, {nd::array({{1e6F, 3.F}})}}, extremes);
  CHECK(layers.at(0).data_dtype == DType::u8);
  CHECK(layers.at(0).data_step == static_cast<float>(1e6 / 255));
  quantize(net, {{nd::array({{0.F, 51.F}})}},
           {.calibration = Calibration::extremes, .activations = DType::i8, .layers = &layers});
  CHECK(layers.at(0).data_step == static_cast<float>(51.0 / 127));
}

TEST_CASE("a percentile and the divergence leave outliers out", "[quantize]") {
  random::seed(5);
  nn::HybridSequential net;
  net.add(nn::Dense(2, {.in_units = 64}));
  net.initialize();
  Tensor x = nd::random::normal(0, 1, {1024, 64});
  x[0][0] = 100;
  std::vector<QuantizedLayer> layers;
  for (const Calibration calibration : {Calibration::percentile, Calibration::entropy}) {
    quantize(net, {{x}}, {.calibration = calibration, .layers = &layers});
    CHECK(layers.at(0).data_step * 127 > 3);
    CHECK(layers.at(0).data_step * 127 < 8);
  }
}

TEST_CASE("the order and the division into batches change no step", "[quantize]") {
  random::seed(6);
  nn::HybridSequential net;
  net.add(nn::Dense(2, {.in_units = 8}));
  net.initialize();
  const bool positive = GENERATE(false, true);
  Tensor x = nd::random::normal(0, 1, {60, 8}) * nd::random::uniform(1e-3, 30, {60, 1});
  if (positive) x = x.abs();
  const auto step = [&](const std::vector<Tensors>& batches, Calibration calibration) {
    std::vector<QuantizedLayer> layers;
    quantize(net, batches, {.calibration = calibration, .layers = &layers});
    return layers.at(0).data_step;
  };
  for (const Calibration calibration : {Calibration::percentile, Calibration::entropy}) {
    std::vector<Tensors> parts;
    for (std::int64_t i = 0; i < 60; i += 4) parts.push_back({x.slice_axis(0, i, i + 4)});
    const double whole = step({{x}}, calibration);
    CHECK(step(parts, calibration) == whole);
    std::reverse(parts.begin(), parts.end());
    CHECK(step(parts, calibration) == whole);
  }
}

TEST_CASE("the range of the least divergence is MXNet's", "[quantize]") {
  const auto [name, levels] = GENERATE(
      table<std::string, std::int64_t>({{"all", 31}, {"b", 31}, {"even", 30}, {"few", 31}, {"wide", 255}}));
  const auto arrays = load_arrays(golden::path("ops/i_contrib_calibrate_entropy__" + name + "-io.params"));
  const auto counts = find_array(arrays, "in:h")->to_vector<std::int64_t>();
  const auto edges = find_array(arrays, "in:e")->to_vector<float>();
  const detail::EntropyRange range = detail::entropy_range(counts, /*is_signed=*/true, levels);
  const std::size_t end = counts.size() / 2 + static_cast<std::size_t>(range.bins) + 1;
  CHECK(edges.at(end) == find_array(arrays, "out:0")->item<float>());
  // MXNet adds in float32. The tolerances are the manifest's.
  const double expected = find_array(arrays, "out:1")->item<double>();
  CHECK(std::abs(range.divergence - expected) <= 1e-6 + 1e-4 * std::abs(expected));
}

TEST_CASE("an int8 network is the same after its files are read", "[quantize]") {
  random::seed(12);
  const auto net = convolutions();
  const Tensor x = nd::random::normal(0, 1, {4, 3, 10, 10});
  SymbolBlock int8 = quantize(net, {{x}});
  int8.hybridize();
  const Tensor expected = int8(x);
  const TemporaryFolder folder;
  const std::string prefix = (folder.path / "net").string();

  int8.export_model(prefix);
  SymbolBlock imported = SymbolBlock::imports(prefix + "-symbol.json", {"data"}, prefix + "-0000.params");
  CHECK(same_bits(imported(x), expected));
  check_modes(imported, x);
  CHECK(same_bits(Model::load(prefix + "-symbol.json", prefix + "-0000.params").run({{"data", x}}).at(0),
                  expected));

  int8.save_parameters(prefix + ".params");
  SymbolBlock again(int8.symbol(), {sym::var("data")});
  again.load_parameters(prefix + ".params");
  CHECK(same_bits(again(x), expected));
  const auto saved = load_arrays(prefix + ".params");
  CHECK(std::count_if(saved.begin(), saved.end(),
                      [](const auto& a) { return a.array.dtype() == DType::i8; }) == 4);
  // An int8 network is a network: it has no float layer left.
  CHECK_THROWS_WITH(quantize(imported, {{x}}), Catch::Contains("are int8 already"));
}

TEST_CASE("the roundings of an int8 layer are parts of its neighbours' kernels", "[quantize]") {
  random::seed(17);
  nn::HybridSequential net;
  for (int i = 0; i < 3; ++i)
    net.add(nn::Conv2D(32, {.kernel_size = 3}), nn::BatchNorm(), nn::Activation("relu"));
  net.initialize(init::Xavier());
  const Tensor x = nd::random::normal(0, 1, {1, 16, 12, 12});
  SymbolBlock int8 = quantize(net, {{x}});
  net.hybridize();
  int8.hybridize();
  net(x);
  int8(x);
  // The input is rounded by a kernel of its own.
  CHECK(int8.compiled_calls().at(0).kernels <= net.compiled_calls().at(0).kernels + 1);
}

TEST_CASE("excluded layers, shared weights and layers in loops", "[quantize]") {
  random::seed(13);
  const auto net = convolutions();
  const Tensor x = nd::random::normal(0, 1, {2, 3, 10, 10});
  std::vector<QuantizedLayer> all, layers;
  quantize(net, {{x}}, {.layers = &all});
  const std::string node = all[0].name, layer = all[3].name.substr(0, all[3].name.size() - 4);
  SymbolBlock int8 = quantize(net, {{x}}, {.exclude = {node, layer}, .layers = &layers});
  CHECK(layers[0].float_because == "excluded");
  CHECK(layers[1].float_because.empty());
  CHECK(layers[2].float_because.empty());
  CHECK(layers[3].float_because == "excluded");
  CHECK(int8.collect_params().contains(net[0].as<nn::Conv2D>().weight.name()));
  check_modes(int8, x);
  // A block's name excludes the layers in it.
  CHECK_THROWS_WITH(quantize(net, {{x}}, {.exclude = {net.name()}}),
                    Catch::Contains("no layer of the network"));
}

namespace {

/// A layer in the graph, and the same weight in a loop and twice outside.
class Loops : public HybridBlock {
 public:
  Child<nn::Dense> dense{this, "dense"};
  Loops() { dense = nn::Dense(4, {.in_units = 4}); }
  using HybridBlock::hybrid_forward;
  Tensor hybrid_forward(F& F, const Tensor& x) override {
    const Tensor y = F.relu(dense(dense(x)));
    const auto row = [&](const Tensors& rows, const Tensors&) -> F::contrib::Results {
      return {{F.FullyConnected(rows[0], dense->weight, dense->bias, {.num_hidden = 4})}, {}};
    };
    return F.contrib().foreach (row, {F.expand_dims(y, 0)}, {}).outputs[0];
  }
};

/// Two inputs, and a size in the program.
class TwoInputs : public HybridBlock {
 public:
  Child<nn::Dense> first{this, "first"}, second{this, "second"};
  TwoInputs() {
    first = nn::Dense(8);
    second = nn::Dense(2);
  }
  using HybridBlock::hybrid_forward;
  Tensor hybrid_forward(F& F, const Tensor& x, const Tensor& y) override {
    const Tensor joined = first(x) + F.reshape(y, {x.shape()[0], 8});
    return second(joined);
  }
};

}  // namespace

TEST_CASE("layers are excluded by the paths of their parameters", "[quantize]") {
  nn::HybridSequential inner(nn::Dense(6, {.in_units = 5}), nn::Dense(5, {.in_units = 6}));
  nn::HybridSequential net(inner, nn::Dense(3, {.in_units = 5}));
  net.initialize(init::Uniform(1));
  std::vector<QuantizedLayer> layers;
  quantize(net, {{random::uniform(-1, 1, {4, 5})}}, {.exclude = {"0.1"}, .layers = &layers});
  REQUIRE(layers.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(layers[i].float_because == (i == 1 ? "excluded" : ""));
}

TEST_CASE("an int8 network is not cast", "[quantize]") {
  nn::HybridSequential net(nn::Dense(6, {.in_units = 5}));
  net.initialize(init::Uniform(1));
  const Tensor x = random::uniform(-1, 1, {4, 5});
  for (const bool weights_only : {false, true}) {
    SymbolBlock int8 = quantize(net, {{x}}, {.weights_only = weights_only});
    const Tensor y = int8(x);
    CHECK_THROWS_WITH(int8.cast(DType::f16), Catch::Contains("cast the network before quantize()"));
    CHECK(same_bits(int8(x), y));
  }
}

TEST_CASE("networks of several inputs, deferred shapes and half precision", "[quantize]") {
  random::seed(14);
  TwoInputs net;
  net.initialize();
  const Tensors inputs{nd::random::normal(0, 1, {4, 5}), nd::random::normal(0, 1, {4, 2, 4})};
  const QuantizeOptions extremes{.calibration = Calibration::extremes, .num_inputs = 2};
  SymbolBlock int8 = quantize(net, {inputs}, extremes);
  const Tensor expected = net(inputs).at(0);
  CHECK(largest_difference(int8(inputs).at(0), expected) < 0.05 * expected.abs().max().item<double>());

  const data::DataLoader loader(data::ArrayDataset(inputs[0], inputs[1]), {.batch_size = 4});
  SymbolBlock loaded = quantize(net, loader, extremes);
  CHECK(same_bits(loaded(inputs).at(0), int8(inputs).at(0)));

  auto half = convolutions();
  const Tensor x = nd::random::normal(0, 1, {2, 3, 10, 10});
  half(x);
  half.cast(DType::f16);
  SymbolBlock int8_half = quantize(half, {{x.astype(DType::f16)}});
  CHECK(int8_half(x.astype(DType::f16)).dtype() == DType::f16);
  check_modes(int8_half, x.astype(DType::f16));
}

TEST_CASE("one weight of several layers is one int8 weight", "[quantize]") {
  random::seed(15);
  Loops net;
  net.initialize(init::Xavier());
  const Tensor x = nd::random::normal(0, 1, {2, 4});
  std::vector<QuantizedLayer> layers;
  SymbolBlock int8 = quantize(net, {{x}}, {.layers = &layers});
  REQUIRE(layers.size() == 3);
  CHECK(layers[0].float_because.empty());
  CHECK(layers[1].float_because.empty());
  CHECK(layers[2].float_because == "in the body of a loop or branch");
  const ParameterDict params = int8.collect_params();
  CHECK(params.contains(net.dense->weight.name()));
  CHECK(params.contains(net.dense->weight.name() + "_int8"));
  CHECK(params.size() == 4);
  check_modes(int8, x);
}

TEST_CASE("the float network stays as it is", "[quantize]") {
  random::seed(16);
  auto net = convolutions();
  const Tensor x = nd::random::normal(0, 1, {2, 3, 10, 10});
  const Tensor before = net(x);
  {
    const autograd::Record record;  // calibration is never recorded, and runs in prediction mode
    SymbolBlock int8 = quantize(net, {{x}});
    const autograd::Pause pause;
    for (Parameter p : int8.collect_params())
      if (is_floating(p.dtype())) p.set_data(zeros(p.shape()));
  }
  CHECK(same_bits(net(x), before));
  CHECK(net.compiled_calls().empty());
}

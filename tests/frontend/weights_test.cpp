// hybridize({.weights = Weights::release}): packed weights replace the arrays of parameters, which come back
// when somebody reads or writes them.
#include "same_bits.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <functional>
#include <sstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace kiln;

namespace {

const HybridizeOptions releasing{.weights = Weights::release};

std::size_t live() { return memory_report(DeviceScope::current()).live_bytes; }

std::size_t bytes_of(const Parameter& p) {
  return static_cast<std::size_t>(p.shape().elements()) * size_of(p.dtype());
}

/// A layer of weights that every call packs, with its values before the first call.
struct Released {
  static constexpr std::int64_t inputs = 70, units = 50;
  nn::Dense net{units, {.in_units = inputs}};
  Tensor x = random::uniform(-1, 1, {20, inputs});
  Tensor y, weight;
  std::size_t with_array, without_array;

  Released() {
    net.initialize(init::Uniform(1));
    weight = net.weight.data().copy();
    y = net(x).copy();
    net.hybridize(releasing);
    Tensor out = net(x);
    CHECK(same_bits(out, y));
    out = Tensor();
    without_array = live();
    with_array = without_array + bytes_of(net.weight);
  }
  void check_calls() {
    for (const bool active : {true, false}) {
      if (!active) net.hybridize(false);
      CHECK(same_bits(net(x), y));
    }
  }
};

}  // namespace

TEST_CASE("packed weights replace the arrays of parameters", "[weights]") {
  struct Row {
    const char* name;
    std::function<std::shared_ptr<HybridBlock>()> make;
    Shape x;
    bool releases = true;
    DType dtype = DType::f32;
  };
  const auto dense = [](int units, int in_units) {
    return [=] { return std::make_shared<nn::Dense>(units, nn::DenseOptions{.in_units = in_units}); };
  };
  const auto conv = [](int channels, const nn::ConvOptions& o) {
    return [=] { return std::make_shared<nn::Conv2D>(channels, o); };
  };
  const PrecisionScope no_tensor_cores(Precision::exact);  // which read weights unpacked
  const bool widens =
      DeviceScope::current().is_cpu() && !host_isa().ends_with("scalar");  // products do, by vectors
  const Row rows[] = {
      {"dense", dense(50, 70), {20, 70}},
      {"dense of one vector of columns", dense(16, 33), {20, 33}},
      {"dense of few columns", dense(3, 65), {20, 65}},
      {"dense in f64", dense(50, 70), {20, 70}, true, DType::f64},
      {"dense in f16", dense(50, 70), {20, 70}, widens, DType::f16},
      {"dense in bf16", dense(50, 70), {20, 70}, true, DType::bf16},
      {"convolution in f16, packed as f32",
       conv(20, {.kernel_size = {1, 1}, .in_channels = 37}),
       {2, 37, 6, 6},
       false,
       DType::f16},
      {"dense in bf16 of whole steps", dense(50, 64), {20, 64}, true, DType::bf16},
      {"convolution 1x1 in bf16",
       conv(20, {.kernel_size = {1, 1}, .in_channels = 37}),
       {2, 37, 6, 6},
       true,
       DType::bf16},
      {"convolution in bf16",
       conv(20, {.kernel_size = {3, 2}, .strides = {2, 2}, .in_channels = 70}),
       {2, 70, 9, 9},
       true,
       DType::bf16},
      {"convolution 1x1", conv(20, {.kernel_size = {1, 1}, .in_channels = 37}), {2, 37, 6, 6}},
      {"convolution with strides",
       conv(20, {.kernel_size = {3, 2}, .strides = {2, 2}, .in_channels = 37}),
       {2, 37, 9, 9}},
      {"convolution in groups",
       conv(30, {.kernel_size = {3, 3}, .strides = {2, 2}, .groups = 2, .in_channels = 34}),
       {2, 34, 9, 9}},
      {"depthwise convolution",  // of volumes, alone; of images it may read the weights unpacked
       [] {
         return std::make_shared<nn::Conv3D>(
             20, nn::ConvOptions{.kernel_size = {2, 3, 2}, .groups = 20, .in_channels = 20});
       },
       {2, 20, 4, 5, 6}},
      {"convolution of lines",
       [] {
         return std::make_shared<nn::Conv1D>(20, nn::ConvOptions{.kernel_size = {3}, .in_channels = 18});
       },
       {2, 18, 9}},
      {"convolution of volumes",
       [] {
         return std::make_shared<nn::Conv3D>(20,
                                             nn::ConvOptions{.kernel_size = {2, 3, 2}, .in_channels = 18});
       },
       {2, 18, 4, 5, 6}},
      {"transposed convolution",
       [] {
         return std::make_shared<nn::Conv2DTranspose>(
             20, nn::ConvOptions{.kernel_size = {3, 3}, .strides = {2, 2}, .in_channels = 18});
       },
       {2, 18, 4, 5},
       false},
      {"convolution by Winograd's algorithm",
       conv(64, {.kernel_size = {3, 3}, .padding = {1, 1}, .in_channels = 64}),
       {1, 64, 20, 20},
       false},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const auto net = row.make();
    net->initialize(init::Uniform(1));
    net->cast(row.dtype);
    const Tensor x = random::uniform(-1, 1, row.x).astype(row.dtype);
    const Tensor y = (*net)(x).copy();
    const Parameter weight = *net->collect_params(".*weight").begin();
    const Tensor before = weight.data().copy();
    net->hybridize();
    CHECK(same_bits((*net)(x), y));
    const std::size_t kept = live();
    net->hybridize(releasing);
    CHECK(same_bits((*net)(x), y));
    CHECK(kept - live() == (row.releases ? bytes_of(weight) : 0));
    CHECK(same_bits((*net)(x), y));
    CHECK(same_bits(weight.data(), before));
    CHECK(kept - live() == (row.releases ? bytes_of(weight) : 0));
  }
}

TEST_CASE("packed words of bytes replace the arrays of parameters", "[weights]") {
  struct Bytes : HybridBlock {
    Parameter weight;
    Bytes() {
      weight = params().get("weight", {50, 72}, {.grad_req = GradReq::null, .dtype = DType::i8});
      initialize();
      weight.set_data(random::uniform(-120, 120, {50, 72}).astype(DType::i8));
    }
    Tensor hybrid_forward(F& F, const Tensor& x) override {
      return F.dot(x.astype(DType::i32), weight.data().astype(DType::i32), {.transpose_b = true});
    }
  };
  if (!DeviceScope::current().is_cpu() || host_isa().ends_with("scalar")) return;  // they pack i32
  for (const DType dtype : {DType::u8, DType::i8}) {
    CAPTURE(name_of(dtype));
    Bytes net;
    const Tensor x = random::uniform(0, 120, {20, 72}).astype(dtype), y = net(x).copy(),
                 before = net.weight.data().copy();
    net.hybridize();
    CHECK(same_bits(net(x), y));
    const std::size_t kept = live();
    net.hybridize(releasing);
    CHECK(same_bits(net(x), y));
    CHECK(kept - live() == bytes_of(net.weight));
    CHECK(same_bits(net.weight.data(), before));
    CHECK(same_bits(net(x), y));
    net.weight.set_data(before / 2);
    CHECK_FALSE(same_bits(net(x), y));
  }
}

TEST_CASE("the first call releases one array after the other", "[weights]") {
  constexpr std::int64_t width = 256, layers = 8;
  constexpr std::size_t bytes = width * width * 4;
  nn::HybridSequential net;
  for (std::int64_t i = 0; i < layers; ++i) net.add(nn::Dense(width, {.use_bias = false, .in_units = width}));
  net.initialize();
  net.hybridize(releasing);
  const Tensor x = random::uniform(-1, 1, {20, width});
  const std::size_t before = live();
  reset_peak_memory(DeviceScope::current());
  net(x);
  CHECK(memory_report(DeviceScope::current()).peak_bytes < before + 3 * bytes);
  CHECK(live() <= before);
}

TEST_CASE("reading a parameter for a while leaves it released", "[weights]") {
  Released r;
  const auto check = [&] {
    CHECK(live() == r.without_array);
    CHECK(same_bits(r.net(r.x), r.y));
    CHECK(live() == r.without_array);
  };
  SECTION("elements") {
    CHECK(r.net.weight.data().to_vector<float>() == r.weight.to_vector<float>());
    check();
  }
  SECTION("printing") {
    std::ostringstream text, expected;
    text << r.net.weight.data();
    expected << r.weight;
    CHECK(text.str() == expected.str());
    check();
  }
  SECTION("a copy") {
    CHECK(same_bits(r.net.weight.data().copy(), r.weight));
    check();
  }
  SECTION("a view") {
    const Tensor rows = r.net.weight.data()[slice(10, 20)];
    CHECK(rows.to_vector<float>() == r.weight[slice(10, 20)].to_vector<float>());
    check();
  }
  SECTION("files") {
    for (const char* name : {"weights.params", "weights.safetensors", "weights.npz"}) {
      r.net.save_parameters(name);
      nn::Dense other(Released::units, {.in_units = Released::inputs});
      other.load_parameters(name);
      CHECK(same_bits(other.weight.data(), r.weight));
    }
    r.net.export_model("weights");
    check();
  }
}

TEST_CASE("an array whose address the program has stays", "[weights]") {
  Released r;
  if (!DeviceScope::current().is_cpu()) return;
  const Tensor weight = r.net.weight.data();
  const auto* const data = static_cast<const float*>(weight.data());
  CHECK(live() == r.with_array);
  for (int call = 0; call < 2; ++call) {
    CHECK(same_bits(r.net(r.x), r.y));
    CHECK(weight.data() == data);
    CHECK(std::vector(data, data + weight.size()) == r.weight.to_vector<float>());
  }
  CHECK(live() == r.with_array);
  r.net.hybridize(releasing);
  r.net(r.x);
  CHECK(live() == r.without_array);
}

TEST_CASE("other uses of a released parameter bring its array back", "[weights]") {
  Released r;
  const auto check = [&] {
    CHECK(live() >= r.with_array);
    r.check_calls();
  };
  SECTION("an operator") {
    const Tensor w = r.net.weight.data();
    CHECK(same_bits(w * 2, r.weight * 2));
    check();
  }
  SECTION("a custom function") {
    struct Doubled : autograd::Function {
      Tensors forward(const Tensors& in) override { return {in[0] * 2}; }
      Tensors backward(const Tensors& heads) override { return {heads[0] * 2}; }
    };
    CHECK(same_bits((*std::make_shared<Doubled>())({r.net.weight.data()})[0], r.weight * 2));
    r.check_calls();
  }
  SECTION("hybridize() with the default") {
    r.net.hybridize();
    check();
  }
  SECTION("hybridize(false)") {
    r.net.hybridize(false);
    check();
  }
  SECTION("another dtype and back") {
    r.net.cast(DType::f64);
    r.net.cast(DType::f32);
    CHECK(same_bits(r.net(r.x), r.y));
    CHECK(same_bits(r.net.weight.data(), r.weight));
  }
}

TEST_CASE("a call sees what is written into a released parameter", "[weights]") {
  Released r;
  const auto check = [&](const Tensor& expected) {
    CHECK(same_bits(r.net(r.x), r.net(r.x)));
    const Tensor y = r.net(r.x).copy();
    r.net.hybridize(false);
    CHECK(same_bits(r.net(r.x), y));
    CHECK(same_bits(r.net.weight.data(), expected));
  };
  SECTION("in place") {
    Tensor w = r.net.weight.data();
    w *= 3;
    check(r.weight * 3);
  }
  SECTION("through a view") {
    Tensor w = r.net.weight.data(), expected = r.weight.copy();
    w[slice(3, 7)] = -1;
    expected[slice(3, 7)] = -1;
    check(expected);
  }
  SECTION("by set_data, which lets it be released again") {
    r.net.weight.set_data(r.weight * 3);
    r.net(r.x);
    CHECK(live() == r.without_array);
    check(r.weight * 3);
  }
  SECTION("from a file, likewise") {
    r.net.save_parameters("weights_written.params");
    r.net.weight.set_data(r.weight * 3);
    r.net(r.x);
    r.net.load_parameters("weights_written.params");
    r.net(r.x);
    CHECK(live() == r.without_array);
    check(r.weight);
  }
  SECTION("by its own elements") {
    r.net.weight.set_data(r.net.weight.data());
    check(r.weight);
  }
}

TEST_CASE("all signatures share packed weights", "[weights]") {
  Released r;
  for (const std::int64_t batch : {17, 30, 64}) {
    const Tensor x = random::uniform(-1, 1, {batch, Released::inputs});
    const std::size_t before = live();
    const Tensor y = r.net(x);
    CHECK(live() - before == static_cast<std::size_t>(y.size()) * 4);
  }
  const Tensor row = random::uniform(-1, 1, {1, Released::inputs});
  const Tensor y = r.net(row).copy();
  r.check_calls();
  CHECK(same_bits(r.net(row), y));
}

TEST_CASE("a released parameter of two networks", "[weights]") {
  nn::Dense a(30, {.in_units = 40});
  const ParameterDict shared = a.params();
  nn::Dense b(30, {.in_units = 40, .params = &shared});
  a.initialize(init::Uniform(1));
  const Tensor x = random::uniform(-1, 1, {20, 40});
  const Tensor y = b(x).copy();
  a.hybridize(releasing);
  for (int call = 0; call < 2; ++call) {
    CHECK(same_bits(a(x), y));
    CHECK(same_bits(b(x), y));
  }
}

TEST_CASE("training goes on with released parameters", "[weights]") {
  const auto run = [](const HybridizeOptions& options) {
    random::seed(4);
    nn::HybridSequential net;
    net.add(nn::Dense(30, {.activation = "relu", .in_units = 40}), nn::Dense(10, {.in_units = 30}));
    net.initialize(init::Uniform(1));
    Trainer trainer(net.collect_params(), "adam", {.learning_rate = 0.01});
    const Tensor x = random::uniform(-1, 1, {20, 40});
    net.hybridize(options);
    Tensors seen;
    for (int step = 0; step < 3; ++step) {
      seen.push_back(net(x).copy());
      Tensor loss;
      {
        const autograd::Record record;
        loss = (net(x) * net(x)).sum();
      }
      loss.backward();
      trainer.step(20);
    }
    for (const Parameter& p : net.collect_params()) seen.push_back(p.data().copy());
    return seen;
  };
  const Tensors kept = run({}), released = run(releasing);
  for (std::size_t i = 0; i < kept.size(); ++i) CHECK(same_bits(kept[i], released[i]));
}

TEST_CASE("threads call a network and read its parameters", "[weights]") {
  const Device device = DeviceScope::current();
  for (int round = 0; round < 5; ++round) {
    nn::HybridSequential net;
    net.add(nn::Dense(50, {.activation = "relu", .in_units = 70}), nn::Dense(40, {.in_units = 50}));
    net.initialize(init::Uniform(1));
    const Tensor x = random::uniform(-1, 1, {20, 70}), y = net(x).copy();
    const Parameter parameter = net[0].as<nn::Dense>().weight;
    const Tensor weight = parameter.data().copy();
    net.hybridize(releasing);
    std::vector<int> wrong(8);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < wrong.size(); ++t)
      threads.emplace_back([&, t] {
        const DeviceScope scope(device);
        for (int i = 0; i < 10; ++i) {
          wrong[t] += !same_bits(net(x), y);
          if (t % 2 == 0) wrong[t] += !same_bits(parameter.data(), weight);
          if (t == 5 && i == 5) wrong[t] += !same_bits(parameter.data() * 2, weight * 2);
        }
      });
    for (std::thread& t : threads) t.join();
    CHECK(wrong == std::vector<int>(8));
  }
}

TEST_CASE("a child of fork() reads released parameters", "[weights]") {
  if (!DeviceScope::current().is_cpu()) return;
  Released r;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(same_bits(r.net.weight.data(), r.weight) && same_bits(r.net(r.x), r.y) ? 0 : 1);
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("a model keeps packed weights alone", "[weights]") {
  if (!DeviceScope::current().is_cpu()) return;
  Released r;
  r.net.export_model("weights_model");
  const std::size_t before = live();
  const Model model = Model::load("weights_model-symbol.json", "weights_model-0000.params");
  PreparedModel prepared = model.prepare({{"data", r.x}});
  CHECK(same_bits(prepared.run()[0], r.y));
  CHECK(live() - before < 2 * bytes_of(r.net.weight));
  for (const NamedArray& p : model.params())
    if (p.name.ends_with("weight")) CHECK(same_bits(p.array, r.weight));
  CHECK(same_bits(model.run({{"data", r.x}}, {.mode = RunMode::eager})[0], r.y));
}

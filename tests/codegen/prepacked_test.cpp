// Values that depend on parameters alone are computed once per version of the parameters, outside of calls. A
// call sees every change of a parameter.
#include "same_bits.h"

#include <catch2/catch.hpp>
#include <thread>

using namespace kiln;

namespace {

/// Kernels that a call runs.
std::size_t kernels_of(Block& net, const Tensor& x) {
  const Profile profile;
  net(x);
  return profile.kernels().size();
}

Tensor eager(Block& net, const Tensor& x) {
  net.hybridize(false);
  Tensor y = net(x);
  net.hybridize();
  return y;
}

/// A dense layer whose rows of weights have the lengths `gain`.
struct ScaledDense : HybridBlock {
  ScaledDense() {
    weight = params().get("weight", {6, 10});
    gain = params().get("gain", {6});
  }
  Parameter weight, gain;

 protected:
  Tensor hybrid_forward(F& f, const Tensor& x) override {
    const Tensor w = weight, g = gain.data();
    const Tensor length = f.sqrt(f.sum(w * w, {.axis = 1, .keepdims = true}));
    return f.FullyConnected(x, w / length * f.expand_dims(g, 1), {.num_hidden = 6, .no_bias = true});
  }
};

}  // namespace

TEST_CASE("scale and shift of a BatchNorm are no part of a call", "[prepacked]") {
  nn::HybridSequential net;
  net.add(nn::Conv2D(20, {.use_bias = false, .in_channels = 3}), nn::BatchNorm({.in_channels = 20}));
  net.initialize(init::Uniform(1));
  auto& norm = net[1].as<nn::BatchNorm>();
  const Tensor x = random::uniform(-1, 1, {2, 3, 5, 7});
  net.hybridize();
  net(x);
  CHECK(kernels_of(net, x) <= 2);  // the convolution, and the transpose of its layout if it has another
  SECTION("each parameter is looked at") {
    for (Parameter* p : {&norm.gamma, &norm.beta, &norm.running_mean, &norm.running_var}) {
      p->set_data(random::uniform(1, 2, {20}));
      const Tensor y = net(x);
      CHECK(same_bits(y, eager(net, x)));
      Tensor in_place = p->data();
      in_place *= 3;
      const Tensor z = net(x);
      CHECK_FALSE(same_bits(y, z));
      CHECK(same_bits(z, eager(net, x)));
    }
  }
  SECTION("threads share it") {
    const Tensor want = eager(net, x);
    norm.gamma.set_data(norm.gamma.data() * 1.0);
    std::vector<Tensor> got(6);
    std::vector<std::thread> threads;
    for (Tensor& y : got) threads.emplace_back([&] { y = net(x); });
    for (std::thread& t : threads) t.join();
    for (const Tensor& y : got) CHECK(same_bits(y, want));
  }
}

TEST_CASE("weights computed from parameters are packed once", "[prepacked]") {
  ScaledDense net;
  net.initialize(init::Uniform(1));
  for (const std::int64_t batch : {1, 3}) {
    const Tensor x = random::uniform(-1, 1, {batch, 10});
    net.hybridize();
    net(x);
    CHECK(kernels_of(net, x) == 1);
    CHECK(same_bits(net(x), eager(net, x)));
    Tensor gain = net.gain.data();
    gain *= 2;
    CHECK(same_bits(net(x), eager(net, x)));
    net.weight.set_data(random::uniform(-1, 1, {6, 10}));
    CHECK(same_bits(net(x), eager(net, x)));
  }
}

namespace {

/// A dense layer whose weights go down by what they multiply.
struct ChangingDense : HybridBlock {
  ChangingDense() { weight = params().get("weight", {40, 30}); }
  Parameter weight;

 protected:
  Tensor hybrid_forward(F& f, const Tensor& x) override {
    const Tensor y = f.FullyConnected(x, weight, {.num_hidden = 40, .no_bias = true});
    Tensor w = weight.data();
    w -= f.dot(y, x, {.transpose_a = true}) * 0.01;
    return y;
  }
};

}  // namespace

TEST_CASE("weights that a call changes are packed in each", "[prepacked]") {
  for (const std::int64_t batch : {1, 20}) {
    ChangingDense net, compiled;
    net.initialize(init::Uniform(1));
    compiled.initialize();
    compiled.weight.set_data(net.weight.data());
    compiled.hybridize();
    const Tensor x = random::uniform(-1, 1, {batch, 30});
    for (int step = 0; step < 3; ++step) {
      CHECK(same_bits(compiled(x), net(x)));
      CHECK(same_bits(compiled.weight.data(), net.weight.data()));
    }
  }
}

TEST_CASE("recorded calls keep no packs of weights that each step writes", "[prepacked]") {
  const auto network = [] {
    nn::HybridSequential net;
    net.add(nn::Dense(24, {.activation = "relu", .in_units = 40}), nn::Dense(40, {.in_units = 24}));
    random::seed(2);
    net.initialize(init::Uniform(1));
    net[1].as<nn::Dense>().weight.set_grad_req(GradReq::null);
    return net;
  };
  const Tensor x = random::uniform(-1, 1, {3, 40});
  const auto recorded = [&](Block& net) {
    const autograd::Record record;
    return net(x);
  };
  const auto scale = [](nn::HybridSequential& net, double factor) {
    Tensor w = net[0].as<nn::Dense>().weight.data();
    w *= factor;
  };
  nn::HybridSequential eager = network(), net = network();
  const Tensor first = recorded(eager);
  scale(eager, 2);
  const Tensor second = recorded(eager);
  net.hybridize();

  const std::uint64_t before = stats().prepacked;
  CHECK(same_bits(recorded(net), first));
  CHECK(stats().prepacked == before + 1);  // of the weight that is not trained
  for (int step = 0; step < 3; ++step) {
    scale(net, 2);
    CHECK(same_bits(recorded(net), second));
    scale(net, 0.5);
    CHECK(same_bits(recorded(net), first));
  }
  CHECK(stats().prepacked == before + 1);
  for (int call = 0; call < 3; ++call) CHECK(same_bits(recorded(net), first));
  CHECK(stats().prepacked == before + 2);
  scale(net, 2);
  CHECK(same_bits(recorded(net), second));
}

TEST_CASE("weights in half precision are packed once, in the bytes that they have", "[prepacked]") {
  const auto packed_bytes = [](DType dtype, std::int64_t rows) {
    nn::Dense net(1536, {.use_bias = false, .in_units = 1024});
    random::seed(3);
    net.initialize(init::Uniform(1));
    net.cast(dtype);
    const Tensor x = random::uniform(-1, 1, {rows, 1024}).astype(dtype);
    const std::uint64_t before = stats().prepacked_bytes;
    net.hybridize();
    const Tensor y = net(x);
    CHECK(kernels_of(net, x) <= 2);  // the product, and the data in float32
    CHECK(same_bits(y, eager(net, x)));
    const std::uint64_t bytes = stats().prepacked_bytes - before;
    net.weight.set_data(net.weight.data() * 0.5);
    const Tensor z = net(x);
    CHECK_FALSE(same_bits(y, z));
    CHECK(same_bits(z, eager(net, x)));
    return bytes;
  };
  if (!DeviceScope::current().is_cpu()) return;  // scalar code packs them in float32
  for (const std::int64_t rows : {1, 3, 20}) {
    const std::uint64_t wide = packed_bytes(DType::f32, rows);
    for (const DType half : {DType::f16, DType::bf16}) CHECK(packed_bytes(half, rows) * 2 == wide);
    const PrecisionScope scope(Precision::bf16);
    CHECK(packed_bytes(DType::f32, rows) == wide);  // half of it rounded, half of it packed
  }
}

TEST_CASE("weights of bytes that a product widens are packed once, in the bytes that they have",
          "[prepacked]") {
  struct Widening : HybridBlock {
    Parameter weight;
    explicit Widening(DType dtype) {
      weight = params().get("weight", {1536, 1024}, {.grad_req = GradReq::null, .dtype = dtype});
      initialize();
      weight.set_data((random::uniform(0, 250, {1536, 1024}) - (dtype == DType::u8 ? 0 : 125)).astype(dtype));
    }
    Tensor hybrid_forward(F& F, const Tensor& x) override {
      return F.dot(x, weight.data().astype(DType::f32), {.transpose_b = true});
    }
  };
  if (!DeviceScope::current().is_cpu()) return;
  for (const DType dtype : {DType::i8, DType::u8})
    for (const std::int64_t rows : {1, 3, 20}) {
      CAPTURE(name_of(dtype), rows);
      random::seed(3);
      Widening net(dtype);
      const Tensor x = random::uniform(-1, 1, {rows, 1024});
      const Tensor before = net(x), wide = net.weight.data().astype(DType::f32);
      CHECK(same_bits(before, F::dot(x, wide, {.transpose_b = true})));
      const std::uint64_t packed = stats().prepacked_bytes;
      net.hybridize();
      CHECK(same_bits(net(x), before));
      CHECK(stats().prepacked_bytes - packed == 1536 * 1024);
      CHECK(kernels_of(net, x) == 1);
      net.weight.set_data(net.weight.data() / 2);
      CHECK(same_bits(net(x), eager(net, x)));
    }
}

TEST_CASE("filters in half precision are widened and packed once", "[prepacked]") {
  for (const DType half : {DType::f16, DType::bf16}) {
    nn::Conv2D net(256, 3, {.padding = 1, .in_channels = 256});
    net.initialize(init::Uniform(1));
    net.cast(half);
    net.hybridize();
    const Tensor x = random::uniform(-1, 1, {1, 256, 6, 6}).astype(half);
    net(x);
    const std::uint64_t before = stats().prepacked;
    CHECK(same_bits(net(x), eager(net, x)));
    CHECK(stats().prepacked == before);
    net.weight.set_data(net.weight.data() * 0.5);
    CHECK(same_bits(net(x), eager(net, x)));
  }
}

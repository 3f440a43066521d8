// Layers of gluon.nn and gluon.contrib.nn beyond what MXNet's reference cases show: printed forms, deferred
// shapes, values.
#include "golden_files.h"
#include "same_bits.h"

#include <kiln/kiln.h>

#include <catch2/catch.hpp>

using namespace kiln;
using golden::error_of;

namespace {

using Catch::Matchers::Contains;

std::vector<float> values(const Tensor& t) { return t.to_vector<float>(); }

}  // namespace

TEST_CASE("layers print as MXNet prints them") {
  CHECK(nn::GroupNorm().str() == "GroupNorm(eps=1e-05, num_groups=1, center=True, scale=True)");
  CHECK(nn::InstanceNorm({.in_channels = 6}).str() ==
        "InstanceNorm(eps=1e-05, axis=1, center=True, scale=False, in_channels=6)");
  CHECK(nn::ReflectionPad2D(2).str() == "ReflectionPad2D(\n\n)");
  CHECK(nn::BatchNormReLU({.in_channels = 3}).str() ==
        "BatchNormReLU(axis=1, eps=1e-05, momentum=0.9, fix_gamma=False, use_global_stats=False, "
        "in_channels=3)");
  CHECK(contrib::nn::SyncBatchNorm({.prefix = "s_"}).str() ==
        "SyncBatchNorm(eps=1e-05, momentum=0.9, fix_gamma=False, use_global_stats=False, ndev=1, key='s_', "
        "in_channels=None)");
  CHECK(contrib::nn::PixelShuffle1D(3).str() == "PixelShuffle1D(3)");
  CHECK(contrib::nn::PixelShuffle3D({1, 2, 3}).str() == "PixelShuffle3D((1, 2, 3))");
}

TEST_CASE("batch normalisation with relu, and over all devices") {
  random::seed(1);
  const Tensor x = nd::random::normal(0, 1, {4, 3, 2});
  nn::BatchNorm plain;
  nn::BatchNormReLU relu;
  contrib::nn::SyncBatchNorm sync;
  for (HybridBlock* net : std::initializer_list<HybridBlock*>{&plain, &relu, &sync}) net->initialize();
  for (const bool hybrid : {false, true}) {
    const autograd::TrainMode train;
    if (hybrid)
      for (HybridBlock* net : std::initializer_list<HybridBlock*>{&plain, &relu, &sync}) net->hybridize();
    const Tensor y = plain(x);
    CHECK(values(relu(x)) == values(nd::relu(y)));
    CHECK(values(sync(x)) == values(y));
    CHECK(values(sync.running_mean.data()) == values(plain.running_mean.data()));
    CHECK(values(relu.running_var.data()) == values(plain.running_var.data()));
  }
  CHECK(values(relu(x)) == values(nd::relu(plain(x))));
  CHECK_THAT(sync(sym::var("data")).tojson(),
             Contains("\"_contrib_SyncBatchNorm\"") && Contains("\"ndev\": \"1\""));
  CHECK_THAT(relu(sym::var("data")).tojson(), Contains("\"_contrib_BatchNormWithReLU\""));
  CHECK_THAT(error_of([] { contrib::nn::SyncBatchNorm({.num_devices = 2}); }), Contains("over 2 devices"));
}

TEST_CASE("batch normalisation keeps float32 parameters in half precision") {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f64}) {
    nn::BatchNorm layer({.in_channels = 3});
    layer.initialize();
    layer.cast(dtype);
    for (const Parameter& p : layer.collect_params())
      CHECK(p.dtype() == (dtype == DType::f64 ? DType::f64 : DType::f32));
    const Tensor x = random::uniform(-1, 1, {2, 3, 4, 4}).astype(dtype), y = layer(x);
    CHECK(y.dtype() == dtype);
    layer.hybridize();
    CHECK(same_bits(layer(x), y));
  }
}

TEST_CASE("an option of instance normalisation leaves the others as they are") {
  nn::InstanceNorm norm({.epsilon = 1e-3, .in_channels = 2});
  CHECK(norm.gamma.grad_req() == GradReq::null);
  norm.initialize();
  const Tensor y = norm(Tensor{{1, 3}, {2, 6}}.reshape({1, 2, 2}));  // of two channels
  CHECK(y.shape() == Shape{1, 2, 2});
  CHECK(std::abs(values(y)[0] + 1) < 1e-3);
  CHECK(std::abs(values(y)[2] + 1) < 1e-3);
}

TEST_CASE("group normalisation knows its shapes") {
  nn::GroupNorm norm({.num_groups = 2});
  CHECK(norm.gamma.shape() == Shape{2});
  norm.initialize();
  CHECK(norm(ones({2, 4, 3})).shape() == Shape{2, 4, 3});
  CHECK_THAT(error_of([&] { norm(ones({2, 3, 3})); }), Contains("num_groups 2 must divide"));
  CHECK_THAT(error_of([] { nn::GroupNorm({.num_groups = 0}); }), Contains("positive num_groups"));
}

TEST_CASE("padding by reflection") {
  const Tensor x = Tensor({{1, 2}, {3, 4}}).reshape({1, 1, 2, 2});
  CHECK(values(nn::ReflectionPad2D(1)(x)) ==
        std::vector<float>{4, 3, 4, 3, 2, 1, 2, 1, 4, 3, 4, 3, 2, 1, 2, 1});
  CHECK_THAT(error_of([] { nn::ReflectionPad2D({1, 2}); }), Contains("one number or eight"));
  CHECK_THAT(error_of([] { nn::ReflectionPad2D(-1); }), Contains("0 or more"));
}

TEST_CASE("pixels are shuffled") {
  const auto range = [](const Shape& s) { return arange(static_cast<double>(s.elements())).reshape(s); };
  contrib::nn::PixelShuffle1D one(2);
  CHECK(values(one(range({1, 2, 3}))) == std::vector<float>{0, 3, 1, 4, 2, 5});
  contrib::nn::PixelShuffle2D two({1, 2});
  CHECK(values(two(range({1, 2, 1, 2}))) == std::vector<float>{0, 2, 1, 3});
  contrib::nn::PixelShuffle3D three(2);
  const Tensor y = three(range({2, 8, 1, 1, 2}));
  REQUIRE(y.shape() == Shape{2, 1, 2, 2, 4});
  // y[n, c, 2d+a, 2h+b, 2w+e] = x[n, ((c*2 + a)*2 + b)*2 + e, d, h, w]
  const auto v = values(y);
  for (std::size_t n = 0, i = 0; n < 2; ++n)
    for (std::size_t a = 0; a < 2; ++a)
      for (std::size_t b = 0; b < 2; ++b)
        for (std::size_t w = 0; w < 4; ++w, ++i)
          CHECK(v[i] == float(n * 16 + (a * 4 + b * 2 + w % 2) * 2 + w / 2));
  three.hybridize();
  CHECK(values(three(range({2, 8, 1, 1, 2}))) == v);
  CHECK_THAT(error_of([] { contrib::nn::PixelShuffle2D({1, 2, 3}); }), Contains("one number or 2"));
  CHECK_THAT(error_of([] { contrib::nn::PixelShuffle1D(0); }), Contains("positive factors"));
}

TEST_CASE("the main arguments of layers come before their options") {
  CHECK(nn::Conv2D(8, 3).str() == nn::Conv2D(8, {.kernel_size = 3}).str());
  CHECK(nn::Conv2D(8, 3, {.strides = 2, .padding = 1, .in_channels = 4}).str() ==
        nn::Conv2D(8, {.kernel_size = 3, .strides = 2, .padding = 1, .in_channels = 4}).str());
  CHECK(nn::Conv2D(8, {3, 5}, {.padding = 1}).str() ==
        nn::Conv2D(8, {.kernel_size = {3, 5}, .padding = 1}).str());
  CHECK(nn::Conv1D(8, 3, {.activation = "relu"}).str() ==
        nn::Conv1D(8, {.kernel_size = 3, .activation = "relu"}).str());
  CHECK(nn::Conv3D(8, {1, 2, 3}, {.groups = 2}).str() ==
        nn::Conv3D(8, {.kernel_size = {1, 2, 3}, .groups = 2}).str());
  CHECK(nn::Conv2DTranspose(8, 4, {.strides = 2}).str() ==
        nn::Conv2DTranspose(8, {.kernel_size = 4, .strides = 2}).str());
  CHECK(nn::Dense(10, "relu").str() == nn::Dense(10, {.activation = "relu"}).str());
  CHECK(nn::Dense(10, std::string("tanh"), {.use_bias = false, .in_units = 3}).str() ==
        nn::Dense(10, {.activation = "tanh", .use_bias = false, .in_units = 3}).str());
  CHECK(nn::Dense(10, "relu", {.use_bias = false}).bias.defined() == false);
}

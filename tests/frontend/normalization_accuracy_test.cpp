// Normalizations where the mean is large beside the deviation: the result of equal elements is beta; of
// others it is close to the same formula in f64.
#include "function_net.h"

#include <algorithm>
#include <cmath>

using namespace kiln;

namespace {

const double kMeans[] = {0, 0.1, -3.3, 1000.7, 12345.678, 65535, -1e6, 1e8, 3e20};

/// Different in each channel, as f32.
struct Affine {
  Tensor gamma, beta;
  explicit Affine(std::int64_t channels)
      : gamma(nd::arange(1, static_cast<double>(channels) + 1) * 0.75),
        beta(nd::arange(0, static_cast<double>(channels)) - 0.5) {}
};

/// beta of each channel in an array of this shape.
Tensor beta_everywhere(const Affine& affine, const Shape& shape, int axis) {
  Shape one = Shape::filled(shape.rank(), 1);
  one[static_cast<std::size_t>(axis)] = shape[static_cast<std::size_t>(axis)];
  return nd::broadcast_to(affine.beta.reshape(one), shape);
}

Tensor batch_norm(F& f, const Tensor& x, const Affine& a, const Tensor& mean, const Tensor& variance,
                  int axis = 1) {
  Tensor moving_mean = mean.copy(), moving_variance = variance.copy();
  return f.BatchNorm(x, a.gamma, a.beta, moving_mean, moving_variance,
                     {.eps = 1e-5, .fix_gamma = false, .axis = axis});
}

/// The greatest difference from (x - mean) / sqrt(variance + eps), in f64, of rows of one statistic.
double greatest_error(const Tensor& x, const Tensor& y) {
  const std::int64_t rows = x.shape()[0], n = x.shape().elements() / rows;
  const auto from = x.to_vector<double>(), got = y.to_vector<double>();
  double error = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    const double* const v = &from[static_cast<std::size_t>(row * n)];
    double mean = 0, variance = 0;
    for (std::int64_t i = 0; i < n; ++i) mean += v[i] / static_cast<double>(n);
    for (std::int64_t i = 0; i < n; ++i) variance += (v[i] - mean) * (v[i] - mean) / static_cast<double>(n);
    for (std::int64_t i = 0; i < n; ++i)
      error = std::max(error, std::abs(got[static_cast<std::size_t>(row * n + i)] -
                                       (v[i] - mean) / std::sqrt(variance + 1e-5)));
  }
  return error;
}

}  // namespace

TEST_CASE("BatchNorm of a constant channel is beta, in training and in prediction") {
  for (const Shape& shape :
       {Shape{2, 3, 8, 8}, Shape{4, 3, 56, 56}, Shape{2, 3, 7, 5}, Shape{33, 3}, Shape{1, 3, 1}})
    for (const double value : kMeans) {
      CAPTURE(shape.str(), value);
      const Affine affine(3);
      const Tensor x = nd::full(shape, value), wanted = beta_everywhere(affine, shape, 1);
      const auto predicted = [&](F& f, const Tensors& in) {
        return Tensors{batch_norm(f, in[0], affine, nd::full({3}, value), nd::zeros({3}))};
      };
      CHECK(same_bits(everywhere(predicted, {x})[0], wanted));
      const autograd::TrainMode train;
      CHECK(same_bits(everywhere(predicted, {x})[0], wanted));
    }
}

TEST_CASE("BatchNorm of another axis, of other types, and with relu") {
  const Affine affine(5);
  const auto normalized = [&](F& f, const Tensors& in) {
    const Tensor y = batch_norm(f, in[0], affine, nd::full({5}, 65535), nd::zeros({5}), -1);
    return Tensors{y, f.relu(y)};
  };
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
    const Shape shape{4, 6, 5};
    const Tensor x = nd::full(shape, 65536).astype(dtype);
    const autograd::TrainMode train;
    const Tensors got = everywhere(normalized, {x});
    const Tensor wanted = beta_everywhere(affine, shape, 2).astype(dtype);
    CHECK(same_bits(got[0], wanted));
    CHECK(same_bits(got[1], nd::relu(wanted)));
  }
}

TEST_CASE("a convolution, BatchNorm and relu are one kernel") {
  nn::HybridSequential net;
  net.add(nn::Conv2D(32, {.kernel_size = 3, .padding = 1}), nn::BatchNorm(), nn::Activation("relu"));
  net.initialize();
  const Tensor x = random::normal(0, 1, {1, 32, 14, 14});
  const Tensor eager = net(x);
  net.hybridize();
  CHECK(same_bits(net(x), eager));
  const Profile profile;
  net(x);
  std::size_t normalizing = 0;
  for (const Profile::Kernel& k : profile.kernels()) {
    if (k.name.find("batchnorm") == std::string::npos) continue;
    ++normalizing;
    CHECK(k.name.find("conv") != std::string::npos);
    CHECK(k.name.find("relu") != std::string::npos);
  }
  CHECK(normalizing == 1);
}

TEST_CASE("layer, instance and group normalization of equal elements are beta") {
  for (const Shape& shape : {Shape{2, 4, 8, 8}, Shape{2, 4, 56, 56}, Shape{3, 4, 7, 5}})
    for (const double value : kMeans) {
      CAPTURE(shape.str(), value);
      const Tensor x = nd::full(shape, value);
      const Affine channels(4), last(shape[3]);
      const auto all = [&](F& f, const Tensors& in) {
        return Tensors{f.InstanceNorm(in[0], channels.gamma, channels.beta, {.eps = 1e-5}),
                       f.GroupNorm(in[0], nd::ones({2}), nd::full({2}, 0.5), {.num_groups = 2}),
                       f.LayerNorm(in[0], last.gamma, last.beta),
                       f.LayerNorm(in[0], channels.gamma, channels.beta, {.axis = 1})};
      };
      const Tensors got = everywhere(all, {x});
      CHECK(same_bits(got[0], beta_everywhere(channels, shape, 1)));
      CHECK(same_bits(got[1], nd::full(shape, 0.5)));
      CHECK(same_bits(got[2], beta_everywhere(last, shape, 3)));
      CHECK(same_bits(got[3], beta_everywhere(channels, shape, 1)));
    }
}

TEST_CASE("large means beside the deviation") {
  random::seed(7);
  for (const double mean : {0.0, 100.0, 1e4, 65535.0, 1e6, -3e7}) {
    CAPTURE(mean);
    const Tensor x = random::normal(0, 1, {8, 3000}) + mean;
    const auto layer = [](F& f, const Tensors& in) {
      const Shape n{in[0].shape()[1]};
      const Tensor one = nd::ones({1}), zero = nd::zeros({1});
      return Tensors{
          f.LayerNorm(in[0], nd::ones(n), nd::zeros(n)),
          f.GroupNorm(f.expand_dims(in[0], {.axis = 1}), one, zero).reshape(in[0].shape()),
          f.InstanceNorm(f.expand_dims(in[0], {.axis = 1}), one, zero, {.eps = 1e-5}).reshape(in[0].shape())};
    };
    // The mean is rounded to f32, and a result is as far off as that is beside the deviation, of 1.
    const double half_ulp = std::abs(mean) * 0x1p-24;
    for (const Tensor& y : everywhere(layer, {x})) CHECK(greatest_error(x, y) < 4e-6 + 1.1 * half_ulp);
    // BatchNorm in training does not round it.
    const auto batch = [](F& f, const Tensors& in) {
      const std::int64_t rows = in[0].shape()[0];
      Affine affine(rows);
      affine.gamma = nd::ones({rows});
      affine.beta = nd::zeros({rows});
      return Tensors{
          f.transpose(batch_norm(f, f.transpose(in[0]), affine, nd::zeros({rows}), nd::ones({rows})))};
    };
    const autograd::TrainMode train;
    CHECK(greatest_error(x, everywhere(batch, {x})[0]) < 4e-6);
  }
}

TEST_CASE("gradients do not depend on the mean") {
  random::seed(8);
  const std::int64_t channels = 6;
  const Tensor noise = nd::floor(random::normal(0, 40, {32, channels, 5}));  // exact when a mean is added
  const Tensor head = random::normal(0, 1, noise.shape());
  const auto gradients = [&](double mean) {
    Tensor x = noise + mean;
    Affine affine(channels);
    for (Tensor* t : {&x, &affine.gamma, &affine.beta}) t->attach_grad();
    {
      autograd::Record record;
      F f;
      batch_norm(f, x, affine, nd::zeros({channels}), nd::ones({channels})).backward(head);
    }
    return Tensors{x.grad(), affine.gamma.grad(), affine.beta.grad()};
  };
  const Tensors about_zero = gradients(0);
  for (const double mean : {65536.0, -4194304.0, 8388608.0}) {
    CAPTURE(mean);
    const Tensors far = gradients(mean);
    for (std::size_t i = 0; i < far.size(); ++i) {
      const auto a = about_zero[i].to_vector<double>(), b = far[i].to_vector<double>();
      for (std::size_t j = 0; j < a.size(); ++j) CHECK(b[j] == Approx(a[j]).epsilon(2e-5).margin(2e-6));
    }
  }
}

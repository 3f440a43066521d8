// Mean and variance of a batch, which BatchNorm computes in one pass over its data.
#include "function_net.h"

#include <cmath>
#include <limits>

using namespace kiln;

namespace {

/// BatchNorm, in training: its result, the mean and the variance.
Tensors trained(F& f, const Tensors& in, int axis = 1) {
  const Shape channels{in[0].shape()[axis < 0 ? in[0].shape().rank() + axis : axis]};
  Tensor mean = zeros(channels), variance = zeros(channels);
  const Tensor y =
      f.BatchNorm(in[0], ones(channels), zeros(channels), mean, variance, {.momentum = 0, .axis = axis});
  return {y, mean + 0, variance + 0};
}
Net::Body along(int axis) {
  return [axis](F& f, const Tensors& in) { return trained(f, in, axis); };
}

/// Of one channel, in f64.
struct Exact {
  double mean = 0, variance = 0;
  explicit Exact(const std::vector<float>& x) {
    for (const float v : x) mean += v / static_cast<double>(x.size());
    for (const float v : x) variance += (v - mean) * (v - mean) / static_cast<double>(x.size());
  }
};

std::vector<float> normal(std::int64_t count, float mean, float deviation) {
  random::seed(5);
  return random::normal(mean, deviation, {count}).to_vector<float>();
}

/// The statistics of a batch of one channel.
Exact computed(const std::vector<float>& x) {
  const autograd::TrainMode train;
  const Tensors out = everywhere(along(1), {Tensor(x, {static_cast<std::int64_t>(x.size()), 1})});
  Exact result({});
  result.mean = out[1].item<float>();
  result.variance = out[2].item<float>();
  return result;
}

}  // namespace

TEST_CASE("both sums are one kernel") {
  const autograd::TrainMode train;
  // The element that the differences are from; the sums; of the channels: scale and shift, the mean, the
  // variance; the result.
  CHECK(kernels_of(along(1), {random::normal(0, 1, {300, 70})}).size() == 6);
}

TEST_CASE("sizes, types and axes") {
  const DType dtype = GENERATE(DType::f32, DType::f64, DType::f16, DType::bf16);
  CAPTURE(name_of(dtype));
  const autograd::TrainMode train;
  for (const Shape& shape : {Shape{0, 5}, Shape{5, 0}, Shape{1, 1}, Shape{1, 7}, Shape{7, 1}, Shape{33, 65},
                             Shape{2, 3, 1}, Shape{1, 1, 5, 5}, Shape{3, 17, 1, 9}, Shape{2, 16, 31, 33}})
    for (const int axis : {0, 1, -1}) {
      CAPTURE(shape.str(), axis);
      everywhere(along(axis), {random::uniform(-4, 4, shape).astype(dtype)});
    }
}

TEST_CASE("accuracy") {
  constexpr std::int64_t count = 10000;
  const auto close = [](const std::vector<float>& x, double tolerance) {
    const Exact exact(x), now = computed(x);
    CHECK(std::abs(now.mean - exact.mean) <=
          4e-7 * std::max(std::abs(exact.mean), std::sqrt(exact.variance)));
    CHECK(std::abs(now.variance - exact.variance) <= tolerance * exact.variance);
  };
  SECTION("about 0") { close(normal(count, 0, 1), 1e-6); }
  SECTION("a mean of a hundred thousand deviations") { close(normal(count, 1000, 0.01f), 1e-6); }
  SECTION("a mean of a million deviations") { close(normal(count, -1e6f, 1), 1e-6); }
  SECTION("one element far from the others") {
    for (const std::size_t where : {0, 2500, 5000, 7500, 9999}) {
      std::vector<float> x = normal(count, 3, 1);
      x[where] = 1000;
      close(x, 1e-6);
    }
  }
  SECTION("mostly zeros") {
    std::vector<float> x(count, 0);
    for (std::size_t i = 0; i < x.size(); i += 500) x[i + 1] = 7;
    x[count / 2] = 7;
    close(x, 1e-6);
  }
}

TEST_CASE("equal elements have that mean and no variance") {
  for (const float value : {0.0f, 0.1f, -1e30f, 1e-40f})
    for (const std::size_t count : {std::size_t{1}, std::size_t{3}, std::size_t{5000}}) {
      CAPTURE(value, count);
      const Exact now = computed(std::vector<float>(count, value));
      CHECK(static_cast<float>(now.mean) == value);
      CHECK(now.variance == 0);
    }
}

TEST_CASE("NaN and infinities stay in their channel") {
  const autograd::TrainMode train;
  for (const float special :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
    for (const std::size_t where :
         {std::size_t{0}, std::size_t{100}}) {  // 100 is in the middle of its channel
      std::vector<float> x = normal(200, 0, 1);
      x[where] = special;  // of channel 0
      const Tensors out = everywhere(along(1), {Tensor(x, {100, 2})});
      CHECK_FALSE(std::isfinite(out[1].to_vector<float>()[0]));
      CHECK(std::isnan(out[2].to_vector<float>()[0]));
      CHECK(std::isfinite(out[1].to_vector<float>()[1]));
      CHECK(out[2].to_vector<float>()[1] > 0.5f);
    }
}

TEST_CASE("a batch through a view, and one that a loop changes") {
  const autograd::TrainMode train;
  everywhere(
      [](F& f, const Tensors& in) {
        Tensor mean = zeros({6}), variance = ones({6});
        const auto norm = [&](const Tensor& x) {
          return f.BatchNorm(x, ones({6}), zeros({6}), mean, variance, {});
        };
        const Tensor turned = f.transpose(in[0], {.axes = Shape{0, 3, 1, 2}});
        Tensor y = norm(turned);
        for (int i = 0; i < 3; ++i) y = norm(y * y);
        const Tensor part = f.slice_axis(y, {.axis = 2, .begin = 1, .end = 3});
        return Tensors{norm(part), mean + 0, variance + 0};
      },
      {random::normal(2, 3, {3, 4, 5, 6})});
}

TEST_CASE("second derivatives do not depend on the element that the sums start from") {
  const auto gradient = [](const Tensor& x, const Tensor& head) {
    Tensor leaf = x.copy();
    leaf.attach_grad();
    nn::BatchNorm norm;
    norm.initialize();
    Tensor loss;
    {
      const autograd::Record recording;
      const Tensor slope = autograd::grad({(norm(leaf) * head).sum()}, {leaf}, {.create_graph = true})[0];
      loss = (slope * slope).sum();
    }
    loss.backward();
    return leaf.grad();
  };
  F f;
  const Tensor x = random::normal(5, 2, {4, 2, 3, 3}), head = random::normal(0, 1, {4, 2, 3, 3});
  // Images in another order have another element in the middle.
  const Tensor order(std::vector<float>{2, 0, 3, 1}, {4});
  const auto in_order = [&](const Tensor& all) { return f.take(all, order); };
  const Tensor there = gradient(in_order(x), in_order(head)), here = in_order(gradient(x, head));
  CHECK(f.max(f.abs(here)).item<float>() > 0.1f);
  CHECK(f.max(f.abs(there - here)).item<float>() < 1e-4f);
}

// Several reductions in one kernel: over the same axes, with an array that all read.
#include "function_net.h"

using namespace kiln;

namespace {

Tensor drawn(const Shape& shape, DType dtype = DType::f32) {
  random::seed(static_cast<std::uint64_t>(shape.elements()) + 1);
  const Tensor x = random::uniform(-4, 4, shape);
  return dtype == DType::i32 ? (x * 1000).astype(dtype) : x.astype(dtype);
}

/// The sums of dy and of dy * x, as in the gradient of a normalisation, and a number computed from both.
Tensors two_sums(F& f, const Tensors& in, const Shape& axes) {
  const Tensor sum = f.sum(in[0], {.axis = axes}), of_product = f.sum(in[0] * in[1], {.axis = axes});
  return {sum, of_product, of_product - sum * sum};
}

}  // namespace

TEST_CASE("two sums read their array in one kernel") {
  const auto over = [](const Shape& axes) {
    return [axes](F& f, const Tensors& in) {
      return Tensors{f.sum(in[0], {.axis = axes}), f.sum(in[0] * in[1], {.axis = axes})};
    };
  };
  CHECK(kernels_of(over({1}), {drawn({300, 301}), drawn({300, 301})}).size() == 1);
  CHECK(kernels_of(over({0}), {drawn({300, 301}), drawn({300, 301})}).size() == 1);
  CHECK(kernels_of(over({0, 1, 2}), {drawn({4, 9, 9, 8}), drawn({4, 9, 9, 8})}).size() == 1);
}

TEST_CASE("sizes, types and axes") {
  const DType dtype = GENERATE(DType::f32, DType::f64, DType::f16, DType::bf16, DType::i32);
  CAPTURE(name_of(dtype));
  for (const Shape& shape :
       {Shape{0, 5}, Shape{5, 0}, Shape{1, 1}, Shape{3, 1}, Shape{1, 70}, Shape{7, 63}, Shape{3, 64},
        Shape{2, 1023}, Shape{5, 1025}, Shape{70, 3}, Shape{513, 7}, Shape{1100, 130}})
    for (const int axis : {0, 1}) {
      CAPTURE(shape.str(), axis);
      everywhere([axis](F& f, const Tensors& in) { return two_sums(f, in, {axis}); },
                 {drawn(shape, dtype), drawn(shape, dtype)});
    }
}

TEST_CASE("blocks of blocks") {
  for (const Shape& shape : {Shape{2, 70000}, Shape{1, 1100000}, Shape{70000, 3}}) {
    CAPTURE(shape.str());
    for (const int axis : {0, 1})
      everywhere([axis](F& f, const Tensors& in) { return two_sums(f, in, {axis}); },
                 {drawn(shape), drawn(shape)});
  }
}

TEST_CASE("reductions of different kinds, and more than a kernel takes") {
  const auto kinds = [](F& f, const Tensors& in) {
    const Tensor& x = in[0];
    const Tensors all{f.sum(x, {.axis = 1}),         f.max(x, {.axis = 1}),        f.min(x, {.axis = 1}),
                      f.prod(x * 0.25, {.axis = 1}), f.sum(f.abs(x), {.axis = 1}), f.norm(x, {.axis = 1})};
    return all;
  };
  for (const std::int64_t columns : {1, 5, 64, 100, 2000}) {
    CAPTURE(columns);
    everywhere(kinds, {drawn({9, columns})});
  }
  std::vector<float> special(300, 0.5f);
  special[7] = std::numeric_limits<float>::quiet_NaN();
  special[199] = -std::numeric_limits<float>::infinity();
  everywhere(kinds, {Tensor(special, {3, 100})});
}

TEST_CASE("views, broadcast operands and what another reduction needs") {
  everywhere(
      [](F& f, const Tensors& in) {
        const Tensor turned = f.transpose(in[0], {.axes = Shape{1, 0}}),
                     part = f.slice_axis(in[0], {.axis = 1, .begin = 2, .end = 52});
        const Tensor mean = f.mean(in[0], {.axis = 1, .keepdims = true});
        return Tensors{f.sum(turned, {.axis = 0}),
                       f.sum(in[0], {.axis = 1}),
                       f.sum(part, {.axis = 1}),
                       f.sum(f.broadcast_mul(in[0], in[1]), {.axis = 1}),
                       mean,
                       f.sum(f.square(f.broadcast_sub(in[0], mean)), {.axis = 1})};
      },
      {drawn({40, 60}), drawn({1, 60})});
}

TEST_CASE("a result replaces an array that the other reduction reads") {
  const auto body = [](F& f, const Tensors& in) {
    Tensor moving = in[1];
    const Tensor away = f.sum(f.broadcast_sub(in[0], moving.reshape({1, -1})), {.axis = 0});
    const Tensor sum = f.sum(in[0], {.axis = 0});
    moving += sum * 0.5;
    return Tensors{away, sum, moving + 0};
  };
  for (const std::int64_t columns : {1, 7, 300}) {
    CAPTURE(columns);
    Tensor eager_state = drawn({columns}), compiled_state = eager_state.copy();
    const Tensor x = drawn({50, columns});
    Net eager(body), compiled(body);
    compiled.hybridize();
    for (int call = 0; call < 3; ++call) {
      const Tensors expected = eager({x, eager_state}), results = compiled({x, compiled_state});
      for (std::size_t i = 0; i < expected.size(); ++i) CHECK(same_bits(results[i], expected[i]));
      CHECK(same_bits(compiled_state, eager_state));
    }
  }
}

TEST_CASE("batch normalisation's gradients") {
  nn::BatchNorm norm;
  norm.initialize();
  Tensor x = drawn({4, 6, 9, 9});
  const Tensor head = drawn({4, 6, 9, 9});
  x.attach_grad();
  std::vector<Tensors> all;
  for (const bool compiled : {false, true}) {
    if (compiled) norm.hybridize();
    Tensor loss;
    {
      const autograd::Record recording;
      loss = (norm(x) * head).sum();
    }
    loss.backward();
    all.push_back({x.grad().copy(), norm.gamma.grad().copy(), norm.beta.grad().copy()});
  }
  for (std::size_t i = 0; i < all[0].size(); ++i) CHECK(same_bits(all[0][i], all[1][i]));
}

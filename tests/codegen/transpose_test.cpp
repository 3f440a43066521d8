// Copies and kernels whose operands lie across their rows in memory: squares are read and turned in
// registers.
#include "function_net.h"

#include <algorithm>
#include <numeric>

using namespace kiln;

namespace {

/// transpose(x, axes), element by element.
std::vector<double> expected(const Tensor& x, const Shape& axes) {
  const std::vector<double> from = x.to_vector<double>();
  std::vector<std::int64_t> strides(axes.size(), 1), at(axes.size(), 0);
  for (std::size_t i = axes.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * x.shape()[i + 1];
  std::vector<double> to;
  while (to.size() < from.size()) {
    std::int64_t place = 0;
    for (std::size_t i = 0; i < axes.size(); ++i) place += at[i] * strides[static_cast<std::size_t>(axes[i])];
    to.push_back(from[static_cast<std::size_t>(place)]);
    for (std::size_t i = axes.size(); i-- > 0 && ++at[i] == x.shape()[static_cast<std::size_t>(axes[i])];)
      at[i] = 0;
  }
  return to;
}

}  // namespace

TEST_CASE("every order of axes, for every type") {
  const DType dtype = GENERATE(DType::f32, DType::f64, DType::f16, DType::bf16, DType::u8, DType::i8,
                               DType::i32, DType::i64, DType::boolean);
  // Squares and what is left of them, more and fewer rows than a square has.
  const Shape shape =
      GENERATE(Shape{33, 50}, Shape{16, 16}, Shape{7, 40}, Shape{19, 3, 41}, Shape{2, 26, 9, 24});
  CAPTURE(dtype, shape);
  const Tensor x = numbered(shape, dtype);
  Shape axes = shape;
  std::iota(axes.begin(), axes.end(), 0);
  do {
    CAPTURE(axes);
    const auto turned = [&](F& f, const Tensors& in) { return Tensors{f.transpose(in[0], axes)}; };
    CHECK(everywhere(turned, {x})[0].to_vector<double>() == expected(x, axes));
    CHECK(x.transpose(axes).to_vector<double>() == expected(x, axes));
  } while (std::next_permutation(axes.begin(), axes.end()));
}

TEST_CASE("what lies across is an operand like others") {
  const auto drawn = [](const Shape& shape) { return random::uniform(-2, 2, shape); };
  const Tensors in{drawn({70, 90}), drawn({90, 70}), drawn({70, 90}), drawn({1, 70}), drawn({90, 1})};
  const auto mixed = [](F& f, const Tensors& in) {
    const Tensor turned = f.transpose(in[0]), other = f.transpose(in[2]);
    return Tensors{turned + in[1],
                   f.relu(turned * other - in[1]),
                   f.broadcast_add(f.broadcast_mul(turned, in[3]), in[4]),
                   f.exp(turned) + other,
                   f.where(turned > other, turned, in[1]),
                   f.sum(turned * in[1], {.axis = 1}),
                   f.flip(turned, {0}),
                   f.concat({turned, other}, {.dim = 1})};
  };
  everywhere(mixed, in);
}

TEST_CASE("rows narrower than a register") {
  const DType dtype = GENERATE(DType::f32, DType::f64, DType::f16, DType::u8);
  const std::int64_t channels = GENERATE(2, 3, 4, 5, 7, 8, 9, 15, 16);
  // More points than a square has rows, whole squares or not, and fewer.
  const Shape points = GENERATE(Shape{19, 23}, Shape{16, 32}, Shape{1, 3});
  CAPTURE(dtype, channels, points);
  const std::int64_t images = 5000 / (points[0] * points[1] * channels) + 2;
  const auto drawn = [&](const Shape& shape) { return random::uniform(0, 8, shape).astype(dtype); };
  const Tensor x = numbered({images, channels, points[0], points[1]}, dtype),
               like_result = drawn({images, points[0], points[1], channels}), bias = drawn({channels});
  const Shape axes{0, 2, 3, 1};
  const auto turned = [&](F& f, const Tensors& in) { return Tensors{f.transpose(in[0], axes)}; };
  CHECK(everywhere(turned, {x})[0].to_vector<double>() == expected(x, axes));
  CHECK(x.transpose(axes).to_vector<double>() == expected(x, axes));
  const Tensor last = x.transpose(axes).copy();
  const auto turned_back = [&](F& f, const Tensors& in) { return Tensors{f.transpose(in[0], {0, 3, 1, 2})}; };
  CHECK(everywhere(turned_back, {last})[0].to_vector<double>() == x.to_vector<double>());
  // An operand that ends with a row; one that a result may overwrite; two results.
  const auto mixed = [&](F& f, const Tensors& in) {
    const Tensor turned = f.transpose(in[0], axes);
    return Tensors{f.broadcast_add(turned, in[2]), turned + in[1], f.relu(turned - in[1])};
  };
  everywhere(mixed, {x, like_result, bias});
  // The same where as many rows as there are channels are long.
  const auto mixed_back = [&](F& f, const Tensors& in) {
    const Tensor turned = f.transpose(in[0], {0, 3, 1, 2});
    return Tensors{f.broadcast_add(turned, in[2]), turned + in[1], f.relu(turned - in[1])};
  };
  everywhere(mixed_back, {last, x, drawn({1, channels, 1, 1})});
}

TEST_CASE("rows are shared out between threads in whole squares") {
  const auto turned = [](F& f, const Tensors& in) {
    return Tensors{f.transpose(in[0]), f.transpose(in[1], {2, 0, 3, 1})};
  };
  everywhere(turned, {numbered({1003, 517}, DType::f32), numbered({5, 31, 37, 64}, DType::f32)});
}

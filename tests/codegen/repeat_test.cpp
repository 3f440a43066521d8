// Elements that are read for several neighbours: a part of a register is loaded and its lanes repeated.
#include "function_net.h"

using namespace kiln;

namespace {

std::vector<double> each_repeated(const Tensor& x, std::int64_t times) {
  std::vector<double> all;
  for (const double v : x.to_vector<double>()) all.insert(all.end(), static_cast<std::size_t>(times), v);
  return all;
}

}  // namespace

TEST_CASE("elements repeated, for every type and number of times") {
  const DType dtype = GENERATE(DType::f32, DType::f64, DType::f16, DType::bf16, DType::u8, DType::i8,
                               DType::i32, DType::i64, DType::boolean);
  const std::int64_t times = GENERATE(2, 3, 4, 5, 8, 16);
  // Rows of whole registers, with a rest, of less than one; more of them than one piece of work.
  const Shape shape = GENERATE(Shape{3, 64}, Shape{5, 37}, Shape{2100, 3}, Shape{1}, Shape{40001});
  CAPTURE(dtype, times, shape);
  const Tensor x = numbered(shape, dtype);
  const auto repeated = [&](F& f, const Tensors& in) {
    return Tensors{f.repeat(in[0], {.repeats = static_cast<int>(times), .axis = shape.rank() - 1})};
  };
  CHECK(everywhere(repeated, {x})[0].to_vector<double>() == each_repeated(x, times));
}

TEST_CASE("what is repeated is an operand like others") {
  const auto drawn = [](const Shape& shape) { return random::uniform(-2, 2, shape); };
  const Tensors in{drawn({2, 3, 6, 11}), drawn({2, 3, 12, 22}), drawn({2, 3, 6, 11}), drawn({1, 3, 1, 1}),
                   drawn({1, 1, 1, 22})};
  const auto mixed = [](F& f, const Tensors& in) {
    const auto twice = [&](const Tensor& x) {
      return f.UpSampling({x}, {.scale = 2, .sample_type = "nearest"});
    };
    const Tensor large = twice(in[0]), other = twice(in[2]);
    const auto pairs = [&](const Tensor& x) { return f.reshape(x, {2, 3, 6, 2, 11, 2}); };
    const auto spread = [&](const Tensor& x) {
      return f.broadcast_like(f.reshape(x, {2, 3, 6, 1, 11, 1}), pairs(in[1]));
    };
    return Tensors{large + in[1],
                   f.relu(large * other - in[1]),
                   f.broadcast_add(f.broadcast_mul(large, in[3]), in[4]),
                   f.exp(large) + other,
                   f.where(large > in[1], large, other),
                   spread(in[0]) * pairs(in[1]) + spread(in[2]),
                   f.exp(spread(in[0]) - pairs(in[1])),
                   f.sum(spread(in[0]) * pairs(in[1]), {.axis = {3, 5}}),
                   f.transpose(large, {0, 2, 3, 1})};
  };
  const Tensors out = everywhere(mixed, in);
  const auto small = in[0].to_vector<float>(), wide = in[1].to_vector<float>(),
             sum = out[0].to_vector<float>();
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const std::size_t image = i / (12 * 22), row = i / 22 % 12, column = i % 22;
    REQUIRE(sum[i] == small[(image * 6 + row / 2) * 11 + column / 2] + wide[i]);
  }
}

// Rows that read a shared operand; a kernel takes several at once. Any number of rows, of any length, gives
// the same as each row by itself.
#include "function_net.h"

using namespace kiln;

namespace {

/// Whole numbers, so that sums are exact.
Tensor numbers(const Shape& shape) {
  if (shape.elements() == 0) return nd::zeros(shape);
  return nd::arange(shape.elements()).reshape(shape) % 97 - 40;
}

std::vector<double> values_of(const Tensor& x) { return x.astype(DType::f64).to_vector<double>(); }

}  // namespace

TEST_CASE("rows with a scale and a shift in common") {
  const DType dtype = GENERATE(DType::f32, DType::f64, DType::f16, DType::i32);
  CAPTURE(name_of(dtype));
  for (const std::int64_t columns : {511, 512, 600})
    for (std::int64_t rows = 1; rows <= 6; ++rows) {
      CAPTURE(rows, columns);
      const Tensor x = numbers({rows, columns}).astype(dtype), scale = (numbers({columns}) % 5).astype(dtype),
                   shift = numbers({columns}).astype(dtype);
      const auto y = values_of(everywhere(
          [](F& f, const Tensors& in) {
            return Tensors{f.broadcast_add(f.broadcast_mul(in[0], in[1]), in[2])};
          },
          {x, scale, shift})[0]);
      const auto xs = values_of(x), scales = values_of(scale), shifts = values_of(shift);
      std::vector<double> expected;
      for (std::size_t i = 0; i < xs.size(); ++i)
        expected.push_back(xs[i] * scales[i % scales.size()] + shifts[i % shifts.size()]);
      CHECK(y == expected);
    }
}

TEST_CASE("what is shared along one axis and not along another") {
  const Tensor x = numbers({3, 5, 300}), by_row = numbers({3, 1, 300}), by_image = numbers({1, 5, 300});
  const auto results = everywhere(
      [](F& f, const Tensors& in) {
        return Tensors{f.broadcast_sub(in[0], in[1]), f.broadcast_sub(in[0], in[2])};
      },
      {x, by_row, by_image});
  const auto xs = values_of(x), rows = values_of(by_row), images = values_of(by_image);
  std::vector<double> less_row, less_image;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    less_row.push_back(xs[i] - rows[i / 1500 * 300 + i % 300]);
    less_image.push_back(xs[i] - images[i % 1500]);
  }
  CHECK(values_of(results[0]) == less_row);
  CHECK(values_of(results[1]) == less_image);
}

TEST_CASE("sums of what is less than something that all elements of a row share") {
  for (const std::int64_t columns : {0, 1, 63, 64, 1024, 1100}) {
    CAPTURE(columns);
    const Tensor x = numbers({4, columns}), less = numbers({4, 1});
    const auto y = values_of(everywhere(
        [](F& f, const Tensors& in) { return Tensors{f.sum(f.broadcast_sub(in[0], in[1]), {.axis = 1})}; },
        {x, less})[0]);
    const auto xs = values_of(x), lesses = values_of(less);
    std::vector<double> expected(4);
    for (std::size_t i = 0; i < xs.size(); ++i)
      expected[i / static_cast<std::size_t>(columns)] +=
          xs[i] - lesses[i / static_cast<std::size_t>(columns)];
    CHECK(y == expected);
  }
}

// Cumulative sums: the chains that kiln.cumulative in ir/KilnOps.td defines, to the bit, for rows that stay
// in registers, for streams of whole rows, and for parts of rows.
#include "function_net.h"

#include <algorithm>

using namespace kiln;

namespace {

template <class T>
std::vector<T> sums(std::vector<T> x, std::int64_t arrays, std::int64_t rows, std::int64_t length) {
  for (std::int64_t a = 0; a < arrays; ++a)
    for (std::int64_t i = length; i < rows * length; ++i) {
      const auto at = static_cast<std::size_t>(a * rows * length + i);
      x[at] = static_cast<T>(x[at - static_cast<std::size_t>(length)] + x[at]);
    }
  return x;
}

}  // namespace

TEST_CASE("cumulative sums are those of their definition", "[cumulative]") {
  // Arrays, rows and their length. Lengths: part of a register, a few registers, the most that stay in
  // registers, one more, streams, more bytes than a strip has.
  const auto [arrays, rows, length] =
      GENERATE(table<std::int64_t, std::int64_t, std::int64_t>({{1, 9, 1},
                                                                {4, 5, 1},
                                                                {1, 7, 3},
                                                                {3, 6, 16},
                                                                {2, 5, 17},
                                                                {5, 4, 33},
                                                                {1, 6, 128},
                                                                {2, 3, 129},
                                                                {1, 3, 255},
                                                                {1, 4, 256},
                                                                {1, 5, 257},
                                                                {3, 4, 300},
                                                                {1, 1, 1000},
                                                                {2, 3, 1025},
                                                                {1, 4, 2051},
                                                                {1, 3, 70'001},
                                                                {2, 2, 131'080}}));
  const DType dtype = GENERATE(DType::f32, DType::f64, DType::f16, DType::i32, DType::u8);
  CAPTURE(arrays, rows, length, name_of(dtype));
  random::seed(7);
  const bool is_whole = dtype == DType::i32 || dtype == DType::u8;
  const Tensor x = (is_whole ? random::uniform(0, 200, {arrays, rows, length})
                             : random::uniform(-1, 1, {arrays, rows, length}))
                       .astype(dtype);
  const Tensor y = everywhere([](F& f, const Tensors& in) { return Tensors{f.cumsum(in[0], 1)}; }, {x})[0];
  const auto check = [&]<class T>(T) {
    CHECK(y.to_vector<T>() == sums(x.to_vector<T>(), arrays, rows, length));
  };
  switch (dtype) {
    case DType::f32:
      return check(0.0F);
    case DType::f64:
      return check(0.0);
    case DType::i32:
      return check(std::int32_t{0});
    case DType::u8:
      return check(std::uint8_t{0});
    default: {  // each sum is rounded
      Tensor sum = x.slice_axis(1, 0, 1);
      for (std::int64_t r = 0; r < rows; ++r) {
        if (r > 0) sum = sum + x.slice_axis(1, r, r + 1);
        CHECK(same_bits(y.slice_axis(1, r, r + 1), sum));
      }
    }
  }
}

TEST_CASE("parts of rows leave what lies beside them", "[cumulative]") {
  const Tensor x = random::uniform(-1, 1, {3, 777});
  const Tensors y = everywhere(
      [](F& f, const Tensors& in) {
        const Tensor sum = f.cumsum(in[0], 0);
        return Tensors{f.concat({in[0], sum, in[0]}, {.dim = 0}), sum};
      },
      {x});
  CHECK(same_bits(y[0][slice(3, 6)], y[1]));
  CHECK(same_bits(y[0][slice(6, 9)], x));
}

TEST_CASE("a single row leaves what lies after it", "[cumulative]") {
  // Arrays of whole cache lines: one begins where the other ends. The third sum takes the place of the first
  // one, before the second, which is still needed.
  const Tensor x = random::uniform(1, 2, {1, 1024});
  const auto pairs = [](F& f, const Tensor& v) { return f.sum(v.reshape({512, 2}), {.axis = 1}); };
  const Tensor y = everywhere(
      [&](F& f, const Tensors& in) {
        const Tensor first = f.cumsum(in[0], 0), second = f.cumsum(first, 0), third = f.cumsum(second, 0);
        return Tensors{pairs(f, second * 2 + third)};
      },
      {x})[0];
  CHECK(same_bits(y, nd::sum((x * 3).reshape({512, 2}), {.axis = 1})));
}

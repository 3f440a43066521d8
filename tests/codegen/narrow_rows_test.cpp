// Rows that do not fill a register: all of their elements are written, and none beside them.
#include "function_net.h"

using namespace kiln;

namespace {

constexpr std::int64_t rows = 700;

/// Of 0 to 63, which every type holds.
Tensor numbers(std::int64_t columns) { return nd::arange(rows * columns).reshape({rows, columns}) % 64; }

/// The columns [from, from + count) of a matrix, one after the other.
std::vector<double> columns_of(const Tensor& x, std::int64_t from, std::int64_t count) {
  const auto all = x.astype(DType::f64).to_vector<double>();
  const std::int64_t width = x.shape()[1];
  std::vector<double> picked;
  for (std::int64_t c = from; c < from + count; ++c)
    for (std::int64_t r = 0; r < x.shape()[0]; ++r)
      picked.push_back(all[static_cast<std::size_t>(r * width + c)]);
  return picked;
}

}  // namespace

TEST_CASE("narrow rows beside others", "[narrow_rows]") {
  const DType dtype = GENERATE(DType::f32, DType::f64, DType::f16, DType::i32, DType::u8);
  CAPTURE(name_of(dtype));
  for (std::int64_t n = 1; n <= 17; ++n) {
    CAPTURE(n);
    const Tensor x = numbers(n + 5).astype(dtype);
    const Tensor y = everywhere(
        [&](F& f, const Tensors& in) {
          const Tensor left = f.slice_axis(in[0], {.axis = 1, .begin = 0, .end = 2}),
                       middle = f.slice_axis(in[0], {.axis = 1, .begin = 2, .end = n + 2}),
                       right = f.slice_axis(in[0], {.axis = 1, .begin = n + 2, .end = n + 5});
          return Tensors{f.concat({left, f.relu(middle) + middle, right}, {.dim = 1})};
        },
        {x})[0];
    REQUIRE(y.shape() == x.shape());
    const Tensor twice = nd::relu(x) + x;
    CHECK(columns_of(y, 0, 2) == columns_of(x, 0, 2));
    CHECK(columns_of(y, 2, n) == columns_of(twice, 2, n));
    CHECK(columns_of(y, n + 2, 3) == columns_of(x, n + 2, 3));
  }
}

TEST_CASE("narrow rows that share elements", "[narrow_rows]") {
  const DType dtype = GENERATE(DType::f32, DType::f64, DType::f16);
  const bool of_function = GENERATE(true, false);
  CAPTURE(name_of(dtype), of_function);
  for (std::int64_t n = 1; n <= 70; ++n)
    for (const std::int64_t count : {rows, rows + 1, std::int64_t{3}}) {
      CAPTURE(n, count);
      const auto element = [&](std::int64_t r, std::int64_t c) {
        return static_cast<double>((r * n + c) % 7);
      };
      const auto of_row = [](std::int64_t r) { return static_cast<double>(r % 5); };
      const auto of_column = [](std::int64_t c) { return static_cast<double>(c % 3 - 1) / 4; };
      std::vector<double> elements, of_rows, of_columns, products;
      for (std::int64_t c = 0; c < n; ++c) of_columns.push_back(of_column(c));
      for (std::int64_t r = 0; r < count; ++r) {
        of_rows.push_back(of_row(r));
        for (std::int64_t c = 0; c < n; ++c) {
          elements.push_back(element(r, c));
          products.push_back((element(r, c) - of_row(r)) * of_column(c));
        }
      }
      const auto tensor = [&](const std::vector<double>& values, Shape shape) {
        return Tensor(values, std::move(shape)).astype(dtype);
      };
      const auto function = [&](F& f, const Tensor& x) { return of_function ? f.exp(x) : -x; };
      const Tensor y = everywhere(
          [&](F& f, const Tensors& in) { return Tensors{function(f, (in[0] - in[1]) * in[2])}; },
          {tensor(elements, {count, n}), tensor(of_rows, {count, 1}), tensor(of_columns, {1, n})})[0];
      const Tensor flat = tensor(products, {count * n});
      const Tensor expected = of_function ? nd::exp(flat) : -flat;
      REQUIRE(y.astype(DType::f64).to_vector<double>() == expected.astype(DType::f64).to_vector<double>());
    }
}

TEST_CASE("products of few columns beside others", "[narrow_rows]") {
  const DType dtype = GENERATE(DType::f32, DType::f64, DType::f16);
  CAPTURE(name_of(dtype));
  random::seed(5);
  const Tensor x = random::uniform(-1, 1, {50, 7}).astype(dtype),
               w = random::uniform(-1, 1, {7, 64}).astype(dtype), edge = nd::ones({50, 3}).astype(dtype);
  const Tensor all = nd::dot(x, w);
  for (std::int64_t n = 1; n <= 50; ++n) {
    CAPTURE(n);
    const Tensor y = everywhere(
        [&](F& f, const Tensors& in) {
          return Tensors{f.concat({in[2], f.relu(f.dot(in[0], in[1])), in[2]}, {.dim = 1})};
        },
        {x, nd::slice_axis(w, {.axis = 1, .begin = 0, .end = n}), edge})[0];
    REQUIRE(y.shape() == Shape{50, n + 6});
    CHECK(columns_of(y, 0, 3) == columns_of(edge, 0, 3));
    CHECK(columns_of(y, 3, n) == columns_of(nd::relu(all), 0, n));
    CHECK(columns_of(y, n + 3, 3) == columns_of(edge, 0, 3));
  }
}

TEST_CASE("groups of one and of three columns", "[narrow_rows]") {
  const DType dtype = GENERATE(DType::f32, DType::f64, DType::f16, DType::bf16);
  const std::int64_t columns = GENERATE(1, 2, 3, 5);
  CAPTURE(name_of(dtype), columns);
  const Tensors in{random::uniform(-1, 1, {2, 4, 5, 6}).astype(dtype),
                   random::uniform(-1, 1, {2 * columns, 2, 2, 2}).astype(dtype)};
  const auto convolved = [&](F& f, const Tensors& in) {
    return f.Convolution(in[0], in[1],
                         {.kernel = {2, 2}, .num_filter = 2 * columns, .num_group = 2, .no_bias = true});
  };
  const auto both = [&](F& f, const Tensors& in) {
    return Tensors{convolved(f, in), f.negative(convolved(f, {f.negative(in[0]), in[1]}))};
  };
  const Tensors y = everywhere(both, in);
  CHECK(y[0].to_vector<double>() == y[1].to_vector<double>());
}

// Sorted orders, scattering and running sums through the public surface, against the standard library.
#include "function_net.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

using namespace kiln;
using Catch::Matchers::Contains;
using Floats = std::vector<float>;
using Doubles = std::vector<double>;
using Ints = std::vector<std::int64_t>;

namespace {

/// The stable order of `n` numbers, NaN last.
Ints order_of(const double* x, std::size_t n, bool ascend) {
  Ints order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
    const double a = x[i], b = x[j];
    if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
    return ascend ? a < b : a > b;
  });
  return order;
}

/// Few different numbers, so that many are equal; where the dtype has them NaN, infinities and both zeros.
Tensor with_ties(const Shape& shape, DType dtype, unsigned seed) {
  std::mt19937 random(seed);
  const auto n = static_cast<std::size_t>(shape.elements());
  const bool real = dtype == DType::f32 || dtype == DType::f64 || dtype == DType::f16 || dtype == DType::bf16;
  const bool is_signed = dtype != DType::u8 && dtype != DType::boolean;
  Doubles x(n);
  for (double& v : x) {
    v = static_cast<double>(random() % 23);
    if (is_signed) v -= 11;
    if (dtype == DType::boolean) v = random() % 2;
    if (!real) continue;
    switch (random() % 16) {
      case 0:
        v = std::numeric_limits<double>::quiet_NaN();
        break;
      case 1:
        v = -std::numeric_limits<double>::quiet_NaN();
        break;
      case 2:
        v = std::numeric_limits<double>::infinity();
        break;
      case 3:
        v = -std::numeric_limits<double>::infinity();
        break;
      case 4:
        v = -0.0;
        break;
      default:
        v *= 0.25;
    }
  }
  return Tensor(x, shape).astype(dtype);
}

}  // namespace

TEST_CASE("argsort is the stable order for every dtype and length", "[sort]") {
  for (const DType dtype :
       {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i8, DType::u8, DType::i32, DType::i64})
    for (const std::int64_t n : {1, 2, 7, 8, 9, 15, 16, 17, 63, 100, 1000})
      for (const bool ascend : {true, false}) {
        INFO(name_of(dtype) << " " << n << (ascend ? " up" : " down"));
        const Tensor x = with_ties({3, n}, dtype, static_cast<unsigned>(n));
        const Tensor order = nd::argsort(x, {.is_ascend = ascend, .dtype = DType::i64});
        const Doubles values = x.to_vector<double>();
        Ints expected;
        for (std::size_t row = 0; row < 3; ++row) {
          const auto length = static_cast<std::size_t>(n);
          const Ints one = order_of(values.data() + row * length, length, ascend);
          expected.insert(expected.end(), one.begin(), one.end());
        }
        CHECK(order.to_vector<std::int64_t>() == expected);
      }
}

TEST_CASE("extremes of the integers keep their places", "[sort]") {
  const std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                     most = std::numeric_limits<std::int64_t>::max();
  const Tensor x(Ints{0, most, least, -1, most - 1, least + 1}, {6});
  CHECK(nd::sort(x).to_vector<std::int64_t>() == Ints{least, least + 1, -1, 0, most - 1, most});
  CHECK(nd::sort(x, {.is_ascend = false}).to_vector<std::int64_t>() ==
        Ints{most, most - 1, 0, -1, least + 1, least});
}

TEST_CASE("sorted values are the elements themselves, on any axis", "[sort]") {
  const Tensor x = with_ties({5, 33, 4}, DType::f32, 3);
  for (const int axis : {0, 1, 2, -2}) {
    const Net::Body body = [&](F& F, const Tensors& in) {
      return Tensors{F.sort(in[0], {.axis = axis}), F.argsort(in[0], {.axis = axis, .is_ascend = false})};
    };
    const Tensors y = everywhere(body, {x});
    CHECK(y[0].shape() == x.shape());
    // Each line along the axis holds the same elements, rising; NaNs are last.
    const Tensor lines = nd::swapaxes(y[0], {.dim1 = axis < 0 ? 1 : axis, .dim2 = 2});
    const Doubles v = lines.to_vector<double>();
    const auto n = static_cast<std::size_t>(lines.shape()[2]);
    for (std::size_t i = 0; i < v.size(); ++i)
      if (i % n != 0) CHECK((v[i - 1] <= v[i] || std::isnan(v[i])));
  }
  CHECK(nd::sort(x, {.axis = std::nullopt}).shape() == Shape{660});
}

TEST_CASE("a long row and many rows sort alike on all threads", "[sort]") {
  const Tensor row = with_ties({100000}, DType::f32, 5), rows = with_ties({500, 70}, DType::f64, 6);
  const Net::Body body = [](F& F, const Tensors& in) {
    return Tensors{F.argsort(in[0] + 1, {.dtype = DType::i64}), F.sort(in[1], {.is_ascend = false})};
  };
  const Tensors y = everywhere(body, {row, rows});
  const Doubles shifted = (row + 1).to_vector<double>();
  CHECK(y[0].to_vector<std::int64_t>() == order_of(shifted.data(), shifted.size(), true));
}

TEST_CASE("the first of long rows for every dtype, length and count", "[sort]") {
  const DType dtype =
      GENERATE(DType::f32, DType::f64, DType::f16, DType::bf16, DType::i8, DType::u8, DType::i32, DType::i64);
  for (const std::int64_t n : {66, 67, 129, 200, 1000, 3001})
    for (const std::int64_t k : {1, 2, 5, 31, 67, 160, 161, 384, 468})
      for (const bool ascend : {true, false}) {
        if (k > n) continue;
        INFO(name_of(dtype) << " " << k << " of " << n << (ascend ? " up" : " down"));
        const Tensor x = with_ties({2, n}, dtype, static_cast<unsigned>(n));
        const Tensor first = nd::topk(x, {.k = k, .is_ascend = ascend, .dtype = DType::i64});
        const Doubles values = x.to_vector<double>();
        Ints expected;
        for (std::size_t row = 0; row < 2; ++row) {
          const auto length = static_cast<std::size_t>(n);
          const Ints order = order_of(values.data() + row * length, length, ascend);
          expected.insert(expected.end(), order.begin(), order.begin() + k);
        }
        CHECK(first.to_vector<std::int64_t>() == expected);
      }
}

TEST_CASE("the first of rows whose order fills the candidates again and again", "[sort]") {
  constexpr std::size_t n = 5000;
  Doubles rising(n), falling(n), equal(n, 3), few(n, NAN), waves(n);
  for (std::size_t i = 0; i < n; ++i) {
    rising[i] = static_cast<double>(i);
    falling[i] = -static_cast<double>(i);
    waves[i] = std::sin(static_cast<double>(i) * 0.01) * static_cast<double>(i);
    if (i % 997 == 5) few[i] = static_cast<double>(i % 7);
  }
  for (const Doubles& x : {rising, falling, equal, few, waves})
    for (const std::int64_t k : {1, 17, 150, 300, 2000})
      for (const bool ascend : {true, false}) {
        INFO(k << " " << x[0] << " " << x[n - 1]);
        const Tensor row(x, {static_cast<std::int64_t>(n)});
        Ints order = order_of(x.data(), n, ascend);
        order.resize(static_cast<std::size_t>(k));
        for (const DType dtype : {DType::f64, DType::f32}) {
          const Tensors y = everywhere(
              [&](F& F, const Tensors& in) {
                return Tensors{F.topk(in[0], {.k = k, .is_ascend = ascend, .dtype = DType::i64})};
              },
              {row.astype(dtype)});
          CHECK(y[0].to_vector<std::int64_t>() == order);
        }
      }
}

TEST_CASE("the first along an axis, of views and on all threads", "[sort]") {
  const Tensor x = with_ties({300, 7, 40}, DType::f32, 9);
  const Net::Body body = [](F& F, const Tensors& in) {
    const Tensors both = F.topk_both(F.transpose(in[0], {.axes = Shape{2, 1, 0}}) * 2, {.axis = 2, .k = 9});
    return Tensors{F.topk(in[0], {.axis = 0, .k = 3, .ret_typ = "mask"}),
                   F.topk(in[0], {.axis = 0, .k = 20, .ret_typ = "value", .is_ascend = true}),
                   F.topk(in[0], {.axis = std::nullopt, .k = 100}),
                   F.slice_axis(F.argsort(in[0], {.axis = 0}), {.axis = 0, .begin = 0, .end = 4}),
                   both[0],
                   both[1]};
  };
  const Tensors y = everywhere(body, {x});
  CHECK(F().sum(y[0]).item<float>() == 3 * 7 * 40);
  CHECK(same_bits(y[1], F().slice_axis(nd::sort(x, {.axis = 0}), {.axis = 0, .begin = 0, .end = 20})));
  CHECK(same_bits(y[3], nd::topk(x, {.axis = 0, .k = 4, .is_ascend = true})));
}

TEST_CASE("topk gives indices, values, both and masks", "[sort]") {
  const Tensor x{{1, 5, 5, 2}, {9, 0, 3, 9}};
  CHECK(nd::topk(x).to_vector<float>() == Floats{1, 0});
  CHECK(nd::topk(x, {.k = 3}).to_vector<float>() == Floats{1, 2, 3, 0, 3, 2});
  CHECK(nd::topk(x, {.k = 2, .ret_typ = "value", .is_ascend = true}).to_vector<float>() ==
        Floats{1, 2, 0, 3});
  CHECK(nd::topk(x, {.k = 2, .ret_typ = "mask"}).to_vector<float>() == Floats{0, 1, 1, 0, 1, 0, 0, 1});
  CHECK(nd::topk(x, {.axis = 0, .ret_typ = "mask"}).to_vector<float>() == Floats{0, 1, 1, 0, 1, 0, 0, 1});
  CHECK(nd::topk(x, {.axis = std::nullopt, .k = 3, .ret_typ = "mask"}).shape() == x.shape());
  const Tensors both = nd::topk_both(x, {.axis = std::nullopt, .k = 3, .dtype = DType::i32});
  REQUIRE(both.size() == 2);
  CHECK(both[0].to_vector<float>() == Floats{9, 9, 5});
  CHECK(both[1].dtype() == DType::i32);
  CHECK(both[1].to_vector<int>() == std::vector<int>{4, 7, 1});
  CHECK(x.topk({.k = 0, .ret_typ = "value"}).shape() == x.shape());
  CHECK_THROWS_WITH(nd::topk(x, {.k = 5}), Contains("5 of the 4") && Contains("sort_test.cpp"));
  CHECK_THROWS_WITH(nd::topk(x, {.ret_typ = "both"}), Contains("topk_both"));
  everywhere(
      [](F& F, const Tensors& in) {
        return Tensors{F.topk(in[0], {.axis = 1, .k = 7, .ret_typ = "mask"}),
                       F.topk(in[0], {.axis = 1, .k = 7, .ret_typ = "value"})};
      },
      {with_ties({6, 50, 9}, DType::f32, 8)});
}

TEST_CASE("scatter_nd is the inverse of gather_nd, and the last of several wins", "[sort][scatter]") {
  const Tensor indices{{0, 2, 0}, {1, 0, 1}};
  const Tensor y = nd::scatter_nd(Tensor{1, 2, 3}, indices, {3, 2});
  CHECK(y.to_vector<float>() == Floats{0, 3, 0, 0, 2, 0});
  CHECK(nd::gather_nd(y, indices).to_vector<float>() == Floats{3, 2, 3});
  const Tensor rows =
      nd::scatter_nd(Tensor{{1, 2}, {3, 4}}, Tensor({-1, 0}, DType::i64).reshape({1, 2}), {3, 2});
  CHECK(rows.to_vector<float>() == Floats{3, 4, 0, 0, 1, 2});
  CHECK_THROWS_WITH(nd::scatter_nd(Tensor{1, 2}, indices, {3, 2}), Contains("(3,)") && Contains("(2,)"));
  CHECK_THROWS_WITH(nd::scatter_nd(Tensor{1, 2, 3}, indices, {3, -2}), Contains("-2"));
}

TEST_CASE("many updates of few rows come in their order on all threads", "[sort][scatter]") {
  std::mt19937 random(1);
  constexpr std::size_t n = 5000, width = 19;
  Ints to(n);
  Floats data(n * width), expected(7 * width, 0);
  for (std::int64_t& i : to) i = static_cast<std::int64_t>(random() % 7);
  for (float& v : data) v = static_cast<float>(random() % 1000);
  for (std::size_t i = 0; i < n; ++i)
    std::copy_n(data.begin() + static_cast<std::ptrdiff_t>(i * width), width,
                expected.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(to[i]) * width));
  const Tensors y = everywhere(
      [](F& F, const Tensors& in) {
        return Tensors{F.scatter_nd(in[0], in[1], {7, 19})};
      },
      {Tensor(data, {5000, 19}), Tensor(to, {1, 5000})});
  CHECK(y[0].to_vector<float>() == expected);
}

TEST_CASE("cumsum adds in the order of the axis", "[sort][cumsum]") {
  const Tensor x{{1, 2, 3}, {4, 5, 6}};
  CHECK(nd::cumsum(x).to_vector<float>() == Floats{1, 3, 6, 10, 15, 21});
  CHECK(x.cumsum({.axis = 0}).to_vector<float>() == Floats{1, 2, 3, 5, 7, 9});
  CHECK(x.cumsum({.axis = -1}).to_vector<float>() == Floats{1, 3, 6, 4, 9, 15});
  CHECK(nd::cumsum(x, {.dtype = DType::i64}).dtype() == DType::i64);
  std::mt19937 random(2);
  Floats data(40 * 300 * 21);
  for (float& v : data)
    v = std::ldexp(static_cast<float>(random() % 65536), static_cast<int>(random() % 24) - 12);
  for (const int axis : {0, 1, 2}) {
    const Tensors y =
        everywhere([&](F& F, const Tensors& in) { return Tensors{F.cumsum(in[0], {.axis = axis})}; },
                   {Tensor(data, {40, 300, 21})});
    Floats expected = data;
    const std::size_t step = axis == 0 ? 6300 : axis == 1 ? 21 : 1;
    const std::size_t extent = axis == 0 ? 40 : axis == 1 ? 300 : 21;
    for (std::size_t i = 0; i < data.size(); ++i)
      if (i / step % extent != 0) expected[i] = expected[i - step] + expected[i];
    CHECK(y[0].to_vector<float>() == expected);
  }
}

TEST_CASE("arrays without elements have an order too", "[sort]") {
  CHECK(nd::sort(zeros({0})).shape() == Shape{0});
  CHECK(nd::argsort(zeros({3, 0})).shape() == Shape{3, 0});
  CHECK(nd::cumsum(zeros({0, 4}), {.axis = 0}).shape() == Shape{0, 4});
}

TEST_CASE("shuffle moves whole rows", "[sort][random]") {
  random::seed(3);
  const Tensor x = arange(600).reshape({200, 3});
  const Tensor y = nd::shuffle(x);
  CHECK(!same_bits(x, y));
  const Floats v = y.to_vector<float>();
  for (std::size_t i = 0; i < v.size(); i += 3) CHECK((v[i + 1] == v[i] + 1 && v[i + 2] == v[i] + 2));
  CHECK(same_bits(nd::sort(y, {.axis = 0}), x));
}

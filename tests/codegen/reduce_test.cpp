// The orders of kiln.reduce (ir/KilnOps.td), bit by bit, for every way that its kernels go through memory:
// ctest runs this program for each level of instructions.
#include "function_net.h"

#include <algorithm>

using namespace kiln;

namespace {

/// A partial result with one more element.
using Take = float (*)(float partial, float x);
float add(float partial, float x) { return partial + x; }
float add_square(float partial, float x) { return std::fma(x, x, partial); }

/// Sums as ir/KilnOps.td says.
template <Take take = add>
float first_order(const std::vector<float>& x) {
  std::vector<float> results;  // of the blocks
  for (std::size_t begin = 0; begin < x.size(); begin += 1024) {
    std::vector<float> p(64, 0.f);
    for (std::size_t r = begin; r < std::min(begin + 1024, x.size()); ++r) {
      float& partial = p[(r - begin) % 64];
      partial = take(partial, x[r]);
    }
    for (std::size_t half = 32; half > 0; half /= 2)
      for (std::size_t j = 0; j < half; ++j) p[j] += p[j + half];
    results.push_back(p[0]);
  }
  return results.empty() ? 0.f : results.size() == 1 ? results[0] : first_order<add>(results);
}
template <Take take = add>
float second_order(const std::vector<float>& x) {
  std::vector<float> sums;  // of the chains, then of neighbours
  for (std::size_t begin = 0; begin < x.size(); begin += 32) {
    float chain = 0;
    for (std::size_t r = begin; r < std::min(begin + 32, x.size()); ++r) chain = take(chain, x[r]);
    sums.push_back(chain);
  }
  while (sums.size() > 1) {
    std::vector<float> pairs;
    for (std::size_t i = 0; i < sums.size(); i += 2)
      pairs.push_back(i + 1 < sums.size() ? sums[i] + sums[i + 1] : sums[i]);
    sums = pairs;
  }
  return sums.empty() ? 0.f : sums.front();
}

/// The sums over the middle axis of an array (outer, reduced, kept).
Tensor sums(const Tensor& x, float (*order)(const std::vector<float>&)) {
  const auto outer = x.shape()[0], reduced = x.shape()[1], kept = x.shape()[2];
  const auto values = x.to_vector<float>();
  std::vector<float> result;
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t k = 0; k < kept; ++k) {
      std::vector<float> elements;
      for (std::int64_t r = 0; r < reduced; ++r)
        elements.push_back(values[static_cast<std::size_t>((o * reduced + r) * kept + k)]);
      result.push_back(order(elements));
    }
  return Tensor(result, {outer, kept});
}

/// A sum that reads x as its transpose: the last axis is reduced, and its neighbours lie apart.
Tensors sum_of_transpose(F& f, const Tensors& in) {
  return {f.sum(f.transpose(in[0], {.axes = {0, 2, 1}}), {.axis = 2})};
}
Tensors sum_of_middle(F& f, const Tensors& in) { return {f.sum(in[0], {.axis = 1})}; }

Tensor drawn(const Shape& shape) { return random::normal(0, 1, shape); }

const std::vector<Shape> kShapes = {{1, 1, 16},     {2, 7, 5},    {1, 49, 1280}, {3, 63, 17},   {2, 64, 64},
                                    {2, 65, 130},   {1, 511, 33}, {1, 1024, 40}, {2, 1029, 70}, {1, 1500, 1},
                                    {1, 513, 2100}, {2, 2048, 3}, {3, 66000, 1}, {1, 67000, 17}};
/// More than 1024 blocks: their blocks' results are combined once more.
const std::vector<Shape> kLongShapes = {{1, (1 << 20) + 1500, 1}, {1, (1 << 20) + 3, 8}};

}  // namespace

TEST_CASE("a kept axis follows what is reduced: chains of 32, combined pairwise", "[reduce]") {
  for (const Shape& shape : kShapes) {
    INFO(shape.str());
    const Tensor x = drawn(shape);
    CHECK(same_bits(everywhere(sum_of_middle, {x})[0], sums(x, second_order<>)));
  }
}

TEST_CASE("chains whose elements are neighbours, one result at a time", "[reduce]") {
  for (const Shape& shape : kShapes) {
    INFO(shape.str());
    const Tensor x = drawn(shape), y = nd::transpose(x, {.axes = {0, 2, 1}}).copy();
    const auto of_transpose = [](F& f, const Tensors& in) {
      const Tensor t = f.transpose(in[0], {.axes = {0, 2, 1}}), e = f.exp(t * 0.5);
      return Tensors{f.sum(t, {.axis = 1}), f.sum(e, {.axis = 1}), f.max(e, {.axis = 1}),
                     f.norm(t, {.ord = 2, .axis = {1}})};
    };
    const Tensors got = everywhere(of_transpose, {y});
    CHECK(same_bits(got[0], sums(x, second_order<>)));
    CHECK(same_bits(got[1], sums(nd::exp(x * 0.5), second_order<>)));
    CHECK(same_bits(got[3], nd::sqrt(sums(x, second_order<add_square>))));
  }
}

TEST_CASE("the last axis is reduced: 64 partial sums, also where its neighbours lie apart", "[reduce]") {
  for (const Shape& shape : kShapes) {
    INFO(shape.str());
    const Tensor x = drawn(shape);
    CHECK(same_bits(everywhere(sum_of_transpose, {x})[0], sums(x, first_order<>)));
    const Tensor y = nd::transpose(x, {.axes = {0, 2, 1}}).copy();
    const auto last = [](F& f, const Tensors& in) { return Tensors{f.sum(in[0], {.axis = 2})}; };
    CHECK(same_bits(everywhere(last, {y})[0], sums(x, first_order<>)));
  }
}

TEST_CASE("results that share elements along the reduced axis", "[reduce]") {
  struct Size {
    std::int64_t m, k, n;
  };
  // The last ones leave the caches.
  for (const auto [m, k, n] :
       {Size{1, 70, 5}, Size{3, 130, 5}, Size{2, 1024, 7}, Size{2, 1029, 6}, Size{5, 1100, 3},
        Size{7, 2500, 2}, Size{1, 1030, 15}, Size{15, 1030, 1}, Size{4, 66'005, 3}, Size{2, 140'003, 6},
        Size{15, 140'003, 1}, Size{7, 140'003, 2}}) {
    INFO(m << " by " << k << " by " << n);
    const Tensor x = drawn({m, k}), y = drawn({k, n});
    std::vector<float> result;
    const auto left = x.to_vector<float>(), right = y.to_vector<float>();
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        std::vector<float> products;
        for (std::int64_t r = 0; r < k; ++r)
          products.push_back(left[static_cast<std::size_t>(i * k + r)] *
                             right[static_cast<std::size_t>(r * n + j)]);
        result.push_back(first_order(products));
      }
    const Tensor wanted(result, {m, n});
    const auto product = [](F& f, const Tensor& x, const Tensor& y) {
      return f.broadcast_mul(f.expand_dims(x, {.axis = -2}), f.expand_dims(y, {.axis = -3}));
    };
    const auto dot = [&](F& f, const Tensors& in) {
      return Tensors{f.sum(product(f, in[0], in[1].T()), {.axis = 2}) + 0.5};
    };
    CHECK(same_bits(everywhere(dot, {x, y})[0], wanted + 0.5));
    if (k > 2000) continue;
    // A batch: other pairs of rows and columns share elements; and two reductions at once, of the same
    // elements.
    const auto batch = [&](F& f, const Tensors& in) {
      const Tensor both = product(f, in[0], in[1].T());
      const Tensor lhs = f.stack({in[0], in[0] * 2}, {.axis = 0}),
                   rhs = f.stack({in[1].T(), in[1].T()}, {.axis = 0});
      return Tensors{f.sum(both, {.axis = 2}), f.max(both, {.axis = 2}),
                     f.sum(product(f, lhs, rhs), {.axis = 3})};
    };
    const Tensors got = everywhere(batch, {x, y});
    CHECK(same_bits(got[0], wanted));
    CHECK(same_bits(got[2], nd::stack({wanted, wanted * 2}, {.axis = 0})));
  }
}

TEST_CASE("rows of few elements, which share a register", "[reduce]") {
  const auto sum = [](F& f, const Tensors& in) { return Tensors{f.sum(in[0], {.axis = 1})}; };
  // Rows apart from each other, and rows that begin within a line.
  const auto cut = [](F& f, const Tensors& in) {
    const Tensor part = f.slice_axis(in[0], {.axis = 1, .begin = 1, .end = std::nullopt});
    return Tensors{f.sum(f.square(part) * 0.5, {.axis = 1})};
  };
  const auto statistics = [](F& f, const Tensors& in) {
    const Tensor away = f.broadcast_sub(in[0], f.max(in[0], {.axis = 1, .keepdims = true}));
    return Tensors{f.sum(away, {.axis = 1}), f.min(in[0], {.axis = 1}), f.softmax(in[0]),
                   f.log_softmax(in[0]), f.norm(in[0], {.axis = 1})};
  };
  for (const std::int64_t length : {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33})
    for (const std::int64_t rows : {1, 7, 15, 16, 17, 100, 1003}) {
      INFO(rows << " of " << length);
      const Tensor x = drawn({rows, length, 1});
      const Tensor flat = x.reshape({rows, length});
      CHECK(same_bits(everywhere(sum, {flat})[0], sums(x, first_order<>).reshape({rows})));
      if (length > 1) everywhere(cut, {flat});
      everywhere(statistics, {flat});
      for (const DType dtype : {DType::f64, DType::f16, DType::bf16, DType::i32, DType::i64, DType::i8})
        everywhere(sum, {(flat * 9).astype(dtype)});
    }
  std::vector<float> special(160, 1);
  special[3] = std::numeric_limits<float>::quiet_NaN();
  special[27] = std::numeric_limits<float>::infinity();
  special[95] = -std::numeric_limits<float>::infinity();
  for (std::size_t i = 110; i < 120; ++i) special[i] = -std::numeric_limits<float>::infinity();
  everywhere(statistics, {Tensor(special, {16, 10})});
}

TEST_CASE("axes around a kept one: those behind it first", "[reduce]") {
  const auto around = [](F& f, const Tensors& in) { return Tensors{f.sum(in[0], {.axis = {0, 2, 3}})}; };
  const auto between = [](F& f, const Tensors& in) { return Tensors{f.sum(in[0], {.axis = {0, 2}})}; };
  const auto statistics = [](F& f, const Tensors& in) {
    return Tensors{f.mean(in[0], {.axis = {0, 2, 3}}), f.max(in[0], {.axis = {0, 2, 3}, .keepdims = true}),
                   f.prod(in[0], {.axis = {1, 3}}), f.norm(in[0], {.axis = {1, 3}})};
  };
  for (const Shape& s : std::vector<Shape>{{2, 3, 4, 5},
                                           {1, 7, 9, 8},
                                           {5, 1, 3, 3},
                                           {600, 2, 1, 1},
                                           {3, 17, 1, 70},
                                           {4, 33, 40, 40},
                                           {2, 16, 7, 7},
                                           {9, 40, 3, 1}}) {
    INFO(s.str());
    const Tensor x = drawn(s);
    const Tensor rows = x.reshape({s[0] * s[1], s[2] * s[3], 1});
    // A run of one element is none.
    const Tensor maps = s[2] * s[3] == 1 ? rows : sums(rows, first_order<>);
    const Tensor all = s[0] == 1 ? maps : sums(maps.reshape({1, s[0], s[1]}), second_order<>);
    CHECK(same_bits(everywhere(around, {x})[0], all.reshape({s[1]})));
    const Tensor columns = s[2] == 1 ? x : sums(x.reshape({s[0] * s[1], s[2], s[3]}), second_order<>);
    CHECK(same_bits(everywhere(between, {x})[0],
                    (s[0] == 1 ? columns : sums(columns.reshape({1, s[0], s[1] * s[3]}), second_order<>))
                        .reshape({s[1], s[3]})));
    everywhere(statistics, {x});
    for (const DType dtype : {DType::f16, DType::i32}) everywhere(around, {(x * 9).astype(dtype)});
  }
  for (const Shape& empty : {Shape{0, 3, 2, 2}, Shape{2, 3, 0, 2}})
    CHECK(same_bits(everywhere(around, {zeros(empty)})[0], zeros({3})));
}

TEST_CASE("blocks of blocks of blocks", "[reduce]") {
  for (const Shape& shape : kLongShapes) {
    INFO(shape.str());
    const Tensor x = drawn(shape);
    CHECK(same_bits(everywhere(sum_of_transpose, {x})[0], sums(x, first_order<>)));
    CHECK(same_bits(everywhere(sum_of_middle, {x})[0], sums(x, second_order<>)));
  }
}

TEST_CASE("sums of squares are rounded once for each", "[reduce]") {
  const auto norms = [](F& f, const Tensors& in) {
    return Tensors{f.norm(in[0], {.ord = 2, .axis = {1}}),
                   f.norm(f.transpose(in[0], {.axes = {0, 2, 1}}), {.ord = 2, .axis = {2}})};
  };
  for (const Shape& shape : kShapes) {
    INFO(shape.str());
    const Tensor x = drawn(shape);
    const Tensors got = everywhere(norms, {x});
    CHECK(same_bits(got[0], nd::sqrt(sums(x, second_order<add_square>))));
    CHECK(same_bits(got[1], nd::sqrt(sums(x, first_order<add_square>))));
  }
}

TEST_CASE("a sum of negative zeros is zero", "[reduce]") {
  for (const std::int64_t reduced : {1, 2, 49, 64, 65}) {
    const Tensor x = nd::full({2, reduced, 24}, -0.0);
    CHECK(same_bits(everywhere(sum_of_transpose, {x})[0], nd::zeros({2, 24})));
  }
}

TEST_CASE("what is computed of each element before it is added", "[reduce]") {
  const Tensor x = drawn({2, 130, 71});
  const auto deviation = [](F& f, const Tensors& in) {
    const Tensor y = f.square(in[0] - 0.25f);
    return Tensors{f.sqrt(f.mean(f.transpose(y, {.axes = {0, 2, 1}}), {.axis = 2})) + 1.f,
                   f.sum(f.exp(in[0]), {.axis = 1}), f.sum(f.exp(in[0]), {.axis = 2})};
  };
  const Tensors got = everywhere(deviation, {x});
  CHECK(same_bits(got[1], sums(nd::exp(x), second_order<>)));
  CHECK(same_bits(got[2], sums(nd::transpose(nd::exp(x), {.axes = {0, 2, 1}}).copy(), first_order<>)));
}

TEST_CASE("every type and kind", "[reduce]") {
  for (const DType dtype :
       {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i32, DType::i64, DType::u8}) {
    for (const std::int64_t reduced : {70, 49}) {
      const Tensor x = (drawn({3, reduced, 50}) * 3).astype(dtype);
      for (const auto& reduce : {sum_of_middle, sum_of_transpose}) everywhere(reduce, {x});
      everywhere(
          [](F& f, const Tensors& in) {
            const Tensor t = f.transpose(in[0], {.axes = {0, 2, 1}});
            return Tensors{f.max(in[0], {.axis = 1}), f.min(t, {.axis = 2}),    f.prod(in[0], {.axis = 1}),
                           f.prod(t, {.axis = 2}),    f.norm(t, {.axis = {2}}), f.norm(in[0], {.axis = {1}})};
          },
          {x});
    }
  }
}

TEST_CASE("NaN is the greatest and the least", "[reduce]") {
  const std::int64_t reduced = GENERATE(100, 60);
  Tensor x = drawn({2, reduced, 40});
  x[1][57][3] = std::nanf("");
  const auto extremes = [](F& f, const Tensors& in) {
    const Tensor t = f.transpose(in[0], {.axes = {0, 2, 1}});
    return Tensors{f.max(in[0], {.axis = 1}), f.min(t, {.axis = 2}), f.max(t, {.axis = 1}),
                   f.min(in[0], {.axis = 2})};
  };
  const Tensors got = everywhere(extremes, {x});
  for (const std::size_t i : {0, 1}) {
    CHECK(std::isnan(got[i][1][3].item<float>()));
    CHECK_FALSE(std::isnan(got[i][1][2].item<float>()));
  }
  for (const std::size_t i : {2, 3}) CHECK(std::isnan(got[i][1][57].item<float>()));
}

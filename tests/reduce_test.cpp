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
  float total = 0;
  for (std::size_t begin = 0; begin < x.size(); begin += 512) {
    float chain = 0;
    for (std::size_t r = begin; r < std::min(begin + 512, x.size()); ++r) chain = take(chain, x[r]);
    total = begin == 0 ? chain : total + chain;
  }
  return total;
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

/// What reads x as its transpose does, so that the last axis is reduced, and its neighbours lie apart.
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

TEST_CASE("what is kept lies behind what is reduced: chains of 512", "[reduce]") {
  for (const Shape& shape : kShapes) {
    if (shape[2] == 1) continue;  // then it is the other order
    INFO(shape.str());
    const Tensor x = drawn(shape);
    CHECK(same_bits(everywhere(sum_of_middle, {x})[0], sums(x, second_order<>)));
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

TEST_CASE("blocks of blocks of blocks", "[reduce]") {
  for (const Shape& shape : kLongShapes) {
    INFO(shape.str());
    const Tensor x = drawn(shape);
    CHECK(same_bits(everywhere(sum_of_transpose, {x})[0], sums(x, first_order<>)));
  }
}

TEST_CASE("a product of few results sums as a reduction does", "[reduce]") {
  for (const std::int64_t k : {1, 5, 1024, 1025, 70000}) {
    INFO(k);
    const Tensor x = drawn({k}), y = drawn({k});
    const auto dot = [](F& f, const Tensors& in) {
      return Tensors{f.dot(in[0], in[1]), f.sum(in[0] * in[1])};
    };
    const Tensors got = everywhere(dot, {x, y});
    CHECK(same_bits(got[0], got[1]));
    CHECK(got[0].item<float>() == first_order((x * y).to_vector<float>()));
  }
}

TEST_CASE("sums of squares are rounded once for each", "[reduce]") {
  const auto norms = [](F& f, const Tensors& in) {
    return Tensors{f.norm(in[0], {.ord = 2, .axis = {1}}),
                   f.norm(f.transpose(in[0], {.axes = {0, 2, 1}}), {.ord = 2, .axis = {2}})};
  };
  for (const Shape& shape : kShapes) {
    if (shape[2] == 1) continue;
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

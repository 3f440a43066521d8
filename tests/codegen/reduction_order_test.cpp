// The order of a reduction depends on its rank, the reduced axes and their extents (ir/KilnOps.td). A row has
// the same bits alone and beside others, whichever axis it lies on; a sum has the same bits if terms of +0
// follow.
#include "function_net.h"

#include <limits>
#include <vector>

using namespace kiln;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();

Tensor drawn(const Shape& shape) { return random::normal(0, 1, shape); }

/// Element `at` along an axis, which stays with the extent 1.
Tensor part(const Tensor& x, int axis, std::int64_t at) {
  return nd::slice_axis(x, {.axis = axis, .begin = at, .end = at + 1}).copy();
}

struct Reduced {
  const char* name;
  Tensors (*of)(F&, const Tensors&, const Shape& axes);
};

const Reduced kReductions[] = {
    {"sum", [](F& f, const Tensors& in,
               const Shape& axes) { return Tensors{f.sum(in[0], {.axis = axes, .keepdims = true})}; }},
    {"mean", [](F& f, const Tensors& in,
                const Shape& axes) { return Tensors{f.mean(in[0], {.axis = axes, .keepdims = true})}; }},
    {"prod",
     [](F& f, const Tensors& in, const Shape& axes) {
       return Tensors{f.prod(in[0] * 0.01 + 1, {.axis = axes, .keepdims = true})};
     }},
    {"norm",
     [](F& f, const Tensors& in, const Shape& axes) {
       return Tensors{f.norm(in[0], {.ord = 2, .axis = axes, .keepdims = true})};
     }},
    {"max", [](F& f, const Tensors& in,
               const Shape& axes) { return Tensors{f.max(in[0], {.axis = axes, .keepdims = true})}; }},
    {"moments", [](F& f, const Tensors& in,
                   const Shape& axes) { return f.moments(in[0], {.axes = axes, .keepdims = true}); }},
};

}  // namespace

TEST_CASE("the extent of a kept axis changes no bit, wherever it lies") {
  const Shape shapes[] = {{5, 70, 6, 9}, {3, 7, 1100, 2}, {300, 2, 3, 40}, {2, 3, 5, 1500}};
  const Shape axes[] = {{0},    {1},    {2},    {3},    {0, 1},    {0, 2},
                        {0, 3}, {1, 2}, {1, 3}, {2, 3}, {0, 1, 3}, {0, 2, 3}};
  for (const Shape& shape : shapes) {
    const Tensor x = drawn(shape);
    for (const Shape& over : axes)
      for (const Reduced& reduced : kReductions) {
        const auto compute = [&](F& f, const Tensors& in) { return reduced.of(f, in, over); };
        const Tensors all = everywhere(compute, {x});
        for (int axis = 0; axis < 4; ++axis) {
          if (std::find(over.begin(), over.end(), axis) != over.end()) continue;
          CAPTURE(reduced.name, shape.str(), over.str(), axis);
          const std::int64_t last = shape[static_cast<std::size_t>(axis)] - 1;
          const Tensors alone = everywhere(compute, {part(x, axis, last)});
          for (std::size_t i = 0; i < all.size(); ++i) CHECK(same_bits(alone[i], part(all[i], axis, last)));
        }
      }
  }
}

TEST_CASE("a single column is summed as one of several") {
  // All kept axes of extent 1: in one chain, in several, and in more than 1024.
  for (const std::int64_t n : {1, 31, 32, 33, 64, 95, 1000, 1025, 5000, 40'000}) {
    INFO(n);
    const Tensor x = drawn({n, 3});
    const auto sum = [](F& f, const Tensors& in) { return Tensors{f.sum(in[0], {.axis = 0})}; };
    CHECK(same_bits(everywhere(sum, {part(x, 1, 2)})[0], part(everywhere(sum, {x})[0], 0, 2)));
    const auto batch = [](F& f, const Tensors& in) { return Tensors{f.sum(in[0], {.axis = 1})}; };
    const Tensor y = drawn({20, n, 1}), sums = everywhere(batch, {y})[0];
    CHECK(same_bits(everywhere(batch, {part(y, 0, 19)})[0], part(sums, 0, 19)));
  }
}

TEST_CASE("terms of +0 that follow change no bit of a sum") {
  const std::int64_t lengths[] = {1,   2,   31,  32,   33,   63,   64,   65,
                                  100, 511, 513, 1023, 1024, 1025, 2500, 70'000};
  const auto sums = [](F& f, const Tensors& in) {
    return Tensors{f.sum(in[0], {.axis = 1}), f.norm(in[0], {.ord = 2, .axis = 1})};
  };
  for (const std::int64_t kept : {0, 1, 5, 40})  // 0: no axis follows
    for (const std::int64_t n : lengths) {
      const auto shape = [&](std::int64_t extent) {
        return kept > 0 ? Shape{2, extent, kept} : Shape{2, extent};
      };
      const Tensor x = drawn(shape(n));
      const Tensors alone = everywhere(sums, {x});
      for (const std::int64_t more : {1, 2, 30, 33, 64, 1000, 1025, 80'000}) {
        if (n + more > 20'000 && kept > 5) continue;
        CAPTURE(kept, n, more);
        const Tensor longer = nd::concat({x, zeros(shape(more))}, {.dim = 1});
        const Tensors got = everywhere(sums, {longer});
        CHECK(same_bits(got[0], alone[0]));
        CHECK(same_bits(got[1], alone[1]));
      }
    }
}

TEST_CASE("a row of a softmax has the same bits if masked elements follow") {
  const auto functions = [](int axis) {
    return [=](F& f, const Tensors& in) {
      return Tensors{f.softmax(in[0], {.axis = axis}), f.log_softmax(in[0], {.axis = axis}),
                     f.softmin(in[0] * -1, {.axis = axis})};
    };
  };
  for (const int axis : {1, 2})
    for (const std::int64_t n : {1, 2, 7, 16, 17, 33, 64, 65, 127, 500, 1024, 1025, 3000})
      for (const std::int64_t more : {1, 15, 48, 64, 1000, 1500}) {
        CAPTURE(axis, n, more);
        const Shape shape = axis == 1 ? Shape{2, n, 3} : Shape{2, 3, n},
                    masked = axis == 1 ? Shape{2, more, 3} : Shape{2, 3, more};
        const Tensor x = drawn(shape);
        const Tensors alone = everywhere(functions(axis), {x});
        for (const double mask : {-double{inf}, -1e9}) {
          const Tensor longer = nd::concat({x, nd::full(masked, mask)}, {.dim = axis});
          const Tensors got = everywhere(functions(axis), {longer});
          for (std::size_t i = 0; i < alone.size(); ++i)
            CHECK(same_bits(nd::slice_axis(got[i], {.axis = axis, .begin = 0, .end = n}), alone[i]));
        }
      }
}

TEST_CASE("a statistic of the first axis is as accurate as one of the last") {
  const std::int64_t n = 1'000'000;
  const auto along = [&](int axis, double value) {
    return nd::full(axis == 0 ? Shape{n, 2} : Shape{2, n}, value);
  };
  for (const double value : {0.1, 1.7, 100.3, 65535.0, 12345.678}) {
    const auto stored = static_cast<double>(static_cast<float>(value));
    for (const int axis : {0, 1}) {
      CAPTURE(value, axis);
      const Tensor x = along(axis, value);
      CHECK(nd::mean(x, {.axis = axis})[0].item<double>() == Approx(stored).epsilon(5e-7));
      CHECK(np::std(x, {.axis = axis})[0].item<double>() == 0);
      CHECK(np::var(x, {.axis = axis})[0].item<double>() == 0);
      const Tensors moments = nd::moments(x, {.axes = {axis}});
      CHECK(moments[0][0].item<double>() == stored);
      CHECK(moments[1][0].item<double>() == 0);
    }
  }
}

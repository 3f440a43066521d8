// Indices among the elements of a reduction: places of extremes, and sums with an arange. ctest runs this
// program for each level of instructions.
#include "function_net.h"

#include <cmath>
#include <limits>

using namespace kiln;

namespace {

/// Along axis `axis` of x: the least index of the first NaN, or of the extreme.
std::vector<double> expected_places(const Tensor& x, int axis, bool greatest) {
  const auto values = x.to_vector<double>();
  std::int64_t inner = 1, outer = 1;
  for (int i = 0; i < x.shape().rank(); ++i)
    if (i != axis) (i < axis ? outer : inner) *= x.shape()[i];
  const std::int64_t extent = x.shape()[axis];
  std::vector<double> places;
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < inner; ++i) {
      std::int64_t best = 0;
      const auto at = [&](std::int64_t r) {
        return values[static_cast<std::size_t>((o * extent + r) * inner + i)];
      };
      for (std::int64_t r = 1; r < extent && !std::isnan(at(best)); ++r)
        if (std::isnan(at(r)) || (greatest ? at(r) > at(best) : at(r) < at(best))) best = r;
      places.push_back(static_cast<double>(best));
    }
  return places;
}

/// Whole numbers, many of them equal; of floating-point types, a few NaNs if `nans`.
Tensor drawn(const Shape& shape, DType dtype, bool nans) {
  const Tensor numbers = F::random::randint(0, 9, shape).astype(DType::f32);
  if (!nans) return numbers.astype(dtype);
  const Tensor rare = F::random::uniform(0, 1, shape) < 0.02f;
  return nd::where(rare, nd::full(shape, std::numeric_limits<float>::quiet_NaN()), numbers).astype(dtype);
}

}  // namespace

TEST_CASE("places of the extremes along every axis") {
  const Shape shape =
      GENERATE(Shape{1}, Shape{70}, Shape{37, 50}, Shape{5, 7, 19}, Shape{3, 2100}, Shape{2100, 3},
               Shape{70, 5}, Shape{130, 17}, Shape{600, 80}, Shape{2, 1500, 33});
  const DType dtype =
      GENERATE(DType::f32, DType::f64, DType::f16, DType::bf16, DType::i32, DType::i64, DType::u8);
  const bool nans = GENERATE(false, true);
  if (nans && !is_floating(dtype)) return;
  CAPTURE(shape, dtype, nans);
  random::seed(11);
  const Tensor x = drawn(shape, dtype, nans);
  for (int axis = 0; axis < shape.rank(); ++axis) {
    CAPTURE(axis);
    const Tensors places = everywhere(
        [&](F& f, const Tensors& in) {
          return Tensors{f.np().argmax(in[0], axis), f.np().argmin(in[0], axis), f.argmax(in[0], axis)};
        },
        {x});
    CHECK(places[0].to_vector<double>() == expected_places(x, axis, true));
    CHECK(places[1].to_vector<double>() == expected_places(x, axis, false));
    CHECK(same_bits(places[2].reshape({-1}), places[0].reshape({-1}).astype(dtype)));
  }
}

TEST_CASE("an arange is an operand of a reduction like others") {
  const Shape shape = GENERATE(Shape{9, 21, 40}, Shape{70, 3, 5}, Shape{2, 700, 18});
  const DType dtype = GENERATE(DType::f32, DType::f64, DType::i32);
  CAPTURE(shape, dtype);
  random::seed(12);
  const Tensor x = F::random::randint(-4, 5, shape).astype(dtype);
  everywhere(
      [&](F& f, const Tensors& in) {
        Tensors sums;
        for (int axis = 0; axis < 3; ++axis) {
          Shape along = Shape::filled(3, 1);
          along[axis] = shape[axis];
          const Tensor weighted =
              f.broadcast_mul(in[0], f.arange(0, shape[axis], 1, 1, dtype).reshape(along));
          for (const Shape& axes :
               {Shape{0}, Shape{1}, Shape{2}, Shape{0, 1}, Shape{1, 2}, Shape{0, 2}, Shape{0, 1, 2}})
            sums.push_back(f.sum(weighted, {.axis = axes}));
        }
        return sums;
      },
      {x});
}

TEST_CASE("places along an axis of one element and along longer ones are kernels of their own") {
  everywhere(
      [](F& f, const Tensors& in) {
        return Tensors{f.argmin(in[0], 0), f.argmin(in[1], 0), f.argmax(in[0], 1), f.argmax(in[1], 1)};
      },
      {drawn({1, 20}, DType::i32, false), drawn({30, 20}, DType::i32, false)});
}

TEST_CASE("a place takes two kernels, and no array of indices") {
  for (int axis : {0, 1})
    CHECK(kernels_of([&](F& f, const Tensors& in) { return Tensors{f.argmax(in[0], axis)}; },
                     {random::uniform(0, 1, {90, 80})})
              .size() == 2);
}

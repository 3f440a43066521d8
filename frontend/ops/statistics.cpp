// Means, variances and places of extremes: the parts that reductions, normalisation and gradients share.
#include "frontend/ops/own_gradient.h"
#include "frontend/ops/reduce.h"

#include <limits>

namespace kiln::ops {

std::int64_t count_along(const Shape& shape, const Shape& axes) {
  std::int64_t n = 1;
  for (std::int64_t axis : axes) n = times(n, shape[static_cast<std::size_t>(axis)]);
  return n;
}

Value divided(Primitives& p, Value sum, std::int64_t count) {
  return p.div(sum, p.like(sum, static_cast<double>(count)));
}

namespace {

Value average(Primitives& p, Reduce sum_of, Value x, const Shape& axes) {
  return divided(p, p.reduce(sum_of, x, axes), count_along(p.shape(x), axes));
}

/// For each result over `axes`, the element at `quarters` quarters of each axis. The axes are kept.
Value element_after(Primitives& p, Value x, const Shape& axes, std::int64_t quarters) {
  const Shape shape = p.shape(x);
  Shape start = Shape::filled(shape.rank(), 0), limit = shape;
  for (const std::int64_t axis : axes) {
    start[at(axis)] = shape[at(axis)] / 4 * quarters + shape[at(axis)] % 4 * quarters / 4;
    limit[at(axis)] = start[at(axis)] + 1;
  }
  return p.slice(x, start, limit, Shape::filled(shape.rank(), 1));
}

/// For each result over `axes` an element that is no outlier: the median of three. None is at the border of
/// an image, where elements differ most from the others. 0 if it is not finite: the mean of infinities is no
/// NaN. The axes are kept.
Value typical(Primitives& p, Value x, const Shape& axes) {
  const Value a = element_after(p, x, axes, 1), b = element_after(p, x, axes, 2),
              c = element_after(p, x, axes, 3);
  const auto least = [&](Value v, Value w) { return p.binary(Binary::min, v, w); };
  const auto greatest = [&](Value v, Value w) { return p.binary(Binary::max, v, w); };
  const Value median = greatest(least(a, b), least(greatest(a, b), c));
  const Value infinity = p.like(median, std::numeric_limits<double>::infinity());
  const Value is_finite = p.compare(Compare::lt, p.unary(Unary::abs, median), infinity);
  return p.select(is_finite, median, p.like(median, 0));
}

/// The mean over axes, as the sum of an element, the origin, and of the mean of all differences from it.
struct Mean {
  Value origin, away, offset, mean;  // away = x - origin

  using Choice = Value (*)(Primitives& p, Value x, const Shape& axes);
  Mean(Primitives& p, Value x, const Shape& axes, Choice choose = typical) {
    const Shape shape = p.shape(x);
    if (count_along(shape, axes) == 0) {
      away = x;
      mean = origin = average(p, Reduce::sum, x, axes);
      return;
    }
    // The mean does not depend on the element, so to its gradient it is a constant.
    const Value k = p.without_gradient([&] { return choose(p, x, axes); });
    away = p.sub(x, p.broadcast_to(k, shape));
    offset = average(p, Reduce::sum, away, axes);
    origin = p.reshape(k, p.shape(offset));
    mean = p.add(origin, offset);
  }
};

}  // namespace

Value mean_over(Primitives& p, Value x, const Shape& axes) { return Mean(p, x, axes).mean; }

Statistics statistics(Primitives& p, Value x, const Shape& axes, bool of_infinities) {
  // Any element will do: the second pass is from the mean. A view of one costs nothing, a median a kernel.
  const auto middle = [](Primitives& q, Value v, const Shape& over) { return element_after(q, v, over, 2); };
  const Mean m(p, x, axes, of_infinities ? typical : +middle);
  const Value away = p.sub(x, spread(p, m.mean, p.shape(x), axes));
  return {m.mean, average(p, Reduce::sum_squares, away, axes), m.origin, m.offset};
}

Statistics statistics_in_one_pass(Primitives& p, Value x, const Shape& axes) {
  const Mean m(p, x, axes);
  if (!m.offset.valid()) return statistics(p, x, axes);
  const Value square = average(p, Reduce::sum_squares, m.away, axes);
  const Value variance = p.fma(p.unary(Unary::neg, m.offset), m.offset, square);
  return {m.mean, p.binary(Binary::max, variance, p.like(variance, 0)), m.origin, m.offset};
}

Value variance_gradient(Primitives& p, Value x, const Shape& axes, Value head, std::int64_t count) {
  const Shape shape = p.shape(x);
  const Value mean = mean_over(p, x, axes);
  const Value scale = divided(p, p.mul(head, p.like(head, 2)), count);
  return p.mul(p.sub(x, spread(p, mean, shape, axes)), spread(p, scale, shape, axes));
}

Value arg_extreme(Primitives& p, Value x, int axis, Reduce op, DType dtype) {
  const Shape shape = p.shape(x);
  const Value best = p.broadcast_to(p.keep_dims(p.reduce(op, x, {axis}), shape, {axis}), shape);
  // Places in 32 bits: twice as many in a register.
  const bool is_short = shape[axis] <= std::numeric_limits<std::int32_t>::max();
  const TensorType places{is_short ? DType::i32 : DType::i64, shape};
  const Value place = p.iota(places, axis),
              none = p.full_integer(places, is_short ? std::numeric_limits<std::int32_t>::max()
                                                     : std::numeric_limits<std::int64_t>::max());
  Value hit = none;
  // A NaN counts as the extreme but equals nothing: the result is the index of the first NaN.
  if (is_floating(p.dtype(x))) hit = p.select(p.compare(Compare::ne, x, x), place, none);
  hit = p.select(p.compare(Compare::eq, x, best), place, hit);
  return convert(p, p.reduce(Reduce::min, hit, {axis}), dtype);
}

}  // namespace kiln::ops

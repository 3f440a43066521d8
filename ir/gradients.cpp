// One function for each kind of primitive. `t.operands` and `t.results` are the values of the forward
// composition.
#include "ir/gradients.h"

#include "ir/at.h"
#include "ir/window_gradients.h"
#include "runtime/dtype_table.h"
#include "runtime/fail.h"

#include <algorithm>
#include <numbers>

namespace kiln::ir {
namespace {

using Kind = Primitives::Kind;
using Taped = Primitives::Taped;
using Values = std::vector<Value>;
using Wanted = std::vector<bool>;

/// Arithmetic of a pointwise rule: half precision in f32, rounded once at the end.
class Wide {
 public:
  explicit Wide(Primitives& primitives) : p(primitives) {}
  Value in(Value x) { return is_narrow_float(p.dtype(x)) ? p.cast(x, wide_dtype(p.dtype(x))) : x; }
  Value number(Value like, double v) { return p.like(like, v); }
  Value add(Value a, Value b) { return p.add(a, b); }
  Value sub(Value a, Value b) { return p.sub(a, b); }
  Value mul(Value a, Value b) { return p.mul(a, b); }
  Value mul(Value a, double b) { return p.mul(a, p.like(a, b)); }
  Value div(Value a, Value b) { return p.div(a, b); }
  Value hypot(Value a, Value b) { return p.binary(Binary::hypot, a, b); }
  Value square(Value a) { return p.mul(a, a); }
  Value unary(Unary op, Value a) { return p.unary(op, a); }
  Value plus(Value a, double b) { return p.add(a, p.like(a, b)); }
  Value one_minus(Value a) { return p.sub(p.like(a, 1), a); }
  Value where(Compare op, Value a, double b, Value then, Value otherwise) {
    return p.select(p.compare(op, a, p.like(a, b)), then, otherwise);
  }

 private:
  Primitives& p;
};

/// The derivative of y = op(x), by which g is multiplied; invalid where it is zero.
Value derivative(Wide& w, Unary op, Value x, Value y) {
  constexpr double ln2 = std::numbers::ln2, ln10 = std::numbers::ln10;
  switch (op) {
    case Unary::neg:
      return w.number(x, -1);
    case Unary::abs:
      return w.unary(Unary::sign, x);
    case Unary::sqrt:
      return w.div(w.number(x, 0.5), y);
    case Unary::rsqrt:
      return w.mul(w.div(y, x), -0.5);
    case Unary::cbrt:
      return w.div(w.number(x, 1), w.mul(w.square(y), 3));
    case Unary::exp:
    case Unary::exp_nonpositive:
      return y;
    case Unary::exp2:
      return w.mul(y, ln2);
    case Unary::expm1:
      return w.unary(Unary::exp, x);  // y + 1 cancels
    case Unary::log:
      return w.div(w.number(x, 1), x);
    case Unary::log2:
      return w.div(w.number(x, 1 / ln2), x);
    case Unary::log10:
      return w.div(w.number(x, 1 / ln10), x);
    case Unary::log1p:
      return w.div(w.number(x, 1), w.add(x, w.number(x, 1)));
    case Unary::sin:
      return w.unary(Unary::cos, x);
    case Unary::cos:
      return w.unary(Unary::neg, w.unary(Unary::sin, x));
    case Unary::tan:
      return w.add(w.square(y), w.number(y, 1));
    case Unary::asin:
      return w.div(w.number(x, 1), w.unary(Unary::sqrt, w.mul(w.one_minus(x), w.plus(x, 1))));
    case Unary::acos:
      return w.div(w.number(x, -1), w.unary(Unary::sqrt, w.mul(w.one_minus(x), w.plus(x, 1))));
    case Unary::atan:
      return w.div(w.number(x, 1), w.add(w.square(x), w.number(x, 1)));
    case Unary::sinh:
      return w.unary(Unary::cosh, x);
    case Unary::cosh:
      return w.unary(Unary::sinh, x);
    case Unary::tanh:
      return w.one_minus(w.square(y));
    case Unary::asinh:
      return w.div(w.number(x, 1), w.hypot(x, w.number(x, 1)));
    case Unary::acosh: {  // two roots: the square overflows
      const Value roots = w.mul(w.unary(Unary::sqrt, w.plus(x, -1)), w.unary(Unary::sqrt, w.plus(x, 1)));
      return w.div(w.number(x, 1), roots);
    }
    case Unary::atanh:
      return w.div(w.number(x, 1), w.mul(w.one_minus(x), w.plus(x, 1)));
    case Unary::erf:
      return w.mul(w.unary(Unary::exp, w.unary(Unary::neg, w.square(x))), 2 * std::numbers::inv_sqrtpi);
    case Unary::sign:
    case Unary::ceil:
    case Unary::floor:
    case Unary::round:
    case Unary::rint:
    case Unary::trunc:
    case Unary::logical_not:
      return {};
  }
  return {};
}

Values of_unary(Primitives& p, const Taped& t, Value g, const Wanted&) {
  Wide w(p);
  const Value x = w.in(t.operands[0]), y = w.in(t.results[0]);
  if (t.params.unary == Unary::neg) return {p.unary(Unary::neg, g)};
  const Value d = derivative(w, t.params.unary, x, y);
  if (!d.valid()) return {{}};
  return {p.cast(w.mul(w.in(g), d), p.dtype(g))};
}

/// y = a ^ b. No derivative that is finite becomes NaN: 0 ^ b has the derivative 0 in b, and a ^ 0 in a.
Values of_pow(Primitives& p, const Taped& t, Value g, const Wanted& wanted) {
  Wide w(p);
  const Value a = w.in(t.operands[0]), b = w.in(t.operands[1]), y = w.in(t.results[0]), h = w.in(g);
  Values out(2);
  if (wanted[0]) {
    const Value power = p.binary(Binary::pow, a, w.sub(b, w.number(b, 1)));
    // a ^ -1 at 0 is infinite, and b = 0 multiplies it.
    const Value slope = w.where(Compare::eq, b, 0, w.number(b, 0), w.mul(b, power));
    out[0] = p.cast(w.mul(h, slope), p.dtype(g));
  }
  if (wanted[1]) {
    // y = 0 with an infinite logarithm: the derivative is 0 too.
    const Value nonzero = w.where(Compare::eq, a, 0, w.number(a, 1), a);
    const Value safe = w.where(Compare::eq, y, 0, w.number(a, 1), nonzero);
    out[1] = p.cast(w.mul(h, w.mul(y, w.unary(Unary::log, safe))), p.dtype(g));
  }
  return out;
}

/// Of equal elements the left one has the derivative 1; where one is NaN, none has.
Values of_extremum(Primitives& p, const Taped& t, Value g, Compare left, Compare right) {
  const auto where = [&](Compare op) {
    return p.select(p.compare(op, t.operands[0], t.operands[1]), g, p.like(g, 0));
  };
  return {where(left), where(right)};
}

Values of_binary(Primitives& p, const Taped& t, Value g, const Wanted& wanted) {
  Wide w(p);
  const auto rounded = [&](Value v) { return p.cast(v, p.dtype(g)); };
  const Value a = t.operands[0], b = t.operands[1], y = t.results[0];
  switch (t.params.binary) {
    case Binary::add:
      return {g, g};
    case Binary::sub:
      return {g, wanted[1] ? p.unary(Unary::neg, g) : Value()};
    case Binary::mul:
      return {wanted[0] ? p.mul(g, b) : Value(), wanted[1] ? p.mul(g, a) : Value()};
    case Binary::div: {
      Values out(2);
      if (wanted[0]) out[0] = p.div(g, b);
      if (wanted[1]) out[1] = rounded(w.unary(Unary::neg, w.mul(w.in(g), w.div(w.in(y), w.in(b)))));
      return out;
    }
    case Binary::mod: {
      Values out{g, {}};
      if (wanted[1]) {
        // floor(a / b), which rounding might change.
        const Value times = w.unary(Unary::rint, w.div(w.sub(w.in(a), w.in(y)), w.in(b)));
        out[1] = rounded(w.unary(Unary::neg, w.mul(w.in(g), times)));
      }
      return out;
    }
    case Binary::pow:
      return of_pow(p, t, g, wanted);
    case Binary::max:
      return of_extremum(p, t, g, Compare::ge, Compare::lt);
    case Binary::min:
      return of_extremum(p, t, g, Compare::le, Compare::gt);
    case Binary::hypot: {
      // At (0, 0) both are 0.
      // A rounded result is computed again.
      const Value wide_a = w.in(a), wide_b = w.in(b);
      const Value r = wide_a.id == a.id ? y : w.hypot(wide_a, wide_b);
      const Value safe = w.where(Compare::eq, r, 0, w.number(r, 1), r);
      return {rounded(w.mul(w.in(g), w.div(wide_a, safe))), rounded(w.mul(w.in(g), w.div(wide_b, safe)))};
    }
    case Binary::max_nnan:  // of a shift that the result does not depend on
    case Binary::logical_and:
    case Binary::logical_or:
    case Binary::logical_xor:
      return {{}, {}};
  }
  return {{}, {}};
}

Values of_reduce(Primitives& p, const Taped& t, Value g, const Wanted&) {
  const Value x = t.operands[0];
  const Shape shape = p.shape(x), axes = t.params.a;
  const auto back = [&](Value v) { return p.broadcast_to(p.keep_dims(v, shape, axes), shape); };
  switch (t.params.reduce) {
    case Reduce::sum:
      return {back(g)};
    case Reduce::sum_squares: {
      Wide w(p);
      return {p.cast(w.mul(w.in(back(g)), w.mul(w.in(x), 2)), p.dtype(g))};
    }
    case Reduce::max:
    case Reduce::min:
      // Every equal element is the extremum.
      return {p.select(p.compare(Compare::eq, x, back(t.results[0])), back(g), p.like(x, 0))};
    case Reduce::prod:
      break;
    case Reduce::max_nnan:  // of a shift that the result does not depend on
      return {{}};
  }
  // The product of the other elements, from both sides, so that zeros divide nothing. The reduced axes are
  // brought to the end and joined.
  Shape order, kept;
  for (int i = 0; i < shape.rank(); ++i)
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) {
      order.push_back(i);
      kept.push_back(shape[at(i)]);
    }
  Shape inverse = Shape::filled(shape.rank(), 0);
  for (std::int64_t a : axes) order.push_back(a);
  for (int i = 0; i < shape.rank(); ++i) inverse[static_cast<std::size_t>(order[at(i)])] = i;
  const Value moved = p.transpose(x, order);
  const std::int64_t rows = kept.elements(), n = rows == 0 ? 0 : shape.elements() / rows;
  if (rows == 0 || n == 0) return {p.like(x, 0)};
  const Value flat = p.reshape(moved, {rows, n});
  const auto before = [&](Value v) {  // at r: the product of elements 0 .. r - 1
    const Value shifted = p.slice(p.pad(v, 1, {0, 1}, {0, 0}), {0, 0}, {rows, n}, {1, 1});
    return p.cumulative(Reduce::prod, shifted, 1);
  };
  const Value others = p.mul(before(flat), p.reverse(before(p.reverse(flat, {1})), {1}));
  const Value in_place = p.transpose(p.reshape(others, p.shape(moved)), inverse);
  return {p.mul(back(g), in_place)};
}

/// lhs (m, k) and rhs (k, n), each maybe stored transposed; the contributions are stored alike.
Values of_dot(Primitives& p, const Taped& t, Value g, const Wanted& wanted) {
  const auto [tl, tr] = t.params.dot;
  const Value lhs = t.operands[0], rhs = t.operands[1];
  Values out(2);
  if (wanted[0]) out[0] = tl ? p.dot(rhs, g, {tr, true}) : p.dot(g, rhs, {false, !tr});
  if (wanted[1]) out[1] = tr ? p.dot(g, lhs, {true, tl}) : p.dot(lhs, g, {!tl, false});
  return out;
}

Values of_concatenate(Primitives& p, const Taped& t, Value g, const Wanted& wanted) {
  Values out(t.operands.size());
  const Shape whole = p.shape(g);
  const std::size_t axis = at(t.params.axis);
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < t.operands.size(); ++i) {
    Shape start = Shape::filled(whole.rank(), 0), limit = whole;
    start[axis] = begin;
    begin += p.shape(t.operands[i])[axis];
    limit[axis] = begin;
    if (wanted[i]) out[i] = p.slice(g, start, limit, Shape::filled(whole.rank(), 1));
  }
  return out;
}

/// The last elements plus one of a slice with these starts, steps and extents.
Shape limits(const Shape& start, const Shape& step, const Shape& extents) {
  Shape limit = start;
  for (int i = 0; i < start.rank(); ++i)
    limit[at(i)] += extents[at(i)] == 0 ? 0 : (extents[at(i)] - 1) * step[at(i)] + 1;
  return limit;
}

Values of_insert(Primitives& p, const Taped& t, Value g, const Wanted& wanted) {
  const Value update = t.operands[1];
  const Shape &start = t.params.a, &step = t.params.b;
  Values out(2);
  if (wanted[0]) out[0] = p.insert(g, p.like(update, 0), start, step);
  if (wanted[1]) out[1] = p.slice(g, start, limits(start, step, p.shape(update)), step);
  return out;
}

/// Added in C order of the indices; half precision in f32.
Values of_gather(Primitives& p, const Taped& t, Value g, const Wanted& wanted) {
  if (!wanted[0]) return {{}, {}};
  Wide w(p);
  const Value x = t.operands[0], wide = w.in(g);
  const Value zeros = p.full({p.dtype(wide), p.shape(x)}, 0);
  const Value index = clamped(p, t.operands[1], p.shape(x)[at(t.params.axis)]);
  return {p.cast(p.scatter(Scatter::add, zeros, index, wide, t.params.axis), p.dtype(g)), {}};
}

/// `flags`, one bool for each index, where the update of each index lies.
Value along_updates(Primitives& p, Value flags, const Shape& updates, int axis) {
  Shape dims;
  for (int i = 0; i < p.shape(flags).rank(); ++i) dims.push_back(axis + i);
  return p.broadcast(flags, updates, dims);
}

Values of_scatter(Primitives& p, const Taped& t, Value g, const Wanted& wanted) {
  const Value x = t.operands[0], indices = p.cast(t.operands[1], DType::i64), updates = t.operands[2];
  const int axis = t.params.axis;
  const std::int64_t extent = p.shape(x)[at(axis)];
  Values out(3);
  const bool replaces = t.params.scatter == Scatter::replace;
  if (wanted[0]) out[0] = replaces ? p.scatter(Scatter::replace, g, indices, p.like(updates, 0), axis) : g;
  if (!wanted[2]) return out;
  if (extent == 0) {
    out[2] = p.like(updates, 0);
    return out;
  }
  // An index out of range has no effect, and of equal ones that replace only the last has.
  Value used = p.binary(Binary::logical_and, p.compare(Compare::ge, indices, p.like(indices, 0)),
                        p.compare(Compare::lt, indices, p.like(indices, static_cast<double>(extent))));
  const Value place = clamped(p, indices, extent);
  if (replaces && p.type(indices).elements() > 0) {
    const std::int64_t n = p.type(indices).elements();
    const Value number = p.reshape(p.iota({DType::i64, {n}}, 0), p.shape(indices));
    const Value last = p.scatter(Scatter::replace, p.full({DType::i64, {extent}}, -1), indices, number, 0);
    used = p.binary(Binary::logical_and, used, p.compare(Compare::eq, p.gather(last, place, 0), number));
  }
  out[2] =
      p.select(along_updates(p, used, p.shape(updates), axis), p.gather(g, place, axis), p.like(updates, 0));
  return out;
}

/// y(r) = x(0) ... x(r). With s(i) = g(i) + x(i + 1) s(i + 1) the contribution to x(i) is y(i - 1) s(i):
/// nothing is divided by x.
Value of_running_product(Primitives& p, const Taped& t, Value g) {
  Wide w(p);
  const std::size_t axis = at(t.params.axis);
  const Shape whole = p.shape(g);
  if (whole.elements() == 0) return g;
  Shape order{t.params.axis}, inverse = Shape::filled(whole.rank(), 0);
  for (int i = 0; i < whole.rank(); ++i) {
    if (at(i) == axis) continue;
    inverse[at(i)] = order.rank();
    order.push_back(i);
  }
  const auto rows = [&](Value v) { return p.transpose(w.in(v), order); };
  const Value x = rows(t.operands[0]), y = rows(t.results[0]);
  const Shape shape = p.shape(x), none = Shape::filled(shape.rank(), 0),
              ones = Shape::filled(shape.rank(), 1);
  Shape one_row = none, behind = shape;
  one_row[0] = 1;
  behind[0] += 1;
  const Value before = p.slice(p.pad(y, 1, one_row, none), none, shape, ones),
              next = p.slice(p.pad(x, 0, none, one_row), one_row, behind, ones);
  const Value first = p.full({p.dtype(x), Shape(shape.dims().subspan(1))}, 0);
  const Values carries{first}, scanned{p.reverse(rows(g), {0}), p.reverse(next, {0})};
  const Values sums = p.loop(shape[0], carries, scanned, {},
                             [&](std::span<const Value> after, std::span<const Value> row) -> LoopStep {
                               const Value sum = p.add(row[0], p.mul(row[1], after[0]));
                               return {{sum}, {sum}, {}};
                             });
  return p.cast(p.transpose(p.mul(before, p.reverse(sums[1], {0})), inverse), p.dtype(g));
}

Values of_cumulative(Primitives& p, const Taped& t, Value g, const Wanted&) {
  const Shape axes{t.params.axis};
  switch (t.params.reduce) {
    case Reduce::sum:
      return {p.reverse(p.cumulative(Reduce::sum, p.reverse(g, axes), t.params.axis), axes)};
    case Reduce::prod:
      return {of_running_product(p, t, g)};
    default:
      fail("a running extremum has no gradient");
  }
}

}  // namespace

Value sum_to(Primitives& p, Value g, const TensorType& to, const Shape& dims) {
  Shape repeated;
  const Shape from = p.shape(g);
  for (int axis = 0; axis < from.rank(); ++axis) {
    const auto found = std::find(dims.begin(), dims.end(), axis);
    const bool is_new = found == dims.end();
    if (is_new ? from[at(axis)] != 1
               : to.shape[static_cast<std::size_t>(found - dims.begin())] != from[at(axis)])
      repeated.push_back(axis);
  }
  if (!repeated.empty()) {
    Wide w(p);
    g = p.cast(p.reduce(Reduce::sum, w.in(g), repeated), to.dtype);
  }
  return p.reshape(g, to.shape);
}

Value in_zeros(Primitives& p, Value g, const Shape& to, const Shape& start, const Shape& step) {
  const Shape extents = p.shape(g);
  if (std::any_of(step.begin(), step.end(), [](std::int64_t s) { return s != 1; }))
    return p.insert(p.full({p.dtype(g), to}, 0), g, start, step);
  Shape high = to;
  for (int i = 0; i < to.rank(); ++i) high[at(i)] -= start[at(i)] + extents[at(i)];
  return p.pad(g, 0, start, high);
}

Value clamped(Primitives& p, Value indices, std::int64_t extent) {
  const Value i = p.cast(indices, DType::i64);
  const Value last = p.like(i, static_cast<double>(std::max<std::int64_t>(extent, 1) - 1));
  return p.binary(Binary::min, p.binary(Binary::max, i, p.like(i, 0)), last);
}

/// Axis by axis, the last first: an element beside x has its gradient added to that of the element it is.
Value of_extend(Primitives& p, const Taped& t, Value g) {
  const Shape to = p.shape(t.operands[0]), &low = t.params.a, &high = t.params.b;
  const bool reflects = t.params.extend == Extend::reflect;
  for (int axis = to.rank(); axis-- > 0;) {
    const std::int64_t n = to[at(axis)], l = low[at(axis)], h = high[at(axis)];
    const auto part = [&](Value v, std::int64_t first, std::int64_t count) {
      Shape start = Shape::filled(to.rank(), 0), limit = p.shape(v);
      start[at(axis)] = first;
      limit[at(axis)] = first + count;
      return p.slice(v, start, limit, Shape::filled(to.rank(), 1));
    };
    Value sum = part(g, l, n);
    const auto add = [&](Value beside, std::int64_t first) {
      if (reflects) {
        beside = p.reverse(beside, {axis});
      } else {
        TensorType edge = p.type(beside);
        edge.shape[at(axis)] = 1;
        Shape dims;
        for (int i = 0; i < to.rank(); ++i) dims.push_back(i);
        beside = sum_to(p, beside, edge, dims);
      }
      Shape start = Shape::filled(to.rank(), 0);
      start[at(axis)] = first;
      sum = p.insert(sum, p.add(part(sum, first, p.shape(beside)[at(axis)]), beside), start,
                     Shape::filled(to.rank(), 1));
    };
    if (l > 0) add(part(g, 0, l), reflects ? 1 : 0);
    if (h > 0) add(part(g, l + n, h), reflects ? n - 1 - h : n - 1);
    g = sum;
  }
  return g;
}

bool may_have_gradient(Kind kind) {
  return kind != Kind::compare && kind != Kind::sort && kind != Kind::check_bounds;
}

std::vector<Value> contributions(Primitives& p, const Taped& t, Value g, const Wanted& wanted) {
  const auto first = [&] { return t.operands[0]; };
  switch (t.kind) {
    case Kind::unary:
      return of_unary(p, t, g, wanted);
    case Kind::binary:
      return of_binary(p, t, g, wanted);
    case Kind::fma:
      return {wanted[0] ? p.mul(g, t.operands[1]) : Value(), wanted[1] ? p.mul(g, t.operands[0]) : Value(),
              g};
    case Kind::select: {
      const Value zero = p.like(g, 0);
      return {{}, p.select(first(), g, zero), p.select(first(), zero, g)};
    }
    case Kind::cast:
      return {p.cast(g, p.dtype(first()))};
    case Kind::alias:
      return {g};
    case Kind::broadcast:
      return {sum_to(p, g, p.type(first()), t.params.a)};
    case Kind::reshape:
      return {p.reshape(g, p.shape(first()))};
    case Kind::transpose: {
      Shape inverse = t.params.a;
      for (int i = 0; i < inverse.rank(); ++i) inverse[static_cast<std::size_t>(t.params.a[at(i)])] = i;
      return {p.transpose(g, inverse)};
    }
    case Kind::slice:
      return {in_zeros(p, g, p.shape(first()), t.params.a, t.params.c)};
    case Kind::reverse:
      return {p.reverse(g, t.params.a)};
    case Kind::pad: {
      const Shape& low = t.params.a;
      return {p.slice(g, low, limits(low, Shape::filled(low.rank(), 1), p.shape(first())),
                      Shape::filled(low.rank(), 1))};
    }
    case Kind::extend:
      return {of_extend(p, t, g)};
    case Kind::concatenate:
      return of_concatenate(p, t, g, wanted);
    case Kind::insert:
      return of_insert(p, t, g, wanted);
    case Kind::gather:
      return of_gather(p, t, g, wanted);
    case Kind::scatter:
      return of_scatter(p, t, g, wanted);
    case Kind::reduce:
      return of_reduce(p, t, g, wanted);
    case Kind::dot:
      return of_dot(p, t, g, wanted);
    case Kind::convolution:
      return convolution_gradients(p, t, g, wanted);
    case Kind::convolution_weights:
      return convolution_weights_gradients(p, t, g, wanted);
    case Kind::transposed_convolution:
      return transposed_convolution_gradients(p, t, g, wanted);
    case Kind::reduce_window:
      return {reduce_window_gradient(p, t, g)};
    case Kind::cumulative:
      return of_cumulative(p, t, g, wanted);
    case Kind::control_flow:
      fail("a loop or branch within an operator has no gradient rule");
    case Kind::compare:
    case Kind::full:
    case Kind::constant:
    case Kind::iota:
    case Kind::random_uniform:
    case Kind::check_bounds:
    case Kind::sort:
      return std::vector<Value>(t.operands.size());
  }
  return {};
}

}  // namespace kiln::ir

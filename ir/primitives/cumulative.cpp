// Inclusive scans along an axis.
#include "ir/emission.h"
#include "ir/gradient_rules.h"
#include "ir/type_rules.h"

namespace kiln::ir {
namespace {

/// y(r) = x(0) ... x(r). With s(i) = g(i) + x(i + 1) s(i + 1) the contribution to x(i) is y(i - 1) s(i):
/// nothing is divided by x.
Value of_running_product(Primitives& p, const Taped& t, Value g, std::int64_t axis) {
  Wide w(p);
  const Shape whole = p.shape(g);
  if (whole.elements() == 0) return g;
  Shape order{axis}, inverse = Shape::filled(whole.rank(), 0);
  for (int i = 0; i < whole.rank(); ++i) {
    if (i == axis) continue;
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

struct CumulativePrimitive {
  Reduce op;
  std::int64_t axis;

  ResultType type(const TensorType& x) const {
    if (!has_axis(x.shape, axis))
      return Mismatch{kiln::compose("cannot accumulate along axis {} of {}", axis, x.shape.str()),
                      no_axis(x.shape, axis)};
    return x;
  }
  Values gradient(Primitives& p, const Taped& t, Value g, const Wanted&) const {
    const Shape axes{axis};
    switch (op) {
      case Reduce::sum:
        return {p.reverse(p.cumulative(Reduce::sum, p.reverse(g, axes), static_cast<int>(axis)), axes)};
      case Reduce::prod:
        return {of_running_product(p, t, g, axis)};
      default:
        fail("a running extremum has no gradient");
    }
  }
  void emit(Emission& e) const { e.make<CumulativeOp>(op, e.in(0), static_cast<std::uint64_t>(axis)); }
};

}  // namespace

Value Primitives::cumulative(Reduce op, Value x, int axis) {
  const CumulativePrimitive cumulative{op, axis};
  return record(cumulative, {{x}}, cumulative.type(type(x)));
}

mlir::LogicalResult CumulativeOp::verify() {
  if (getKind() == Reduce::sum_squares) return emitOpError("adds no squares");
  return verify_type(*this, [&] {
    return CumulativePrimitive{getKind(), static_cast<std::int64_t>(getAxis())}.type(type_of(getX()));
  });
}

}  // namespace kiln::ir

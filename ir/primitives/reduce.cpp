// Sums, products and extrema over axes.
#include "ir/emission.h"
#include "ir/gradient_rules.h"
#include "ir/type_rules.h"

#include <algorithm>

namespace kiln::ir {
namespace {

/// At each element the product of the other ones over the axes, from both sides, so that nothing is divided
/// by zeros. The reduced axes are brought to the end and joined. Invalid where there is no element.
Value product_of_others(Primitives& p, Value x, const Shape& axes) {
  const Shape shape = p.shape(x);
  Shape order, kept;
  for (int i = 0; i < shape.rank(); ++i)
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) {
      order.push_back(i);
      kept.push_back(shape[at(i)]);
    }
  Shape inverse = Shape::filled(shape.rank(), 0);
  for (std::int64_t a : axes) order.push_back(a);
  for (int i = 0; i < shape.rank(); ++i) inverse[at(order[at(i)])] = i;
  const Value moved = p.transpose(x, order);
  const std::int64_t rows = kept.elements(), n = rows == 0 ? 0 : shape.elements() / rows;
  if (rows == 0 || n == 0) return {};
  const Value flat = p.reshape(moved, {rows, n});
  const auto before = [&](Value v) {  // at r: the product of elements 0 .. r - 1
    const Value shifted = p.slice(p.pad(v, 1, {0, 1}, {0, 0}), {0, 0}, {rows, n}, {1, 1});
    return p.cumulative(Reduce::prod, shifted, 1);
  };
  const Value others = p.mul(before(flat), p.reverse(before(p.reverse(flat, {1})), {1}));
  return p.transpose(p.reshape(others, p.shape(moved)), inverse);
}

struct ReducePrimitive {
  Reduce op;
  Shape axes;

  ResultType type(const TensorType& x) const {
    const Shape& from = x.shape;
    Shape to;
    std::size_t next = 0;
    for (int i = 0; i < from.rank(); ++i) {
      if (next < axes.size() && axes[next] == i)
        ++next;
      else
        to.push_back(from[at(i)]);
    }
    if (next != axes.size())
      return Mismatch{kiln::compose("cannot reduce axes {} of shape {}", axes.str(), from.str()),
                      has_axis(from, axes[next]) ? "axes must ascend" : no_axis(from, axes[next])};
    return TensorType{x.dtype, to};
  }
  Values gradient(Primitives& p, const Taped& t, Value g, const Wanted&) const {
    const Value x = t.operands[0];
    const Shape shape = p.shape(x);
    const auto back = [&](Value v) { return p.broadcast_to(p.keep_dims(v, shape, axes), shape); };
    switch (op) {
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
      case Reduce::prod: {
        const Value others = product_of_others(p, x, axes);
        return {others.valid() ? p.mul(back(g), others) : p.like(x, 0)};
      }
      case Reduce::max_nnan:  // of a shift that the result does not depend on
        return {{}};
    }
    return {{}};
  }
  void emit(Emission& e) const { e.make<ReduceOp>(op, e.in(0), e.list(axes)); }
};

}  // namespace

Value Primitives::reduce(Reduce op, Value x, const Shape& axes) {
  if (axes.empty()) return op == Reduce::sum_squares ? mul(x, x) : x;
  const ReducePrimitive reduce{op, axes};
  return record(reduce, {{x}}, reduce.type(type(x)));
}

mlir::LogicalResult ReduceOp::verify() {
  return verify_type(*this, [&] {
    return ReducePrimitive{getKind(), to_shape(getAxes())}.type(type_of(getX()));
  });
}

}  // namespace kiln::ir

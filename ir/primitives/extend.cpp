// An array continued beyond its ends: its edges repeated, or itself reflected in them.
#include "ir/emission.h"
#include "ir/gradient_rules.h"
#include "ir/type_rules.h"

namespace kiln::ir {
namespace {

struct ExtendPrimitive {
  Extend how;
  Shape low, high;

  ResultType type(const TensorType& x) const {
    ResultType to = padded_type(x, low, high);
    if (to.mismatch()) return to;
    for (std::size_t i = 0; i < low.size(); ++i) {
      // The elements that a side needs: an edge is one element, a reflection does not repeat it.
      const std::int64_t most = std::max(low[i], high[i]), needed = how == Extend::edge ? 1 : most + 1;
      if (most > 0 && x.shape[i] < needed)
        return Mismatch{kiln::compose("cannot extend axis {} of {} by {} and {} elements", i, x.shape.str(),
                                      low[i], high[i]),
                        kiln::compose("axis {} of {} is too short to be extended by {} elements", i,
                                      x.shape.str(), most)};
    }
    return to;
  }
  /// Axis by axis, the last first: the gradient of an element beside x is added to the gradient of the
  /// element that it repeats.
  Values gradient(Primitives& p, const Taped& t, Value g, const Wanted&) const {
    const Shape to = p.shape(t.operands[0]);
    for (int axis = to.rank(); axis-- > 0;) g = along(p, g, to, axis);
    return {g};
  }
  void emit(Emission& e) const { e.make<ExtendOp>(how, e.in(0), e.list(low), e.list(high)); }

 private:
  Value along(Primitives& p, Value g, const Shape& to, int axis) const {
    const bool reflects = how == Extend::reflect;
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
    return sum;
  }
};

}  // namespace

Value Primitives::extend(Extend how, Value x, const Shape& low, const Shape& high) {
  const ExtendPrimitive extend{how, low, high};
  return record_unless_same(extend, x, extend.type(type(x)));
}

mlir::LogicalResult ExtendOp::verify() {
  return verify_type(*this, [&] {
    return ExtendPrimitive{getKind(), to_shape(getLow()), to_shape(getHigh())}.type(type_of(getX()));
  });
}

}  // namespace kiln::ir

// An array with slices along an axis replaced or incremented at indices.
#include "ir/emission.h"
#include "ir/gradient_rules.h"
#include "ir/type_rules.h"

namespace kiln::ir {
namespace {

struct ScatterPrimitive {
  Scatter how;
  std::int64_t axis;

  ResultType type(const TensorType& x, const TensorType& indices, const TensorType& updates) const {
    if (!has_axis(x.shape, axis))
      return Mismatch{kiln::compose("cannot scatter along axis {} of {}", axis, x.shape.str()),
                      no_axis(x.shape, axis)};
    if (!is_index(indices.dtype))
      return Mismatch{kiln::compose("scatter needs integer indices, got {}", indices.str()),
                      "needs indices of i32 or i64"};
    const TensorType expected{x.dtype, gathered(x.shape, indices.shape, axis)};
    if (!(updates == expected))
      return Mismatch{kiln::compose("to scatter by indices {} along axis {} of {} takes updates {}, got {}",
                                    indices.shape.str(), axis, x.str(), expected.str(), updates.str()),
                      updates.shape != expected.shape ? "needs updates of the shape of a gather"
                                                      : mixed(x.dtype, updates.dtype)};
    return x;
  }
  Values gradient(Primitives& p, const Taped& t, Value g, const Wanted& wanted) const {
    const Value x = t.operands[0], indices = p.cast(t.operands[1], DType::i64), updates = t.operands[2];
    const std::int64_t extent = p.shape(x)[at(axis)];
    const auto along = static_cast<int>(axis);
    Values out(3);
    const bool replaces = how == Scatter::replace;
    if (wanted[0]) out[0] = replaces ? p.scatter(Scatter::replace, g, indices, p.like(updates, 0), along) : g;
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
        p.select(along_updates(p, used, p.shape(updates)), p.gather(g, place, along), p.like(updates, 0));
    return out;
  }
  void emit(Emission& e) const {
    e.make<ScatterOp>(how, e.in(0), e.in(1), e.in(2), static_cast<std::uint64_t>(axis));
  }

 private:
  /// `flags`, one bool for each index, where the update of each index lies.
  Value along_updates(Primitives& p, Value flags, const Shape& updates) const {
    Shape dims;
    for (int i = 0; i < p.shape(flags).rank(); ++i) dims.push_back(axis + i);
    return p.broadcast(flags, updates, dims);
  }
};

}  // namespace

Value Primitives::scatter(Scatter how, Value x, Value indices, Value updates, int axis) {
  const ScatterPrimitive scatter{how, axis};
  return record(scatter, {{x, indices, updates}}, scatter.type(type(x), type(indices), type(updates)));
}

mlir::LogicalResult ScatterOp::verify() {
  return verify_type(*this, [&] {
    return ScatterPrimitive{getKind(), static_cast<std::int64_t>(getAxis())}.type(
        type_of(getX()), type_of(getIndices()), type_of(getUpdates()));
  });
}

}  // namespace kiln::ir

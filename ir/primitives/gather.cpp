// Slices along an axis at indices.
#include "ir/emission.h"
#include "ir/gradient_rules.h"
#include "ir/type_rules.h"

namespace kiln::ir {
namespace {

struct GatherPrimitive {
  std::int64_t axis;

  ResultType type(const TensorType& x, const TensorType& indices) const {
    const Shape& from = x.shape;
    if (!has_axis(from, axis))
      return Mismatch{kiln::compose("cannot take along axis {} of {}", axis, from.str()),
                      no_axis(from, axis)};
    if (!is_index(indices.dtype))
      return Mismatch{kiln::compose("gather needs integer indices, got {}", indices.str()),
                      "needs indices of i32 or i64"};
    if (from[at(axis)] == 0 && indices.elements() > 0)
      return Mismatch{kiln::compose("cannot take from axis {} of {}: it is empty", axis, from.str()),
                      kiln::compose("takes from axis {}, which is empty", axis)};
    return TensorType{x.dtype, gathered(from, indices.shape, axis)};
  }
  /// Added in C order of the indices; half precision in f32.
  Values gradient(Primitives& p, const Taped& t, Value g, const Wanted& wanted) const {
    if (!wanted[0]) return {{}, {}};
    Wide w(p);
    const Value x = t.operands[0], wide = w.in(g);
    const Value zeros = p.full({p.dtype(wide), p.shape(x)}, 0);
    const Value index = clamped(p, t.operands[1], p.shape(x)[at(axis)]);
    const Value sums = p.scatter(Scatter::add, zeros, index, wide, static_cast<int>(axis));
    return {p.cast(sums, p.dtype(g)), {}};
  }
  void emit(Emission& e) const { e.make<GatherOp>(e.in(0), e.in(1), static_cast<std::uint64_t>(axis)); }
};

}  // namespace

Value Primitives::gather(Value x, Value indices, int axis) {
  const GatherPrimitive gather{axis};
  return record(gather, {{x, indices}}, gather.type(type(x), type(indices)));
}

mlir::LogicalResult GatherOp::verify() {
  return verify_type(*this, [&] {
    return GatherPrimitive{static_cast<std::int64_t>(getAxis())}.type(type_of(getX()), type_of(getIndices()));
  });
}

}  // namespace kiln::ir

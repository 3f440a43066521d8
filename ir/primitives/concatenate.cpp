// Arrays one after the other along an axis.
#include "ir/emission.h"
#include "ir/gradient_rules.h"
#include "ir/type_rules.h"

namespace kiln::ir {
namespace {

struct ConcatenatePrimitive {
  std::int64_t axis;

  ResultType type(std::span<const TensorType> parts) const {
    if (parts.empty()) return Mismatch{"nothing to concatenate", "needs a part"};
    TensorType to = parts[0];
    if (!has_axis(to.shape, axis))
      return Mismatch{kiln::compose("cannot concatenate along axis {} of {}", axis, to.shape.str()),
                      no_axis(to.shape, axis)};
    for (const TensorType& part : parts.subspan(1)) {
      const auto refused = [&](std::string operation) {
        return Mismatch{
            kiln::compose(
                "cannot concatenate {} and {} along axis {}: dtypes and all other extents must be equal",
                parts[0].str(), part.str(), axis),
            std::move(operation)};
      };
      const Shape& s = part.shape;
      if (part.dtype != to.dtype) return refused(mixed(to.dtype, part.dtype));
      if (s.rank() != to.shape.rank()) return refused("mixes ranks");
      for (std::size_t i = 0; i < s.size(); ++i)
        if (i != at(axis) && s[i] != to.shape[i])
          return refused(kiln::compose("mixes extents {} and {} on axis {}", to.shape[i], s[i], i));
      to.shape[at(axis)] = plus(to.shape[at(axis)], s[at(axis)]);
    }
    return to;
  }
  Values gradient(Primitives& p, const Taped& t, Value g, const Wanted& wanted) const {
    Values out(t.operands.size());
    const Shape whole = p.shape(g);
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < t.operands.size(); ++i) {
      Shape start = Shape::filled(whole.rank(), 0), limit = whole;
      start[at(axis)] = begin;
      begin += p.shape(t.operands[i])[at(axis)];
      limit[at(axis)] = begin;
      if (wanted[i]) out[i] = p.slice(g, start, limit, Shape::filled(whole.rank(), 1));
    }
    return out;
  }
  void emit(Emission& e) const { e.make<ConcatenateOp>(e.operands, static_cast<std::uint64_t>(axis)); }
};

}  // namespace

Value Primitives::concatenate(std::span<const Value> parts, int axis) {
  std::vector<TensorType> types;
  for (Value v : parts) types.push_back(type(v));
  const ConcatenatePrimitive concatenate{axis};
  const ResultType to = concatenate.type(types);
  if (!to.mismatch() && parts.size() == 1) return parts[0];
  return record(concatenate, parts, to);
}

mlir::LogicalResult ConcatenateOp::verify() {
  return verify_type(*this, [&] {
    const auto parts = llvm::map_to_vector(getParts(), type_of);
    return ConcatenatePrimitive{static_cast<std::int64_t>(getAxis())}.type({parts.data(), parts.size()});
  });
}

}  // namespace kiln::ir

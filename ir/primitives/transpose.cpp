// A permutation of axes.
#include "ir/emission.h"
#include "ir/gradient_rules.h"
#include "ir/type_rules.h"

#include <algorithm>

namespace kiln::ir {
namespace {

struct TransposePrimitive {
  Shape permutation;

  ResultType type(const TensorType& x) const {
    const Shape& from = x.shape;
    const auto refused = [&](std::string operation) {
      return Mismatch{kiln::compose("cannot transpose {} by {}", from.str(), permutation.str()),
                      std::move(operation)};
    };
    if (permutation.rank() != from.rank()) return refused(wrong_count("permutation", from, permutation));
    Shape to;
    unsigned seen = 0;
    for (std::int64_t axis : permutation) {
      if (!has_axis(from, axis)) return refused(no_axis(from, axis));
      if (seen & (1u << axis)) return refused(kiln::compose("names axis {} twice", axis));
      seen |= 1u << axis;
      to.push_back(from[at(axis)]);
    }
    return TensorType{x.dtype, to};
  }
  Values gradient(Primitives& p, const Taped&, Value g, const Wanted&) const {
    Shape inverse = permutation;
    for (int i = 0; i < inverse.rank(); ++i) inverse[at(permutation[at(i)])] = i;
    return {p.transpose(g, inverse)};
  }
  void emit(Emission& e) const { e.make<TransposeOp>(e.in(0), e.list(permutation)); }
};

}  // namespace

Value Primitives::transpose(Value x, const Shape& permutation) {
  const TransposePrimitive transpose{permutation};
  const ResultType to = transpose.type(type(x));
  if (!to.mismatch() && std::is_sorted(permutation.begin(), permutation.end())) return x;
  return record(transpose, {{x}}, to);
}

mlir::LogicalResult TransposeOp::verify() {
  return verify_type(*this,
                     [&] { return TransposePrimitive{to_shape(getPermutation())}.type(type_of(getX())); });
}

}  // namespace kiln::ir

// The elements in C order with another shape.
#include "ir/emission.h"
#include "ir/gradient_rules.h"
#include "ir/type_rules.h"

namespace kiln::ir {
namespace {

struct ReshapePrimitive {
  ResultType type(const TensorType& x, const Shape& to) const {
    if (x.elements() != to.elements())
      return Mismatch{
          kiln::compose("cannot reshape {} to {}: the number of elements differs", x.shape.str(), to.str()),
          "must keep the number of elements"};
    return TensorType{x.dtype, to};
  }
  Values gradient(Primitives& p, const Taped& t, Value g, const Wanted&) const {
    return {p.reshape(g, p.shape(t.operands[0]))};
  }
  void emit(Emission& e) const { e.make<ReshapeOp>(e.in(0)); }
};

}  // namespace

Value Primitives::reshape(Value x, const Shape& to) {
  return record_unless_same(ReshapePrimitive(), x, ReshapePrimitive().type(type(x), to));
}

mlir::LogicalResult ReshapeOp::verify() {
  return verify_type(*this,
                     [&] { return ReshapePrimitive().type(type_of(getX()), type_of(getResult()).shape); });
}

}  // namespace kiln::ir

// A border of one number.
#include "ir/emission.h"
#include "ir/gradient_rules.h"
#include "ir/type_rules.h"

namespace kiln::ir {
namespace {

struct PadPrimitive {
  double value;
  Shape low, high;

  Values gradient(Primitives& p, const Taped& t, Value g, const Wanted&) const {
    const Shape step = Shape::filled(low.rank(), 1);
    return {p.slice(g, low, slice_limits(low, step, p.shape(t.operands[0])), step)};
  }
  void emit(Emission& e) const { e.make<PadOp>(e.in(0), e.number(value), e.list(low), e.list(high)); }
};

}  // namespace

Value Primitives::pad(Value x, double value, const Shape& low, const Shape& high) {
  return record(PadPrimitive{value, low, high}, {{x}}, padded_type(type(x), low, high));
}

mlir::LogicalResult PadOp::verify() {
  if (getValue().getType() != ranked(getX()).getElementType())
    return emitOpError("needs a value of its element type");
  return verify_type(*this,
                     [&] { return padded_type(type_of(getX()), to_shape(getLow()), to_shape(getHigh())); });
}

}  // namespace kiln::ir

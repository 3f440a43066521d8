// One of two elements, by a bool.
#include "ir/emission.h"
#include "ir/gradient_rules.h"
#include "ir/type_rules.h"

namespace kiln::ir {
namespace {

struct SelectPrimitive {
  ResultType type(const TensorType& condition, const TensorType& a, const TensorType& b) const {
    if (!(a == b))
      return Mismatch{
          kiln::compose("select takes operands of one shape and dtype, got {} and {}", a.str(), b.str()),
          "chooses from operands of two types"};
    const bool is_bool = condition.dtype == DType::boolean;
    if (!is_bool || condition.shape != a.shape)
      return Mismatch{
          kiln::compose("select needs a bool condition of shape {}, got {}", a.shape.str(), condition.str()),
          is_bool ? "needs a condition of its operands' shape" : "needs a condition of i1"};
    return a;
  }
  Values gradient(Primitives& p, const Taped& t, Value g, const Wanted&) const {
    const Value zero = p.like(g, 0), condition = t.operands[0];
    return {{}, p.select(condition, g, zero), p.select(condition, zero, g)};
  }
  void emit(Emission& e) const { e.make<SelectOp>(e.in(0), e.in(1), e.in(2)); }
};

}  // namespace

Value Primitives::select(Value condition, Value a, Value b) {
  return record(SelectPrimitive(), {{condition, a, b}},
                SelectPrimitive().type(type(condition), type(a), type(b)));
}

mlir::LogicalResult SelectOp::verify() {
  return verify_type(*this, [&] {
    return SelectPrimitive().type(type_of(getCondition()), type_of(getOnTrue()), type_of(getOnFalse()));
  });
}

}  // namespace kiln::ir

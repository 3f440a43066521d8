// A comparison of two elements.
#include "ir/emission.h"
#include "ir/type_rules.h"

namespace kiln::ir {
namespace {

struct ComparePrimitive {
  Compare op;

  static constexpr bool differentiable = false;
  ResultType type(const TensorType& a, const TensorType& b) const {
    if (!(a == b))
      return Mismatch{kiln::compose("a comparison takes operands of one shape and dtype, got {} and {}",
                                    a.str(), b.str()),
                      "compares operands of two types"};
    return TensorType{DType::boolean, a.shape};
  }
  void emit(Emission& e) const { e.make<CompareOp>(op, e.in(0), e.in(1)); }
};

}  // namespace

Value Primitives::compare(Compare op, Value a, Value b) {
  const ComparePrimitive compare{op};
  return record(compare, {{a, b}}, compare.type(type(a), type(b)));
}

mlir::LogicalResult CompareOp::verify() {
  return verify_type(*this,
                     [&] { return ComparePrimitive{getKind()}.type(type_of(getLhs()), type_of(getRhs())); });
}

}  // namespace kiln::ir

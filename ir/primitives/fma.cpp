// a * b + c, rounded once.
#include "ir/emission.h"
#include "ir/gradient_rules.h"
#include "ir/type_rules.h"

namespace kiln::ir {
namespace {

struct FmaPrimitive {
  Values gradient(Primitives& p, const Taped& t, Value g, const Wanted& wanted) const {
    return {wanted[0] ? p.mul(g, t.operands[1]) : Value(), wanted[1] ? p.mul(g, t.operands[0]) : Value(), g};
  }
  void emit(Emission& e) const { e.make<FmaOp>(e.in(0), e.in(1), e.in(2)); }
};

}  // namespace

Value Primitives::fma(Value a, Value b, Value c) {
  require_same("fma", type(a), type(b));
  require_same("fma", type(a), type(c));
  return record(FmaPrimitive(), {{a, b, c}}, type(a));
}

}  // namespace kiln::ir

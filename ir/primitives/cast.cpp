// Each element in another dtype.
#include "ir/emission.h"
#include "ir/gradient_rules.h"

namespace kiln::ir {
namespace {

struct CastPrimitive {
  Values gradient(Primitives& p, const Taped& t, Value g, const Wanted&) const {
    return {p.cast(g, p.dtype(t.operands[0]))};
  }
  void emit(Emission& e) const { e.widened.note(e.make<CastOp>(e.in(0)), e.node); }
};

}  // namespace

Value Primitives::cast(Value x, DType to) {
  if (dtype(x) == to) return x;
  return record(CastPrimitive(), {{x}}, TensorType{to, shape(x)});
}

}  // namespace kiln::ir

// Repetition along new axes and axes of extent 1.
#include "ir/emission.h"
#include "ir/gradient_rules.h"
#include "ir/type_rules.h"

namespace kiln::ir {
namespace {

struct BroadcastPrimitive {
  Shape dims;

  ResultType type(const TensorType& x, const Shape& to) const {
    const Shape& from = x.shape;
    const auto misplaced = [&](std::string operation) {
      return Mismatch{kiln::compose("broadcast of {} with axes {}", x.str(), dims.str()),
                      std::move(operation), true};
    };
    if (dims.rank() != from.rank()) return misplaced(wrong_count("dims", from, dims));
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (!has_axis(to, dims[i])) return misplaced(no_axis(to, dims[i]));
      if (i > 0 && dims[i] <= dims[i - 1]) return misplaced("dims must ascend");
      if (from[i] != 1 && from[i] != to[at(dims[i])])
        return Mismatch{kiln::compose("cannot broadcast shape {} to {}", from.str(), to.str()),
                        kiln::compose("cannot repeat extent {} to {}", from[i], to[at(dims[i])])};
    }
    return TensorType{x.dtype, to};
  }
  Values gradient(Primitives& p, const Taped& t, Value g, const Wanted&) const {
    return {sum_to(p, g, p.type(t.operands[0]), dims)};
  }
  void emit(Emission& e) const { e.make<BroadcastOp>(e.in(0), e.list(dims)); }
};

}  // namespace

Value Primitives::broadcast(Value x, const Shape& to, const Shape& dims) {
  const BroadcastPrimitive broadcast{dims};
  return record_unless_same(broadcast, x, broadcast.type(type(x), to));
}

mlir::LogicalResult BroadcastOp::verify() {
  return verify_type(*this, [&] {
    return BroadcastPrimitive{to_shape(getDims())}.type(type_of(getX()), type_of(getResult()).shape);
  });
}

}  // namespace kiln::ir

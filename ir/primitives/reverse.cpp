// The elements in reverse order along axes.
#include "ir/emission.h"
#include "ir/gradient_rules.h"
#include "ir/type_rules.h"

namespace kiln::ir {
namespace {

struct ReversePrimitive {
  Shape axes;

  ResultType type(const TensorType& x) const {
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (!has_axis(x.shape, axes[i]))
        return Mismatch{kiln::compose("axis {} is not one of {}", axes[i], x.shape.str()),
                        no_axis(x.shape, axes[i])};
      if (i > 0 && axes[i - 1] >= axes[i])
        return Mismatch{kiln::compose("reverse of {} along {}", x.str(), axes.str()), "axes must ascend",
                        true};
    }
    return x;
  }
  Values gradient(Primitives& p, const Taped&, Value g, const Wanted&) const { return {p.reverse(g, axes)}; }
  void emit(Emission& e) const { e.make<ReverseOp>(e.in(0), e.list(axes)); }
};

}  // namespace

Value Primitives::reverse(Value x, const Shape& axes) {
  const ReversePrimitive reverse{axes};
  return record(reverse, {{x}}, reverse.type(type(x)));
}

mlir::LogicalResult ReverseOp::verify() {
  return verify_type(*this, [&] { return ReversePrimitive{to_shape(getAxes())}.type(type_of(getX())); });
}

}  // namespace kiln::ir

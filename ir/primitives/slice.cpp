// Elements at regular distances along each axis.
#include "ir/emission.h"
#include "ir/gradient_rules.h"
#include "ir/type_rules.h"

namespace kiln::ir {
namespace {

struct SlicePrimitive {
  Shape start, limit, step;

  ResultType type(const TensorType& x) const {
    const Shape& from = x.shape;
    for (auto [name, list] : {std::pair("start", &start), {"limit", &limit}, {"step", &step}})
      if (list->rank() != from.rank())
        return Mismatch{kiln::compose("slice of {} from {} to {} by {}", from.str(), start.str(), limit.str(),
                                      step.str()),
                        wrong_count(name, from, *list), true};
    const auto refused = [&](std::string operation) {
      return Mismatch{kiln::compose("the slice from {} to {} by {} does not fit the shape {}", start.str(),
                                    limit.str(), step.str(), from.str()),
                      std::move(operation)};
    };
    Shape to;
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (step[i] < 1) return refused("needs steps above 0");
      if (start[i] < 0 || start[i] > limit[i] || limit[i] > from[i])
        return refused(kiln::compose("leaves axis {} of extent {}", i, from[i]));
      const std::int64_t length = limit[i] - start[i];
      to.push_back(length == 0 ? 0 : (length - 1) / step[i] + 1);
    }
    return TensorType{x.dtype, to};
  }
  Values gradient(Primitives& p, const Taped& t, Value g, const Wanted&) const {
    return {in_zeros(p, g, p.shape(t.operands[0]), start, step)};
  }
  void emit(Emission& e) const { e.make<SliceOp>(e.in(0), e.list(start), e.list(limit), e.list(step)); }
};

}  // namespace

Value Primitives::slice(Value x, const Shape& start, const Shape& limit, const Shape& step) {
  const SlicePrimitive slice{start, limit, step};
  return record_unless_same(slice, x, slice.type(type(x)));
}

mlir::LogicalResult SliceOp::verify() {
  return verify_type(*this, [&] {
    return SlicePrimitive{to_shape(getStart()), to_shape(getLimit()), to_shape(getStep())}.type(
        type_of(getX()));
  });
}

}  // namespace kiln::ir

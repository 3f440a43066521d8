// An array with a slice of it replaced.
#include "ir/emission.h"
#include "ir/gradient_rules.h"
#include "ir/type_rules.h"

#include <array>

namespace kiln::ir {
namespace {

struct InsertPrimitive {
  Shape start, step;

  ResultType type(const TensorType& x, const TensorType& update) const {
    const Shape &into = x.shape, &part = update.shape;
    const auto unlike = [&](std::string operation) {
      return Mismatch{kiln::compose("cannot write {} into {}", update.str(), x.str()), std::move(operation)};
    };
    if (x.dtype != update.dtype) return unlike(mixed(x.dtype, update.dtype));
    if (part.rank() != into.rank()) return unlike("needs an update of the same rank");
    for (auto [name, list] : {std::pair("start", &start), {"step", &step}})
      if (list->rank() != into.rank()) return unlike(wrong_count(name, into, *list));
    for (std::size_t i = 0; i < into.size(); ++i) {
      const auto last = product_of(std::array{part[i] - 1, step[i]});
      if (start[i] < 0 || step[i] < 1 || (part[i] > 0 && (!last || *last >= into[i] - start[i])))
        return Mismatch{kiln::compose("cannot write {} into {} from {} by {}", part.str(), into.str(),
                                      start.str(), step.str()),
                        kiln::compose("leaves axis {} of extent {}", i, into[i])};
    }
    return x;
  }
  Values gradient(Primitives& p, const Taped& t, Value g, const Wanted& wanted) const {
    const Value update = t.operands[1];
    Values out(2);
    if (wanted[0]) out[0] = p.insert(g, p.like(update, 0), start, step);
    if (wanted[1]) out[1] = p.slice(g, start, slice_limits(start, step, p.shape(update)), step);
    return out;
  }
  void emit(Emission& e) const { e.make<InsertOp>(e.in(0), e.in(1), e.list(start), e.list(step)); }
};

}  // namespace

Value Primitives::insert(Value x, Value update, const Shape& start, const Shape& step) {
  const InsertPrimitive insert{start, step};
  return record(insert, {{x, update}}, insert.type(type(x), type(update)));
}

mlir::LogicalResult InsertOp::verify() {
  return verify_type(*this, [&] {
    return InsertPrimitive{to_shape(getStart()), to_shape(getStep())}.type(type_of(getX()),
                                                                           type_of(getUpdate()));
  });
}

}  // namespace kiln::ir

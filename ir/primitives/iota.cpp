// The index along an axis.
#include "ir/emission.h"
#include "ir/type_rules.h"

namespace kiln::ir {
namespace {

struct IotaPrimitive {
  std::int64_t axis;

  static constexpr bool differentiable = false;
  ResultType type(const TensorType& to) const {
    if (!has_axis(to.shape, axis))
      return Mismatch{kiln::compose("iota along axis {} of {}", axis, to.str()), no_axis(to.shape, axis),
                      true};
    return to;
  }
  void emit(Emission& e) const { e.make<IotaOp>(static_cast<std::uint64_t>(axis)); }
};

}  // namespace

Value Primitives::iota(const TensorType& type, int axis) {
  return record(IotaPrimitive{axis}, {}, IotaPrimitive{axis}.type(type));
}

mlir::LogicalResult IotaOp::verify() {
  return verify_type(
      *this, [&] { return IotaPrimitive{static_cast<std::int64_t>(getAxis())}.type(type_of(getResult())); });
}

}  // namespace kiln::ir

// Indices that are checked when the call runs.
#include "ir/emission.h"
#include "ir/type_rules.h"

namespace kiln::ir {
namespace {

struct CheckBoundsPrimitive {
  std::int64_t extent;

  static constexpr bool differentiable = false;
  ResultType type(const TensorType& indices) const {
    if (indices.dtype != DType::i64)
      return Mismatch{kiln::compose("a check of bounds needs int64 indices, got {}", indices.str()),
                      "needs indices of i64"};
    return indices;
  }
  void emit(Emission& e) const {
    e.make<CheckBoundsOp>(e.in(0), static_cast<std::uint64_t>(extent), e.builder.getStringAttr(e.described));
  }
};

}  // namespace

Value Primitives::check_bounds(Value indices, std::int64_t extent) {
  const CheckBoundsPrimitive check{extent};
  return record(check, {{indices}}, check.type(type(indices)));
}

mlir::LogicalResult CheckBoundsOp::verify() {
  const auto extent = static_cast<std::int64_t>(getExtent());
  if (extent < 0) return emitOpError("needs an extent that is not negative");
  return verify_type(*this, [&] { return CheckBoundsPrimitive{extent}.type(type_of(getIndices())); });
}

}  // namespace kiln::ir

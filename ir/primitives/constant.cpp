// Arrays of one number, and of given elements.
#include "ir/emission.h"
#include "runtime/fail.h"

namespace kiln::ir {
namespace {

void emit_splat(Emission& e, mlir::TypedAttr number) {
  e.make<ConstantOp>(mlir::DenseElementsAttr::get(e.type, mlir::Attribute(number)));
}

struct FullPrimitive {
  double value;

  static constexpr bool differentiable = false;
  void emit(Emission& e) const { emit_splat(e, e.number(value)); }
};

struct FullIntegerPrimitive {
  std::int64_t value;

  static constexpr bool differentiable = false;
  void emit(Emission& e) const { emit_splat(e, e.integer(value)); }
};

struct ConstantPrimitive {
  std::span<const std::byte> elements;  // of the caller, until emit() returns

  static constexpr bool differentiable = false;
  void emit(Emission& e) const { e.make<ConstantOp>(dense(e.type)); }

 private:
  mlir::DenseElementsAttr dense(mlir::RankedTensorType type) const {
    if (!type.getElementType().isInteger(1))
      return mlir::DenseElementsAttr::getFromRawBuffer(
          type, {reinterpret_cast<const char*>(elements.data()), elements.size()});
    llvm::SmallVector<bool> bits;
    for (std::byte b : elements) bits.push_back(b != std::byte{0});
    return mlir::DenseElementsAttr::get(type, bits);
  }
};

/// On a tape, a value that no gradient passes.
struct OpaquePrimitive {
  static constexpr bool differentiable = false;
  static constexpr bool on_tape_alone = true;
};

}  // namespace

Value Primitives::full(const TensorType& type, double value) {
  return record(FullPrimitive{value}, {}, type);
}

Value Primitives::full_integer(const TensorType& type, std::int64_t value) {
  return record(FullIntegerPrimitive{value}, {}, type);
}

Value Primitives::constant(const TensorType& type, std::span<const std::byte> elements) {
  if (static_cast<std::int64_t>(elements.size()) != type.bytes())
    fail_internal("a constant of {} bytes for {}", elements.size(), type.str());
  return record(ConstantPrimitive{elements}, {}, type);
}

Value Primitives::without_gradient(const std::function<Value()>& compose) {
  return taped_as(OpaquePrimitive(), {}, compose);
}

}  // namespace kiln::ir

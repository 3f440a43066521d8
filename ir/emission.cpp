// The helpers of primitives' emission.
#include "ir/emission.h"

namespace kiln::ir {

mlir::TypedAttr Emission::number(double v) {
  const mlir::Type element = type.getElementType();
  if (llvm::isa<mlir::FloatType>(element)) return builder.getFloatAttr(element, v);
  if (element.isInteger(1)) return integer(v != 0);
  // The rule of `cast`: through i64, with its least value for NaN and out-of-range numbers.
  const bool fits = v > -9223372036854775809.0 && v < 9223372036854775808.0;
  return integer(fits ? static_cast<std::int64_t>(v) : INT64_MIN);
}

mlir::TypedAttr Emission::integer(std::int64_t v) {
  const mlir::Type element = type.getElementType();
  if (llvm::isa<mlir::FloatType>(element)) return number(static_cast<double>(v));
  return mlir::IntegerAttr::get(
      element, llvm::APInt(64, static_cast<std::uint64_t>(v)).trunc(element.getIntOrFloatBitWidth()));
}

mlir::LogicalResult verify_type(mlir::Operation* op, llvm::function_ref<ResultType()> rule) {
  try {
    const ResultType expected = rule();
    if (const Mismatch* mismatch = expected.mismatch()) return op->emitOpError(mismatch->operation);
    const mlir::Type given = op->getResult(0).getType();
    if (to_tensor_type(given) == expected.value()) return mlir::success();
    return op->emitOpError() << "must give " << tensor_type(op->getContext(), expected.value()) << ", not "
                             << given;
  } catch (const Error& e) {
    return op->emitOpError(e.what());
  }
}

}  // namespace kiln::ir

// The binary operation and the identity of each reduction.
#include "ir/dialect.h"

namespace kiln::ir {

BinaryKind combiner(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::sum:
    case ReduceKind::sum_squares:
      return BinaryKind::add;
    case ReduceKind::prod:
      return BinaryKind::mul;
    case ReduceKind::max:
      return BinaryKind::max;
    case ReduceKind::max_nnan:
      return BinaryKind::max_nnan;
    case ReduceKind::min:
      return BinaryKind::min;
  }
  llvm_unreachable("all kinds are listed");
}

mlir::TypedAttr identity_of(ReduceKind kind, mlir::Type type) {
  if (auto real = llvm::dyn_cast<mlir::FloatType>(type)) {
    const llvm::fltSemantics& semantics = real.getFloatSemantics();
    switch (kind) {
      case ReduceKind::sum:
      case ReduceKind::sum_squares:
        return mlir::FloatAttr::get(type, llvm::APFloat::getZero(semantics));
      case ReduceKind::prod:
        return mlir::FloatAttr::get(type, llvm::APFloat::getOne(semantics));
      case ReduceKind::max:
      case ReduceKind::max_nnan:
        return mlir::FloatAttr::get(type, llvm::APFloat::getInf(semantics, /*Negative=*/true));
      case ReduceKind::min:
        return mlir::FloatAttr::get(type, llvm::APFloat::getInf(semantics));
    }
  }
  unsigned width = type.getIntOrFloatBitWidth();
  bool is_signed = type.isSignlessInteger() && width > 1;
  switch (kind) {
    case ReduceKind::sum:
    case ReduceKind::sum_squares:
      return mlir::IntegerAttr::get(type, llvm::APInt(width, 0));
    case ReduceKind::prod:
      return mlir::IntegerAttr::get(type, llvm::APInt(width, 1));
    case ReduceKind::max:
    case ReduceKind::max_nnan:
      return mlir::IntegerAttr::get(
          type, is_signed ? llvm::APInt::getSignedMinValue(width) : llvm::APInt::getMinValue(width));
    case ReduceKind::min:
      return mlir::IntegerAttr::get(
          type, is_signed ? llvm::APInt::getSignedMaxValue(width) : llvm::APInt::getMaxValue(width));
  }
  llvm_unreachable("all kinds are listed");
}

}  // namespace kiln::ir

// The binary operation and the identity of each reduction.
#include "ir/dialect.h"

namespace kiln::ir {

Binary combiner(Reduce kind) {
  switch (kind) {
    case Reduce::sum:
    case Reduce::sum_squares:
      return Binary::add;
    case Reduce::prod:
      return Binary::mul;
    case Reduce::max:
      return Binary::max;
    case Reduce::max_nnan:
      return Binary::max_nnan;
    case Reduce::min:
      return Binary::min;
  }
  llvm_unreachable("all kinds are listed");
}

mlir::TypedAttr identity_of(Reduce kind, mlir::Type type) {
  if (auto real = llvm::dyn_cast<mlir::FloatType>(type)) {
    const llvm::fltSemantics& semantics = real.getFloatSemantics();
    switch (kind) {
      case Reduce::sum:
      case Reduce::sum_squares:
        return mlir::FloatAttr::get(type, llvm::APFloat::getZero(semantics));
      case Reduce::prod:
        return mlir::FloatAttr::get(type, llvm::APFloat::getOne(semantics));
      case Reduce::max:
      case Reduce::max_nnan:
        return mlir::FloatAttr::get(type, llvm::APFloat::getInf(semantics, /*Negative=*/true));
      case Reduce::min:
        return mlir::FloatAttr::get(type, llvm::APFloat::getInf(semantics));
    }
  }
  unsigned width = type.getIntOrFloatBitWidth();
  bool is_signed = type.isSignlessInteger() && width > 1;
  switch (kind) {
    case Reduce::sum:
    case Reduce::sum_squares:
      return mlir::IntegerAttr::get(type, llvm::APInt(width, 0));
    case Reduce::prod:
      return mlir::IntegerAttr::get(type, llvm::APInt(width, 1));
    case Reduce::max:
    case Reduce::max_nnan:
      return mlir::IntegerAttr::get(
          type, is_signed ? llvm::APInt::getSignedMinValue(width) : llvm::APInt::getMinValue(width));
    case Reduce::min:
      return mlir::IntegerAttr::get(
          type, is_signed ? llvm::APInt::getSignedMaxValue(width) : llvm::APInt::getMaxValue(width));
  }
  llvm_unreachable("all kinds are listed");
}

}  // namespace kiln::ir

// The element types of the dialect, for the dtypes of runtime/dtype_table.h.
#include "ir/dialect.h"
#include "runtime/dtype_table.h"

#include <llvm/ADT/STLExtras.h>
#include <mlir/IR/BuiltinTypes.h>

namespace kiln::ir {
namespace {

bool is_float_of(const DTypeRow& row, mlir::Type type) {
  auto t = llvm::dyn_cast<mlir::FloatType>(type);
  return t && t.getWidth() == row.bytes * 8 && static_cast<int>(t.getFPMantissaWidth()) == row.format.digits;
}

}  // namespace

mlir::Type element_type(mlir::MLIRContext* context, DType dtype) {
  const DTypeRow& row = row_of(dtype);
  const auto bits = static_cast<unsigned>(row.bytes * 8);
  switch (row.kind) {
    case DTypeKind::boolean:
      return mlir::IntegerType::get(context, 1);
    case DTypeKind::signed_integer:
      return mlir::IntegerType::get(context, bits);
    case DTypeKind::unsigned_integer:
      return mlir::IntegerType::get(context, bits, mlir::IntegerType::Unsigned);
    case DTypeKind::floating:
      break;
  }
  const mlir::FloatType floats[] = {mlir::Float32Type::get(context), mlir::Float64Type::get(context),
                                    mlir::Float16Type::get(context), mlir::BFloat16Type::get(context)};
  const auto* const found = llvm::find_if(floats, [&](mlir::FloatType t) { return is_float_of(row, t); });
  if (found == std::end(floats)) llvm_unreachable("MLIR has each float of Kiln");
  return *found;
}

DType dtype_of_element(mlir::Type element) {
  const auto integer = llvm::dyn_cast<mlir::IntegerType>(element);
  const auto is_row = [&](const DTypeRow& row) {
    switch (row.kind) {
      case DTypeKind::boolean:
        return integer && integer.getWidth() == 1;
      case DTypeKind::signed_integer:
        return integer && integer.getWidth() == row.bytes * 8 && integer.isSignless();
      case DTypeKind::unsigned_integer:
        return integer && integer.getWidth() == row.bytes * 8 && integer.isUnsigned();
      case DTypeKind::floating:
        return is_float_of(row, element);
    }
    llvm_unreachable("all kinds are listed");
  };
  const auto* const row = llvm::find_if(dtype_table, is_row);
  return row == dtype_table.end() ? DType::boolean : row->dtype;
}

}  // namespace kiln::ir

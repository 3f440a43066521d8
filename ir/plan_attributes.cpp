// Verifies the attributes of a graph's function and the attributes that passes set for code generation. Each
// result has one place (kiln.buffers), and prepacked constants derive from parameters alone (kiln.prepacked).
#include "ir/dialect.h"
#include "ir/prepacked.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

namespace kiln::ir {
namespace {

/// Whether the call writes input `number`, so that values may be computed in its memory.
bool is_written_input(mlir::Operation* op, std::int64_t number) {
  auto function = op->getParentOfType<mlir::func::FuncOp>();
  auto writes = function ? function->getAttrOfType<mlir::DenseI64ArrayAttr>(writes_attr) : nullptr;
  return writes && llvm::is_contained(writes.asArrayRef(), number);
}

mlir::LogicalResult verify_places(mlir::Operation* op, mlir::Attribute value) {
  auto list = llvm::dyn_cast<mlir::ArrayAttr>(value);
  if (!list || !llvm::all_of(list, llvm::IsaPred<PlaceAttr>))
    return op->emitOpError() << "needs " << buffers_attr << " to be an array of places";
  const std::size_t scratch = llvm::isa<RunLoopOp, RunIfOp>(op);
  if (list.size() != op->getNumResults() + scratch)
    return op->emitOpError() << "has " << list.size() << " places for " << op->getNumResults() << " results";
  for (auto place : list.getAsRange<PlaceAttr>()) {
    const std::int64_t number = place.getNumber();
    if (number < 0 || place.getOffset() < 0) return op->emitOpError() << "has a negative number in " << place;
    if (place.getSpace() == Space::alias && number >= op->getNumOperands())
      return op->emitOpError() << "has no operand " << number << " that " << place << " could be";
    if (place.getSpace() == Space::input && !is_written_input(op, number))
      return op->emitOpError() << "has a result in " << place << ", which the call does not write";
  }
  return mlir::success();
}

mlir::LogicalResult verify_writes(mlir::Operation* op, mlir::Attribute value) {
  auto writes = llvm::dyn_cast<mlir::DenseI64ArrayAttr>(value);
  if (writes && std::ranges::is_sorted(writes.asArrayRef(), std::ranges::less_equal()))
    return mlir::success();
  return op->emitOpError() << "needs " << writes_attr << " to be inputs in ascending order";
}

/// Saved values have separate places, each at the beginning of a cache line.
mlir::LogicalResult verify_saved(mlir::Operation* op, mlir::Attribute value) {
  auto function = llvm::dyn_cast<mlir::func::FuncOp>(op);
  auto bytes = llvm::dyn_cast<mlir::IntegerAttr>(value);
  if (!function || !bytes) return op->emitOpError() << "needs " << saved_bytes_attr << " to be a function's";
  std::map<std::int64_t, std::int64_t> ends;  // by offset
  const auto add = [&](mlir::Attribute attr, mlir::Type type) {
    if (!attr) return true;
    auto offset = llvm::dyn_cast<mlir::IntegerAttr>(attr);
    if (!offset || offset.getInt() < 0 || offset.getInt() % 64 != 0) return false;
    const std::int64_t size = to_tensor_type(type).bytes();
    return size == 0 || ends.try_emplace(offset.getInt(), offset.getInt() + size).second;
  };
  bool good = true;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    good &= add(function.getArgAttr(i, saved_attr), function.getArgumentTypes()[i]);
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    good &= add(function.getResultAttr(i, saved_attr), function.getResultTypes()[i]);
  std::int64_t free = 0;
  for (const auto& [offset, end] : ends) good &= offset >= std::exchange(free, end);
  if (good && free <= bytes.getInt()) return mlir::success();
  return op->emitOpError() << "needs each " << saved_attr << " to be a place of its own in " << bytes.getInt()
                           << " bytes";
}

}  // namespace

mlir::LogicalResult KilnDialect::verifyOperationAttribute(mlir::Operation* op, mlir::NamedAttribute attr) {
  if (attr.getName() == buffers_attr) return verify_places(op, attr.getValue());
  if (attr.getName() == writes_attr) return verify_writes(op, attr.getValue());
  if (attr.getName() == saved_bytes_attr) return verify_saved(op, attr.getValue());
  if (attr.getName() == prepacked_attr && !derives_from_parameters(op))
    return op->emitOpError("is prepacked, but does not derive from parameters alone");
  return mlir::success();
}

}  // namespace kiln::ir

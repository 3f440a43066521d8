// Checks the parts of a program that the verifier of the dialect leaves to whoever builds a graph.
#include "codegen/driver/mlir_check.h"

#include "ir/build.h"
#include "ir/dialect.h"
#include "ir/stages.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <set>

namespace kiln::codegen {
namespace {

bool is_array(mlir::Type type) {
  const auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() || tensor.getEncoding() || !ir::is_countable(tensor)) return false;
  const mlir::Type element = tensor.getElementType();
  return ir::element_type(type.getContext(), ir::dtype_of_element(element)) == element;
}

mlir::LogicalResult check_types(mlir::Operation* op) {
  const auto check = [&](mlir::TypeRange types) -> mlir::LogicalResult {
    for (const mlir::Type type : types)
      if (!is_array(type)) return op->emitOpError() << type << " is no array of a dtype of Kiln";
    return mlir::success();
  };
  if (mlir::failed(check(op->getResultTypes()))) return mlir::failure();
  for (mlir::Region& region : op->getRegions())
    for (mlir::Block& block : region)
      if (mlir::failed(check(block.getArgumentTypes()))) return mlir::failure();
  return mlir::success();
}

mlir::LogicalResult check_operation(mlir::Operation* op, bool on_gpu) {
  if (!llvm::isa_and_present<ir::KilnDialect>(op->getDialect()) && !llvm::isa<mlir::func::ReturnOp>(op))
    return op->emitOpError() << "is no operation of a graph";
  if (!on_gpu && ir::is_on_tensor_cores(op))
    return op->emitOpError() << "is by tensor cores, which only a GPU has";
  for (const mlir::NamedAttribute attr : op->getDiscardableAttrs())
    if (attr.getName().strref().starts_with("kiln."))
      return op->emitOpError() << "has the attribute " << attr.getName().strref() << " of another stage";
  if (auto constant = llvm::dyn_cast<ir::ConstantOp>(op))
    if (!llvm::isa<mlir::DenseElementsAttr>(constant.getValue()))
      return op->emitOpError() << "has no elements: a dump elides large constants";
  return check_types(op);
}

/// A graph has none of the attributes of later stages and of recorded calls.
mlir::LogicalResult check_stage(mlir::func::FuncOp function) {
  for (const llvm::StringLiteral attr : {ir::saved_bytes_attr, ir::joint_attr, ir::terms_attr,
                                         ir::arena_bytes_attr, ir::arena_lower_bound_attr})
    if (function->hasAttr(attr))
      return function.emitOpError() << "has the attribute " << attr << " of another stage";
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (function.getArgAttr(i, ir::saved_attr))
      return function.emitOpError()
             << "is the backward part of a recorded call, whose saved values are no inputs";
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (function.getResultAttr(i, ir::saved_attr))
      return function.emitOpError() << "is the forward part of a recorded call, which saves values";
  if (const mlir::Attribute draws = function->getAttr(ir::draws_attr)) {
    const auto number = llvm::dyn_cast<mlir::IntegerAttr>(draws);
    if (!number || !number.getType().isInteger(64) || number.getInt() < 0)
      return function.emitOpError() << ir::draws_attr << " is no number of draws";
  }
  return mlir::success();
}

mlir::LogicalResult check_arguments(mlir::func::FuncOp function) {
  std::set<llvm::StringRef> names;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    const mlir::Attribute attr = function.getArgAttr(i, ir::name_attr);
    const auto name = llvm::dyn_cast_if_present<mlir::StringAttr>(attr);
    if (attr && !name) return function.emitOpError() << "the name of argument " << i << " is no string";
    if (name && !names.insert(name.getValue()).second)
      return function.emitOpError() << "has two arguments '" << name.getValue() << "'";
  }
  return mlir::success();
}

/// The last results are new contents of arguments, each of its argument's type.
mlir::LogicalResult check_writes(mlir::func::FuncOp function) {
  const mlir::Attribute attr = function->getAttr(ir::writes_attr);
  if (!attr) return mlir::success();
  const auto writes = llvm::dyn_cast<mlir::DenseI64ArrayAttr>(attr);
  if (!writes || static_cast<std::size_t>(writes.size()) > function.getNumResults())
    return function.emitOpError() << ir::writes_attr << " lists no results";
  const std::size_t first = function.getNumResults() - static_cast<std::size_t>(writes.size());
  std::int64_t last = -1;
  for (std::size_t i = 0; i < static_cast<std::size_t>(writes.size()); ++i) {
    const std::int64_t input = writes[i];
    if (input <= last || input >= static_cast<std::int64_t>(function.getNumArguments()))
      return function.emitOpError() << ir::writes_attr << " lists no arguments in ascending order";
    if (function.getArgumentTypes()[static_cast<unsigned>(input)] !=
        function.getResultTypes()[static_cast<unsigned>(first + i)])
      return function.emitOpError() << "writes argument " << input << " with an array of another type";
    last = input;
  }
  return mlir::success();
}

}  // namespace

mlir::LogicalResult check_program(mlir::ModuleOp module, bool on_gpu) {
  mlir::Block& body = *module.getBody();
  auto function = body.empty() ? nullptr : llvm::dyn_cast<mlir::func::FuncOp>(body.front());
  if (!function || !llvm::hasSingleElement(body))
    return (body.empty() ? module.getOperation() : &body.back())->emitOpError()
           << "a program is one function, as the stage kiln of a dump has it";
  if (function.isExternal() || !llvm::hasSingleElement(function.getBody()))
    return function.emitOpError() << "needs a body of one block";
  if (function.getNumResults() == 0) return function.emitOpError() << "returns nothing";
  if (mlir::failed(check_types(function)) || mlir::failed(ir::verify_stage(module, ir::Stage::graph)))
    return mlir::failure();
  const mlir::WalkResult walked = function.getBody().walk([on_gpu](mlir::Operation* op) {
    return mlir::failed(check_operation(op, on_gpu)) ? mlir::WalkResult::interrupt()
                                                     : mlir::WalkResult::advance();
  });
  if (walked.wasInterrupted()) return mlir::failure();
  return mlir::success(mlir::succeeded(check_stage(function)) && mlir::succeeded(check_arguments(function)) &&
                       mlir::succeeded(check_writes(function)));
}

}  // namespace kiln::codegen

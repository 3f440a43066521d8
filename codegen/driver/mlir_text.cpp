// Names arguments and moves constants for the text of a kernel.
#include "codegen/driver/mlir_text.h"

#include <llvm/ADT/MapVector.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>

namespace kiln::codegen {
namespace {

void hoist_constants(mlir::LLVM::LLVMFuncOp function) {
  llvm::MapVector<mlir::Attribute, mlir::arith::ConstantOp> first;  // an attribute has a type
  function.walk([&](mlir::arith::ConstantOp constant) {
    const auto [known, is_new] = first.try_emplace(constant.getValue(), constant);
    if (is_new) return;
    constant.replaceAllUsesWith(known->second.getResult());
    constant.erase();
  });
  mlir::Block& entry = function.getBody().front();
  for (auto& [value, constant] : llvm::reverse(first)) constant->moveBefore(&entry, entry.begin());
}

/// Locations are printed as names of values. Kept are the function's arguments and the loads from its
/// argument arrays (KernelBuilder::param, KernelBuilder::buffer), which are the only invariant loads. Other
/// locations name source operators.
void keep_names_of_arguments(mlir::LLVM::LLVMFuncOp function) {
  const mlir::Location unknown = mlir::UnknownLoc::get(function.getContext());
  function.getBody().walk([&](mlir::Operation* op) {
    auto load = llvm::dyn_cast<mlir::LLVM::LoadOp>(op);
    if (!load || !load.getInvariant()) op->setLoc(unknown);
    for (mlir::Region& region : op->getRegions())
      for (mlir::BlockArgument argument : region.getArguments()) argument.setLoc(unknown);
  });
}

}  // namespace

std::string mlir_text(mlir::ModuleOp module) {
  mlir::OwningOpRef<mlir::ModuleOp> copy(module.clone());
  for (auto function : copy->getOps<mlir::LLVM::LLVMFuncOp>()) {
    if (function.isExternal()) continue;
    hoist_constants(function);
    keep_names_of_arguments(function);
  }
  std::string text;
  llvm::raw_string_ostream stream(text);
  copy->getOperation()->print(stream, mlir::OpPrintingFlags().printNameLocAsPrefix());
  return text + "\n";
}

}  // namespace kiln::codegen

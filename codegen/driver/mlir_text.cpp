// Names arguments and moves constants for the text of a kernel.
#include "codegen/driver/mlir_text.h"

#include "codegen/driver/wrap_text.h"

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

/// The text without unknown locations, which MLIR prints after arguments in full, and else as `#loc`.
std::string without_unknown_locations(std::string_view text) {
  constexpr std::string_view alias = "#loc = loc(unknown)\n", in_full = " loc(unknown)",
                             by_alias = " loc(#loc)";
  const bool has_alias = text.starts_with(alias);
  if (has_alias) text.remove_prefix(alias.size());
  std::string out;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i);
    if (!in_string && rest.starts_with(in_full) && !out.ends_with('=')) {
      i += in_full.size() - 1;
    } else if (!in_string && has_alias && rest.starts_with(by_alias)) {
      i += by_alias.size() - 1;
    } else {
      if (text[i] == '"') in_string = !in_string;
      out += text[i];
      if (in_string && text[i] == '\\' && i + 1 < text.size()) out += text[++i];
    }
  }
  return out;
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
  return wrap_text(text, max_text_columns) + "\n";
}

std::string graph_text(mlir::Operation* op) {
  // MLIR prints the location of an argument in its place, with all its parts. Names of arguments are
  // attributes.
  mlir::OwningOpRef<mlir::Operation*> copy(op->clone());
  copy->walk([](mlir::Block* block) {
    for (mlir::BlockArgument argument : block->getArguments())
      argument.setLoc(mlir::UnknownLoc::get(argument.getContext()));
  });
  std::string text;
  llvm::raw_string_ostream stream(text);
  mlir::OpPrintingFlags flags;
  flags.enableDebugInfo(true).elideLargeElementsAttrs(16);
  copy->print(stream, flags);
  return wrap_text(without_unknown_locations(text), max_text_columns) + "\n";
}

}  // namespace kiln::codegen

// Reduces locations to lines, from which MLIR and LLVM make debug information.
#include "codegen/driver/debug_info.h"

#include "runtime/env.h"
#include "runtime/fail.h"
#include "runtime/log.h"
#include "runtime/once.h"

#include <llvm/ADT/STLExtras.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/Dialect/LLVMIR/Transforms/Passes.h>
#include <mlir/Pass/PassManager.h>

namespace kiln::codegen {

std::vector<std::string> lines_of(mlir::Location loc) {
  std::vector<std::string> lines;
  loc->walk([&](mlir::Location inner) {
    if (auto at = llvm::dyn_cast<mlir::FileLineColLoc>(inner)) {
      std::string line = at.getFilename().str() + ":" + std::to_string(at.getLine());
      if (!llvm::is_contained(lines, line)) lines.push_back(line);
    }
    return mlir::WalkResult::advance();
  });
  return lines;
}

namespace {

/// The place of the operation's first line in the list, which may be its size.
std::size_t line_place(mlir::Operation* op, llvm::ArrayRef<std::string> lines) {
  const auto at = op->getLoc()->findInstanceOf<mlir::FileLineColLoc>();
  if (!at) return lines.size();
  const std::string line = at.getFilename().str() + ":" + std::to_string(at.getLine());
  return static_cast<std::size_t>(llvm::find(lines, line) - lines.begin());
}

}  // namespace

std::string line_numbers(llvm::ArrayRef<mlir::Operation*> operations, llvm::ArrayRef<std::string> lines) {
  std::string numbers;
  for (mlir::Operation* operation : operations)
    operation->walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation* op) {
      const std::size_t place = line_place(op, lines);
      numbers += (numbers.empty() ? "" : " ") + (place < lines.size() ? std::to_string(place) : "-");
    });
  return numbers;
}

void number_lines(mlir::ModuleOp module, llvm::ArrayRef<std::string> lines) {
  module->walk([&](mlir::Operation* op) {
    const std::size_t place = line_place(op, lines);
    if (place < lines.size())
      op->setLoc(mlir::FileLineColLoc::get(op->getContext(), "lines", static_cast<unsigned>(place) + 1, 1));
    else
      op->setLoc(mlir::UnknownLoc::get(op->getContext()));
  });
}

bool debug_symbols() {
  return once<[] {
    bool symbols = false;
    for (const std::string_view word : env_words("KILN_DEBUG")) {
      if (word == "symbols")
        symbols = true;
      else
        warn_once("KILN_DEBUG", fmt::format("KILN_DEBUG: unknown word \"{}\"; the word is symbols", word));
    }
    return symbols;
  }>();
}

void add_debug_info(mlir::ModuleOp module) {
  // LLVM has no fused lines: of several it makes line 0.
  module->walk([](mlir::Operation* op) {
    if (auto line = op->getLoc()->findInstanceOf<mlir::FileLineColLoc>())
      op->setLoc(line);
    else
      op->setLoc(mlir::UnknownLoc::get(op->getContext()));
  });
  mlir::PassManager pm(module.getContext());
  pm.enableVerifier(false);
  mlir::LLVM::DIScopeForLLVMFuncOpPassOptions options;
  options.emissionKind = mlir::LLVM::DIEmissionKind::Full;
  pm.addPass(mlir::LLVM::createDIScopeForLLVMFuncOpPass(options));
  if (mlir::failed(pm.run(module))) fail_internal("a kernel has no debug information");
}

}  // namespace kiln::codegen

#pragma once
#include <mlir/IR/Block.h>
#include <mlir/IR/Operation.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace kiln::passes {

/// Erases operations whose results nobody uses, last first.
inline void erase_dead(mlir::Block& block) {
  for (mlir::Operation* op = block.getTerminator()->getPrevNode(); op;) {
    mlir::Operation* before = op->getPrevNode();
    if (mlir::isOpTriviallyDead(op)) op->erase();
    op = before;
  }
}

}  // namespace kiln::passes

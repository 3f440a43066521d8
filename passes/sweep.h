// Walks over the blocks of a function, for passes.
#pragma once
#include "ir/dialect.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/Block.h>
#include <mlir/IR/Operation.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace kiln::passes {

/// The function's block, then the blocks of the loops and branches in it.
template <class Visit>
void for_each_block(mlir::func::FuncOp function, Visit visit) {
  function.walk<mlir::WalkOrder::PreOrder>([&](mlir::Block* block) {
    if (!llvm::isa<ir::FusionOp>(block->getParentOp())) visit(*block);
  });
}

/// Erases operations whose results nobody uses, last first.
inline void erase_dead(mlir::Block& block) {
  for (mlir::Operation* op = block.getTerminator()->getPrevNode(); op;) {
    mlir::Operation* before = op->getPrevNode();
    if (mlir::isOpTriviallyDead(op)) op->erase();
    op = before;
  }
}

}  // namespace kiln::passes

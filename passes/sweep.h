#pragma once
#include <mlir/IR/Block.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace kiln::passes {

/// Erases operations whose results nobody uses, last first.
inline void erase_dead(mlir::Block& block) {
  for (mlir::Operation& op : llvm::make_early_inc_range(llvm::reverse(block.without_terminator())))
    if (mlir::isOpTriviallyDead(&op)) op.erase();
}

}  // namespace kiln::passes

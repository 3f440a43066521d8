// The order of a value's axes in memory, predicted before lowering.
#pragma once
#include "passes/target_model.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallVector.h>
#include <mlir/IR/Block.h>

#include <cstdint>

namespace kiln::passes {

/// The axes of a value from the slowest to the fastest in memory.
using MemoryOrder = llvm::SmallVector<std::int64_t>;

/// The orders that lowering will give the values of `block`, where they differ from the order of the axes.
/// Convolutions have their channels last, unless vectors run along lines (convolution_layout.h); operations
/// that work element by element or window by window keep the order of their operands.
llvm::DenseMap<mlir::Value, MemoryOrder> memory_orders(mlir::Block& block, const TargetModel& target);

}  // namespace kiln::passes

// Kernels of row fusions.
#pragma once
#include "codegen/emit/launch.h"
#include "codegen/target/machine.h"
#include "runtime/executable.h"

#include <mlir/IR/BuiltinAttributes.h>

#include <optional>

namespace kiln::codegen {

/// A step before its kernel is compiled.
struct PlannedStep {
  Step step;
  std::vector<std::int64_t> operand_bytes;    ///< of each operand, from its place on
  std::optional<KernelRequest> request = {};  ///< of the kernel, if it has one
  std::optional<std::size_t> prepacked = {};  ///< the prepacked constant that it computes, if it does
  mlir::DenseI64ArrayAttr row_fusion = {};  ///< passes::row_fusion_attr of its operation; null: in no fusion
  mlir::DenseI64ArrayAttr next_row_blocks = {};  ///< passes::next_rows_attr: operands to prefetch; or null
  std::shared_ptr<Launch> generic = {};          ///< Launch::generic
  llvm::SmallVector<mlir::Operation*, 1> operations = {};  ///< that it computes, for reports
  /// Bytes that it reads and writes, for reports, where they are no sum of its arrays; else negative.
  std::int64_t moved_bytes = -1;
};

/// Fuses consecutive steps of one row fusion into one step. Its kernel takes a block of rows through the code
/// of all of them before the next block. Steps whose loops cannot be divided into the same rows stay
/// separate.
std::vector<PlannedStep> fuse_rows(std::vector<PlannedStep> steps, const Machine& machine);

}  // namespace kiln::codegen

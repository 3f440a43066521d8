// The constants of a plan.
#pragma once
#include "ir/dialect.h"
#include "runtime/plan.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace kiln::codegen {

/// The constants of a function, in order of appearance, then tables of its kernels. Buffer assignment
/// numbered the former.
class PlanConstants {
 public:
  explicit PlanConstants(mlir::func::FuncOp function);
  void add(ir::ConstantOp op);
  BufferRef add_table(const std::vector<std::int64_t>& values);
  /// A constant or table that was added.
  const Buffer& operator[](std::uint32_t number) const;
  /// All of them; ends the use of this object.
  std::vector<std::shared_ptr<const Buffer>> take();

 private:
  std::uint32_t count_ = 0;  // constants of the function
  std::vector<std::shared_ptr<const Buffer>> constants_, tables_;
};

}  // namespace kiln::codegen

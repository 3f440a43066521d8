// The back end of CPUs.
#pragma once
#include "codegen/backend/backend.h"
#include "codegen/backend/kernel_table.h"
#include "codegen/target/target_model.h"

#include <string>
#include <utility>

namespace kiln::codegen {

/// Which family computes an operation.
const KernelTable& cpu_kernels();

/// Kernels are vector code, and objects of this process.
class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(CpuTarget target)
      : target_(std::move(target)), model_(target_.lanes(4), *target_.machine) {}

  const passes::TargetModel& model() const override { return model_; }
  const CpuTarget& code() const override { return target_; }
  std::string id() const override;
  Launches launch(mlir::Operation* op) const override { return cpu_kernels().launch(op, target_); }
  Launch launch_copy(const StridedBox& box, DType dtype, mlir::Location location) const override;
  llvm::SmallVector<char, 0> lower(llvm::Module& module, const KernelRequest& request,
                                   const std::string& symbol, StageTexts* texts) const override;

 private:
  CpuTarget target_;
  CpuTargetModel model_;
};

}  // namespace kiln::codegen

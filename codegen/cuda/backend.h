// The back end of NVIDIA GPUs.
#pragma once
#include "codegen/backend/backend.h"
#include "codegen/backend/kernel_table.h"
#include "codegen/target/target_model.h"

#include <string>
#include <utility>

namespace kiln::codegen {

/// An architecture; newer GPUs run its kernels, too.
struct CudaArch {
  std::string name;  ///< LLVM's: "sm_80"
  std::string ptx;   ///< LLVM's feature for the oldest version of PTX that has it: "+ptx70"
};
/// Throws kiln::Error for an architecture that is not known.
CudaArch cuda_arch_of(const std::string& name);

/// Which kernels have a schedule of GPUs.
const KernelTable& cuda_kernels();

/// Kernels are PTX, and the code of a thread is scalar.
class CudaBackend final : public Backend {
 public:
  /// `scalar_kernels` computes the operations without a schedule for GPUs, with a thread for each iteration
  /// of the outermost loop. It must outlive the back end.
  CudaBackend(CudaArch arch, const KernelTable& scalar_kernels)
      : arch_(std::move(arch)), scalar_kernels_(scalar_kernels), model_(/*lanes=*/1, *thread_.machine) {}

  const passes::TargetModel& model() const override { return model_; }
  const CpuTarget& code() const override { return thread_; }
  BackendTraits traits() const override {
    return {.links_kernels = false, .code_depends_on_memory = true, .has_tensor_cores = true};
  }
  std::string id() const override { return arch_.name + "/" + arch_.ptx; }
  Launches launch(mlir::Operation* op) const override;
  Launch launch_copy(const StridedBox& box, DType dtype, mlir::Location location) const override;
  llvm::SmallVector<char, 0> lower(llvm::Module& module, const KernelRequest& request,
                                   const std::string& symbol, StageTexts* texts) const override;

 private:
  CudaArch arch_;
  const KernelTable& scalar_kernels_;
  CpuTarget thread_{.has_flushing_instructions = true};
  CpuTargetModel model_;
};

}  // namespace kiln::codegen

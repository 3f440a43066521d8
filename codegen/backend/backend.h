// A back end: all that the driver asks about a target.
#pragma once
#include "codegen/backend/stage_texts.h"
#include "codegen/emit/launch.h"
#include "codegen/target/cpu_target.h"
#include "passes/target_model.h"

#include <llvm/IR/Module.h>

#include <string>

namespace kiln::codegen {

/// The kernels of an operation, which run one after the other. Each kernel gets all operands of the
/// operation.
using Launches = llvm::SmallVector<Launch, 1>;

/// The traits of a target that the driver has to know besides its kernels.
struct BackendTraits {
  /// Kernels are objects, which are linked into the process; else texts for the driver of a device, which are
  /// launched by KernelRequest::gpu.
  bool links_kernels = true;
  /// The code of a kernel depends on which of its operands share memory (KernelArguments::memory).
  bool code_depends_on_memory = false;
  bool has_tensor_cores = false;
};

/// A target: its model for passes, the launch of each operation, the lowering of a kernel. Immutable; any
/// number of threads may use one.
class Backend {
 public:
  virtual ~Backend() = default;

  /// The answers for passes.
  virtual const passes::TargetModel& model() const = 0;
  /// The instructions that kernels are emitted in; on a GPU the instructions of a thread, which are scalar.
  virtual const CpuTarget& code() const = 0;
  virtual BackendTraits traits() const { return {}; }
  /// The part of the target that a cached kernel depends on.
  virtual std::string id() const = 0;

  /// The kernels of an operation that the passes left; for a pad, the kernels of its border. Throws an
  /// internal error for an operation that no pass should have left.
  virtual Launches launch(mlir::Operation* op) const = 0;
  /// A copy from one strided view to another: operand 0 to operand 1.
  virtual Launch launch_copy(const StridedBox& box, DType dtype, mlir::Location location) const = 0;

  /// The code of a kernel: of `module`, whose function `symbol` computes the iterations of a range. Both are
  /// changed. `texts`, which may be null, receives "llvm" and the texts of the target's code.
  virtual llvm::SmallVector<char, 0> lower(llvm::Module& module, const KernelRequest& request,
                                           const std::string& symbol, StageTexts* texts) const = 0;
};

}  // namespace kiln::codegen

#pragma once
#include "codegen/driver/compile.h"
#include "codegen/target/cpu_target.h"
#include "codegen/target/target_model.h"

#include <string>
#include <utility>
#include <variant>

namespace kiln::codegen {

/// NVIDIA GPUs of an architecture, and newer ones. Kernels are PTX, and a thread's code is scalar.
struct GpuTarget {
  std::string arch;  ///< LLVM's name: "sm_80"
  std::string ptx;   ///< LLVM's feature for the PTX version: "+ptx70"
};

/// What the kernels of one compile are for: one of two kinds.
class Target {
 public:
  explicit Target(CpuTarget cpu) : kind_(std::move(cpu)), model_(code().lanes(4), *code().machine) {}
  explicit Target(GpuTarget gpu) : kind_(std::move(gpu)), model_(code().lanes(4), *code().machine) {}

  /// Null for a CPU.
  const GpuTarget* gpu() const { return std::get_if<GpuTarget>(&kind_); }
  /// The instructions of a kernel's code, on a GPU of a thread's.
  const CpuTarget& code() const {
    static const CpuTarget scalar;
    const auto* const cpu = std::get_if<CpuTarget>(&kind_);
    return cpu ? *cpu : scalar;
  }
  /// The answers for passes.
  const passes::TargetModel& model() const { return model_; }
  /// The part of the target that a cached kernel depends on.
  std::string id() const;

 private:
  std::variant<CpuTarget, GpuTarget> kind_;
  CpuTargetModel model_;
};

/// That of CompileOptions::gpu if it is set, else of CompileOptions::isa. Throws kiln::Error for an
/// architecture that is not known.
Target select_target(const CompileOptions& options);

}  // namespace kiln::codegen

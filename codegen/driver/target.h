#pragma once
#include "codegen/cpu/target_model.h"
#include "codegen/driver/compile.h"

#include <kiln/export.h>

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace kiln::codegen {

/// The instructions that a kernel's code may use: those of a CPU, or one element at a time.
struct CpuTarget {
  Isa isa = Isa::scalar;
  int vector_bytes = 0;  ///< of a register; 0: one element at a time
  std::string cpu;       ///< LLVM's name: "x86-64-v4"
  std::string features;  ///< LLVM's list; empty: those of the cpu
  /// The machine to tune for; never null. Parameters of kernels may depend on it; code may if its key does.
  /// It is no part of the target's id.
  const Machine* machine = &assumed_machine();

  /// Lanes of a vector of elements of `element_bytes`. Elements narrower than 4 bytes have the lanes of
  /// 4-byte elements, so that types of different widths have one lane count.
  int lanes(std::size_t element_bytes) const {
    return vector_bytes == 0 ? 1 : vector_bytes / static_cast<int>(element_bytes < 4 ? 4 : element_bytes);
  }
  /// Vector registers; those of scalar code hold one element.
  int registers() const { return vector_registers(lanes(4)); }
};

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

/// The instruction set that Isa::host selects in this process: that of set_target_cpu() or KILN_TARGET_CPU,
/// or Isa::host for the machine's own. Throws kiln::Error when KILN_TARGET_CPU is not known.
Isa process_isa();

/// The widest instructions that this machine and the request allow. Throws kiln::Error when the machine lacks
/// the requested ones.
CpuTarget select_cpu(Isa request);
/// That of CompileOptions::gpu if it is set, else of CompileOptions::isa. Throws kiln::Error for an
/// architecture that is not known.
Target select_target(const CompileOptions& options);

/// The model of this machine that kernels are tuned by, a line for each fact, for people.
KILN_API std::string describe_target();

}  // namespace kiln::codegen

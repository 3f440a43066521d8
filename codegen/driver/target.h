#pragma once
#include "codegen/driver/compile.h"

#include <kiln/export.h>

#include <cstdint>
#include <string>

namespace kiln::codegen {

/// The instructions that kernels of one compile may use: those of this machine, or of NVIDIA GPUs. The code
/// of a GPU is scalar.
struct Target {
  Isa isa;
  int vector_bytes;      ///< of a register; 0: one element at a time
  std::string cpu;       ///< LLVM's name: "x86-64-v4", "sm_80"
  std::string features;  ///< LLVM's list; empty: those of the cpu
  /// Whether loops prefetch the memory that they stream through. AMD's processors detect streams themselves,
  /// and a software prefetch then costs up to a fifth. It is part of a kernel's key, not of the target's id.
  bool software_prefetch = false;
  /// Bytes of a core's L2 on this machine. Parameters of kernels may depend on it; code may if its key does.
  std::int64_t l2_bytes = 512 * 1024;
  bool gpu = false;  ///< kernels are PTX

  /// Lanes of a vector of elements of `element_bytes`. Elements narrower than 4 bytes have the lanes of
  /// 4-byte elements, so that types of different widths have one lane count.
  int lanes(std::size_t element_bytes) const {
    return vector_bytes == 0 ? 1 : vector_bytes / static_cast<int>(element_bytes < 4 ? 4 : element_bytes);
  }
  /// Vector registers; those of scalar code hold one element.
  int registers() const { return vector_bytes == 64 ? 32 : 16; }
  /// The part of the target that a cached kernel depends on.
  std::string id() const;
};

/// The instruction set that Isa::host selects in this process: that of set_target_cpu() or KILN_TARGET_CPU,
/// or Isa::host for the machine's own. Throws kiln::Error when KILN_TARGET_CPU is not known.
Isa process_isa();

/// The widest target that this machine and the request allow. Throws kiln::Error when the machine lacks the
/// requested instructions.
Target select_target(Isa request);
/// That of CompileOptions::gpu, if it is set. Throws kiln::Error for an architecture that is not known.
Target select_target(const CompileOptions& options);

/// The model of this machine that kernels are tuned by, a line for each fact, for people.
KILN_API std::string describe_target();

}  // namespace kiln::codegen

#pragma once
#include "codegen/driver/compile.h"

#include <kiln/export.h>

#include <cstdint>
#include <string>

namespace kiln::codegen {

/// The instructions that kernels of one compile may use.
struct Target {
  Isa isa;
  int vector_bytes;      ///< of a register; 0: one element at a time
  std::string cpu;       ///< LLVM's name
  std::string features;  ///< LLVM's list; empty: those of the cpu
  /// Whether loops ask for what they will stream through. AMD's processors see such streams themselves, and
  /// asking then costs up to a fifth. A kernel's key says whether it asks, its id does not.
  bool software_prefetch = false;
  /// Bytes of the second cache of a core of this machine. Sizes that kernels are given may depend on it;
  /// their code may where their key says so.
  std::int64_t l2_bytes = 512 * 1024;

  /// Elements of a vector of `element_bytes` each; a multiple of what one register holds when elements are
  /// narrow, so that types of different widths have one lane count.
  int lanes(std::size_t element_bytes) const {
    return vector_bytes == 0 ? 1 : vector_bytes / static_cast<int>(element_bytes < 4 ? 4 : element_bytes);
  }
  /// Vector registers; those of scalar code hold one element.
  int registers() const { return vector_bytes == 64 ? 32 : 16; }
  /// What a cached kernel depends on.
  std::string id() const;
};

/// What Isa::host stands for in this process: KILN_TARGET_CPU or what set_target_cpu() said, Isa::host where
/// that is the machine's own. Throws kiln::Error when KILN_TARGET_CPU is not known.
Isa process_isa();

/// The widest that this machine and the request allow. Throws kiln::Error when the machine lacks what was
/// asked for.
Target select_target(Isa request);

/// The model of this machine that kernels are tuned by, a line for each fact, for people.
KILN_API std::string describe_target();

}  // namespace kiln::codegen

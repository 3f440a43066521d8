// The instruction sets of CPUs that kernels may be compiled for.
#pragma once

namespace kiln {

/// Which instructions kernels may use. Bits never depend on it.
enum class Isa { host, scalar, avx2, avx512 };

namespace codegen {

/// The instruction set that Isa::host selects in this process: the one of set_target_cpu() or
/// KILN_TARGET_CPU, or Isa::host for the machine's own. Throws kiln::Error when KILN_TARGET_CPU is not known.
Isa process_isa();

}  // namespace codegen
}  // namespace kiln

// The instruction sets of CPUs that kernels may be compiled for.
#pragma once

namespace kiln {

/// Which instructions kernels may use. Bits never depend on it.
enum class Isa { host, scalar, avx2, avx512 };

namespace codegen {

/// The instructions that Isa::host selects in this process.
struct CpuRequest {
  Isa isa = Isa::host;  ///< host: all of the machine
  bool vnni = false;    ///< beyond `isa`: vpdpbusd, which multiplies bytes

  bool operator==(const CpuRequest&) const = default;
};
/// The request of set_target_cpu() or KILN_TARGET_CPU. Throws kiln::Error when KILN_TARGET_CPU is not known.
CpuRequest process_cpu();

}  // namespace codegen
}  // namespace kiln

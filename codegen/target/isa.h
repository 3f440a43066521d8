// The instruction sets of CPUs that kernels may be compiled for.
#pragma once
#include <atomic>
#include <cstdint>

namespace kiln {

/// Which instructions kernels may use. Bits never depend on it.
enum class Isa { host, scalar, avx2, avx512 };

namespace codegen {

/// The instructions that Isa::host selects in this process.
struct CpuRequest {
  Isa isa = Isa::host;  ///< host: all of the machine
  bool vnni = false;    ///< beyond `isa`: vpdpbusd, which multiplies bytes
  bool amx = false;     ///< beyond `isa`: the matrix unit, for bytes and for pairs

  bool operator==(const CpuRequest&) const = default;
};
namespace detail {
/// The request of the process as a key; 0 before the first one.
extern constinit std::atomic<std::uint8_t> cpu_key;
std::uint8_t first_cpu_key();
}  // namespace detail

/// A number for each request, never 0: the one of set_target_cpu() or KILN_TARGET_CPU. Throws kiln::Error
/// when KILN_TARGET_CPU is not known. Every eager call asks.
inline std::uint8_t process_cpu_key() {
  const std::uint8_t key = detail::cpu_key.load(std::memory_order_relaxed);
  return key != 0 ? key : detail::first_cpu_key();
}

}  // namespace codegen
}  // namespace kiln

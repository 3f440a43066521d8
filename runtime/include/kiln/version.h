// Version, and visibility of symbols.
#pragma once
#include <kiln/export.h>

#include <string>
#include <string_view>
#include <vector>

namespace kiln {

/// Version of Kiln, as "0.1.0".
KILN_API std::string version();
/// Version of the LLVM in use, as "22.1.8".
KILN_API std::string llvm_version();
/// The target of generated code, as "x86_64 avx512". Throws kiln::Error if KILN_TARGET_CPU is not supported
/// by the machine.
KILN_API std::string host_isa();

/// The supported values of KILN_TARGET_CPU, smallest first: "scalar", "avx2", "avx2-vnni", "avx512",
/// "avx512-vnni", "avx512-amx". The last words name units that multiply narrow numbers.
KILN_API std::vector<std::string> target_cpus();
/// Overrides KILN_TARGET_CPU: `name` is one of target_cpus() or "native". Eager operators use it from the
/// next call; compiled networks keep their code. Results do not depend on it. Throws kiln::Error for an
/// unknown or unsupported name. Any thread.
KILN_API void set_target_cpu(std::string_view name);

}  // namespace kiln

#pragma once
#include <kiln/export.h>

#include <string>
#include <string_view>
#include <vector>

namespace kiln {

/// Of Kiln, as "0.1.0".
KILN_API std::string version();
/// Of the LLVM that makes the code, as "22.1.8".
KILN_API std::string llvm_version();
/// What code is made for on this machine, as "x86_64 avx512". Throws kiln::Error when KILN_TARGET_CPU asks
/// for more than the machine has.
KILN_API std::string host_isa();

/// The instruction sets that this machine has, as KILN_TARGET_CPU names them, the smallest first: "scalar",
/// "avx2", "avx512".
KILN_API std::vector<std::string> target_cpus();
/// From now on code is made for this instruction set, a name of target_cpus() or "native", in place of
/// KILN_TARGET_CPU's. Eager operators use such code at once; networks that are compiled keep what they have.
/// Results do not depend on it. Throws kiln::Error for an unknown name and for more than the machine has.
/// Safe to call from any thread.
KILN_API void set_target_cpu(std::string_view name);

}  // namespace kiln

#pragma once
#include <kiln/export.h>

#include <string>

namespace kiln {

/// Of Kiln, as "0.1.0".
KILN_API std::string version();
/// Of the LLVM that makes the code, as "22.1.8".
KILN_API std::string llvm_version();
/// What code is made for on this machine, as "x86-64 avx512". Throws kiln::Error when KILN_TARGET_CPU asks
/// for more than the machine has.
KILN_API std::string host_isa();

}  // namespace kiln

// Versions of Kiln and of LLVM.
#include "codegen/driver/compile.h"
#include "codegen/target/cpu_target.h"

#include <kiln/version.h>

#include <llvm/Config/llvm-config.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/Triple.h>

namespace kiln {

std::string version() { return KILN_VERSION; }

std::string llvm_version() { return LLVM_VERSION_STRING; }

std::string host_isa() {
  std::string machine = llvm::Triple(llvm::sys::getProcessTriple()).getArchName().str();
  switch (codegen::select_cpu(default_options().isa).isa) {
    case Isa::avx512:
      return machine + " avx512";
    case Isa::avx2:
      return machine + " avx2";
    default:
      return machine + " scalar";
  }
}

}  // namespace kiln

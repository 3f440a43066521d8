// Versions of Kiln and of LLVM.
#include "codegen/driver/compile.h"
#include "codegen/target/cpu_target.h"

#include <kiln/version.h>

#include <llvm/Config/llvm-config.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/Triple.h>

#include <fmt/format.h>

namespace kiln {

std::string version() { return KILN_VERSION; }

std::string llvm_version() { return LLVM_VERSION_STRING; }

std::string host_isa() {
  const std::string machine = llvm::Triple(llvm::sys::getProcessTriple()).getArchName().str();
  return fmt::format("{} {}", machine, codegen::select_cpu(default_options().isa).name());
}

}  // namespace kiln

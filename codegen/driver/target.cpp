#include "codegen/driver/target.h"

#include "runtime/fail.h"

#include <fmt/format.h>

namespace kiln::codegen {

std::string Target::id() const {
  if (gpu()) return gpu()->arch + "/" + gpu()->ptx;
  return fmt::format("{}/{}/{}", code().cpu, code().features, code().vector_bytes);
}

Target select_target(const CompileOptions& options) {
  if (options.gpu.empty()) return Target(select_cpu(options.isa));
  // The oldest PTX that has the architecture: a driver takes PTX that is not newer than itself.
  for (const auto& [name, ptx] : {std::pair("sm_80", "+ptx70"), {"sm_90", "+ptx78"}})
    if (options.gpu == name) return Target(GpuTarget{name, ptx});
  fail("the architecture '{}' is not known; use sm_80, which all newer GPUs run too, or sm_90", options.gpu);
}

}  // namespace kiln::codegen

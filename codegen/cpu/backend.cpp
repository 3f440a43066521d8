// The back end of CPUs.
#include "codegen/cpu/backend.h"

#include "codegen/cpu/kernels.h"
#include "runtime/once.h"

#include <fmt/format.h>

namespace kiln::codegen {

const KernelTable& cpu_kernels() { return once<make_cpu_kernels>(); }

std::string CpuBackend::id() const {
  return fmt::format("{}/{}/{}", target_.cpu, target_.features, target_.vector_bytes);
}

Launch CpuBackend::launch_copy(const StridedBox& box, DType dtype, mlir::Location location) const {
  return codegen::launch_copy(box, dtype, target_, location);
}

}  // namespace kiln::codegen

// The rows of the CPU and of NVIDIA GPUs.
#include "codegen/registry/registry.h"

#include "codegen/cpu/backend.h"
#include "codegen/cuda/backend.h"
#include "runtime/fail.h"
#include "runtime/fork_gate.h"
#include "runtime/once.h"

#include <list>
#include <mutex>

namespace kiln::codegen {
namespace {

std::unique_ptr<const Backend> make_cpu(const TargetRequest& request, const KernelTable*) {
  return std::make_unique<CpuBackend>(select_cpu(request.isa));
}

std::unique_ptr<const Backend> make_cuda(const TargetRequest& request, const KernelTable* scalar_kernels) {
  return std::make_unique<CudaBackend>(cuda_arch_of(request.gpu), *scalar_kernels);
}

/// A list, whose rows stay where they are.
struct BackendRows {
  Mutex mutex;
  std::list<BackendRow> rows{
      {"cpu", cpu_kernels, /*falls_back_to=*/"", make_cpu},
      {"cuda", cuda_kernels, /*falls_back_to=*/"cpu", make_cuda},
  };

  const BackendRow& named(const std::string& name) {
    const std::lock_guard lock(mutex);
    for (const BackendRow& row : rows)
      if (row.name == name) return row;
    fail("there is no back end '{}'", name);
  }
};

BackendRows& registry() {
  return once<[] { return BackendRows(); }>();
}

}  // namespace

std::unique_ptr<const Backend> select_backend(const TargetRequest& request) {
  const BackendRow& row = registry().named(!request.backend.empty() ? request.backend
                                           : request.gpu.empty()    ? "cpu"
                                                                    : "cuda");
  const KernelTable* other =
      row.falls_back_to.empty() ? nullptr : &registry().named(row.falls_back_to).kernels();
  return row.make(request, other);
}

void register_backend(BackendRow row) {
  BackendRows& all = registry();
  const std::lock_guard lock(all.mutex);
  all.rows.push_back(std::move(row));
}

}  // namespace kiln::codegen

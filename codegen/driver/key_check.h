// A check that kernels' keys are complete.
#pragma once
#include "codegen/emit/kernel_builder.h"
#include "runtime/disk_cache.h"

namespace kiln::codegen {

/// Whether KILN_CHECK_KERNELS is "1" or "on". Read once.
bool checks_kernels();

/// Emits the kernel and compares its text with the first request of the same key in this process. Equal keys
/// must mean equal code, or a network would run the kernel of another. Any thread may call it, each with a
/// separate context. Throws an internal error that shows the first lines that differ.
void check_key(mlir::MLIRContext& context, const KernelRequest& request, const CpuTarget& target,
               const CacheKey& key);

}  // namespace kiln::codegen

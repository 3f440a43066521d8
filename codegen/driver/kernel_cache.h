// The kernels of plans: from memory, from disk, or compiled.
#pragma once
#include "codegen/driver/compile.h"
#include "codegen/driver/lower.h"
#include "codegen/driver/stats.h"
#include "codegen/emit/kernel_builder.h"
#include "runtime/executable.h"

namespace kiln::codegen {

/// Which code kernels are: for this target, by this version of Kiln and LLVM.
std::string kernel_stamp(const Backend& backend);

/// The kernels of the requests, in their order. Each is taken from memory, else from Kiln's build or the disk
/// cache, else compiled and stored in memory and on disk. Compilation uses the threads that a call may use.
/// Equal requests are compiled once, even by several threads at the same time. The requests' locations belong
/// to `context`; `graph` is for people. `stages`, when not null and it wants code, receives the kernels'
/// texts: the code is generated anew for it. For a report, requests with equal keys and equal `line_numbers`
/// share code, whose lines have the same numbers. `counts` gets where they are from. Memory keeps unused
/// kernels, up to KILN_KERNELS_MAX_COUNT kernels in all; then the least recently requested ones are unloaded.
std::vector<std::shared_ptr<const Kernel>> get_kernels(
    mlir::MLIRContext& context, llvm::ArrayRef<KernelRequest> requests, const Backend& backend,
    llvm::StringRef graph, Stages* stages, llvm::ArrayRef<std::string> line_numbers, KernelCounts& counts);

/// Whether a plan gets the kernel `generic` in place of `special`; both give the same bits, `special` faster.
/// GenericKernels::shared decides by two conditions. `special` is neither in memory nor on disk. `generic`
/// is, or an earlier plan could have had it. So the first size that a program meets has specialised kernels,
/// and later sizes share the generic ones.
bool runs_generic(const KernelRequest& special, const KernelRequest& generic, const Backend& backend,
                  GenericKernels which);
/// Notes that a plan could have had this generic kernel.
void remember_generic(const KernelRequest& generic, const Backend& backend);

/// Unloads every kernel that nothing uses; returns how many.
std::size_t drop_unused_kernels();

}  // namespace kiln::codegen

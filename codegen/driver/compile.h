// Graphs to executables: the interface of code generation.
#pragma once
#include "codegen/target/isa.h"
#include "ir/graph.h"
#include "runtime/executable.h"

#include <kiln/precision.h>

#include <map>
#include <memory>
#include <string>

namespace kiln {

/// The use of generic kernels, which sizes share (kernel_cache.h). never: none. shared: plans of compile(),
/// until an executable has been called a few times. always: all, for tests. Bits never depend on it.
enum class GenericKernels { never, shared, always };

/// The origin of a compilation, for the names of dumps and their index. Empty: not known.
struct CompilePurpose {
  std::string inputs;  ///< "float32 (4, 64)"
  std::string reason;  ///< in a few words: "axis 0 of input 0"
  std::string text;    ///< a sentence
};

struct CompileOptions {
  Isa isa = Isa::host;  ///< host: KILN_TARGET_CPU
  std::string gpu;      ///< "sm_80", "sm_90": kernels are PTX
  /// A row of codegen/registry; empty: the GPU's row if `gpu` is set, else the CPU's.
  std::string backend = {};
  Device device = {};  ///< of executables; one that is no CPU needs `gpu`
  /// Of nodes that do not set one.
  Precision precision = Precision::fast;
  bool fuse = true;      ///< off: one kernel per primitive, to see the effect of fusion
  std::string dump_dir;  ///< KILN_DUMP: a folder that gets every stage as a file
  /// KILN_DUMP_PASSES=1: the folder also gets a file after each pass, which says where it changed nothing.
  bool dump_passes = false;
  CompilePurpose purpose = {};
  /// When set, receives the text of every stage: trace, kiln, fused, buffers, mlir, llvm, asm or ptx, plan.
  /// Code is generated anew for it, caches or not.
  std::map<std::string, std::string>* stages = nullptr;
  GenericKernels generic = GenericKernels::never;  ///< KILN_GENERIC: off, on, always; `shared` by default
  bool sass = false;  ///< of GPUs: the stage sass too, which takes NVIDIA's tools
};

/// Options from the environment, read once.
const CompileOptions& default_options();

/// The same options, for executables on `device`, and with this thread's precision.
CompileOptions on_device(CompileOptions options, Device device);

/// The one way from operators to code: graph -> kiln dialect -> passes -> kernels -> Executable. Kernels that
/// are in memory or on disk already are not compiled again. Safe to call from any thread. Throws kiln::Error.
std::shared_ptr<const Executable> compile(const ir::Graph& graph,
                                          const CompileOptions& options = default_options());

/// Lists a request in the index of the folder of dumps, if there is one: the request has code already, and
/// compiles none. Throws kiln::Error if the index cannot be written.
void list_reused_dump(const CompileOptions& options);

/// The same up to the plan, whose kernels are not loaded: for GPUs too.
ExecutablePlan compile_plan(const ir::Graph& graph, const CompileOptions& options);

/// Numbers since the process started, for tests and `kiln bench`.
struct CompileStats {
  std::uint64_t graphs = 0;            ///< calls of compile()
  std::uint64_t kernels_compiled = 0;  ///< through LLVM
  std::uint64_t kernels_loaded = 0;    ///< from Kiln's build or the disk cache
  std::uint64_t kernels_shared = 0;    ///< found in memory
  std::uint64_t kernels_mapped = 0;    ///< in memory now
  std::uint64_t kernels_dropped = 0;   ///< unloaded, for want of room
};
CompileStats compile_stats();

}  // namespace kiln

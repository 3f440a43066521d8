// The plan of an executable.
#pragma once
#include "runtime/packing.h"
#include "runtime/storage.h"
#include "runtime/tensor_type.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

/// A compiled graph as data. It depends on no LLVM, holds no address and no handle, and can be copied,
/// printed, written and read back (plan_io.h). An Executable (executable.h) is a plan with its kernels
/// loaded.
namespace kiln {

/// Generated code. `buffers[i]` is the first element of operand i; `params` are the extents and strides that
/// are not built into the code. Computes the part [begin, end) of the outermost loop. Reentrant; writes only
/// its output operands.
using KernelFn = void (*)(void* const* buffers, const std::int64_t* params, std::int64_t begin,
                          std::int64_t end);

/// Immutable bytes that copies of a plan share.
using Blob = std::shared_ptr<const std::vector<std::byte>>;

/// How the threads of a GPU divide the outermost loop of a kernel.
struct GpuLaunch {
  std::string schedule = {};          ///< for people; empty for a kernel of the CPU
  std::uint32_t threads = 1;          ///< of an iteration, all in one block
  std::uint32_t block_threads = 256;  ///< of a block; a multiple of `threads`
};

/// A kernel of a plan: its identity and its machine code.
struct PlannedKernel {
  std::string name;                  ///< for people: the operators in it
  std::array<std::uint64_t, 2> key;  ///< hash of the kernel's definition and of the compiler
  std::string symbol;                ///< the function's name in `object`
  Blob object;  ///< an ELF object, or PTX; null for a function of the process itself (tests)
  GpuLaunch gpu = {};
};

/// Where a value lives during a call.
struct BufferRef {
  enum class Space : std::uint8_t { input, output, arena, constant, prepacked, rng };
  Space space = Space::arena;
  std::uint32_t index = 0;  ///< which input, output, constant or prepacked constant
  std::int64_t offset = 0;  ///< bytes from its beginning, in the arena from its saved part's
  bool operator==(const BufferRef&) const = default;
};

/// A loop (kiln.run_loop). The body takes the loop-carried values, one slice of each scanned input, then the
/// invariants. It returns the carried values of the next step, one slice of each stacked output, then, in a
/// conditional loop, the condition of the next step.
///
/// Operands of the step: carried values, scanned inputs, invariants, the condition (if conditional), results
/// (carried, then stacked outputs), scratch, random state. Scratch: a second copy of each carried value and,
/// if conditional, a bool, each aligned, then the body's arena.
struct LoopPlan {
  std::uint32_t body = 0;  ///< in the plan's bodies
  std::int64_t steps = 0;  ///< at most this many in a conditional loop
  std::int64_t draws = 0;  ///< random counters per step; negative: from the last step to the first
  std::uint64_t carries = 0, rows = 0, invariants = 0, outputs = 0;
  bool conditional = false;
  bool operator==(const LoopPlan&) const = default;
};

/// A branch (kiln.run_if). Operands of the step: the arguments, the condition, results, scratch (the arena of
/// either body), random state.
struct BranchPlan {
  std::uint32_t then = 0, otherwise = 0;  ///< in the plan's bodies
  bool operator==(const BranchPlan&) const = default;
};

/// A check of values (kiln.check_bounds): indices (i64, of this shape) must be in [0, extent), else the call
/// throws a ValueError (check.h). Operands of the step: the indices.
struct BoundsCheck {
  Shape shape;
  std::int64_t extent = 0;
  std::string node;  ///< operator and name, for the message
  std::string line;  ///< "net.cpp:12", or empty
  bool operator==(const BoundsCheck&) const = default;
};

/// One step of a call: the launch of a kernel or, if `control` is set, a loop, branch or check.
struct Step {
  std::variant<std::monostate, LoopPlan, BranchPlan, BoundsCheck> control = {};
  std::uint32_t kernel = 0;  ///< in the plan's kernels
  std::vector<BufferRef> operands = {};
  std::vector<std::int64_t> params = {};
  std::int64_t extent = 1;  ///< the outermost loop: [0, extent)
  std::int64_t grain = 1;   ///< minimum extent of a task; tasks begin at multiples of it
  /// Per worker; its address is the kernel's last operand. Its first eight bytes are zero before a worker's
  /// first task, and later tasks find it as the worker's preceding task left it.
  std::int64_t scratch_bytes = 0;
  std::string name = {};                    ///< for profiles and dumps
  std::vector<std::string> locations = {};  ///< "file:line" of the operators in it

  bool launches_kernel() const { return std::holds_alternative<std::monostate>(control); }
};

/// A prepacked constant: derived from parameters alone, kept on the storage of the first of them until a
/// version changes.
struct PrepackedPlan {
  std::vector<std::size_t> inputs;  ///< the parameters, also of other prepacked constants in `steps`
  std::uint64_t key = 0;            ///< hash of the derivation, and of the constants that it reads
  std::int64_t bytes = 0;
  std::vector<Step> steps;  ///< operand spaces: input, constant, and prepacked constants up to this one
  /// If it has all elements of the one parameter that it derives from.
  std::optional<Packing> packing = {};
};

struct ExecutablePlan {
  std::string name;
  std::string target;  ///< compiler and target of the kernels; empty without kernels
  std::vector<TensorType> inputs;
  std::vector<TensorType> outputs;
  /// The new contents of an input. Steps compute them in the memory of the input itself, or elsewhere; then
  /// they are copied to the input after the last step.
  struct WriteBack {
    std::size_t input;
    BufferRef value;
    std::int64_t bytes;
    bool in_place() const {
      return value == BufferRef{BufferRef::Space::input, static_cast<std::uint32_t>(input), 0};
    }
  };
  std::vector<WriteBack> write_backs;
  std::vector<PlannedKernel> kernels;  ///< of this plan's steps and prepacked constants, without duplicates
  std::vector<std::shared_ptr<const Buffer>> constants;
  std::vector<PrepackedPlan> prepacked;
  std::vector<Step> steps;
  std::vector<ExecutablePlan> bodies;  ///< of loops and branches; without prepacked constants and write-backs
  /// The arena has two parts. The saved part is memory of the caller: the forward entry of joint code writes
  /// values there that the backward entry reads (codegen/driver/joint.h). The rest is memory of the call. No
  /// value is in both.
  std::int64_t saved_bytes = 0;
  std::int64_t arena_bytes = 0;        ///< without the saved part
  std::int64_t arena_lower_bound = 0;  ///< of arena_bytes: by the values that are live at once
  std::int64_t random_draws = 0;       ///< values of the random counter that a call takes
  double compile_ms = 0;
  std::uint64_t kernels_compiled = 0;  ///< through LLVM, by this compilation
  std::uint64_t kernels_reused = 0;    ///< from memory, Kiln's build or the disk cache
};

/// The launches of the plan and, counted once each, of the bodies of its loops and branches, without
/// write-backs and checks.
KILN_API std::size_t kernel_count(const ExecutablePlan& plan);

}  // namespace kiln

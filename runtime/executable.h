#pragma once
#include "runtime/storage.h"
#include "runtime/tensor_type.h"

#include <kiln/profile.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

/// A compiled graph: a list of kernel launches over a planned set of buffers. Knows no LLVM: a kernel is a
/// function pointer, kept alive by an opaque handle.
namespace kiln {

/// Generated code. `buffers[i]` is the first element of operand i; `params` are the extents and strides the
/// code was left general in; it computes the part [begin, end) of the outermost loop. Reentrant; writes only
/// its output operands.
using KernelFn = void (*)(void* const* buffers, const std::int64_t* params, std::int64_t begin,
                          std::int64_t end);

/// A loaded kernel. Shared by all executables that use it; the code is unloaded with the last of them.
struct Kernel {
  KernelFn entry = nullptr;
  std::string name;               ///< symbol in debuggers: names of the operators in it
  std::uint64_t key[2] = {0, 0};  ///< hash of what was compiled
  std::shared_ptr<void> code;     ///< keeps the machine code mapped
};

/// An argument of a call: a storage and where in it the array begins.
struct Argument {
  Storage* storage;
  std::size_t offset = 0;  ///< bytes
};

/// Where a value lives during a call.
struct BufferRef {
  enum class Space : std::uint8_t { input, output, arena, constant, snapshot, rng };
  Space space = Space::arena;
  std::uint32_t index = 0;  ///< which input, output, constant or snapshot
  std::int64_t offset = 0;  ///< bytes from its beginning; for the arena, from the arena's
};

/// A step that is no kernel: it runs other programs (runtime/control.h) or checks values (runtime/check.h).
/// Immutable, as an Executable is.
class Control {
 public:
  virtual ~Control() = default;
  /// `operands` in the order that its maker documents. May throw: the call then ends.
  virtual void run(void* const* operands) const = 0;
  /// Kernels in its programs.
  virtual std::size_t kernels() const = 0;
};

/// Runs `control`, else `kernel`; without either it copies `copy_bytes` from operand 0 to operand 1.
struct Step {
  std::shared_ptr<const Kernel> kernel;
  std::vector<BufferRef> operands;
  std::vector<std::int64_t> params;
  std::int64_t extent = 1;  ///< the outermost loop: [0, extent)
  std::int64_t grain = 1;   ///< smallest piece worth a thread; pieces begin at multiples of it
  std::int64_t copy_bytes = 0;
  /// For each thread that runs it; their address is the kernel's last operand. The first eight are zero
  /// before a thread's first piece, and a piece finds them all as the thread's piece before left them.
  std::int64_t scratch_bytes = 0;
  std::string name;                    ///< for profiles and dumps
  std::vector<std::string> locations;  ///< "file:line" of the operators in it
  std::shared_ptr<const Control> control = nullptr;
};

/// What parameters alone decide, kept on the storage of the first while no version moves.
struct SnapshotPlan {
  std::vector<std::size_t> inputs;  ///< that it is made from, by itself or by another snapshot that it reads
  std::uint64_t key;                ///< hash of what is made, and from which parts of them
  std::int64_t bytes;
  std::vector<Step> steps;  ///< operand spaces: input, constant, and snapshot up to this one
};

struct ExecutablePlan {
  std::string name;
  std::vector<TensorType> inputs;
  std::vector<TensorType> outputs;
  /// New contents of inputs, copied over them when all steps are done: output number -> input number. Those
  /// outputs are after the visible ones, live in the arena, and are not handed out.
  struct WriteBack {
    std::size_t input;
    BufferRef value;
    std::int64_t bytes;
  };
  std::vector<WriteBack> write_backs;
  std::vector<std::shared_ptr<const Buffer>> constants;
  std::vector<SnapshotPlan> snapshots;
  std::vector<Step> steps;
  std::int64_t arena_bytes = 0;
  std::int64_t arena_lower_bound = 0;  ///< largest sum of simultaneously live temporaries
  std::int64_t random_draws = 0;       ///< values of the random counter that a call takes
  double compile_ms = 0;
};

/// Steps of the plan, and of the bodies of its loops and branches.
KILN_API std::size_t kernel_count(const ExecutablePlan& plan);

/// The seed and the counter that a call's random numbers start from; 16 bytes that kernels read as two u64.
struct RandomState {
  std::uint64_t seed = 0;
  std::uint64_t counter = 0;
};

/// Immutable; any number of threads may call run at once, each with arguments and outputs of its own.
class KILN_API Executable {
 public:
  explicit Executable(ExecutablePlan plan);
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;
  const ExecutablePlan& plan() const { return plan_; }

  /// Runs the steps in order. `outputs[i]` has room for outputs[i].bytes() bytes and overlaps no input. Sets
  /// the floating-point environment (round to nearest, subnormals kept) and restores the caller's.
  void run(std::span<const Argument> inputs, std::span<void* const> outputs, const RandomState& random) const;
  /// As the body of a loop or branch: `operands` are the addresses of the inputs, then of the outputs; the
  /// arena has room for plan().arena_bytes. Takes the caller's floating-point environment.
  void run_body(std::byte* const* operands, std::byte* arena, const RandomState& random) const;

 private:
  /// The plan as run() reads it: operand i of a launch is base[operands[first + i].base] + operands[first +
  /// i].offset, where the bases are the inputs, outputs, constants, snapshots, the arena and the random
  /// state, in this order.
  struct Operand {
    std::uint32_t base;
    std::int64_t offset;
  };
  struct Launch {
    const Control* control;
    KernelFn entry;  // null without control: copy
    const std::int64_t* params;
    std::uint32_t first, count;
    std::int64_t extent, grain, copy_bytes, scratch_bytes;
  };

  Operand resolve(const BufferRef& ref) const;
  Launch add_launch(const Step& step);
  void add_snapshot(std::size_t index);
  void launch(const Launch& l, std::byte* const* bases, void** operands) const;
  void run_steps(std::byte* const* bases) const;
  void run_timed(Profile::Record& profile, std::byte* const* bases, void** operands) const;
  std::shared_ptr<const Buffer> get_snapshot(std::size_t index, std::span<const Argument> inputs,
                                             std::byte** bases) const;
  void write_back(std::span<const Argument> inputs, std::byte* const* bases) const;

  ExecutablePlan plan_;
  std::vector<Operand> operands_;
  std::vector<Launch> launches_;
  std::vector<std::vector<Launch>> snapshot_launches_;
  std::vector<Operand> write_back_values_;
  bool write_backs_overlap_ = false;  // a value to be written lies in an input
  std::uint32_t first_constant_ = 0, first_snapshot_ = 0, arena_base_ = 0, bases_ = 0;
  std::uint32_t widest_ = 0;  // most operands of a launch
};

}  // namespace kiln

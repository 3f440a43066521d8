#pragma once
#include "runtime/plan.h"
#include "runtime/reclaim.h"
#include "runtime/small_array.h"

#include <kiln/profile.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace kiln {

class Accelerator;
class WorkQueue;
struct Workspace;

/// A loaded kernel, shared by all executables that use it; the last reference unmaps the code. The kernel
/// cache holds a reference as well, until it drops the kernel to stay within its bound
/// (codegen/driver/kernel_cache.h).
struct Kernel {
  KernelFn entry = nullptr;
  std::string name;                       ///< for people: the operators in it
  std::array<std::uint64_t, 2> key = {};  ///< as in PlannedKernel
  std::string symbol;
  Blob object;                 ///< the object file of the code
  GpuLaunch gpu;               ///< as in PlannedKernel
  std::shared_ptr<void> code;  ///< keeps the machine code mapped
};

/// Finds or loads a kernel of a plan, for the CPU. Throws kiln::Error on failure.
using LoadKernel = std::function<std::shared_ptr<const Kernel>(const PlannedKernel&)>;

/// An argument of a call: a storage, and the offset of the array's first element.
struct Argument {
  Storage* storage;
  std::size_t offset = 0;  ///< bytes
};

/// A step that launches no kernel: it runs bodies (control.h) or checks values (check.h). Immutable, as an
/// Executable is.
class Control {
 public:
  virtual ~Control() = default;
  /// `operands` as documented for the step's plan. May throw, which ends the call.
  virtual void run(void* const* operands) const = 0;
};

/// Seed and counter at the start of a call's random numbers; 16 bytes that kernels read as two u64.
struct RandomState {
  std::uint64_t seed = 0;
  std::uint64_t counter = 0;
};

/// A plan with its kernels loaded. Immutable; any number of threads may call run at once, each with arguments
/// and outputs of its own.
class KILN_API Executable {
 public:
  /// Throws the errors of `load`, and an internal error for a plan with an index out of range. A device that
  /// is no CPU loads kernels itself.
  Executable(ExecutablePlan plan, const LoadKernel& load, Device device = {});
  ~Executable();
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;
  const ExecutablePlan& plan() const { return plan_; }
  /// The device of its kernels, arguments and results.
  Device device() const { return device_; }

  /// Makes an executable that does the same faster: of the same plan with other kernels.
  using Refine = std::function<std::shared_ptr<const Executable>()>;
  /// Call number calls + 1 makes it, and runs it, as later calls do. Before the executable is published.
  void refine_after(std::int64_t calls, Refine refine);
  /// What the next call runs; it lives as long as this. Counts the call. Any thread.
  const Executable& for_call() const { return refinement_ ? next_of(*refinement_) : *this; }
  /// What many calls run.
  const Executable& refined() const { return refinement_ ? make(*refinement_) : *this; }

  /// The addresses that one call works with. A frame has them, so that a call that is repeated allocates
  /// none.
  struct Addresses {
    explicit Addresses(const Executable& executable);
    SmallArray<std::byte*, 64> bases;
    SmallArray<void*, 32> operands;                 ///< of a launch
    SmallArray<std::uint32_t, 64> inputs_in_order;  ///< to find inputs that overlap
    std::byte* saved = nullptr;                     ///< the saved part of the arena, if the plan has one
  };

  /// Runs the steps in order. Addresses are those of the device; the call may return before the device is
  /// done. `outputs[i]` has room for outputs[i].bytes() bytes and overlaps no input. Inputs may overlap each
  /// other: steps read the old contents of all inputs. Sets the floating-point environment (round to nearest,
  /// subnormals kept) and restores the caller's.
  void run(std::span<const Argument> inputs, std::span<void* const> outputs, const RandomState& random,
           Addresses& addresses) const;
  /// The same, with addresses of its own.
  void run(std::span<const Argument> inputs, std::span<void* const> outputs,
           const RandomState& random) const {
    Addresses addresses(*this);
    run(inputs, outputs, random, addresses);
  }
  /// Runs as the body of a loop or branch: `operands` are the addresses of the inputs, then of the outputs;
  /// the arena has room for plan().arena_bytes. The caller has set the floating-point environment.
  void run_body(std::byte* const* operands, std::byte* arena, const RandomState& random) const;

 private:
  /// The plan in the form that run() reads: operand i of a launch is base[operands[first + i].base] +
  /// operands[first + i].offset. The bases are the inputs, outputs, constants, prepacked constants, the saved
  /// part of the arena, the arena, the random state for kernels, and that for steps on the host, in this
  /// order.
  struct Operand {
    std::uint32_t base;
    std::int64_t offset;
  };
  struct Launch {
    const Step* step;  // of the plan
    const Control* control;
    KernelFn entry;        // null if `control` is set, and for an accelerator
    std::uint32_t kernel;  // in the plan
    const std::int64_t* params;
    std::uint32_t first, count, param_count;
    std::int64_t extent, grain, scratch_bytes;
  };

  friend class RepeatedCall;

  struct Refinement;
  const Executable& next_of(Refinement& refinement) const;
  const Executable& make(Refinement& refinement) const;
  Operand resolve(const BufferRef& ref, bool on_host = false) const;
  Launch add_launch(const Step& step);
  std::unique_ptr<const Control> make_control(const Step& step) const;
  void add_prepacked(std::size_t index);
  void find_releases(std::span<const Operand> read);
  std::int64_t scratch_bytes(std::span<const Launch> launches, int threads) const;
  Workspace make_workspace(std::span<const Launch> launches) const;
  // A queue is null on the CPU; else the accelerator, or a graph of it.
  void launch(const Launch& l, std::byte* const* bases, void** operands, const Workspace& workspace,
              WorkQueue* queue) const;
  void run_steps(Addresses& addresses) const;
  void run_timed(Profile::Record& profile, std::byte* const* bases, void** operands,
                 const Workspace& workspace) const;
  /// Keeps the prepacked constants of a call alive.
  struct PrepackedReferences {
    std::optional<ReadSection<Domain::prepacked>> section;
    std::vector<std::shared_ptr<const Buffer>> held;
  };
  std::byte** gather_prepacked(std::span<const Argument> inputs, std::byte** bases,
                               PrepackedReferences& references) const;
  const Buffer* find_prepacked(std::size_t index, std::span<const Argument> inputs) const;
  std::shared_ptr<const Buffer> get_prepacked(std::size_t index, std::span<const Argument> inputs,
                                              std::byte** bases) const;
  Buffer make_prepacked(std::size_t index, std::span<const Argument> inputs, std::byte** bases) const;
  /// The storage whose contents may be released when the prepacked constants up to `index` exist, or null.
  Storage* releasable_after(std::size_t index, std::span<const Argument> inputs) const;
  /// Sets the bases before that of the arena, of which it returns the place.
  std::byte** set_arguments(std::span<const Argument> inputs, std::span<void* const> outputs,
                            Addresses& addresses, PrepackedReferences& prepacked) const;
  /// The steps of a call whose arguments are set: `base` is what set_arguments() returned. On the CPU the
  /// caller has set the floating-point environment.
  void run_with(std::span<const Argument> inputs, std::byte** base, const RandomState& random,
                Addresses& addresses) const;
  std::vector<Buffer> stage_overlapping(Addresses& addresses, WorkQueue* queue) const;
  std::vector<Buffer> write_back(std::span<const Argument> inputs, std::byte* const* bases,
                                 WorkQueue* queue) const;
  /// Moves the versions of the inputs that a call has written.
  void count_writes(std::span<const Argument> inputs) const;

  /// The random state where kernels read it. The base of that of the host is set already.
  std::byte* kernels_random(std::byte** bases, Buffer& copy) const;

  std::unique_ptr<Refinement> refinement_;  // null: this is as fast as it gets
  ExecutablePlan plan_;
  Device device_;
  Accelerator* accelerator_;                                // of the device; null: it is the CPU
  std::vector<std::shared_ptr<void>> accelerator_kernels_;  // by their index in the plan
  std::vector<std::shared_ptr<const Buffer>> constants_;    // on the device
  std::vector<std::shared_ptr<const Kernel>> kernels_;      // by their index in the plan
  std::vector<std::unique_ptr<const Executable>> bodies_;   // likewise
  std::vector<std::unique_ptr<const Control>> controls_;    // of the steps that launch no kernel
  std::vector<Operand> operands_;
  std::vector<Launch> launches_;
  std::vector<std::vector<Launch>> prepacked_launches_;
  /// By input: whether the steps of a call read it through prepacked constants only, one of which has all its
  /// elements. Its base is null then.
  std::vector<std::uint8_t> packed_only_;
  /// By prepacked constant: the packed-only input that this one is the last to be made from, and the first
  /// prepacked constant with all elements of that input.
  struct ReleasePlan {
    std::size_t input, packed;
  };
  std::vector<std::optional<ReleasePlan>> releases_;
  std::vector<Operand> write_back_values_;
  bool write_backs_overlap_ = false;  // whether a written value is in the memory of another input
  std::vector<bool> in_place_;        // by input: whether steps write it; empty if they write none
  std::vector<std::size_t>
      input_bytes_;  // by input, if in_place_ is not empty: for each call's overlap check
  std::uint32_t first_constant_ = 0, first_prepacked_ = 0, saved_base_ = 0, arena_base_ = 0, bases_ = 0;
  std::uint32_t widest_ = 0;   // most operands of a launch, scratch memory included
  bool reads_random_ = false;  // whether a kernel does
};

}  // namespace kiln

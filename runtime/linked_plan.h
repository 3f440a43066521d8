// A plan in the form that calls read.
#pragma once
#include "runtime/fixed_text.h"
#include "runtime/plan.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

/// A plan in the form that calls read: each operand is a base address and an offset, each step a launch.
namespace kiln {

class Control;
class LinkedPlan;

/// A check that a call has not passed, with the values of its message. It ends the call.
struct [[nodiscard]] FailedCheck {
  const Control* check;         ///< null: none failed, and the values are undefined
  std::int64_t element, value;  ///< the place of a wrong value, and the value

  FailedCheck() : check(nullptr) {}  // one store on the way out of each call
  FailedCheck(const Control* of, std::int64_t at, std::int64_t wrong)
      : check(of), element(at), value(wrong) {}
  explicit operator bool() const { return check != nullptr; }
  /// Throws the ValueError (check.h) of the check.
  [[noreturn]] void fail() const;
};

/// Room for one address in the tables of a call.
struct alignas(void*) TableSlot {
  std::byte bytes[sizeof(void*)];
};

/// The memory in which a step runs bodies. The tables are the host's, also on an accelerator.
struct StepMemory {
  TableSlot* tables;   ///< at least Control::table_slots()
  std::byte* scratch;  ///< of the bodies' kernels: at least Control::scratch_bytes(threads)
  int threads;         ///< for which `scratch` has room

  /// The first `count` addresses of the tables; the rest is left for others.
  template <class Address>
  Address* take(std::size_t count) {
    return reinterpret_cast<Address*>(std::exchange(tables, tables + count));
  }
};

/// A step that launches no kernel: it runs bodies (control.h) or checks values (check.h). Immutable.
class Control {
 public:
  virtual ~Control() = default;
  /// `operands` as documented for the step's plan.
  virtual FailedCheck run(void* const* operands, StepMemory memory) const = 0;
  /// The addresses that a run keeps in tables.
  virtual std::size_t table_slots() const { return 0; }
  /// The scratch memory of the bodies' kernels, in a call on `threads` threads. A device with a queue
  /// allocates it itself.
  virtual std::int64_t scratch_bytes(int /*threads*/) const { return 0; }
  /// The message of a failed check of this step, and the program line that it was compiled for.
  virtual void explain(const FailedCheck&, FixedText&) const {}
  virtual std::string_view line() const { return {}; }
  /// The bodies that it runs, whose steps a Profile measures; they live as long as this.
  virtual std::vector<const LinkedPlan*> bodies() const { return {}; }
};

/// A linked step.
struct Launch {
  const Step* step;                         ///< of the plan
  const Control* control;                   ///< null: the step launches a kernel
  std::uint32_t kernel;                     ///< in the plan
  std::uint32_t first, count, param_count;  ///< `first`: the number of its first operand
  const std::int64_t* params;
  std::int64_t extent, grain, scratch_bytes;
};

/// Immutable. The bases of a call are, in this order, the addresses of its inputs, outputs, constants,
/// prepacked constants, the arena's saved part (if the plan has one), and the arena. The random states for
/// kernels and for steps on the host follow.
class LinkedPlan {
 public:
  /// Operand i of a launch is bases[base] + offset.
  struct Operand {
    std::uint32_t base;
    std::int64_t offset;
  };
  using MakeControl = std::function<std::unique_ptr<const Control>(const Step&)>;

  /// `make_control` is called for the steps that launch no kernel. Throws its errors, and an internal error
  /// for a plan with an index out of range.
  LinkedPlan(ExecutablePlan plan, const MakeControl& make_control);

  const ExecutablePlan& plan() const { return plan_; }
  /// The steps of a call.
  std::span<const Launch> launches() const { return launches_; }
  /// The steps that make a prepacked constant.
  std::span<const Launch> prepacked_launches(std::size_t index) const { return prepacked_launches_[index]; }
  /// The new contents of inputs, by their index in plan().write_backs.
  std::span<const Operand> write_back_values() const { return write_back_values_; }
  /// Whether steps compute the new contents of an input in its own memory.
  bool writes_in_place() const { return writes_in_place_; }
  /// The operands of all steps of a call, and the values of its write-backs.
  std::vector<Operand> operands_of_calls() const;

  std::uint32_t first_prepacked() const { return first_prepacked_; }
  std::uint32_t arena_base() const { return arena_base_; }
  std::uint32_t base_count() const { return arena_base_ + 3; }
  /// The most operands of a launch, scratch memory included.
  std::uint32_t max_operands() const { return max_operands_; }
  /// The addresses in the tables of its steps.
  std::size_t table_slots() const { return table_slots_; }
  /// The same of a body: its bases and operands, too.
  std::size_t body_slots() const { return base_count() + max_operands_ + table_slots_; }
  /// Whether a step of a call takes scratch memory.
  bool takes_scratch() const { return takes_scratch_; }
  /// Whether a kernel reads the random state.
  bool kernels_read_random() const { return kernels_read_random_; }

  void set_operands(const Launch& l, std::byte* const* bases, void** operands) const {
    const Operand* const list = operands_.data() + l.first;
    for (std::uint32_t i = 0; i < l.count; ++i) operands[i] = bases[list[i].base] + list[i].offset;
  }

 private:
  Operand resolve(const BufferRef& ref, bool on_host = false) const;
  Launch link(const Step& step, const MakeControl& make_control);
  std::vector<Launch> link_prepacked(std::size_t index, const MakeControl& make_control);

  ExecutablePlan plan_;
  std::vector<std::unique_ptr<const Control>> controls_;
  std::vector<Operand> operands_;
  std::vector<Launch> launches_;
  std::vector<std::vector<Launch>> prepacked_launches_;
  std::vector<Operand> write_back_values_;
  std::size_t step_operands_ = 0;  // the call's steps precede the steps of prepacked constants
  std::uint32_t first_constant_ = 0, first_prepacked_ = 0, saved_base_ = 0, arena_base_ = 0;
  std::uint32_t max_operands_ = 0;
  std::size_t table_slots_ = 0;
  bool kernels_read_random_ = false, writes_in_place_ = false, takes_scratch_ = false;
};

}  // namespace kiln

// The tape of recorded calls.
#pragma once
#include "frontend/autograd/joint_codes.h"
#include "frontend/autograd/saved_value.h"
#include "frontend/call/call_context.h"
#include "frontend/call/op_call.h"
#include "frontend/call/random_state.h"
#include "frontend/tensor/array.h"
#include "runtime/fork_gate.h"
#include "runtime/small_array.h"

#include <kiln/autograd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

/// The tape: a recorded call is an entry, which knows how its inputs were made and has saved the values that
/// its backward pass reads. Entries are numbered in program order; backward() passes them from the last to
/// the first.
namespace kiln::detail {

struct TapeEntry;
class FunctionCall;

/// An array whose gradient the program wants: by attach_grad(), or a parameter.
struct GradVariable {
  GradReq req = GradReq::write;
  TensorType type;
  Device device;
  Tensor grad;         ///< made by the first use
  bool fresh = false;  ///< whether backward() wrote it since a Trainer last read it
};

/// The origin of an array's contents: output `output` of a recorded call, or a variable, which no call made.
struct TapeLink {
  std::shared_ptr<TapeEntry> entry;
  std::uint32_t output = 0;
  std::shared_ptr<GradVariable> variable;

  explicit operator bool() const { return entry || variable; }
  bool operator==(const TapeLink&) const = default;
};

/// Gives each link the number of its gradient sum; GradientRequest::none for an empty link. Equal links share
/// a sum. Returns the number of sums.
std::size_t number_sums(std::span<const TapeLink> links, std::span<std::int64_t> numbers);

/// The sums that a backward pass of a call computes.
struct SharedSums {
  explicit SharedSums(std::span<const TapeLink> by_input);
  std::vector<TapeLink> links;        ///< by sum
  std::vector<std::int64_t> numbers;  ///< by input, as ir::GradientRequest::sums
};

/// A recorded call of a block that ran the forward entry of joint code.
struct JointCall {
  std::shared_ptr<JointCodes> codes;
  const JointCodes::Pair& pair;  ///< of `codes`
  Array saved;                   ///< the memory of the values that the forward entry saved

  JointCall(std::shared_ptr<JointCodes> c, const JointCodes::Pair& p)
      : codes(std::move(c)), pair(p), saved(Buffer(p.code->saved_bytes, p.code->device()), Shape()) {}
};

/// A recorded call. Programs record many, so an entry of a usual operator is one allocation.
struct TapeEntry {
  /// The saved contents of an input or output of the code's body, in an array, from `offset` on.
  struct Saved {
    std::shared_ptr<SavedValue> value;
    std::int64_t offset = 0;
  };

  /// In program order. A call takes a number for each entry that it may be expanded to, and this is the last.
  std::uint64_t number = 0;
  std::shared_ptr<const GradientCode> code;
  std::shared_ptr<FunctionCall> function;  ///< in the place of `code`: of an autograd::Function
  bool train = false;
  Device device;
  std::atomic<bool> consumed{false};  ///< by a backward pass that did not retain it
  RandomState random;                 ///< of the call
  std::source_location where;
  SmallArray<TapeLink, 2> inputs;  ///< by input of the code's body; empty: a constant
  std::size_t outputs;             ///< how many the body has
  /// The saved inputs and outputs of the body. Of `code`, or of `joint`; null for a function.
  const ir::GradientUses* uses = nullptr;
  SmallArray<Saved, 2> saved;        ///< the inputs that `uses` tells, then the outputs
  std::unique_ptr<JointCall> joint;  ///< null: a backward pass recomputes its values
  /// By output, once the entry is replaced by one for each of its nodes (expand.h).
  std::vector<TapeLink> expanded;

  /// `uses` lives as long as `code` or `joint`.
  TapeEntry(std::shared_ptr<const GradientCode> code, const ir::GradientUses& uses,
            std::unique_ptr<JointCall> joint);
  TapeEntry(std::shared_ptr<FunctionCall> function, std::size_t inputs, std::size_t outputs);
  /// Iterative: a long tape would overflow the stack.
  ~TapeEntry();
  TapeEntry(const TapeEntry&) = delete;
  /// Drops the values that a backward pass needs.
  void consume();
};

/// The link itself; if its entry is expanded, the link to the node's entry that makes the same value.
const TapeLink& resolved(const TapeLink& link);
/// Whether a backward pass dropped the entry that made the contents.
bool is_consumed(const TapeLink& link);

/// The part of an array that belongs to the tape. Made when an array is first recorded or gets a gradient;
/// never taken from it. Thread rule: as SavedValue.
class ArrayTape final : public ArrayHistory {
 public:
  TapeLink link;
  std::shared_ptr<SavedValue> saved;
  struct View {
    ViewKey key;  ///< of the thread that recorded it: another's backward pass may consume it at any time
    TapeLink of;  ///< the link of the array that the view was cut out of
    TapeLink link;
  };
  std::vector<View> views;

  bool has_link() const override { return static_cast<bool>(link); }
  bool is_variable() const override { return link.variable != nullptr; }
  void keep_contents(Array& array) override;
  void end(Array& array) override;
};

/// The array's tape; null if there is none.
inline ArrayTape* known_tape(const Array& array) {
  return static_cast<ArrayTape*>(array.history.load(std::memory_order_acquire));
}
/// The array's tape; made if there is none.
ArrayTape& tape_of(Array& array);
/// The last of `count` new numbers of entries, in program order.
std::uint64_t take_numbers(std::uint64_t count);

/// Records a call that changes layout alone, without computing it: the first output has a shape and a
/// history, and no elements.
Tensor record_on_tape(const OpCall& call);

/// The link of an array's contents, or of a view. For a view it makes an entry that cuts it out of the array,
/// once per contents of the array.
TapeLink link_of(const Tensor& t, std::source_location where);
/// A handle of `t` that is a separate value in scopes of `call` (view_scope.h), made as `link` tells.
Tensor own_value(const Tensor& t, const TapeLink& link, std::uint64_t call);
/// Whether the handle itself is a separate value here, which no write of its array has ended.
bool has_own_value(const Tensor& t);
/// Whether the value that the handle reads has a history. A separate value may be a constant in an array that
/// has one.
bool has_history(const Tensor& t);

/// The recording of one call of `code`. The constructor saves the inputs that the gradients read; it comes
/// before the run, which may write into inputs. `inputs` are the concrete inputs of the code's body; `links`
/// are their links, which are moved from.
class CallRecording {
 public:
  CallRecording(const std::shared_ptr<const GradientCode>& code, std::span<const Tensor* const> inputs,
                std::span<TapeLink> links, std::source_location where,
                const std::shared_ptr<JointCodes>& joint = nullptr);
  /// The code whose forward entry the call runs, if it has joint code; else null. Its saved values go to
  /// saved_values().
  const JointCode* joint() const {
    return entry_ && entry_->joint ? entry_->joint->pair.code.get() : nullptr;
  }
  Array& saved_values() const { return entry_->joint->saved; }
  /// The call has run, and its random numbers started from `random`: links the outputs' arrays to its entry.
  /// The outputs are whole arrays. One that the call wrote, and that depends on nothing recorded, loses its
  /// history.
  void finish(std::span<const Tensor> outputs, const RandomState& random);

 private:
  TapeLink link_of_output(std::size_t i) const;
  std::shared_ptr<TapeEntry> entry_;  // null where no input has a history
};

/// Called before `value` is written into `view`. Undefined: a value that no gradient reaches. `has_rest`:
/// some elements of `value` are the view's present ones and are not written; they keep their history also
/// outside of Record. Throws inside Record if the array has a gradient.
void record_write(const Tensor& view, const Tensor& value, bool has_rest, std::source_location where);

/// Copies `elements` into `part`, a view within `view`. The tape records a write of `value` into `view`;
/// `value` has a history, and no elements.
void write_on_tape(const Tensor& view, const Tensor& value, const Tensor& part, const Tensor& elements,
                   std::source_location where);

/// During its lifetime, recorded calls of this thread take numbers from `first` on, the numbers of an
/// expanded entry.
class NumberScope {
 public:
  explicit NumberScope(std::uint64_t first);
  ~NumberScope();
  NumberScope(const NumberScope&) = delete;

 private:
  std::uint64_t next_;
  std::uint64_t* outer_;
};

/// The history of an array's contents; restored together with them.
struct History {
  TapeLink link;
  std::vector<ArrayTape::View> views;
};
History history_of(Array& array);
void restore_history(Array& array, const History& history);

/// Throws if the array has a gradient and its write is `recorded`.
void check_may_write(const Tensor& t, std::source_location where, bool recorded = is_recording());

/// Makes the array a variable, without history.
void attach_gradient(const Tensor& t, GradReq req);
GradVariable* variable_of(const Tensor& t);
/// The gradient's array; zeros if it is new.
const Tensor& gradient_of(GradVariable& variable);

}  // namespace kiln::detail

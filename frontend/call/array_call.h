// One call of compiled code on arrays: the order of its steps, whoever makes it.
#pragma once
#include "frontend/tensor/array.h"
#include "runtime/call_frame.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace kiln::detail {

/// The tape's part of a call: what steps 4 and 9 do (see ArrayCall).
template <class Begin, class Finish>
struct TapeSteps {
  Begin begin;    ///< ()
  Finish finish;  ///< (const RandomState&): the state from which the call drew
};
/// The part of a call that is not recorded and writes into no array with a history.
struct NoTape {
  void begin() const {}
  void finish(const RandomState&) const {}
};

/// One call of an executable on arrays. Eager operators, hybridized blocks, bound calls, training steps,
/// updates, backward passes, models and checks all call through it, so that their results, versions and
/// histories agree. The steps of a call, and why they are in this order:
///
///   1. Links. The inputs of a recorded call are linked to the tape, which may cut a view out of its array by
///      another call. That may end the caller's reference to code, so the code is looked up afterwards.
///   2. Overlap. Most code does not allow for a written argument that shares memory with another one
///      (shares_memory()): the caller refuses it or runs step by step, before anything has changed.
///   3. Arguments, then results. Memory for results may run out: until then nothing has changed.
///   4. The tape's entry is opened (Tape::begin). It saves the contents that gradients read, which are still
///      in the arrays. Then the histories of the arrays that the call writes end, before the write: a run
///      that fails leaves no array whose history tells of other contents. This holds for a lack of memory in
///      steps 5 and 7, too.
///   5. Old contents. An array about to be written hands its contents to the tape if step 4 or an earlier
///      entry saved them (before_write). This covers arguments that the plan writes and results that existed
///      before.
///   6. Random numbers are reserved last, in program order: a call that fails in an earlier step takes none.
///   7. The run. The executable counts the versions of arguments that it writes: prepacked constants of other
///      calls are made again.
///   8. Versions of results that existed before. New arrays have had no reader.
///   9. The tape's entry is closed (Tape::finish). It takes its number now, after the entries that steps 1
///      and 4 made, saves the results that gradients read, and links the written arrays to it.
///
/// Steps 1 and 2 are the caller's, who chooses the code by them; run() makes steps 4 to 9. All arrays, the
/// executable included, outlive the run. A call that is run again keeps the arguments and results that are
/// not set anew. It is on the stack for usual sizes, and allocates nothing. Thread rule: one thread at a
/// time.
class ArrayCall {
 public:
  explicit ArrayCall(const Executable& executable) : frame_(executable) {}

  std::size_t result_count() const { return frame_.result_count(); }
  Device device() const { return frame_.executable().device(); }
  /// Whether the code writes arguments.
  bool writes_arguments() const { return !frame_.executable().plan().write_backs.empty(); }

  void set_argument(std::size_t i, const Tensor& t) {
    set_argument(i, *TensorAccess::array(t), TensorAccess::byte_offset(t));
  }
  /// An argument that begins `offset` bytes after the array's beginning.
  void set_argument(std::size_t i, Array& array, std::size_t offset = 0) {
    frame_.set_argument(i, array, offset);
  }

  /// Result `i` is a new array, or memory that no array has.
  void set_result(std::size_t i, Array& array) { frame_.set_result(i, array.data()); }
  void set_result(std::size_t i, Buffer& memory) { frame_.set_result(i, memory.data()); }
  Tensor make_result(std::size_t i, const TensorType& type) {
    Tensor out = TensorAccess::empty(type.shape, type.dtype, device());
    set_result(i, *TensorAccess::array(out));
    return out;
  }
  /// All results, as new arrays.
  std::vector<Tensor> make_results();
  /// All results are these arrays, which an earlier call wrote, and which the program may have. The list
  /// outlives the run.
  void set_results(std::span<const std::shared_ptr<Array>> arrays);

  /// The memory of what joint code saves for a backward pass.
  void set_saved(std::byte* data) { frame_.set_saved(data); }

  /// Runs the call. `reserve(draws)` reserves random counters and returns the state before them; it is called
  /// only if the code draws.
  template <class Tape, class Reserve>
  void run(Tape&& tape, Reserve&& reserve) {
    const auto run = [&](auto& draw) {
      frame_.run(draw);
      return FailedCheck();
    };
    (void)run_by(run, tape, reserve);
  }
  /// The same by `repeated`, which is a call of the same executable. A check that failed has ended the call;
  /// the caller makes an error of it.
  template <class Tape, class Reserve>
  FailedCheck repeat(RepeatedCall& repeated, Tape&& tape, Reserve&& reserve) {
    return run_by([&](auto& draw) { return frame_.repeat(repeated, draw); }, tape, reserve);
  }
  /// Makes all that the next repeat() on this thread would make, and leaves all arrays as they are.
  void warm_up(RepeatedCall& repeated) { frame_.warm_up(repeated); }

 private:
  template <class Run, class Tape, class Reserve>
  FailedCheck run_by(Run&& run, Tape& tape, Reserve& reserve) {
    tape.begin();
    if (writes_arguments() || !existing_.empty()) keep_old_contents();
    RandomState random;
    const auto draw = [&](std::int64_t draws) { return random = reserve(draws); };
    if (const FailedCheck failed = run(draw)) [[unlikely]]
      return failed;
    for (const std::shared_ptr<Array>& array : existing_) array->bump_version();
    tape.finish(random);
    return {};
  }
  /// Step 5.
  void keep_old_contents();

  CallFrame frame_;
  std::span<const std::shared_ptr<Array>> existing_;  // results that existed before
};

/// Sets the arguments of a call in order.
class ArgumentList {
 public:
  explicit ArgumentList(ArrayCall& call) : call_(call) {}
  void add(const Tensor& t) { call_.set_argument(next_++, t); }
  void add(Array& array, std::size_t offset = 0) { call_.set_argument(next_++, array, offset); }

 private:
  ArrayCall& call_;
  std::size_t next_ = 0;
};

/// Whether an array shares memory with one of these tensors' arrays.
inline bool shares_memory(const Array& array, std::span<const Tensor> tensors) {
  return std::any_of(tensors.begin(), tensors.end(),
                     [&](const Tensor& t) { return array.overlaps(*TensorAccess::array(t)); });
}

}  // namespace kiln::detail

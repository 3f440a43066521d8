// Recordings of hybrid_forward: signature, code, results and dependencies.
#pragma once
#include "frontend/autograd/tape.h"
#include "frontend/call/array_call.h"
#include "frontend/gluon/parameter/parameter_state.h"
#include "frontend/gluon/parameter/revision.h"
#include "frontend/trace/call_trace.h"
#include "ir/graph.h"
#include "runtime/fork_gate.h"

#include <kiln/block.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace kiln {

/// Whether both inputs of a call are the whole of one array: they are one value, and so are equal views of
/// them.
inline bool are_one_value(const Tensor& a, const Tensor& b) {
  return detail::TensorAccess::array(a) == detail::TensorAccess::array(b) &&
         detail::TensorAccess::is_array(a) && detail::TensorAccess::is_array(b);
}

/// The signature of a recording of hybrid_forward: shapes, dtypes, mode, and which inputs are views of the
/// same array.
struct CallSignature {
  struct Input {
    DType dtype;
    Shape shape;
    /// The first input with the same array (possibly this one), and the distance from its first element in
    /// elements.
    std::uint32_t array;
    std::int64_t distance;
    /// The first input that is the same value (possibly this one).
    std::uint32_t value;
    bool operator==(const Input&) const = default;
  };
  std::vector<Input> inputs;
  Device device;  ///< of all inputs
  bool train = false;
  bool numpy = false;   ///< the program was in numpy mode
  Precision precision;  ///< of the thread, precision_on(device)
  bool operator==(const CallSignature&) const = default;

  /// Throws for inputs on two devices.
  CallSignature(std::span<const Tensor> inputs, bool train);
  /// Compares without allocating: the hot path of a hit.
  bool matches(std::span<const Tensor> inputs, bool train) const;
  bool shares_arrays() const;
  /// "float32 (1, 512)"
  std::string inputs_str() const;
  /// "float32 (1, 512), training"
  std::string str() const;
};

/// The modes of a thread that calls a block.
struct CallMode {
  bool train, recording;
  static CallMode of(const CallContext& now) { return {now.training, now.recording}; }
  static CallMode current() { return of(CallContext::current()); }
};

namespace detail {

class RecordingHistory;
class RecordingTable;

/// The recordings of the process; see kiln/stats.h.
struct RecordingCounts {
  std::atomic<std::uint64_t> alive{0}, made{0}, dropped{0};
};
inline constinit RecordingCounts recording_counts;

/// A recording and its code. Immutable after publication, except `confirmed` and `used_in`.
struct TracedCall : std::enable_shared_from_this<TracedCall> {
  TracedCall(CallSignature s, const HybridizeOptions& o)
      : signature(std::move(s)),
        options(o),
        checked((o.check & (Check::recording | Check::bits)) != Check::none) {
    ++recording_counts.alive;
  }
  ~TracedCall() { --recording_counts.alive; }
  TracedCall(const TracedCall&) = delete;

  CallSignature signature;
  HybridizeOptions options;
  // Further questions of hybrid_forward about the call, as a part of the signature.
  /// The recording mode: autograd::is_recording(), or a scope of autograd::Record. None: not asked.
  std::optional<bool> asked_recording;
  /// The histories of the inputs, then of the captured arrays: autograd::is_recorded(), or a write inside
  /// Pause to an array that may be a variable. Empty: not asked.
  enum class History : std::uint8_t { none, call, variable };
  std::vector<History> histories;
  /// A scope of autograd::Record in it records calls, whether this one is recorded or not.
  bool has_record = false;
  bool matches(std::span<const Tensor> inputs, CallMode mode) const {
    return signature.matches(inputs, mode.train) &&
           (!asked_recording || *asked_recording == mode.recording) &&
           (histories.empty() || has_histories(inputs));
  }
  /// The precision of the code.
  Precision precision() const { return options.precision.value_or(signature.precision); }
  bool checked;
  ir::Graph graph;  // as recorded; export_model() writes it
  /// A captured array: used by hybrid_forward besides its inputs. Bound to the executable's inputs that
  /// follow the call's.
  struct Capture {
    std::shared_ptr<ParameterState> parameter;  // null if it is no parameter
    KeptArray array;
    Shape shape;
    DType dtype;
    std::string name;
    /// Whether the program had a handle after hybrid_forward; else hybrid_forward created the array.
    bool watched = false;
    bool is_made() const { return !parameter && !watched; }  ///< by hybrid_forward
    Tensor whole() const { return TensorAccess::make(array.get(), 0, shape, dtype); }
  };
  std::vector<Capture> captures;
  std::size_t watched_captures = 0;
  /// Arrays older than the recording whose elements hybrid_forward read.
  std::vector<CallTrace::Read> read_arrays;

  /// Null if a graph cannot express the call. Such calls run eagerly.
  std::shared_ptr<const Executable> executable;
  /// The reason if `executable` is null.
  std::string eager_because;
  /// Why it was recorded, and the cost.
  RecordingReason reason;
  /// Whether the reason is that the recording computes other values than the program.
  bool other_values = false;
  /// Types and bytes of the arrays that a run allocates for results.
  std::vector<TensorType> fresh;
  std::vector<std::size_t> fresh_bytes;
  /// One result of the block: as in eager mode, a view of a new array, of an input or of a captured array. Of
  /// one that hybrid_forward made, a constant of the code, each call returns a copy.
  struct Result {
    enum class Of : std::uint8_t { fresh, input, capture } of;
    std::uint32_t index;
    std::int64_t offset;
    Shape shape;
    DType dtype;
    bool last = true;  ///< no later result is a view of the same new array
    /// The new array with the contents, if the result is a separate value in memory of another.
    std::optional<std::uint32_t> own_value = {};
    bool operator==(const Result&) const = default;
  };
  std::vector<Result> results;
  bool has_own_values = false;  ///< a result is one
  /// For backward passes. The outputs of its body are the fresh arrays, then the arrays that in-place
  /// operators write.
  std::shared_ptr<const GradientCode> gradient;
  /// The code of recorded calls.
  std::shared_ptr<JointCodes> joint;
  /// An argument that in-place operators write, and the parts of it that they replace.
  struct InPlace {
    std::uint32_t argument;
    std::vector<ArrayPart> parts;
    bool paused;  ///< inside Pause alone, which an array with a gradient attached allows
  };
  std::vector<InPlace> in_place;  ///< in the order of these outputs
  /// Captured arrays that a call writes (running statistics): none may be an input at the same time.
  std::vector<std::uint32_t> written_captures;
  bool writes_inputs = false;

  /// All other state that hybrid_forward read, and the hybridize() of its block.
  Dependencies dependencies, hybridized;
  /// The epoch in which the dependencies were last found unchanged.
  mutable std::atomic<std::uint64_t> confirmed{0};
  /// The number of the RecordingTable in which a call last found it.
  mutable std::atomic<std::uint64_t> used_in{0};

  /// Whether the dependencies are unchanged. Takes no lock. Checks them once after a change of any dependency
  /// of any recording.
  bool current() const {
    return (confirmed.load(std::memory_order_relaxed) == structure_epoch.load(std::memory_order_relaxed) ||
            confirm()) &&
           captures_in_use() && reads_unchanged();
  }
  /// Checks the dependencies.
  bool confirm() const;
  /// Whether hybrid_forward would read the same elements of the same arrays.
  bool reads_unchanged() const {
    return read_arrays.empty() ||
           std::all_of(read_arrays.begin(), read_arrays.end(), [](const CallTrace::Read& r) {
             return r.array->version() == r.version && r.array.in_use();
           });
  }
  /// Whether the call's arguments have the histories in `histories`.
  bool has_histories(std::span<const Tensor> inputs) const;
  static History history_of(const Tensor& argument);
  /// Whether the program still has a handle of each captured array.
  bool captures_in_use() const {
    return watched_captures == 0 || std::all_of(captures.begin(), captures.end(), [](const Capture& c) {
             return !c.watched || c.array.in_use();
           });
  }
  /// Whether a written argument overlaps another in a way that the code does not allow for.
  bool overlaps(std::span<const Tensor> inputs) const {
    return (writes_inputs || !written_captures.empty()) && written_overlap(inputs);
  }
  bool written_overlap(std::span<const Tensor> inputs) const;
  /// Whether a recorded call is recorded step by step. One case: the call has a history, and the code writes
  /// into an argument that is a part of an array or has another shape. Each write then gives the array a
  /// value, and a gradient has a term for each. The other case: it writes into an argument with a gradient
  /// attached, which is an error of that line.
  bool records_steps(std::span<const Tensor> inputs) const {
    return !in_place.empty() && (part_with_history(inputs) || writes_variable(inputs));
  }
  bool part_with_history(std::span<const Tensor> inputs) const;
  bool writes_variable(std::span<const Tensor> inputs) const;
  /// Whether this call must run step by step. `records`: the thread records calls for gradients.
  bool runs_eagerly(std::span<const Tensor> inputs, bool records) const {
    return !executable || overlaps(inputs) || ((records || has_record) && records_steps(inputs));
  }
  /// `records`: the thread records calls for gradients.
  void run(std::span<const Tensor> inputs, std::span<Tensor> outputs, bool records) const;

  // Steps of run().
  void run_alone(std::span<const Tensor> inputs, std::span<Tensor> outputs) const;
  /// `where`: the program's line; unknown: that of the running block.
  void run_recorded(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                    std::source_location where) const;
  /// The sum of the versions of the parameters that `code` trains.
  std::uint64_t versions_of(const JointCode& code, std::span<const Tensor> inputs) const;
  /// Argument `i`: an input, or a captured array.
  Tensor argument(std::span<const Tensor> inputs, std::size_t i) const;
  /// The recording of the call on the tape; none if no argument has a history.
  std::optional<CallRecording> recording(std::span<const Tensor> inputs, std::source_location where) const;
  /// Outside of Record: arrays that the code writes lose their history.
  void end_history(std::span<const Tensor> inputs) const;
  /// The arrays that operators update as auxiliary states lose their history, in Record too, as in an eager
  /// call.
  void end_history_of_states(std::span<const Tensor> inputs) const;
  /// Adds the inputs, then the captured arrays.
  void fill_arguments(std::span<const Tensor> inputs, ArgumentList& arguments) const;
  /// Fills the results. They take over the fresh arrays (`taken`), or share them with the caller (`kept`).
  enum class Made : bool { taken, kept };
  void fill_results(std::span<const Tensor> inputs, std::span<std::shared_ptr<Array>> fresh_arrays, Made made,
                    std::span<Tensor> outputs) const;
  /// Results that are separate values get the links of the values `made`. Without one, as in a call that is
  /// not recorded, they are constants, also in arrays that have a history.
  void own_results(std::span<const Tensor> made, std::span<Tensor> outputs) const;
};

}  // namespace detail

/// The checks named in KILN_CHECK. An unknown word is a warning.
Check check_from_environment();

/// The recordings of one block object, one per signature. A hit compares signatures and takes no lock. A miss
/// records and compiles, while threads with the same signature wait and others continue. The table keeps the
/// HybridizeOptions::max_recordings recordings that were called last. Copies of the block share code if their
/// recordings are equal.
class CachedCall {
 public:
  CachedCall();
  ~CachedCall();
  CachedCall(const CachedCall&) = delete;

  /// Runs the call at the line `where` if its code exists. For blocks of one result.
  bool hit(std::span<const Tensor> inputs, const CallContext& now, Tensor& out,
           std::source_location where) const;
  /// The same for any number of results.
  bool hit(std::span<const Tensor> inputs, const CallContext& now, Tensors& out) const;
  Tensors call(HybridBlock& block, std::span<const Tensor> inputs);
  /// The recording of such a call; recorded and compiled if it does not exist.
  std::shared_ptr<const detail::TracedCall> prepare(HybridBlock& block, std::span<const Tensor> inputs);
  /// All recordings of the object, valid or stale, oldest first.
  std::vector<std::shared_ptr<const detail::TracedCall>> recordings() const {
    const std::lock_guard lock(mutex_);
    return published_calls();
  }

 private:
  /// Valid during the caller's section of Domain::recordings, or under the lock.
  const detail::TracedCall* find(std::span<const Tensor> inputs, CallMode mode) const;
  /// The recording, if its code can run with these inputs without checks or an eager fallback.
  const detail::TracedCall* ready(std::span<const Tensor> inputs, CallMode mode) const;
  /// Null if there is none. The reference keeps it alive without a section.
  std::shared_ptr<const detail::TracedCall> hold(std::span<const Tensor> inputs, CallMode mode) const;
  std::shared_ptr<const detail::TracedCall> find_or_trace(HybridBlock& block, std::span<const Tensor> inputs,
                                                          CallMode mode);
  // Under the lock: the published recordings, and the number of the next table.
  std::vector<std::shared_ptr<const detail::TracedCall>> published_calls() const;
  std::uint64_t next_number() const;
  /// Under the lock: publishes a table of these recordings. Returns the previous one, to be retired without
  /// the lock.
  std::unique_ptr<detail::RecordingTable> replace(
      std::vector<std::shared_ptr<const detail::TracedCall>> calls);
  /// Under the lock: publishes one more recording, replacing the least recently called one if the table is
  /// full.
  std::unique_ptr<detail::RecordingTable> publish(std::shared_ptr<const detail::TracedCall> call);

  std::atomic<detail::RecordingTable*> published_{nullptr};
  mutable Mutex mutex_;
  std::condition_variable_any done_;
  std::vector<const CallSignature*> in_progress_;
  const std::unique_ptr<detail::RecordingHistory> history_;
};

namespace detail {

/// Records hybrid_forward for `signature` and compiles it, or takes the code of an equal recording of the
/// block. `history`: of the object.
std::shared_ptr<TracedCall> trace_call(HybridBlock& block, CallSignature signature,
                                       std::span<const Tensor> inputs, bool recording,
                                       RecordingHistory& history);
/// A recording without code.
struct Recorded {
  std::shared_ptr<TracedCall> call;
  ir::Graph to_compile;  // the graph whose outputs are the arrays that a run allocates
};
/// `recording`: whether the call is recorded for gradients.
Recorded record_call(HybridBlock& block, CallSignature signature, std::span<const Tensor> inputs,
                     bool recording);

/// Turns on Check::indices in all nodes, also in bodies.
void check_indices(std::span<const ir::NodePtr> nodes);

/// Runs a call with the checks of its options. Throws if a check finds a difference.
Tensors run_checked(HybridBlock& block, const TracedCall& call, bool just_recorded,
                    std::span<const Tensor> inputs);

}  // namespace detail

/// During its lifetime, this thread runs a block for a check: without hooks, children not hybridized.
class CheckScope {
 public:
  CheckScope();
  ~CheckScope();
  CheckScope(const CheckScope&) = delete;
  static bool active();

 private:
  bool outer_;
};

}  // namespace kiln

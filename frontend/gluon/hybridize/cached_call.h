#pragma once
#include "frontend/gluon/parameter/parameter_state.h"
#include "frontend/gluon/parameter/revision.h"
#include "ir/graph.h"
#include "runtime/call_frame.h"
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

/// What one recording of hybrid_forward was for: shapes, dtypes, which inputs share an array and how, and the
/// mode.
struct CallSignature {
  struct Input {
    DType dtype;
    Shape shape;
    /// The first input of the same array (itself where there is none), and how many elements further this one
    /// begins.
    std::uint32_t array;
    std::int64_t distance;
    bool operator==(const Input&) const = default;
  };
  std::vector<Input> inputs;
  bool train = false;
  bool numpy = false;  ///< the program was in numpy mode
  bool operator==(const CallSignature&) const = default;

  CallSignature(std::span<const Tensor> inputs, bool train);
  /// The comparison of a hit: no allocation.
  bool matches(std::span<const Tensor> inputs, bool train) const;
  bool shares_arrays() const;
  /// "float32 (1, 512)"
  std::string inputs_str() const;
  /// "float32 (1, 512), training"
  std::string str() const;
};

namespace detail {

class RecordingTable;

/// The recordings of the process; see kiln/stats.h.
struct RecordingCounts {
  std::atomic<std::uint64_t> alive{0}, made{0}, dropped{0};
};
inline constinit RecordingCounts recording_counts;

/// A recording and its code. Immutable once it is published, but for `confirmed` and `used_in`.
struct TracedCall : std::enable_shared_from_this<TracedCall> {
  TracedCall(CallSignature s, const HybridizeOptions& o)
      : signature(std::move(s)), options(o), checked(o.check != Check::none) {
    ++recording_counts.alive;
  }
  ~TracedCall() { --recording_counts.alive; }
  TracedCall(const TracedCall&) = delete;

  CallSignature signature;
  HybridizeOptions options;
  bool checked;
  ir::Graph graph;  // as recorded: what export_model() writes
  /// The arrays that hybrid_forward used besides its inputs, bound to the executable's inputs after those.
  struct Capture {
    std::shared_ptr<ParameterState> parameter;  // null for any other tensor
    KeptArray array;
    Shape shape;
    DType dtype;
    std::string name;
    /// Whether the program had a handle when hybrid_forward was through; else hybrid_forward made the array.
    bool watched = false;
    Tensor whole() const { return TensorAccess::make(array.get(), 0, shape, dtype); }
  };
  std::vector<Capture> captures;
  std::size_t watched_captures = 0;

  /// Null where the recording cannot stand for the call. Such calls run eagerly.
  std::shared_ptr<const Executable> executable;
  /// Then: why.
  std::string eager_because;
  /// Whether that is because the recording computes other values than the call did.
  bool other_values = false;
  /// The arrays that the executable makes, and their sizes.
  std::vector<TensorType> fresh;
  std::vector<std::size_t> fresh_bytes;
  /// One result of the block: a view of an array it made, or of one it was given, as eagerly.
  struct Result {
    enum class Of : std::uint8_t { fresh, input, capture } of;
    std::uint32_t index;
    std::int64_t offset;
    Shape shape;
    DType dtype;
    bool last = true;  ///< no later result is of the same fresh array
    bool operator==(const Result&) const = default;
  };
  std::vector<Result> results;
  /// Arrays other than inputs that a call writes (running statistics): none may be an input at the same time.
  std::vector<std::uint32_t> written_captures;
  bool writes_inputs = false;

  /// What else hybrid_forward read, and the hybridize() of its block.
  Dependencies dependencies, hybridized;
  /// The epoch in which the dependencies were last found unchanged.
  mutable std::atomic<std::uint64_t> confirmed{0};
  /// The number of the RecordingTable in which a call last found it.
  mutable std::atomic<std::uint64_t> used_in{0};

  /// Whether hybrid_forward would still read the same. Takes no lock; after a change of anything that any
  /// recording depends on, it looks at its dependencies once.
  bool current() const {
    return (confirmed.load(std::memory_order_relaxed) == structure_epoch.load(std::memory_order_relaxed) ||
            confirm()) &&
           captures_in_use();
  }
  /// Goes through the dependencies.
  bool confirm() const;
  /// Whether the program still has a handle of each captured array.
  bool captures_in_use() const {
    return watched_captures == 0 || std::all_of(captures.begin(), captures.end(), [](const Capture& c) {
             return !c.watched || c.array.in_use();
           });
  }
  /// Whether this call's arguments overlap in a way that the code does not allow for.
  bool overlaps(std::span<const Tensor> inputs) const {
    return (writes_inputs || !written_captures.empty()) && written_overlap(inputs);
  }
  bool written_overlap(std::span<const Tensor> inputs) const;
  void run(std::span<const Tensor> inputs, std::span<Tensor> outputs) const;

  // The parts of run().
  /// The frame's results are the fresh arrays.
  void fill_arguments(std::span<const Tensor> inputs, CallFrame& frame) const;
  /// The results take the fresh arrays, or share them with the caller who keeps them.
  enum class Made : bool { taken, kept };
  void fill_results(std::span<const Tensor> inputs, std::span<std::shared_ptr<Array>> fresh_arrays, Made made,
                    std::span<Tensor> outputs) const;
};

}  // namespace detail

/// The checks that KILN_CHECK names. An unknown word is a warning.
Check check_from_environment();

/// The recordings of one block object, one per signature. A hit compares signatures and takes no lock; a miss
/// records and compiles while threads with the same signature wait and others go on. The table keeps as many
/// as HybridizeOptions::max_recordings, those that were called last. Copies of the block share code where
/// their recordings are the same.
class CachedCall {
 public:
  CachedCall() = default;
  ~CachedCall();
  CachedCall(const CachedCall&) = delete;

  /// Runs a block of one result if code for the call is there.
  bool hit(std::span<const Tensor> inputs, bool train, Tensor& out) const;
  /// The same for any number of results.
  bool hit(std::span<const Tensor> inputs, bool train, Tensors& out) const;
  Tensors call(HybridBlock& block, std::span<const Tensor> inputs);
  /// What such a call runs; recorded and compiled if it is not there.
  std::shared_ptr<const detail::TracedCall> prepare(HybridBlock& block, std::span<const Tensor> inputs);

 private:
  /// Good while the caller's section of Domain::recordings lasts, or under the lock.
  const detail::TracedCall* find(std::span<const Tensor> inputs, bool train) const;
  /// The recording whose code these inputs can run as it is.
  const detail::TracedCall* ready(std::span<const Tensor> inputs, bool train) const;
  /// Null if there is none. The reference keeps it alive without a section.
  std::shared_ptr<const detail::TracedCall> hold(std::span<const Tensor> inputs, bool train) const;
  std::shared_ptr<const detail::TracedCall> find_or_trace(HybridBlock& block, std::span<const Tensor> inputs,
                                                          bool train);
  // Under the lock: the published recordings, and the number of the table that comes next.
  std::vector<std::shared_ptr<const detail::TracedCall>> published_calls() const;
  std::uint64_t next_number() const;
  /// Under the lock: publishes a table of these recordings. Returns the previous one, to be retired without
  /// the lock.
  std::unique_ptr<detail::RecordingTable> replace(
      std::vector<std::shared_ptr<const detail::TracedCall>> calls);
  /// Under the lock: the same for one recording more, in place of another if there are too many.
  std::unique_ptr<detail::RecordingTable> publish(std::shared_ptr<const detail::TracedCall> call);

  std::atomic<detail::RecordingTable*> published_{nullptr};
  mutable Mutex mutex_;
  std::condition_variable_any done_;
  std::vector<const CallSignature*> in_progress_;
};

namespace detail {

/// hybrid_forward recorded for `signature`, with its code; the code of an earlier recording of the block that
/// is the same is taken.
std::shared_ptr<TracedCall> trace_call(HybridBlock& block, CallSignature signature,
                                       std::span<const Tensor> inputs);
/// The same without code.
struct Recorded {
  std::shared_ptr<TracedCall> call;
  ir::Graph to_compile;  // the graph, with the arrays that the call makes as outputs
};
Recorded record_call(HybridBlock& block, CallSignature signature, std::span<const Tensor> inputs);

/// Runs a call together with the checks of its options. Throws where a check finds a difference.
Tensors run_checked(HybridBlock& block, const TracedCall& call, bool just_recorded,
                    std::span<const Tensor> inputs);

}  // namespace detail

/// While it lives, this thread runs a block for a check: without hooks, and children as they are.
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

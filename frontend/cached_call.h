#pragma once
#include "frontend/parameter_state.h"
#include "ir/graph.h"
#include "runtime/executable.h"

#include <kiln/block.h>

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
  /// "float32 (1, 512), training"
  std::string str() const;
};

namespace detail {

/// A recording and its code. Immutable once it is published.
struct TracedCall : std::enable_shared_from_this<TracedCall> {
  explicit TracedCall(CallSignature s) : signature(std::move(s)) {}

  CallSignature signature;
  ir::Graph graph;  // as recorded: what export_model() writes
  /// The arrays that hybrid_forward used besides its inputs, bound to the executable's inputs after those.
  struct Capture {
    std::shared_ptr<ParameterState> parameter;  // null for any other tensor
    Tensor whole;
    std::string name;
  };
  std::vector<Capture> captures;

  /// Null where the recording cannot stand for the call: hybrid_forward writes to an array that it also sees
  /// through another argument. Such calls run eagerly.
  std::shared_ptr<const Executable> executable;
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
  };
  std::vector<Result> results;
  /// Arrays other than inputs that a call writes (running statistics): none may be an input at the same time.
  std::vector<std::uint32_t> written_captures;
  bool writes_inputs = false;

  const TracedCall* next = nullptr;

  /// Whether all parameters still have the arrays that were bound.
  bool current() const;
  /// Whether this call's arguments overlap in a way that the code does not allow for.
  bool overlaps(std::span<const Tensor> inputs) const;
  void run(std::span<const Tensor> inputs, std::span<Tensor> outputs) const;

  // The parts of run().
  std::size_t argument_count() const { return signature.inputs.size() + captures.size(); }
  void fill_arguments(std::span<const Tensor> inputs, Argument* arguments) const;
  /// `made` has room for the elements of each fresh array.
  void execute(std::span<const Argument> arguments, std::span<void* const> made) const;
  void fill_results(std::span<const Tensor> inputs, std::span<const std::shared_ptr<Array>> made,
                    std::span<Tensor> outputs) const;
};

}  // namespace detail

/// The compiled forms of one hybridized block, one per signature. A hit compares signatures in an immutable
/// list and takes no lock; a miss records and compiles while threads with the same signature wait and others
/// go on.
class CachedCall {
 public:
  explicit CachedCall(HybridizeOptions options) : options_(std::move(options)) {}

  /// Runs a block of one result if code for the call is there.
  bool hit(std::span<const Tensor> inputs, Tensor& out) const;
  Tensors call(HybridBlock& block, std::span<const Tensor> inputs);
  /// What such a call runs; recorded and compiled if it is not there.
  std::shared_ptr<const detail::TracedCall> prepare(HybridBlock& block, std::span<const Tensor> inputs);
  std::shared_ptr<const detail::TracedCall> latest() const;
  std::vector<CompiledCall> describe() const;
  /// Forgets everything; no call may be running.
  void clear();

 private:
  const detail::TracedCall* find(std::span<const Tensor> inputs, bool train) const;
  const detail::TracedCall& find_or_trace(HybridBlock& block, std::span<const Tensor> inputs, bool train);
  std::shared_ptr<detail::TracedCall> trace(HybridBlock& block, CallSignature signature,
                                            std::span<const Tensor> inputs) const;

  HybridizeOptions options_;
  std::atomic<const detail::TracedCall*> head_{nullptr};  // newest first; all are in published_
  mutable Mutex mutex_;
  std::condition_variable_any done_;
  std::vector<std::shared_ptr<const detail::TracedCall>> published_;
  std::vector<const CallSignature*> in_progress_;
};

}  // namespace kiln

// BoundCall: a hybridized call bound to its arrays.
#pragma once
#include <kiln/export.h>
#include <kiln/tensor.h>

#include <cstdint>
#include <memory>
#include <source_location>
#include <vector>

namespace kiln {

/// The outcome of BoundCall::try_run(): true if the call ran to its end. A small value without memory of its
/// own.
class [[nodiscard]] RunStatus {
 public:
  /// The outcome of a run.
  enum class Code : std::uint8_t {
    /// The results are computed.
    ok,
    traced,         ///< not run: a network is traced on this thread
    recording,      ///< not run: inside of autograd::Record
    other_mode,     ///< not run: another training mode, or numpy mode, than at bind()
    changed,        ///< not run: the network has changed since bind()
    invalid_value,  ///< an operator refused a value, such as an index out of range
    out_of_memory,  ///< for packed weights, after a write to a parameter; impossible after warm_up() else
    internal,       ///< a defect of Kiln
    moved_from,     ///< not run: this handle was moved to another one, and has no call
  };
  /// The outcome, and whether the results are computed.
  /// @{
  Code code() const noexcept { return code_; }
  explicit operator bool() const noexcept { return code_ == Code::ok; }
  /// @}
  /// The mistake and the remedy, of at most 511 bytes; "" after a run without errors. It ends with the number
  /// of the kind of mistake, "[KL0209]", if the kind has one. It belongs to the bound call, which overwrites
  /// it in the next try_run().
  const char* message() const noexcept { return message_; }

 private:
  friend class BoundCall;
  Code code_ = Code::ok;
  const char* message_ = "";
};

/// A hybridized call bound to its arrays (HybridBlock::bind): code, inputs, results and temporaries. A run
/// does no look-up. After warm_up() on the thread it allocates nothing and takes no lock, if calls of the
/// thread use one thread (ThreadLimit). Results are bit-identical to the call's.
///
/// A run reads the current contents of inputs and parameters: write into them (`x[slice()] = y`, copy_from,
/// set_data) and run again. It overwrites the result arrays, so every handle of a result sees the latest;
/// copy() keeps one. On a GPU a run enqueues the kernels as one CUDA graph. While input arrays change with
/// each run, it enqueues them one by one. A result that hybrid_forward returns as a view of an input or a
/// parameter stays a view. Dropout and other samplers advance the random stream as the call does.
///
/// A handle: copies share inputs, results and temporaries. It keeps alive everything it uses, and the memory
/// of its temporaries (MemoryReport::arena_bytes); the block may be destroyed or hybridized again. Thread
/// rule: one thread at a time; bind once per thread.
class KILN_API BoundCall {
 public:
  using Where = std::source_location;
  /// Runs a block with one result and returns it. Throws for several results (use run()), and as run().
  const Tensor& operator()(Where where = Where::current());
  /// Runs the block and returns the results, always the same tensors. Throws while a network is traced, in
  /// another training mode than at bind(), and after a change of the block since bind(). Changes are of a
  /// child, a hook, an Attr, a cast, a captured array. Throws for a value that an operator refuses, too.
  const std::vector<Tensor>& run(Where where = Where::current());
  /// As run(), with a status in the place of exceptions. Neither success nor a status other than
  /// `out_of_memory` and `internal` allocates. A run that ends with a status leaves the inputs as they were;
  /// results are undefined after `invalid_value`.
  RunStatus try_run() noexcept;
  /// Prepares this thread for runs: the next one allocates nothing and takes no lock. It runs the code once
  /// on memory of its own, so that inputs, results, parameters, the streams of random numbers and a Profile
  /// stay as they are. Weights are packed if they are not yet. Inputs may hold any values: it throws as
  /// run(), except for a value that an operator refuses, and for a lack of memory.
  void warm_up(Where where = Where::current());

  /// The input tensors. Write their elements before a run.
  const std::vector<Tensor>& inputs() const;
  /// The result tensors. Elements are undefined before the first run.
  const std::vector<Tensor>& results() const;
  /// Replaces the input arrays; results of another bound call are allowed, of this one not. Throws for other
  /// shapes or dtypes, and for another aliasing pattern than at bind().
  void set_inputs(const std::vector<Tensor>& inputs, Where where = Where::current());

 private:
  friend class HybridBlock;
  struct State;
  explicit BoundCall(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace kiln

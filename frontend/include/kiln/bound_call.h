// BoundCall: a hybridized call bound to its arrays.
#pragma once
#include <kiln/tensor.h>

#include <memory>
#include <source_location>
#include <vector>

namespace kiln {

/// A hybridized call bound to its arrays (HybridBlock::bind): code, inputs and results. A run does no look-up
/// and, once the pool holds the temporaries, no allocation. Results are bit-identical to the call's.
///
/// A run reads the current contents of inputs and parameters: write into them (`x[slice()] = y`, copy_from,
/// set_data) and run again. It overwrites the result arrays, so every handle of a result sees the latest;
/// copy() keeps one. On a GPU a run enqueues the kernels as one CUDA graph, which keeps its temporaries as
/// long as the bound call. While input arrays change with each run, it enqueues them one by one. A result
/// that hybrid_forward returns as a view of an input or a parameter stays a view. Dropout and other samplers
/// advance the random stream as the call does.
///
/// A handle: copies share inputs and results. It keeps alive everything it uses; the block may be destroyed
/// or hybridized again. Thread rule: one thread at a time; bind once per thread.
class KILN_API BoundCall {
 public:
  using Where = std::source_location;
  /// Runs a block with one result and returns it. Throws for several results (use run()), and as run().
  const Tensor& operator()(Where where = Where::current());
  /// Runs the block and returns the results, always the same tensors. Throws while a network is traced, in
  /// another training mode than at bind(), and after a change of the block since bind(). Changes are of a
  /// child, a hook, an Attr, a cast, a captured array.
  const std::vector<Tensor>& run(Where where = Where::current());

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

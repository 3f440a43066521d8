#pragma once
#include <kiln/tensor.h>

#include <memory>
#include <source_location>
#include <vector>

namespace kiln {

/// A call of a hybridized block that is ready to run (HybridBlock::bind): its code, its input arrays, and
/// arrays for its results. Running it looks nothing up and, once the pool has its temporaries, allocates
/// nothing. The results are bit for bit those of the call.
///
/// It reads what the input arrays and the parameters hold when it runs: write into them (`x[slice()] = y`,
/// copy_from, set_data) and run again. It writes the result arrays over at each run, so every handle of a
/// result sees the newest; copy() keeps one. A result that hybrid_forward returns as a view of an input or
/// a parameter is one here too. Dropout and the like draw random numbers as the call does.
///
/// A handle: copies share inputs and results. Keeps alive all that it uses; the block may be gone, or
/// hybridized anew. Thread rule: one thread at a time; bind once for each thread.
class KILN_API BoundCall {
 public:
  using Where = std::source_location;
  /// Runs a block of one result and returns that. Throws for a block of several: use run(). Throws as run().
  const Tensor& operator()(Where where = Where::current());
  /// Runs the block and returns the results, always the same tensors. Throws when the block has
  /// changed since bind() (a child, a hook, an Attr, a cast, an array that it captured), in another mode of
  /// training than at bind(), and while a network is traced.
  const std::vector<Tensor>& run(Where where = Where::current());

  const std::vector<Tensor>& inputs() const;
  /// What run() returns. Elements are undefined before the first run.
  const std::vector<Tensor>& results() const;
  /// Other arrays to read from now on: also results of another bound call, but not of this one. Throws for
  /// other shapes or dtypes, and for arrays that are shared otherwise than those of bind().
  void set_inputs(const std::vector<Tensor>& inputs, Where where = Where::current());

 private:
  friend class HybridBlock;
  struct State;
  explicit BoundCall(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace kiln

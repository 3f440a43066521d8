// Loops and branches over tensors: foreach, while_loop and cond.
#pragma once
#include <kiln/f.h>

#include <functional>

namespace kiln {

/// Loops and branches over tensors, `F.contrib().foreach(...)` as in MXNet. Eagerly the functions run as
/// ordinary C++. While a network is traced each is called once and becomes the body of a node. The size of
/// the graph thus does not depend on the number of steps; values at run time decide the number of steps of
/// while_loop and the branch of cond. Both modes give the same bits.
///
/// A body may read any captured tensor or parameter but must not write to it (return it as a state). It may
/// write to its arguments, which are copies. A result that is a captured tensor, or equal to another result,
/// aliases that array in both modes. If values decide the aliasing (one branch returns the array, the other a
/// new one) and a write could observe it, calls of the network run eagerly.
///
/// Steps and branches that do not run pass the gradient 0 to everything that they would have read: a
/// parameter that only the other branch reads has the gradient 0. To know these, an eager while_loop or cond
/// within autograd::Record calls its functions once more, on tensors without elements. Exceptions that they
/// throw there are ignored.
struct KILN_API F::contrib : F::contrib_operators {
  /// The results of a step.
  struct Results {
    Tensors outputs;  ///< of the step, stacked by the loop
    Tensors states;   ///< for the next step
  };

  /// A step of foreach, from a row of each data and the states.
  using StepBody = std::function<Results(const Tensors& rows, const Tensors& states)>;
  /// A scan: calls `body(rows, states)` for each step along the first axis of the scanned inputs `data`
  /// (equal extents). `rows` are their slices without that axis ((1,) for data of rank 1),
  /// `states` the loop-carried values. The body returns outputs and the next states, with unchanged shapes
  /// and dtypes. Returns the outputs stacked along a new first axis, and the final states.
  static Results foreach (const StepBody& body, const Tensors& data, const Tensors& states,
                          Where where = Where::current());

  /// Whether the loop goes on: one element, not 0.
  using Condition = std::function<Tensor(const Tensors& variables)>;
  /// A step of while_loop, from the variables.
  using LoopBody = std::function<Results(const Tensors& variables)>;
  /// Calls `body(variables)` while `condition(variables)`, a tensor of one element, is not zero, at most
  /// `max_iterations` times. Returns the outputs stacked to `max_iterations` rows, zeros for steps that did
  /// not run, and the final variables.
  static Results while_loop(const Condition& condition, const LoopBody& body, const Tensors& variables,
                            std::int64_t max_iterations, Where where = Where::current());

  using Branch = std::function<Tensors()>;  ///< a branch of cond
  /// Returns the results of `then` if `condition`, a tensor of one element, is not zero, else the results of
  /// `otherwise`. Both return tensors of the same shapes and dtypes; only one of them runs.
  static Tensors cond(const Tensor& condition, const Branch& then, const Branch& otherwise,
                      Where where = Where::current());
};
inline struct F::contrib F::contrib() { return {}; }

}  // namespace kiln

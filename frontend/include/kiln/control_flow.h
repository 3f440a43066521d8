#pragma once
#include <kiln/f.h>

#include <functional>

namespace kiln {

/// Loops and branches over tensors, `F.contrib().foreach(...)` as in MXNet. Eagerly the functions run as
/// ordinary C++. While a network is traced each is called once and becomes the body of a node, so that a loop
/// of a thousand steps is as small as one of two, and the number of steps of while_loop and the side of cond
/// are decided by values at run time. Both give the same bits.
///
/// A body may use any tensor or parameter of the program around it; it must not write into one (return it as
/// a state). It may write into its own arguments, which are copies. A result that is a tensor from around the
/// body, or another result again, shares that array in both modes. Where values decide whether it does (one
/// branch returns it, the other a new one) and a write could tell, calls of the network run eagerly.
struct KILN_API F::contrib : F::contrib_operators {
  struct Results {
    Tensors outputs;
    Tensors states;
  };

  /// Calls `body(rows, states)` for each step along the first axis of `data` (all of one extent, at least 1),
  /// where `rows` are that step of each of `data` without the axis ((1,) for data of one axis). The body
  /// returns outputs, which are stacked along a new first axis, and the states of the next step, of the
  /// shapes and dtypes of the given ones. Returns the stacked outputs and the last states.
  using StepBody = std::function<Results(const Tensors& rows, const Tensors& states)>;
  static Results foreach (const StepBody& body, const Tensors& data, const Tensors& states,
                          Where where = Where::current());

  /// Calls `body(variables)` while `condition(variables)`, a tensor of one element, is not zero, at most
  /// `max_iterations` times. Outputs are stacked to `max_iterations` rows; rows of steps that were not taken
  /// are zero. Returns them and the last variables.
  using Condition = std::function<Tensor(const Tensors& variables)>;
  using LoopBody = std::function<Results(const Tensors& variables)>;
  static Results while_loop(const Condition& condition, const LoopBody& body, const Tensors& variables,
                            std::int64_t max_iterations, Where where = Where::current());

  /// What `then` returns where `condition`, a tensor of one element, is not zero, else what `otherwise`
  /// returns; both return tensors of the same shapes and dtypes. Only one of them runs.
  using Branch = std::function<Tensors()>;
  static Tensors cond(const Tensor& condition, const Branch& then, const Branch& otherwise,
                      Where where = Where::current());
};
inline struct F::contrib F::contrib() { return {}; }

}  // namespace kiln

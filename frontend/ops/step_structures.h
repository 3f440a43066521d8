// Which values have a gradient in each step of a loop.
#pragma once
#include "frontend/ops/step_gradient.h"

#include <map>
#include <span>
#include <utility>
#include <vector>

namespace kiln::ops {

/// The states that have a gradient after a step, from the last step backwards. The sequence is periodic from
/// `again` on.
struct StepSequence {
  std::vector<Flags> list;
  std::size_t again = 0;
};

/// The states and the shared sums that the backward loop carries, in this order.
struct CarriedSums {
  std::vector<std::size_t> states, shared;
};

/// The structures of a loop's steps: they depend on the states that have a gradient after the step alone.
class StepStructures {
 public:
  /// `types`: of the body's inputs.
  StepStructures(const StepGradient& gradient, Values heads, std::vector<TensorType> types)
      : gradient_(gradient), heads_(std::move(heads)), types_(std::move(types)) {}

  const StepStructure& of(const Flags& states_after);
  /// The sequence of at most `steps` steps; `states` have a gradient after the last one.
  StepSequence sequence(Flags states, std::int64_t steps);
  /// The same steps with the longest tail of one structure as one element.
  StepSequence merged(StepSequence s);
  /// The values with a gradient before or after one of the steps.
  CarriedSums carried(const StepSequence& s);

 private:
  /// Sets `all` to the union of `list` and of the structures that it leads to in the steps before. Whether
  /// `all` gives each step the structure that it has: a state without gradient may then have -0.
  bool has_one_structure(std::span<const Flags> list, Flags& all);

  const StepGradient& gradient_;
  Values heads_;  // of the stacked outputs
  std::vector<TensorType> types_;
  std::map<Flags, StepStructure> known_;
};

}  // namespace kiln::ops

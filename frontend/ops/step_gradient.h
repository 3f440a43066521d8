// The gradient of one step of a loop.
#pragma once
#include "frontend/ops/control_gradient.h"
#include "ir/differentiate.h"

#include <span>
#include <vector>

namespace kiln::ops {

/// A loop as both operators have it. Outputs of the body: stacked ones, then states.
struct LoopParts {
  enum class Role { row, state, captured };
  struct Variable {
    Role role;
    std::size_t number;  // of the row, the state; of the node's input
  };
  const ir::Subgraph& body;
  std::vector<Variable> variables;        // by input of the body
  std::vector<std::size_t> data, states;  // inputs of the node
  std::size_t outputs;
};

/// Running sums of the backward loop. An invalid value has no term yet.
struct RunningSums {
  Values states, shared;
};

/// The values with a gradient in a step.
struct StepStructure {
  Flags states, shared, rows;  // terms
  ir::Differentiation::Reached values;
};

/// Composes the gradient of one step, which continues the sums of the later steps. The facts that hold for
/// all steps are computed once.
class StepGradient {
 public:
  StepGradient(Primitives& p, const ir::GradientArgs& args, const LoopParts& parts);

  /// The inputs whose sums the steps continue.
  const std::vector<std::size_t>& shared() const { return shared_; }
  /// Whether the data of this number is used by its rows only.
  bool alone(std::size_t row) const { return alone_[row]; }
  bool any_row_shared() const;

  /// The inputs of the body.
  Values variables(Args carried, Args rows) const;

  /// Replaces `running` by the sums after the step, and returns the contribution to each row that is alone.
  /// `heads` are the gradients of the stacked outputs, `index` the number of the step (rank 0) if a row is
  /// shared.
  Values step(RunningSums& running, Args carried, Args rows, Args heads, Value index) const;

  /// The structure of a step, given the states that have a gradient after it, the outputs that have one, and
  /// the types of the body's inputs.
  StepStructure structure(const Flags& states_after, Args heads, std::span<const TensorType> types) const;

 private:
  std::size_t states() const { return parts_.states.size(); }
  void share(std::size_t input);
  std::size_t shared_number(std::size_t input) const;
  /// Sums, in this order: the states, the shared inputs, the rows.
  ir::GradientRequest sums_of_step() const;

  Primitives& p_;
  const ir::GradientArgs& args_;
  const LoopParts& parts_;
  std::vector<std::size_t> shared_;
  Flags alone_;
};

}  // namespace kiln::ops

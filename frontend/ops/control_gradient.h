// Gradients of loops and branches over subgraphs.
#pragma once
#include "frontend/ops/common.h"

/// Gradients of loops and branches over subgraphs: OpDef::gradient_sums of the operators of control.cpp. They
/// are defined by the same program run step by step. The gradient of a value is one chain of additions, from
/// its last use to its first, and each step is a use.
///
///   - A captured value's sum continues from step to step: ((so far + last step) + step before) + ...
///
///   - A state's gradient passes from a step to the step before. The gradient of the initial state is one
///     term, added after all steps, since the loop begins with a copy of it.
///
///   - Step i adds an array to the gradient of data that is g in row i and +0 elsewhere.
///
///   - Steps that do not run, and branches not taken, add nothing, not even +0.
///
/// Structure decides which values have a gradient, step by step: if a final state has none, the last steps
/// may have fewer terms than others. Steps of unequal structure are composed apart, at most `max_apart` of
/// them; in later ones a missing term is -0, which leaves sums unchanged. In a while_loop that runs no step,
/// a gradient that only steps would make is -0.
namespace kiln::ops {

/// Random numbers equal the forward pass's: they are composed again at the node's counter offsets.
Values foreach_gradient(Primitives& p, const ir::GradientArgs& args, Args sums);
Values while_gradient(Primitives& p, const ir::GradientArgs& args, Args sums);
Values cond_gradient(Primitives& p, const ir::GradientArgs& args, Args sums);
/// The same run step by step: values that it did not read begin with -0.
Values depends_on_gradient(Primitives& p, const ir::GradientArgs& args, Args sums);

using Flags = std::vector<bool>;

/// OpDef::reached_outputs. The steps of foreach are known, so that its results lead to the same inputs as a
/// run step by step. Numbers decide the steps of while_loop and the branch of cond: any number of steps and
/// both branches count.
Flags foreach_reach(const Primitives& p, Args in, const Flags& reaching, const Attrs& a, ir::Bodies bodies);
Flags while_reach(const Primitives& p, Args in, const Flags& reaching, const Attrs& a, ir::Bodies bodies);
Flags cond_reach(const Primitives& p, Args in, const Flags& reaching, const Attrs& a, ir::Bodies bodies);

Flags valid(Args values);
void unite(Flags& a, const Flags& b);
/// The neutral element of addition, -0, for sums that must begin without a term.
Value no_term(Primitives& p, const TensorType& type);

/// A one-element value as a bool of rank 0: whether it is not zero.
Value truth(Primitives& p, Value x);

}  // namespace kiln::ops

// Records loops and branches as nodes.
#include "frontend/control/record_control.h"

#include "frontend/call/line.h"
#include "frontend/control/body_recorder.h"
#include "frontend/control/run_control.h"
#include "frontend/trace/body_aliases.h"
#include "frontend/trace/call_trace.h"
#include "frontend/trace/control_node.h"
#include "runtime/fail.h"

#include <algorithm>
#include <array>

namespace kiln {

using detail::TensorAccess;
using Tensors = F::Tensors;

LoopResults record_foreach(const F::contrib::StepBody& body, const Tensors& data, const Tensors& states,
                           std::source_location where) {
  const CaughtErrors errors;
  Tensors rows, carried;
  Tensors outer_data, outer_states;
  for (const Tensor& t : data) outer_data.push_back(resolved(t));
  for (const Tensor& t : states) outer_states.push_back(resolved(t));
  detail::check_data(outer_data, where);
  BodyRecorder recorder(subgraph_name("foreach"), where);
  const bool known = recorder.shapes_known();
  for (const Tensor& t : outer_data) rows.push_back(recorder.variable(t, /*row=*/true));
  for (const Tensor& t : outer_states) carried.push_back(recorder.variable(t, /*row=*/false));
  const LoopResults step = body(rows, carried);
  detail::check_states(carried, step.states, "states", where);
  const BodyAliases aliases = known ? recorder.aliases(step.states, where, carried) : BodyAliases();
  // Writes to captured arrays, or to a state that aliases another, must be visible to the next step: such
  // loops are recorded step by step. In training, so are loops that return one array as two states. A run
  // step by step has one gradient of that array; a node has one of each state, and sums in another order. So
  // are loops whose states are statistics that an operator updates. A loop of no step writes nothing.
  const bool runs = known && TensorAccess::shape(outer_data[0])[0] > 0;
  if (runs && (recorder.wrote_outside() || recorder.updated_input() ||
               (aliases.any() && (recorder.wrote_input() || is_training())))) {
    recorder.abandon();
    return run_foreach(body, data, states, where);
  }
  const ir::SubgraphPtr subgraph =
      recorder.finish(detail::joined(step), where, /*keep_unused=*/true, known ? step.outputs.size() : 0);

  ControlNode node;
  Positions data_positions, state_positions, other_positions;
  for (const Tensor& t : outer_data) node.own_input(t);
  for (const Tensor& t : outer_states) node.own_input(t);
  for (std::size_t i = 0; i < recorder.variables().size(); ++i)
    (i < data.size() ? data_positions : state_positions)
        .push_back(recorder.position(recorder.variables()[i]));
  for (const ir::NodePtr& variable : subgraph->inputs) {
    const Tensor outside = recorder.outside(variable);
    if (!outside.defined()) continue;
    other_positions.push_back(recorder.position(variable));
    node.own_input(outside);
  }
  node.set("num_outputs", static_cast<std::int64_t>(subgraph->outputs.size()));
  node.set("num_out_data", static_cast<std::int64_t>(step.outputs.size()));
  node.set("in_state_locs", state_positions);
  node.set("in_data_locs", data_positions);
  node.set("remain_locs", other_positions);
  LoopResults out = detail::parted(node.record("_foreach", std::array{subgraph}, where), step.outputs.size());
  if (known) {
    const BodyAliases last = after_steps(aliases, TensorAccess::shape(outer_data[0])[0]);
    share_arrays(out.states, {&last, 1}, /*may_not_run=*/false, /*own=*/true);
  }
  return out;
}

LoopResults record_while(const F::contrib::Condition& condition, const F::contrib::LoopBody& body,
                         const Tensors& variables, std::int64_t max_iterations, std::source_location where) {
  const CaughtErrors errors;
  Tensors outer;
  for (const Tensor& t : variables) outer.push_back(resolved(t));
  ControlNode node;
  std::vector<std::int64_t> inputs(variables.size(), -1);  // input of the node for each loop variable
  const auto feed = [&](const BodyRecorder& recorder, Positions& positions) {
    for (const ir::NodePtr& variable : recorder.subgraph()->inputs) {
      const Tensor outside = recorder.outside(variable);
      const auto& own = recorder.variables();
      const auto j = static_cast<std::size_t>(std::find(own.begin(), own.end(), variable) - own.begin());
      if (!outside.defined() && inputs[j] < 0) inputs[j] = node.own_input(outer[j]);
      positions.push_back(outside.defined() ? node.input(outside) : inputs[j]);
    }
  };
  const auto variables_of = [&](BodyRecorder& recorder) {
    Tensors own;
    for (const Tensor& t : outer) own.push_back(recorder.variable(t, /*row=*/false));
    return own;
  };
  Positions condition_positions, body_positions, variable_positions;
  BodyRecorder test(subgraph_name("while_loop_cond"), where);
  const Tensor holds = condition(variables_of(test));
  const bool condition_writes = test.wrote_input();
  const ir::SubgraphPtr tested = test.finish({holds}, where, /*keep_unused=*/false);
  BodyRecorder recorder(subgraph_name("while_loop_func"), where);
  const bool known = recorder.shapes_known();
  const Tensors own = variables_of(recorder);
  const LoopResults step = body(own);
  detail::check_states(own, step.states, "loop variables", where);
  const BodyAliases aliases = known ? recorder.aliases(step.states, where, own) : BodyAliases();
  if (known && (condition_writes || (recorder.wrote_input() && aliases.any())))
    errors.call()->run_eagerly(
        condition_writes
            ? "the condition of a while_loop writes into a loop variable"
            : "the body of a while_loop writes into a loop variable that it shares with another array");
  if (known && recorder.updated_input())
    errors.call()->abandon("the body of a while_loop updates a loop variable as its statistics");
  const ir::SubgraphPtr subgraph =
      recorder.finish(detail::joined(step), where, /*keep_unused=*/true, known ? step.outputs.size() : 0);
  feed(test, condition_positions);
  feed(recorder, body_positions);
  for (const ir::NodePtr& variable : recorder.variables())
    variable_positions.push_back(recorder.position(variable));

  node.set("num_outputs", static_cast<std::int64_t>(subgraph->outputs.size()));
  node.set("num_out_data", static_cast<std::int64_t>(step.outputs.size()));
  node.set("max_iterations", max_iterations);
  node.set("cond_input_locs", condition_positions);
  node.set("func_input_locs", body_positions);
  node.set("func_var_locs", variable_positions);
  LoopResults out =
      detail::parted(node.record("_while_loop", std::array{tested, subgraph}, where), step.outputs.size());
  if (known)
    share_arrays(out.states, after_any_steps(aliases, max_iterations), /*may_not_run=*/true, /*own=*/false);
  return out;
}

F::Tensors record_cond(const Tensor& condition, const F::contrib::Branch& then,
                       const F::contrib::Branch& otherwise, std::source_location where) {
  const CaughtErrors errors;
  ControlNode node;
  const Tensor tested = resolved(condition);
  const bool known = Trace::current() && Trace::current()->shapes_known();
  std::vector<BodyAliases> ways;
  const auto record = [&](const char* kind, const F::contrib::Branch& body, std::string_view positions) {
    BodyRecorder recorder(subgraph_name(kind), where);
    const Tensors results = body();
    if (known) ways.push_back(recorder.aliases(results, where));
    const ir::SubgraphPtr subgraph = recorder.finish(results, where);
    Positions list;
    for (const ir::NodePtr& variable : subgraph->inputs)
      list.push_back(node.input(recorder.outside(variable)));
    node.set(positions, list);
    return subgraph;
  };
  const ir::SubgraphPtr test = record(
      "cond_pred", [&] { return Tensors{tested}; }, "cond_input_locs");
  const ir::SubgraphPtr a = record("cond_then", then, "then_input_locs");
  const ir::SubgraphPtr b = record("cond_else", otherwise, "else_input_locs");
  if (a->outputs.size() != b->outputs.size())
    fail("{}one branch returns {} tensors, the other {}", line_prefix(where), a->outputs.size(),
         b->outputs.size());
  node.set("num_outputs", static_cast<std::int64_t>(a->outputs.size()));
  Tensors out = node.record("_cond", std::array{test, a, b}, where);
  if (known) {
    const auto branches = std::span(ways).subspan(1);  // without the condition
    share_arrays(out, branches, /*may_not_run=*/false, /*own=*/true);
  }
  return out;
}

}  // namespace kiln

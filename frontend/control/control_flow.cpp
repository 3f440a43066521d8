// Loops and branches of a program: run directly, or recorded as one node with subgraphs.
#include "frontend/autograd/tape.h"
#include "frontend/call/line.h"
#include "frontend/call/numpy_scope.h"
#include "frontend/call/op_call.h"
#include "frontend/call/random_state.h"
#include "frontend/call/readable.h"
#include "frontend/control/step_outputs.h"
#include "frontend/control/structure.h"
#include "frontend/tensor/elements.h"
#include "frontend/trace/body_aliases.h"
#include "frontend/trace/body_trace.h"
#include "frontend/trace/call_trace.h"
#include "frontend/trace/control_node.h"
#include "frontend/trace/traced_view.h"
#include "frontend/view/view.h"
#include "ir/primitives.h"
#include "runtime/fail.h"

#include <kiln/control_flow.h>

#include <algorithm>
#include <array>
#include <unordered_map>

namespace kiln {
namespace {

using detail::Array;
using detail::TensorAccess;
using Tensors = F::Tensors;
using Results = struct F::contrib::Results;
/// Whether to record: within a trace, or on Symbols.
bool recording(std::initializer_list<const Tensors*> lists, std::source_location where) {
  bool symbols = false, arrays = false;
  for (const Tensors* list : lists)
    for (const Tensor& t : *list) {
      if (!t.defined()) fail("{}a loop or branch was given an undefined Tensor", line_prefix(where));
      (TensorAccess::array(t)->traced() ? symbols : arrays) = true;
    }
  if (Trace::current()) return true;
  if (symbols && arrays) fail_mixed(where);
  return symbols;
}

Shape row_shape(const Shape& stacked) {
  if (stacked.rank() <= 1 && !NumpyScope::program()) return {1};
  return Shape(stacked.dims().subspan(1));
}

void check_defined(const Tensors& results, std::source_location where) {
  for (const Tensor& t : results)
    if (!t.defined()) fail("{}the body returned an undefined Tensor", line_prefix(where));
}

/// Records a body, and keeps which outside value feeds each of its variables.
class Recorder {
 public:
  explicit Recorder(std::string subgraph_name) : trace_(std::in_place, std::move(subgraph_name)) {}

  bool shapes_known() const { return trace_->shapes_known(); }

  /// A variable for `outer` or, with `row`, for one step's slice of it.
  Tensor variable(const Tensor& outer, bool row) {
    const ir::Entry& value = TensorAccess::array(outer)->value;
    const std::string name = fmt::format("{}-{}", value.node->name, value.output);
    const Shape& shape = TensorAccess::shape(outer);
    return trace_->input(name, {TensorAccess::dtype(outer), row ? row_shape(shape) : shape});
  }

  bool wrote_outside() const { return trace_->written_outside() != nullptr; }
  bool wrote_input() const { return trace_->wrote_input(); }
  bool updated_input() const { return trace_->updated_input(); }
  BodyAliases aliases(const Tensors& results, std::source_location where, const Tensors& states = {}) {
    check_defined(results, where);
    return aliases_of(*trace_, results, states);
  }
  void abandon() { trace_.reset(); }

  /// Finishes the body. A result is copied if it is a variable, a captured value or an earlier result: each
  /// head of a subgraph is a separate node, as in MXNet. If more than two results are one value, each of them
  /// among the first `stacked` is copied, as in a loop that runs step by step: the order of additions to its
  /// gradient depends on it.
  ir::SubgraphPtr finish(const Tensors& results, std::source_location where, bool keep_unused = true,
                         std::size_t stacked = 0) {
    Tensors heads;
    std::vector<ir::Entry> seen, values;
    check_defined(results, where);
    for (const Tensor& result : results) values.push_back(value_of(trace_->resolve(result), where));
    for (std::size_t i = 0; i < results.size(); ++i) {
      Tensor head = trace_->resolve(results[i]);
      const ir::Entry value = value_of(head, where);
      const auto times = [&](const std::vector<ir::Entry>& list) {
        return std::count_if(list.begin(), list.end(), [&](const ir::Entry& e) {
          return e.node == value.node && e.output == value.output;
        });
      };
      const bool known = times(seen) > 0 || (i < stacked && times(values) > 2);
      if (value.node->is_variable() || known) {
        head = recorded_copy(head, where);
        value_of(head, where).node->copies_result = true;
      }
      seen.push_back(value_of(head, where));
      heads.push_back(head);
    }
    variables_ = trace_->input_variables();
    subgraph_ = trace_->finish(heads, keep_unused);
    for (const Captured& o : trace_->outside()) outside_.emplace(o.variable.get(), o.tensor);
    trace_.reset();
    return subgraph_;
  }

  const ir::SubgraphPtr& subgraph() const { return subgraph_; }
  const std::vector<ir::NodePtr>& variables() const { return variables_; }
  /// The captured value that a variable stands for; undefined for one of variables().
  Tensor outside(const ir::NodePtr& variable) const {
    const auto found = outside_.find(variable.get());
    return found == outside_.end() ? Tensor() : found->second;
  }
  std::int64_t position(const ir::NodePtr& variable) const {
    const auto& list = subgraph_->inputs;
    return std::find(list.begin(), list.end(), variable) - list.begin();
  }

 private:
  std::optional<BodyTrace> trace_;
  ir::SubgraphPtr subgraph_;
  std::vector<ir::NodePtr> variables_;
  std::unordered_map<const ir::Node*, Tensor> outside_;
};

Results parted(Tensors all, std::size_t outputs) {
  const auto at = all.begin() + static_cast<std::ptrdiff_t>(outputs);
  return {Tensors(all.begin(), at), Tensors(at, all.end())};
}
Tensors joined(const Results& r) {
  Tensors all = r.outputs;
  all.insert(all.end(), r.states.begin(), r.states.end());
  return all;
}

void check_states(const Tensors& before, const Tensors& after, const char* what, std::source_location where) {
  if (before.size() != after.size())
    fail("{}the body was given {} {} and returned {}", line_prefix(where), before.size(), what, after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (!after[i].defined()) fail("{}the body returned an undefined Tensor", line_prefix(where));
    if (!TensorAccess::array(before[i])->shape_known || !TensorAccess::array(after[i])->shape_known) continue;
    const TensorType a{before[i].dtype(), TensorAccess::shape(before[i])},
        b{after[i].dtype(), TensorAccess::shape(after[i])};
    if (!(a == b))
      fail("{}number {} of the {} is {} before a step and {} after it: shape and dtype must stay",
           line_prefix(where), i, what, a.str(), b.str());
  }
}

bool holds(const Tensor& condition, std::source_location where) {
  if (condition.size() != 1)
    fail("{}a condition must be a tensor of one element, got {}", line_prefix(where),
         condition.shape().str());
  return condition.astype(DType::f64, where).item<double>(where) != 0;
}

/// An entry of the tape that copies the value, and computes nothing.
Tensor copy_on_tape(const Tensor& t, std::source_location where) {
  const Tensor* inputs[] = {&t};
  return detail::record_on_tape(
      {.op = find_op_or_throw("_copy"), .inputs = inputs, .given = {}, .where = where});
}

Tensors copies(const Tensors& list) {
  Tensors out;
  for (const Tensor& t : list) out.push_back(t.copy());
  return out;
}

/// The outputs of a loop that runs no step, of `rows` rows of zeros; `body` is called with `variables` for
/// their types.
Tensors outputs_of_no_step(const std::function<Results(const Tensors& variables)>& body,
                           std::span<const TensorType> variables, Device device, std::int64_t rows) {
  CallTrace trace;
  Tensors own, zeros;
  for (const TensorType& type : variables) own.push_back(trace.input("variable", type));
  const Results step = body(own);
  const TracePause pause;
  for (const Tensor& t : step.outputs) {
    const Shape shape = Shape::stacked(rows, TensorAccess::shape(t));
    zeros.push_back(filled({TensorAccess::dtype(t), shape}, 0, device));
  }
  return zeros;
}

/// Row `i` of each. A copy: writes of the body to its arguments must not be visible outside.
Tensors rows_of_step(const Tensors& data, std::int64_t i) {
  const detail::ViewScope scope;  // a body that reads the same row of a captured array reads another value
  Tensors rows;
  for (const Tensor& t : data) {
    const Shape shape = row_shape(t.shape());
    const detail::RowRange row{i, i + 1, shape.rank() < t.ndim()};
    rows.push_back(view_of(t, TensorAccess::offset(t) + i * shape.elements(), shape, row).copy());
  }
  return rows;
}

/// The results of a branch or step, as the results of a node: each is a separate value, neither an outer
/// value nor another result. `before`: the number of the tape's entry before it, or of the trace's nodes.
void own_results(Tensors& results, std::uint64_t before, std::uint64_t call, std::source_location where) {
  // Views are cut out before values are copied, as by Recorder::finish().
  std::vector<detail::TapeLink> links;
  for (const Tensor& t : results)
    links.push_back(t.defined() ? detail::link_of(t, where) : detail::TapeLink());
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!links[i]) continue;
    const auto end = links.begin() + static_cast<std::ptrdiff_t>(i);
    const bool made =
        links[i].entry && links[i].entry->number > before && std::find(links.begin(), end, links[i]) == end;
    if (made && TensorAccess::is_array(results[i])) continue;
    const auto link = made ? links[i] : detail::link_of(copy_on_tape(results[i], where), where);
    results[i] = detail::own_value(results[i], link, call);
  }
}

/// The same in a trace that records step by step.
void own_recorded_results(Trace& trace, Tensors& results, std::size_t before, std::uint64_t call,
                          std::source_location where) {
  std::vector<ir::Entry> values;
  for (Tensor& t : results) values.push_back(value_of(t = trace.resolve(t), where));
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto nodes = trace.recorded().subspan(before);
    const auto end = values.begin() + static_cast<std::ptrdiff_t>(i);
    const bool made = std::find(nodes.begin(), nodes.end(), values[i].node) != nodes.end() &&
                      std::find(values.begin(), end, values[i]) == end;
    if (made && TensorAccess::is_array(results[i])) continue;
    results[i] =
        own_value(results[i], made ? values[i] : value_of(recorded_copy(results[i], where), where), call);
  }
}

/// Results of a loop or branch that is not recorded: constants, also in an array from outside that has a
/// history.
void without_history(Tensors& results, std::source_location where) {
  const std::uint64_t call = detail::ViewScope::call();
  Trace* const trace = Trace::current();
  for (Tensor& t : results) {
    if (!t.defined()) continue;
    if (trace) {
      const Tensor here = trace->resolve(t);
      t = own_value(here, value_of(recorded_copy(here, where), where), call);
    } else if (detail::has_link(t)) {
      t = detail::own_value(t, {}, call);
    }
  }
}

/// Runs foreach step by step, on arrays or in a trace with shapes.
Results take_steps(const F::contrib::StepBody& body, const Tensors& data, const Tensors& states,
                   std::source_location where) {
  for (const Tensor& t : data)
    if (t.shape().empty() || t.shape()[0] != data[0].shape()[0])
      fail("{}foreach needs data with one number of steps along the first axis; got {} and {}",
           line_prefix(where), data[0].shape().str(), t.shape().str());
  Tensors now = copies(states);
  const Tensors all_rows = own_values(data, detail::ViewScope::call(), where);
  if (data[0].shape()[0] == 0 && !Trace::current()) {
    std::vector<TensorType> types;
    for (const Tensor& t : data) types.push_back({t.dtype(), row_shape(t.shape())});
    for (const Tensor& t : states) types.push_back({t.dtype(), t.shape()});
    const auto rows = static_cast<std::ptrdiff_t>(data.size());
    const auto step = [&](const Tensors& v) {
      return body({v.begin(), v.begin() + rows}, {v.begin() + rows, v.end()});
    };
    return {outputs_of_no_step(step, types, data[0].device(), 0), now};
  }
  StepOutputs outputs(data[0].shape()[0], where);
  const std::uint64_t call = detail::ViewScope::call();
  Trace* const trace = Trace::current();
  const bool recorded = trace ? records_nodes() : detail::is_recording();
  for (std::int64_t i = 0; i < data[0].shape()[0]; ++i) {
    const Tensors rows = rows_of_step(all_rows, i);
    const std::uint64_t before = trace ? trace->recorded().size() : detail::take_numbers(1);
    const detail::ViewScope scope;
    Results step = body(rows, now);
    check_states(now, step.states, "states", where);
    outputs.add(step.outputs);
    now = std::move(step.states);
    if (!recorded) continue;
    trace ? own_recorded_results(*trace, now, before, call, where) : own_results(now, before, call, where);
  }
  if (!recorded) without_history(now, where);
  return {outputs.stacked(), now};
}

Results record_foreach(const F::contrib::StepBody& body, const Tensors& data, const Tensors& states,
                       std::source_location where) {
  const CaughtErrors errors;
  Tensors rows, carried;
  Tensors outer_data, outer_states;
  for (const Tensor& t : data) outer_data.push_back(resolved(t));
  for (const Tensor& t : states) outer_states.push_back(resolved(t));
  Recorder recorder(subgraph_name("foreach"));
  const bool known = recorder.shapes_known();
  for (const Tensor& t : outer_data) rows.push_back(recorder.variable(t, /*row=*/true));
  for (const Tensor& t : outer_states) carried.push_back(recorder.variable(t, /*row=*/false));
  const Results step = body(rows, carried);
  check_states(carried, step.states, "states", where);
  const BodyAliases aliases = known ? recorder.aliases(step.states, where, carried) : BodyAliases();
  // Writes to captured arrays, or to a state that aliases another, must be visible to the next step: such
  // loops are recorded step by step. In training, so are loops that return one array as two states. A run
  // step by step has one gradient of that array; a node has one of each state, and sums in another order. So
  // are loops whose states are statistics that an operator updates. A loop of no step writes nothing.
  const bool runs = known && TensorAccess::shape(outer_data[0])[0] > 0;
  if (runs && (recorder.wrote_outside() || recorder.updated_input() ||
               (aliases.any() && (recorder.wrote_input() || is_training())))) {
    recorder.abandon();
    return take_steps(body, data, states, where);
  }
  const ir::SubgraphPtr subgraph =
      recorder.finish(joined(step), where, /*keep_unused=*/true, known ? step.outputs.size() : 0);

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
  Results out = parted(node.record("_foreach", std::array{subgraph}, where), step.outputs.size());
  if (known) {
    const BodyAliases last = after_steps(aliases, TensorAccess::shape(outer_data[0])[0]);
    share_arrays(out.states, {&last, 1}, /*may_not_run=*/false, /*own=*/true);
  }
  return out;
}

Results record_while(const F::contrib::Condition& condition, const F::contrib::LoopBody& body,
                     const Tensors& variables, std::int64_t max_iterations, std::source_location where) {
  const CaughtErrors errors;
  Tensors outer;
  for (const Tensor& t : variables) outer.push_back(resolved(t));
  ControlNode node;
  std::vector<std::int64_t> inputs(variables.size(), -1);  // input of the node for each loop variable
  const auto feed = [&](const Recorder& recorder, Positions& positions) {
    for (const ir::NodePtr& variable : recorder.subgraph()->inputs) {
      const Tensor outside = recorder.outside(variable);
      const auto& own = recorder.variables();
      const auto j = static_cast<std::size_t>(std::find(own.begin(), own.end(), variable) - own.begin());
      if (!outside.defined() && inputs[j] < 0) inputs[j] = node.own_input(outer[j]);
      positions.push_back(outside.defined() ? node.input(outside) : inputs[j]);
    }
  };
  const auto variables_of = [&](Recorder& recorder) {
    Tensors own;
    for (const Tensor& t : outer) own.push_back(recorder.variable(t, /*row=*/false));
    return own;
  };
  Positions condition_positions, body_positions, variable_positions;
  Recorder test(subgraph_name("while_loop_cond"));
  const Tensor holds = condition(variables_of(test));
  const bool condition_writes = test.wrote_input();
  const ir::SubgraphPtr tested = test.finish({holds}, where, /*keep_unused=*/false);
  Recorder recorder(subgraph_name("while_loop_func"));
  const bool known = recorder.shapes_known();
  const Tensors own = variables_of(recorder);
  const Results step = body(own);
  check_states(own, step.states, "loop variables", where);
  const BodyAliases aliases = known ? recorder.aliases(step.states, where, own) : BodyAliases();
  if (known && (condition_writes || (recorder.wrote_input() && aliases.any())))
    errors.call()->run_eagerly(
        condition_writes
            ? "the condition of a while_loop writes into a loop variable"
            : "the body of a while_loop writes into a loop variable that it shares with another array");
  if (known && recorder.updated_input())
    errors.call()->abandon("the body of a while_loop updates a loop variable as its statistics");
  const ir::SubgraphPtr subgraph =
      recorder.finish(joined(step), where, /*keep_unused=*/true, known ? step.outputs.size() : 0);
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
  Results out = parted(node.record("_while_loop", std::array{tested, subgraph}, where), step.outputs.size());
  if (known)
    share_arrays(out.states, after_any_steps(aliases, max_iterations), /*may_not_run=*/true, /*own=*/false);
  return out;
}

Tensors record_cond(const Tensor& condition, const F::contrib::Branch& then,
                    const F::contrib::Branch& otherwise, std::source_location where) {
  const CaughtErrors errors;
  ControlNode node;
  const Tensor tested = resolved(condition);
  const bool known = Trace::current() && Trace::current()->shapes_known();
  std::vector<BodyAliases> ways;
  const auto record = [&](const char* kind, const F::contrib::Branch& body, std::string_view positions) {
    Recorder recorder(subgraph_name(kind));
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

/// Runs a branch of cond on arrays.
Tensors run_branch(const F::contrib::Branch& branch, std::source_location where) {
  if (!detail::is_recording()) {
    Tensors results = branch();
    without_history(results, where);
    return results;
  }
  const std::uint64_t call = detail::ViewScope::call(), before = detail::take_numbers(1);
  const detail::ViewScope scope;
  Tensors results = branch();
  own_results(results, before, call, where);
  return results;
}

}  // namespace

Results F::contrib::foreach (const StepBody& body, const Tensors& data, const Tensors& states, Where where) {
  if (data.empty()) fail("{}foreach needs data to go through", line_prefix(where));
  if (!body) fail("{}foreach needs a body", line_prefix(where));
  if (recording({&data, &states}, where)) return record_foreach(body, data, states, where);
  return take_steps(body, data, states, where);
}

Results F::contrib::while_loop(const Condition& condition, const LoopBody& body, const Tensors& variables,
                               std::int64_t max_iterations, Where where) {
  if (max_iterations < 1)
    fail("{}while_loop needs max_iterations of at least 1, got {}", line_prefix(where), max_iterations);
  if (variables.empty()) fail("{}while_loop needs loop variables", line_prefix(where));
  if (!condition || !body) fail("{}while_loop needs a condition and a body", line_prefix(where));
  if (recording({&variables}, where)) return record_while(condition, body, variables, max_iterations, where);
  const auto structure = detail::Structure::of(variables, [&](const Tensors& v) {
    return joined(record_while(condition, body, v, max_iterations, where));
  });
  Tensors now = copies(variables);
  StepOutputs outputs(max_iterations, where);
  const auto goes_on = [&] {
    const detail::ViewScope scope;
    return holds(condition(now), where);
  };
  bool again = goes_on();  // before the loop, which reserves random numbers for its steps
  const RandomBlock random(ir::Primitives::control_draws);
  for (std::int64_t i = 0; again; again = ++i < max_iterations && goes_on()) {
    const detail::ViewScope scope;
    Results step = body(now);
    check_states(now, step.states, "loop variables", where);
    outputs.add(step.outputs);
    now = own_values(step.states, detail::ViewScope::call(), where);
  }
  Results results{outputs.stacked(), now};
  if (outputs.empty()) {
    std::vector<TensorType> types;
    for (const Tensor& t : variables) types.push_back({t.dtype(), t.shape()});
    results.outputs = outputs_of_no_step(body, types, variables[0].device(), max_iterations);
  }
  if (!detail::is_recording()) without_history(results.states, where);
  if (!structure) return results;
  return parted(structure->dependent(joined(results), where), results.outputs.size());
}

Tensors F::contrib::cond(const Tensor& condition, const Branch& then, const Branch& otherwise, Where where) {
  if (!then || !otherwise) fail("{}cond needs two branches", line_prefix(where));
  const Tensors tested{condition};
  if (recording({&tested}, where)) return record_cond(condition, then, otherwise, where);
  const auto structure = detail::Structure::of(
      {}, [&](const Tensors&) { return record_cond(condition, then, otherwise, where); });
  const RandomBlock random(ir::Primitives::control_draws);
  const Tensors results = run_branch(holds(condition, where) ? then : otherwise, where);
  return structure ? structure->dependent(results, where) : results;
}

}  // namespace kiln

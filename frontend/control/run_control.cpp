// Runs loops and branches step by step.
#include "frontend/control/run_control.h"

#include "frontend/autograd/tape.h"
#include "frontend/call/line.h"
#include "frontend/call/op_call.h"
#include "frontend/call/random_state.h"
#include "frontend/control/step_outputs.h"
#include "frontend/tensor/elements.h"
#include "frontend/trace/call_trace.h"
#include "frontend/trace/control_node.h"
#include "frontend/trace/traced_view.h"
#include "frontend/view/view.h"
#include "ir/primitives.h"
#include "runtime/fail.h"

#include <algorithm>

namespace kiln {

using detail::TensorAccess;
using Tensors = F::Tensors;

namespace {

bool holds(const Tensor& condition, std::source_location where) {
  if (condition.size() != 1)
    fail("{}a condition must be a tensor of one element, got {}", line_prefix(where),
         condition.shape().str());
  return condition.astype(DType::f64, where).item<double>(where) != 0;
}

Tensors copies(const Tensors& list) {
  Tensors out;
  for (const Tensor& t : list) out.push_back(t.copy());
  return out;
}

/// The outputs of a loop that runs no step, of `rows` rows of zeros; `body` is called with `variables` for
/// their types.
Tensors outputs_of_no_step(const std::function<LoopResults(const Tensors& variables)>& body,
                           std::span<const TensorType> variables, Device device, std::int64_t rows) {
  CallTrace trace;
  Tensors own, zeros;
  for (const TensorType& type : variables) own.push_back(trace.input("variable", type));
  const LoopResults step = body(own);
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
    const Shape shape = detail::row_shape(t.shape());
    const detail::RowRange row{i, i + 1, shape.rank() < t.ndim()};
    rows.push_back(view_of(t, TensorAccess::offset(t) + i * shape.elements(), shape, row).copy());
  }
  return rows;
}

/// An entry of the tape that copies the value, and computes nothing.
Tensor copy_on_tape(const Tensor& t, std::source_location where) {
  const Tensor* inputs[] = {&t};
  return detail::record_on_tape(
      {.op = find_op_or_throw("_copy"), .inputs = inputs, .given = {}, .where = where});
}

/// The results of a branch or step, as the results of a node: each is a separate value, neither an outer
/// value nor another result. `before`: the number of the tape's entry before it, or of the trace's nodes.
void own_results(Tensors& results, std::uint64_t before, std::uint64_t call, std::source_location where) {
  // Views are cut out before values are copied, as by BodyRecorder::finish().
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

LoopResults run_foreach(const F::contrib::StepBody& body, const Tensors& data, const Tensors& states,
                        std::source_location where) {
  detail::check_data(data, where);
  Tensors now = copies(states);
  const Tensors all_rows = own_values(data, detail::ViewScope::call(), where);
  if (data[0].shape()[0] == 0 && !Trace::current()) {
    std::vector<TensorType> types;
    for (const Tensor& t : data) types.push_back({t.dtype(), detail::row_shape(t.shape())});
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
    LoopResults step = body(rows, now);
    detail::check_states(now, step.states, "states", where);
    outputs.add(step.outputs);
    now = std::move(step.states);
    if (!recorded) continue;
    trace ? own_recorded_results(*trace, now, before, call, where) : own_results(now, before, call, where);
  }
  if (!recorded) without_history(now, where);
  return {outputs.stacked(), now};
}

LoopResults run_while(const F::contrib::Condition& condition, const F::contrib::LoopBody& body,
                      const Tensors& variables, std::int64_t max_iterations, std::source_location where) {
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
    LoopResults step = body(now);
    detail::check_states(now, step.states, "loop variables", where);
    outputs.add(step.outputs);
    now = own_values(step.states, detail::ViewScope::call(), where);
  }
  LoopResults results{outputs.stacked(), now};
  if (outputs.empty()) {
    std::vector<TensorType> types;
    for (const Tensor& t : variables) types.push_back({t.dtype(), t.shape()});
    results.outputs = outputs_of_no_step(body, types, variables[0].device(), max_iterations);
  }
  if (!detail::is_recording()) without_history(results.states, where);
  return results;
}

Tensors run_cond(const Tensor& condition, const F::contrib::Branch& then, const F::contrib::Branch& otherwise,
                 std::source_location where) {
  const RandomBlock random(ir::Primitives::control_draws);
  return run_branch(holds(condition, where) ? then : otherwise, where);
}

}  // namespace kiln

#include "frontend/trace/call_trace.h"

#include "frontend/eager/invoke.h"
#include "frontend/tensor/view.h"
#include "ir/compose.h"
#include "runtime/fail.h"

#include <fmt/format.h>

namespace kiln {

using detail::Array;
using detail::TensorAccess;

void abandon_trace(std::string_view what, std::source_location where) {
  const std::string message = fmt::format(
      "{}{} needs the values of arrays, and what is recorded here has none: call it outside of "
      "hybrid_forward",
      line_prefix(where), what);
  Trace* const trace = Trace::current();
  CallTrace* const call = trace ? trace->call() : nullptr;
  if (!call) throw Error(message);
  call->compute_other_values(fmt::format("it calls {}, which needs values", what));
  throw TraceAbandoned(message);
}

Tensor CallTrace::input(const std::string& name, const TensorType& type) {
  return inputs_.emplace_back(TracedVariable::make(*this, name, type, /*shape_known=*/true)).traced;
}

Tensor CallTrace::capture(const Tensor& concrete, const std::string& name, bool parameter,
                          const HiddenAttrs& hidden_attrs) {
  return captures_.take(*this, concrete, name, parameter, hidden_attrs);
}

Tensor CallTrace::resolve(const Tensor& t) {
  return TensorAccess::array(t)->traced() ? t : capture(t, "", /*parameter=*/false);
}

void CallTrace::add_written(const Array& array, const ArrayPart& part) {
  for (TracedVariable& input : inputs_)
    if (TensorAccess::array(input.traced).get() == &array) input.add_written(part);
  captures_.add_written(array, part);
}

void CallTrace::run_eagerly(std::string_view reason) {
  if (eager_because_.empty()) eager_because_ = reason;
}

void CallTrace::compute_other_values(std::string_view reason) {
  run_eagerly(reason);
  other_values_ = true;
}

void CallTrace::needs_mode(bool train) {
  if (train != train_)
    compute_other_values(
        "an operator of it depends on training mode, and runs in a scope that changes the mode");
}

void CallTrace::check_escapes(std::span<const Tensor> results) {
  if (possible_aliases().empty()) return;
  std::vector<Tensor> seen;
  for (const TracedVariable& input : inputs_) seen.push_back(input.traced);
  for (const Captured& captured : captured()) seen.push_back(captured.traced);
  for (const Tensor& result : results) {
    const Tensor r = resolve(result);
    for (const Tensor& other : seen)
      if (TensorAccess::array(r) != TensorAccess::array(other) &&
          possible_aliases().may_be_one(*TensorAccess::array(r), *TensorAccess::array(other)))
        run_eagerly("values decide whether a result aliases another array of the caller");
    seen.push_back(r);
  }
}

ir::Graph CallTrace::finish(std::span<const Tensor> results) {
  ir::Graph graph;
  graph.train = train_;
  for (const Tensor& result : results) {
    if (!result.defined())
      fail("hybrid_forward returned an undefined Tensor (made by Tensor() and never assigned)");
    const Tensor t = resolve(result);
    const Array& array = *TensorAccess::array(t);
    if (array.trace != nullptr && !owns(array)) {
      fail(
          "hybrid_forward returned <Symbol {}>, a value of another trace; a tensor made inside "
          "hybrid_forward must not "
          "be kept for a later call",
          array.value.node->name);
    }
    graph.outputs.push_back(value_of(t, {}));
  }
  check_escapes(results);
  for (const ir::NodePtr& node : nodes_)
    if (!node->subgraphs.empty() && ir::random_draws(*node, is_training()).overlaps())
      run_eagerly("conditionals within a loop or branch draw more random numbers than are reserved for it");
  const auto add_input = [&](const TracedVariable& input, bool parameter) {
    if (input.is_written())
      graph.writes.push_back({graph.inputs.size(), TensorAccess::array(input.traced)->value});
    graph.inputs.push_back(input.variable);
    graph.is_parameter.push_back(parameter);
  };
  for (const TracedVariable& input : inputs_) add_input(input, false);
  for (const Captured& captured : captured()) add_input(captured, captured.parameter);
  graph.nodes = nodes_;
  return graph;
}

}  // namespace kiln

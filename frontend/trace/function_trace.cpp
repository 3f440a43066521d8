// Records an autograd::Function as a node.
#include "frontend/trace/function_trace.h"

#include "frontend/call/function_checks.h"
#include "frontend/call/line.h"
#include "frontend/trace/body_trace.h"
#include "frontend/trace/control_node.h"
#include "frontend/trace/traced_view.h"
#include "ir/compose.h"
#include "runtime/fail.h"

#include <kiln/autograd.h>

#include <algorithm>
#include <array>
#include <optional>

namespace kiln {
namespace {

using detail::TensorAccess;
using Tensors = std::vector<Tensor>;

bool same(const ir::Entry& a, const ir::Entry& b) { return a.node == b.node && a.output == b.output; }

/// The place of a value in a list; its end if it is not there.
std::size_t find(const std::vector<ir::Entry>& list, const ir::Entry& value) {
  return static_cast<std::size_t>(
      std::find_if(list.begin(), list.end(), [&](const ir::Entry& e) { return same(e, value); }) -
      list.begin());
}

Tensor variable_of(BodyTrace& trace, const std::string& name, const Tensor& like) {
  return trace.input(name, {TensorAccess::dtype(like), TensorAccess::shape(like)});
}

void check_no_writes(const BodyTrace& trace, const char* method, const std::string& line) {
  if (trace.wrote_input() || trace.written_outside())
    fail("{}the {} of a Function writes into an array that it did not make: return new arrays instead", line,
         method);
}

/// `backward` as a subgraph, and the value that each of its variables stands for.
struct BackwardBody {
  ir::SubgraphPtr body;
  Positions gradients;  // by input: the output, or -1
  struct Source {
    std::int64_t head = -1;  // the number of an output, whose gradient it is
    Tensor value = {};       // else: of the trace of forward
  };
  std::vector<Source> sources;
};

BackwardBody record_backward(const FunctionMethods& methods, const Tensors& inputs, const Tensors& results,
                             std::source_location where) {
  const std::string line = line_prefix(where);
  BodyTrace trace(subgraph_name("function_backward"), where);
  Tensors heads;
  for (std::size_t k = 0; k < results.size(); ++k)
    heads.push_back(variable_of(trace, fmt::format("head{}", k), results[k]));
  const Tensors gradients = methods.backward(heads);
  check_function_gradients(gradients, inputs, line);
  check_no_writes(trace, "backward", line);
  BackwardBody recorded;
  Tensors returned;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const bool given = gradients[i].defined() && is_floating(TensorAccess::dtype(inputs[i]));
    recorded.gradients.push_back(given ? static_cast<std::int64_t>(returned.size()) : -1);
    if (given) returned.push_back(recorded_copy(trace.resolve(gradients[i]), where));
  }
  if (returned.empty()) returned.push_back(recorded_copy(heads[0], where));  // a file's subgraph has a head
  const std::vector<ir::NodePtr> variables = trace.input_variables();
  recorded.body = trace.finish(returned, /*keep_unused=*/false);
  for (const ir::NodePtr& node : recorded.body->nodes)
    if (trace.shapes_known() && node->op && ir::random_draws(*node, trace.call()->train()).count() > 0)
      trace.call()->run_eagerly("the backward of a Function draws random numbers");
  for (const ir::NodePtr& variable : recorded.body->inputs) {
    BackwardBody::Source source;
    if (const auto head = std::find(variables.begin(), variables.end(), variable); head != variables.end())
      source.head = head - variables.begin();
    for (const Captured& captured : trace.outside())
      if (captured.variable == variable) source.value = captured.tensor;
    recorded.sources.push_back(source);
  }
  return recorded;
}

}  // namespace

std::vector<Tensor> record_function(const FunctionMethods& methods, const std::vector<Tensor>& inputs,
                                    std::source_location where) {
  const std::string line = line_prefix(where);
  const CaughtErrors errors;
  Tensors outer;
  for (const Tensor& t : inputs) outer.push_back(resolved(t));
  // The node is recorded in the surrounding scope.
  std::optional<RecordingScopeIs> scope(std::in_place, RecordingScope::function);
  std::optional<BodyTrace> trace(std::in_place, subgraph_name("function_forward"), where);
  Tensors own;
  for (std::size_t i = 0; i < outer.size(); ++i)
    own.push_back(variable_of(*trace, fmt::format("input{}", i), outer[i]));
  const std::vector<ir::NodePtr> variables = trace->input_variables();
  const Tensors results = methods.forward(own);
  check_function_results(results, line);
  check_no_writes(*trace, "forward", line);
  Tensors heads;
  std::vector<ir::Entry> values;
  for (const Tensor& t : results) {
    heads.push_back(trace->resolve(t));
    values.push_back(value_of(heads.back(), where));
    heads.back() = recorded_copy(heads.back(), where);
  }
  const BackwardBody backward = record_backward(methods, own, results, where);
  check_no_writes(*trace, "backward", line);

  // Values of forward that backward reads, besides variables and results, become hidden results.
  for (const BackwardBody::Source& source : backward.sources) {
    if (source.head >= 0) continue;
    const ir::Entry value = value_of(source.value, where);
    if (value.node->is_variable() || find(values, value) < values.size()) continue;
    values.push_back(value);
    heads.push_back(source.value);
  }
  const ir::SubgraphPtr forward = trace->finish(heads, /*keep_unused=*/false);

  ControlNode node;
  for (const Tensor& t : outer) node.own_input(t);
  const auto input_of = [&](const ir::NodePtr& variable) {
    if (const auto at = std::find(variables.begin(), variables.end(), variable); at != variables.end())
      return static_cast<std::int64_t>(at - variables.begin());
    for (const Captured& captured : trace->outside())
      if (captured.variable == variable) return node.input(captured.tensor);
    fail_internal("a subgraph has a variable that nothing feeds");
  };
  Positions forward_places, backward_places;
  for (const ir::NodePtr& variable : forward->inputs) forward_places.push_back(input_of(variable));
  const std::size_t all = values.size();
  for (const BackwardBody::Source& source : backward.sources) {
    std::size_t place = all + static_cast<std::size_t>(source.head);
    if (source.head < 0) {
      const ir::Entry value = value_of(source.value, where);
      place = value.node->is_variable()
                  ? all + results.size() + static_cast<std::size_t>(input_of(value.node))
                  : find(values, value);
    }
    backward_places.push_back(static_cast<std::int64_t>(place));
  }
  node.set("num_outputs", static_cast<std::int64_t>(results.size()));
  node.set("num_saved", static_cast<std::int64_t>(all - results.size()));
  node.set("forward_locs", forward_places);
  node.set("backward_locs", backward_places);
  node.set("gradient_locs", backward.gradients);
  trace.reset();
  scope.reset();
  return node.record("_function", std::array{forward, backward.body}, where);
}

}  // namespace kiln

// Records a call of hybrid_forward.
#include "frontend/trace/call_trace.h"

#include "frontend/call/ended_value.h"
#include "frontend/call/line.h"
#include "frontend/trace/traced_view.h"
#include "ir/compose.h"
#include "ir/differentiate.h"
#include "runtime/fail.h"

#include <algorithm>
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
  call->abandon(fmt::format("it calls {}, which needs values", what), message);
}

void CallTrace::abandon(std::string_view reason, const std::string& message) {
  compute_other_values(reason);
  throw TraceAbandoned(message.empty() ? fmt::format("{}: it cannot be recorded", reason) : message);
}

Tensor CallTrace::input(const std::string& name, const TensorType& type, const Tensor& given) {
  given_.push_back(given);
  return inputs_.emplace_back(TracedVariable::make(*this, name, type, /*shape_known=*/true)).traced;
}

Tensor CallTrace::capture(const Tensor& concrete, const std::string& name, bool parameter,
                          const HiddenAttrs& hidden_attrs) {
  return captures_.take(*this, concrete, name, parameter, hidden_attrs);
}

const Trace::Body* CallTrace::body(std::uint64_t serial) const {
  const auto found =
      std::find_if(bodies_.begin(), bodies_.end(), [&](const Body& b) { return b.serial == serial; });
  return found == bodies_.end() ? nullptr : &*found;
}

Tensor CallTrace::resolve(const Tensor& t) {
  check_known(t, this, "hybrid_forward uses", {});
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

bool CallTrace::records_nodes() {
  switch (CallContext::current().scope) {
    case RecordingScope::none:
      presumed_ = presumed_ || !asked_recording_;
      return records_as_call();
    case RecordingScope::pause:
      return false;
    default:
      return true;
  }
}

void CallTrace::set_modes(const ir::NodePtr& ptr) {
  ir::Node& node = *ptr;
  const bool as_call = CallContext::current().scope == RecordingScope::none;
  node.recorded = as_call ? records_as_call() : records_nodes();
  node.recorded_as_call = as_call && !node.recorded;
  if (as_call) as_call_.push_back(ptr);
  if (const Device here = DeviceScope::current(); node.inputs.empty() && !(here == device_))
    fail(
        "a DeviceScope of {} while a network is recorded, whose calls run on {}: one call runs on one device",
        here.str(), device_.str());
  if (node.op->bodies > 0) return;  // the nodes of a body have their own
  if (node.op->train_sensitive && is_training() != train_) node.train = is_training();
  if (const Precision now = precision_on(device_); now != precision_) node.precision = now;
}

void CallTrace::ask_recording() {
  if (std::exchange(asked_recording_, true) || recording_) return;
  for (const ir::NodePtr& node : as_call_) {
    node->recorded = false;
    node->recorded_as_call = true;
  }
}

bool CallTrace::is_recording() {
  switch (CallContext::current().scope) {
    case RecordingScope::none:
      ask_recording();
      return recording_;
    case RecordingScope::record:
      return true;
    default:
      return false;
  }
}

void CallTrace::opens_record() {
  has_record_ = true;
  ask_recording();
}

Tensor CallTrace::given(const Array& traced) const {
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    if (TensorAccess::array(inputs_[i].traced).get() == &traced) return given_[i];
  for (const Captured& c : captured())
    if (TensorAccess::array(c.traced).get() == &traced) return c.tensor;
  return {};
}

bool CallTrace::is_variable(const Array& array) {
  const Tensor of_caller = given(array);
  if (!of_caller.defined()) return false;
  asked_histories_ = true;
  return detail::is_variable(of_caller);
}

bool CallTrace::is_recorded(const Tensor& t) {
  ask_recording();
  asked_histories_ = true;
  const Tensor traced = Trace::current()->resolve(t);
  if (Trace::current() != this) {
    run_eagerly("it asks is_recorded() in the body of a loop, branch or Function, whose steps differ in it");
    return false;
  }
  ir::Subgraph graph{{}, nodes_, {TensorAccess::array(traced)->value}};
  std::vector<bool> reaching;
  std::vector<TensorType> types;
  const auto add = [&](const TracedVariable& variable, const Tensor& of_caller) {
    graph.inputs.push_back(variable.variable);
    types.push_back(variable.variable->types.at(0));
    reaching.push_back(of_caller.defined() && detail::has_link(of_caller));
  };
  for (std::size_t i = 0; i < inputs_.size(); ++i) add(inputs_[i], given_[i]);
  for (const Captured& c : captured()) add(c, c.tensor);
  return ir::reached_outputs(graph, reaching, types, train_)[0];
}

void CallTrace::reads(const std::shared_ptr<Array>& array) {
  const auto known = [&](const Read& r) { return r.array.get() == array; };
  if (std::none_of(reads_.begin(), reads_.end(), known))
    reads_.push_back({detail::KeptArray(array), array->version()});
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
    check_known(result, this, "hybrid_forward returned", {});
    graph.outputs.push_back(value_of(resolve(result), {}));
  }
  check_escapes(results);
  for (const ir::NodePtr& node : nodes_)
    if (!node->subgraphs.empty() && ir::random_draws(*node, train_).overlaps())
      run_eagerly("conditionals within a loop or branch draw more random numbers than are reserved for it");
  const auto add_input = [&](const TracedVariable& input, bool parameter) {
    const Array& array = *TensorAccess::array(input.traced);
    if (input.is_written())
      graph.writes.push_back({graph.inputs.size(), array.value, !array.written_recorded});
    graph.inputs.push_back(input.variable);
    graph.is_parameter.push_back(parameter);
  };
  for (const TracedVariable& input : inputs_) add_input(input, false);
  for (const Captured& captured : captured()) add_input(captured, captured.parameter);
  graph.nodes = nodes_;
  return graph;
}

}  // namespace kiln

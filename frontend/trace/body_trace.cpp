// Records a body as a subgraph.
#include "frontend/trace/body_trace.h"

#include "frontend/call/ended_value.h"
#include "frontend/call/line.h"
#include "frontend/call/readable.h"
#include "frontend/trace/call_trace.h"
#include "frontend/trace/traced_view.h"
#include "frontend/view/view.h"
#include "ir/compose.h"
#include "runtime/fail.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <unordered_set>

namespace kiln {
namespace {

using detail::Array;
using detail::TensorAccess;

/// Whether the nodes of `recorded` that draw random numbers are all in `kept`, in the same order.
bool keeps_random_order(std::span<const ir::NodePtr> kept, std::span<const ir::NodePtr> recorded,
                        bool train) {
  auto next = kept.begin();
  for (const ir::NodePtr& node : recorded) {
    if (!node->op || ir::random_draws(*node, train).count() == 0) continue;
    next = std::find(next, kept.end(), node);
    if (next == kept.end()) return false;
  }
  return true;
}

bool shapes_known_around() {
  const Trace* around = Trace::current();
  return around && around->shapes_known();
}

}  // namespace

BodyTrace::BodyTrace(std::string subgraph_name, std::source_location where)
    : Trace(shapes_known_around()), subgraph_name_(std::move(subgraph_name)), where_(where) {
  if (call()) call()->add_body({serial(), subgraph_name_, program_line(where)});
}

Tensor BodyTrace::input(const std::string& name, const TensorType& type) {
  const TensorType known = shapes_known() ? type : TensorType{type.dtype, {}};
  return inputs_
      .emplace_back(
          TracedVariable::make(*this, name, known, shapes_known(), {{"__subgraph_name__", subgraph_name_}}))
      .traced;
}

std::vector<ir::NodePtr> BodyTrace::input_variables() const {
  std::vector<ir::NodePtr> variables;
  for (const TracedVariable& input : inputs_) variables.push_back(input.variable);
  return variables;
}

bool BodyTrace::sees(const Array& array) const {
  if (owns(array)) return true;
  return around() ? around()->sees(array) : array.trace == nullptr;
}

Tensor BodyTrace::bring_in(const Tensor& outer) {
  const std::shared_ptr<Array>& array = TensorAccess::array(outer);
  if (const Tensor own = own_behind(outer); own.defined()) {
    const Captured* captured = outside_.find_own(own);
    if (!captured) {
      const ir::Entry value = value_of(own, {});
      captured = &outside_.add_own({TracedVariable::make(*this, ir::output_name(value),
                                                         {TensorAccess::dtype(own), TensorAccess::shape(own)},
                                                         /*shape_known=*/true),
                                    own});
    }
    return view_of(captured->traced, TensorAccess::offset(outer) - TensorAccess::offset(own),
                   TensorAccess::shape(outer));
  }
  const Captured* captured = outside_.find(array.get());
  if (!captured) {
    const DType dtype = TensorAccess::dtype(outer);
    const ir::Entry& value = array->value;
    const std::string name = value.node->is_variable() ? value.node->name : ir::output_name(value);
    captured = &outside_.add({TracedVariable::make(*this, name, {dtype, array->shape}, array->shape_known),
                              TensorAccess::make(array, 0, array->shape, dtype)});
  }
  if (!array->shape_known) return captured->traced;
  TensorAccess::array(captured->traced)->origins = array->origins;
  return view_of(captured->traced, TensorAccess::offset(outer), TensorAccess::shape(outer));
}

Tensor BodyTrace::capture(const Tensor& concrete, const std::string& name, bool parameter,
                          const HiddenAttrs& hidden_attrs) {
  if (!around()) fail_mixed({});
  return bring_in(around()->capture(concrete, name, parameter, hidden_attrs));
}

Tensor BodyTrace::resolve(const Tensor& t) {
  const Array& array = *TensorAccess::array(t);
  if (!array.traced()) return capture(t, "", /*parameter=*/false);
  if (owns(array)) return t;
  if (!is_known_here(array, this))
    fail_unknown(array, fmt::format("{} uses", body_kind(subgraph_name_)), where_);
  // Captured by the enclosing traces first: each body gets a variable.
  return bring_in(around() ? around()->resolve(t) : t);
}

bool BodyTrace::has_written(const Array* array) const { return around() && around()->has_written(array); }

void BodyTrace::record(ir::NodePtr node) {
  node->attr_text["__subgraph_name__"] = subgraph_name_;
  nodes_.push_back(std::move(node));
}

Tensor BodyTrace::outside_of(const Tensor& t) const {
  for (const Captured& captured : outside())
    if (TensorAccess::array(captured.traced) == TensorAccess::array(t))
      return view_of(captured.tensor, TensorAccess::offset(captured.tensor) + TensorAccess::offset(t),
                     TensorAccess::shape(t));
  return {};
}

bool BodyTrace::holds_another(const TracedVariable& v) const {
  return v.is_written() || has_updated(*TensorAccess::array(v.traced));
}

bool BodyTrace::wrote_input() const {
  return std::any_of(inputs_.begin(), inputs_.end(), [&](const auto& v) { return holds_another(v); });
}

bool BodyTrace::updated_input() const {
  return std::any_of(inputs_.begin(), inputs_.end(),
                     [&](const auto& v) { return has_updated(*TensorAccess::array(v.traced)); });
}

const Captured* BodyTrace::written_outside() const {
  const auto found =
      std::find_if(outside().begin(), outside().end(), [&](const auto& v) { return holds_another(v); });
  return found == outside().end() ? nullptr : &*found;
}

ir::SubgraphPtr BodyTrace::finish(std::span<const Tensor> results, bool keep_unused) {
  auto body = std::make_shared<ir::Subgraph>();
  for (const Tensor& result : results) {
    if (!result.defined())
      fail("the body of a loop or branch returned an undefined Tensor (made by Tensor() and never assigned)");
    body->outputs.push_back(value_of(resolve(result), {}));
  }
  if (const Captured* written = written_outside()) {
    const std::string place = TensorAccess::array(written->traced)->value.node->location.str();
    if (shapes_known())
      call()->abandon(fmt::format("a branch or while_loop writes into an array from outside{}{}",
                                  place.empty() ? "" : " in ", place));
    fail(
        "{}the body of a loop or branch writes into '{}', an array from outside of it: return the new value "
        "as a state or an output instead",
        place.empty() ? place : place + ": ", written->variable->name);
  }
  body->nodes = ir::topological_order(body->outputs);
  // The program draws in its own order, and also for values that it does not use.
  if (shapes_known() && !keeps_random_order(body->nodes, nodes_, call()->train()))
    call()->run_eagerly(
        "the body of a loop, branch or Function draws random numbers that its results do not use, or use in "
        "another order");
  for (const ir::NodePtr& variable : input_variables())
    if (keep_unused && std::find(body->nodes.begin(), body->nodes.end(), variable) == body->nodes.end())
      body->nodes.push_back(variable);
  for (const ir::NodePtr& node : body->nodes)
    if (node->is_variable()) body->inputs.push_back(node);
  // A gradient's terms come in the order of the program's calls, which a file does not keep.
  if (shapes_known()) {
    const std::unordered_set<ir::NodePtr> used(body->nodes.begin(), body->nodes.end());
    body->nodes = body->inputs;
    std::copy_if(nodes_.begin(), nodes_.end(), std::back_inserter(body->nodes),
                 [&](const ir::NodePtr& node) { return used.contains(node); });
  }
  return body;
}

}  // namespace kiln

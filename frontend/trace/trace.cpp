#include "frontend/trace/trace.h"

#include "frontend/eager/call_context.h"
#include "frontend/eager/invoke.h"
#include "frontend/tensor/view.h"
#include "ir/compose.h"
#include "runtime/fail.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace kiln {
namespace {

using detail::Array;
using detail::TensorAccess;
using Tensors = std::vector<Tensor>;
using HiddenAttrs = std::map<std::string, std::string, std::less<>>;

Trace*& current_trace() { return CallContext::current().trace; }
std::atomic<std::uint64_t> next_serial{1};

ir::NodePtr make_variable(const std::string& name, const HiddenAttrs& hidden, const TensorType* type) {
  auto node = std::make_shared<ir::Node>();
  node->name = name;
  for (const auto& [key, value] : hidden) node->attr_text[key] = value;
  if (type) node->types = {*type};
  return node;
}

/// Whether the array of a variable holds another value. A version is an operator's update, which happens in
/// training.
bool has_written_to(const Tensor& array, const ir::NodePtr& variable) {
  const ir::Entry& now = TensorAccess::array(array)->value;
  return now.node != variable || (now.version > 0 && is_training());
}

/// Whether the nodes of `recorded` that take random numbers stand in `kept` too, in the same order.
bool keeps_random_order(std::span<const ir::NodePtr> kept, std::span<const ir::NodePtr> recorded) {
  auto next = kept.begin();
  for (const ir::NodePtr& node : recorded) {
    if (!node->op || ir::random_draws(*node, is_training()).count() == 0) continue;
    next = std::find(next, kept.end(), node);
    if (next == kept.end()) return false;
  }
  return true;
}

}  // namespace

detail::Array::Array(Trace* t, ir::Entry v, const Shape& s, bool known)
    : Storage(Buffer()),
      trace(t),
      serial(t ? t->serial() : 0),
      value(std::move(v)),
      shape(s),
      shape_known(known) {}

Trace::Trace(bool shapes_known)
    : shapes_known_(shapes_known),
      serial_(next_serial++),
      outer_(current_trace()),
      names_(std::in_place, "") {
  current_trace() = this;
}

Trace::Trace(Body body, bool shapes_known)
    : shapes_known_(shapes_known), serial_(next_serial++), outer_(current_trace()), body_(std::move(body)) {
  current_trace() = this;
}

Trace::~Trace() { current_trace() = outer_; }

Trace* Trace::current() { return current_trace(); }

Tensor Trace::input(const std::string& name, const TensorType& type) {
  const ir::NodePtr node = make_variable(name, {}, shapes_known_ ? &type : nullptr);
  if (body_) node->attr_text["__subgraph_name__"] = body_->subgraph_name;
  auto array = std::make_shared<Array>(this, ir::Entry{node, 0, 0}, shapes_known_ ? type.shape : Shape{},
                                       shapes_known_);
  inputs_.push_back({TensorAccess::make(array, 0, array->shape, type.dtype), node});
  return inputs_.back().tensor;
}

bool Trace::sees(const Array& array) const {
  for (const Trace* t = this; t; t = t->body_ ? t->outer_ : nullptr) {
    if (t->owns(array)) return true;
    // A body around which there is no trace is composed of Symbols.
    if (t->body_ && !t->outer_) return array.trace == nullptr;
  }
  return false;
}

Tensor Trace::bring_in(const Tensor& outer) {
  const std::shared_ptr<Array>& array = TensorAccess::array(outer);
  const DType dtype = TensorAccess::dtype(outer);
  auto found = capture_index_.find(array.get());
  if (found == capture_index_.end()) {
    const TensorType type{dtype, array->shape};
    const ir::Entry& value = array->value;
    const ir::NodePtr node =
        make_variable(value.node->is_variable() ? value.node->name : ir::output_name(value), {},
                      array->shape_known ? &type : nullptr);
    auto traced = std::make_shared<Array>(this, ir::Entry{node, 0, 0}, array->shape, array->shape_known);
    captured_traced_.push_back(TensorAccess::make(traced, 0, array->shape, dtype));
    outside_.push_back({TensorAccess::make(array, 0, array->shape, dtype), node});
    found = capture_index_.emplace(array.get(), captured_traced_.size() - 1).first;
  }
  const Tensor& traced = captured_traced_[found->second];
  if (!array->shape_known) return traced;
  TensorAccess::array(traced)->origins = array->origins;
  return TensorAccess::make(TensorAccess::array(traced), TensorAccess::offset(outer),
                            TensorAccess::shape(outer), dtype);
}

void Trace::record(ir::NodePtr node) {
  if (body_) node->attr_text["__subgraph_name__"] = body_->subgraph_name;
  nodes_.push_back(std::move(node));
}

Tensor Trace::capture(const Tensor& concrete, const std::string& name, bool parameter,
                      const HiddenAttrs& hidden) {
  if (body_ && outer_) return bring_in(outer_->capture(concrete, name, parameter, hidden));
  if (body_) fail_mixed({});
  const std::shared_ptr<Array>& array = TensorAccess::array(concrete);
  if (!array || array->traced()) fail_internal("capture() takes a concrete tensor");
  const Shape& shape = TensorAccess::shape(concrete);
  const DType dtype = TensorAccess::dtype(concrete);
  const std::int64_t offset = TensorAccess::offset(concrete);
  auto found = capture_index_.find(array.get());
  if (found == capture_index_.end()) {
    // The variable stands for the whole array, so that other views of it are views of the same variable.
    const auto elements = static_cast<std::int64_t>(array->bytes() / size_of(dtype));
    const bool all = offset == 0 && shape.elements() == elements;
    const Tensor whole = TensorAccess::make(array, 0, all ? shape : Shape{elements}, dtype);
    const TensorType type{dtype, TensorAccess::shape(whole)};
    const std::string unnamed = name.empty() ? "captured" + std::to_string(captured_.size()) : name;
    const ir::NodePtr node = make_variable(unnamed, hidden, shapes_known_ ? &type : nullptr);
    auto traced = std::make_shared<Array>(this, ir::Entry{node, 0, 0}, type.shape, shapes_known_);
    captured_traced_.push_back(TensorAccess::make(traced, 0, type.shape, dtype));
    captured_.push_back({whole, node, parameter});
    found = capture_index_.emplace(array.get(), captured_.size() - 1).first;
  }
  const Tensor& traced = captured_traced_[found->second];
  if (!shapes_known_) return traced;
  return TensorAccess::make(TensorAccess::array(traced), offset, shape, dtype);
}

Tensor Trace::variable(const std::string& name, const HiddenAttrs& hidden,
                       const std::optional<TensorType>& type) {
  if (body_ && outer_) return bring_in(outer_->variable(name, hidden, type));
  const auto found = variables_.find(name);
  if (found != variables_.end()) return found->second;
  const bool known = type.has_value() && shapes_known_;
  const ir::NodePtr node = make_variable(name, hidden, known ? &*type : nullptr);
  const TensorType shown = type.value_or(TensorType{});
  auto array = std::make_shared<Array>(this, ir::Entry{node, 0, 0}, shown.shape, known);
  const Tensor t = TensorAccess::make(array, 0, shown.shape, shown.dtype);
  captured_.push_back({Tensor(), node, true});
  captured_traced_.push_back(t);
  variables_.emplace(name, t);
  return t;
}

Tensor Trace::resolve(const Tensor& t) {
  const Array& array = *TensorAccess::array(t);
  if (!array.traced()) return capture(t, "", false);
  if (!body_ || owns(array)) return t;
  // Through the bodies around this one, each of which gets a variable.
  return bring_in(outer_ ? outer_->resolve(t) : t);
}

bool Trace::has_written(const detail::Array* array) const {
  if (body_) return outer_ && outer_->has_written(array);
  const auto found = capture_index_.find(array);
  if (found == capture_index_.end()) return false;
  return TensorAccess::array(captured_traced_[found->second])->value.node !=
         captured_[found->second].variable;
}

void Trace::run_eagerly(std::string_view reason) {
  if (body_ && outer_) return outer_->run_eagerly(reason);
  if (eager_because_.empty()) eager_because_ = reason;
}

void Trace::will_write(const Array& array) {
  if (!possible_aliases_.has_another(array)) return;
  run_eagerly("it writes into an array of which values decide whether it is another one too");
  for (Trace* t = this; t; t = t->body_ ? t->outer_ : nullptr) t->other_values_ = true;
}

void Trace::check_escapes(std::span<const Tensor> results) {
  if (possible_aliases_.empty()) return;
  Tensors seen;
  for (const InputSlot& slot : inputs_) seen.push_back(slot.tensor);
  seen.insert(seen.end(), captured_traced_.begin(), captured_traced_.end());
  for (const Tensor& result : results) {
    const Tensor r = resolve(result);
    for (const Tensor& other : seen)
      if (TensorAccess::array(r) != TensorAccess::array(other) &&
          possible_aliases_.may_be_one(*TensorAccess::array(r), *TensorAccess::array(other)))
        run_eagerly("values decide whether a result is another array that the caller has");
    seen.push_back(r);
  }
}

ir::Graph Trace::finish(std::span<const Tensor> results) {
  ir::Graph graph;
  graph.train = is_training();
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
    if (shapes_known_ && !node->subgraphs.empty() && ir::random_draws(*node, is_training()).overlaps())
      run_eagerly("conditionals within a loop or branch take more random numbers than it takes itself");
  const auto add_input = [&](const Tensor& traced, const ir::NodePtr& variable, bool parameter) {
    const ir::Entry& now = TensorAccess::array(traced)->value;
    if (now.node != variable) graph.writes.push_back({graph.inputs.size(), now});
    graph.inputs.push_back(variable);
    graph.is_parameter.push_back(parameter);
  };
  for (const InputSlot& slot : inputs_) add_input(slot.tensor, slot.variable, false);
  for (std::size_t i = 0; i < captured_.size(); ++i)
    add_input(captured_traced_[i], captured_[i].variable, captured_[i].parameter);
  graph.nodes = nodes_;
  return graph;
}

Tensor Trace::outside_of(const Tensor& t) const {
  for (std::size_t i = 0; i < outside_.size(); ++i)
    if (TensorAccess::array(captured_traced_[i]) == TensorAccess::array(t))
      return view_of(outside_[i].tensor, TensorAccess::offset(t), TensorAccess::shape(t));
  return {};
}

std::vector<std::pair<Tensor, Tensor>> Trace::brought_in() const {
  std::vector<std::pair<Tensor, Tensor>> out;
  for (std::size_t i = 0; i < outside_.size(); ++i) out.emplace_back(captured_traced_[i], outside_[i].tensor);
  return out;
}

bool Trace::wrote_input() const {
  return std::any_of(inputs_.begin(), inputs_.end(),
                     [](const InputSlot& slot) { return has_written_to(slot.tensor, slot.variable); });
}

const ir::Node* Trace::written_outside() const {
  for (std::size_t i = 0; i < outside_.size(); ++i)
    if (has_written_to(captured_traced_[i], outside_[i].variable)) return outside_[i].variable.get();
  return nullptr;
}

std::vector<ir::NodePtr> Trace::input_variables() const {
  std::vector<ir::NodePtr> variables;
  for (const InputSlot& slot : inputs_) variables.push_back(slot.variable);
  return variables;
}

ir::SubgraphPtr Trace::finish_body(std::span<const Tensor> results, bool keep_unused) {
  auto body = std::make_shared<ir::Subgraph>();
  for (const Tensor& result : results) {
    if (!result.defined())
      fail("the body of a loop or branch returned an undefined Tensor (made by Tensor() and never assigned)");
    body->outputs.push_back(value_of(resolve(result), {}));
  }
  if (const ir::Node* written = written_outside())
    fail(
        "the body of a loop or branch writes into '{}', an array from outside of it: return the new value as "
        "a state "
        "or an output instead",
        written->name);
  body->nodes = ir::topological_order(body->outputs);
  // The program draws in its own order, and what it does not use too.
  if (shapes_known_ && !keeps_random_order(body->nodes, nodes_))
    run_eagerly("a loop or branch draws random numbers that its results do not use, or use in another order");
  for (const ir::NodePtr& variable : input_variables())
    if (keep_unused && std::find(body->nodes.begin(), body->nodes.end(), variable) == body->nodes.end())
      body->nodes.push_back(variable);
  for (const ir::NodePtr& node : body->nodes)
    if (node->is_variable()) body->inputs.push_back(node);
  return body;
}

TracePause::TracePause() : paused_(std::exchange(current_trace(), nullptr)) {}
TracePause::~TracePause() { current_trace() = paused_; }

}  // namespace kiln

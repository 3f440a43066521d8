// A parameter in a trace: its variable, and its value as an operand.
#include "frontend/call/call_site.h"
#include "frontend/call/line.h"
#include "frontend/call/op_call.h"
#include "frontend/call/trace.h"
#include "frontend/gluon/parameter/parameter_state.h"
#include "frontend/symbol/symbol_tensor.h"

#include <mutex>
#include <utility>

namespace kiln {

using detail::HiddenAttrs;
using detail::ParameterAccess;
using detail::ParameterState;
using detail::TensorAccess;

namespace {

ir::NodePtr make_variable(ParameterState& p) {
  auto node = std::make_shared<ir::Node>();
  node->name = p.name;
  std::lock_guard lock(p.mutex);
  node->attr_text = p.fix_variable_attrs();
  return node;
}

thread_local detail::VariableScope* variable_scope = nullptr;

}  // namespace

const HiddenAttrs& ParameterState::fix_variable_attrs() {
  if (!variable_attrs) {
    HiddenAttrs attrs;
    attrs["__dtype__"] = std::to_string(static_cast<int>(options.dtype));
    if (options.init.defined()) attrs["__init__"] = options.init.text();
    attrs["__lr_mult__"] = ir::python_float(options.lr_mult);
    if (!shape.empty()) attrs["__shape__"] = shape.str();
    attrs["__storage_type__"] = "0";
    attrs["__wd_mult__"] = ir::python_float(options.wd_mult);
    variable_attrs = std::move(attrs);
  }
  return *variable_attrs;
}

detail::VariableScope::VariableScope() : outer_(std::exchange(variable_scope, this)) {}
detail::VariableScope::~VariableScope() { variable_scope = outer_; }
detail::VariableScope* detail::VariableScope::current() { return variable_scope; }

Tensor detail::VariableScope::variable(const Parameter& p) {
  ir::NodePtr& node = variables_[&ParameterAccess::state(p)];
  if (!node) node = make_variable(ParameterAccess::state(p));
  const bool known = ParameterAccess::state(p).shape_known();
  const Shape shape = known ? p.shape() : Shape();
  if (known && node->types.empty()) node->types = {{p.dtype(), shape}};
  auto array = std::make_shared<Array>(Trace::current(), ir::Entry{node}, shape, known);
  return TensorAccess::make(std::move(array), 0, shape, p.dtype());
}

ir::NodePtr detail::VariableScope::find(const Parameter& p) const {
  const auto it = variables_.find(&ParameterAccess::state(p));
  return it == variables_.end() ? nullptr : it->second;
}

detail::HiddenAttrs ParameterAccess::variable_attrs(const Parameter& p) {
  std::lock_guard lock(p.state_->mutex);
  return p.state_->fix_variable_attrs();
}

Parameter::operator Tensor() const {
  Trace* trace = Trace::current();
  if (!trace) return data(CallSite::caller());
  if (auto* scope = detail::VariableScope::current()) return scope->variable(*this);
  if (trace->shapes_known())
    return trace->capture(data(CallSite::caller()), name(), true, ParameterAccess::variable_attrs(*this));
  ir::NodePtr fresh = make_variable(*state_);
  std::lock_guard lock(state_->mutex);
  if (!state_->symbol) state_->symbol = std::move(fresh);
  return detail::symbol_tensor({state_->symbol}, dtype());
}

Operand::Operand(const Parameter& p, std::source_location where)
    : owned_(at_line(where, [&] { return Tensor(p); })), where_(where) {}

}  // namespace kiln

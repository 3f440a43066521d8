// Calls of blocks: their hooks, and the forward() of a program.
#include "frontend/call/call_site.h"
#include "frontend/call/line.h"
#include "frontend/gluon/block/block_state.h"
#include "frontend/gluon/hybridize/cached_call.h"
#include "frontend/gluon/parameter/parameter_state.h"
#include "frontend/symbol/blocked_gradients.h"
#include "frontend/symbol/symbol_tensor.h"
#include "frontend/trace/symbol_trace.h"
#include "frontend/view/view.h"
#include "runtime/messages.h"

#include <algorithm>
#include <optional>

namespace kiln {

using detail::BlockState;

HookHandle Block::register_forward_pre_hook(PreHook hook) const {
  BlockState& s = detail::BlockAccess::unnamed_state(*this);
  HookHandle handle;
  handle.block_ = state_;
  handle.id_ = s.next_hook++;
  s.structure->changed("got a hook");
  s.hooks.push_back({handle.id_, std::move(hook), nullptr});
  return handle;
}

HookHandle Block::register_forward_hook(Hook hook) const {
  BlockState& s = detail::BlockAccess::unnamed_state(*this);
  HookHandle handle;
  handle.block_ = state_;
  handle.id_ = s.next_hook++;
  s.structure->changed("got a hook");
  s.hooks.push_back({handle.id_, nullptr, std::move(hook)});
  return handle;
}

void HookHandle::detach() {
  if (const auto block = block_.lock())
    if (std::erase_if(block->hooks, [&](const auto& h) { return h.id == id_; }) != 0)
      block->structure->changed("lost a hook");
  block_.reset();
}

namespace {

/// Whether an input is a symbol, not a value of a trace.
bool is_symbolic(std::span<const Tensor> inputs) {
  return std::any_of(inputs.begin(), inputs.end(), [](const Tensor& t) {
    const detail::Array& array = *detail::TensorAccess::array(t);
    return array.traced() && !array.trace;
  });
}

}  // namespace

Tensors Block::call(std::span<const Tensor> inputs, Where where) const {
  BlockState& s = state();
  // Programs override functions that are not const. A handle changes nothing of itself in a call.
  auto& self = const_cast<Block&>(*this);
  const std::source_location line = CallSite::resolve(where);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i].defined())
      fail(Mistake::undefined_tensor, "{}Input {} of the block {} is an undefined Tensor", line_prefix(line),
           i, name());
  if (!Trace::current() && is_symbolic(inputs)) {
    Tensors out;
    {
      const SymbolTrace composition;
      out = call(inputs, where);
    }
    std::vector<ir::Entry> values;
    for (const Tensor& t : out) values.push_back(detail::TensorAccess::array(t)->value);
    values = with_blocked_gradients(values);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = detail::symbol_tensor(values[i], out[i].dtype());
    return out;
  }
  // Operators in a program's own forward have their own lines; operators in the library's blocks get the
  // caller's.
  const CallSite site(s.library ? std::optional(line) : std::nullopt, line, this);
  detail::depend_on_tree(s);
  const CallContext& context = CallContext::current();
  // Arrays that the block creates are where its inputs are, as in compiled code. A recording has set it.
  std::optional<DeviceScope> device;
  if (!context.trace && !inputs.empty())
    if (const Device of_inputs = detail::TensorAccess::device(inputs[0]); !(of_inputs == context.device))
      device.emplace(of_inputs);
  const detail::ViewScope::NextCall next = detail::ViewScope::next_call();
  const Tensors in = own_values(inputs, next.number, line);
  const detail::ViewScope scope(next);
  const auto run = [&] { return returned_values(self.forward(in), inputs, in, next.outer, line); };
  if (s.hooks.empty() || detail::VariableScope::current() || CheckScope::active())
    return run();  // no hooks during shape inference, and only once for a call with checks
  const auto hooks = s.hooks;
  for (const auto& h : hooks)
    if (h.before) h.before(self, in);
  Tensors out = run();
  for (const auto& h : hooks)
    if (h.after) h.after(self, in, out);
  return out;
}

Tensor Block::call_for_one(std::span<const Tensor> inputs, Where where) const {
  return at_line(where, [&] {
    Tensor out;
    const CallContext& now = CallContext::current();
    if (const CachedCall* calls = calls_.find();
        calls && state_->active && state_->hooks.empty() && !now.trace && calls->hit(inputs, now, out, where))
      return out;
    Tensors all = call(inputs, where);
    if (all.size() != 1)
      fail("The block {} gives {} tensors; call it with a vector of inputs to get all", name(), all.size());
    out = std::move(all[0]);
    return out;
  });
}

Tensor Block::operator()(Where where) const { return call_for_one({}, where); }
Tensor Block::operator()(const Tensor& x, Where where) const { return call_for_one({&x, 1}, where); }
Tensor Block::operator()(const Tensor& x, const Tensor& y, Where where) const {
  const Tensor inputs[] = {x, y};
  return call_for_one(inputs, where);
}
Tensor Block::operator()(const Tensor& x, const Tensor& y, const Tensor& z, Where where) const {
  const Tensor inputs[] = {x, y, z};
  return call_for_one(inputs, where);
}
Tensors Block::operator()(const Tensors& inputs, Where where) const {
  return at_line(where, [&] { return call(inputs, where); });
}

Tensor Block::forward() {
  fail(Mistake::wrong_arity, "{}{} defines no forward() without tensors", line_prefix(CallSite::caller()),
       class_name());
}
Tensor Block::forward(const Tensor&) {
  fail(Mistake::wrong_arity, "{}{} defines no forward() of one tensor", line_prefix(CallSite::caller()),
       class_name());
}
Tensor Block::forward(const Tensor&, const Tensor&) {
  fail(Mistake::wrong_arity, "{}{} defines no forward() of two tensors", line_prefix(CallSite::caller()),
       class_name());
}
Tensor Block::forward(const Tensor&, const Tensor&, const Tensor&) {
  fail(Mistake::wrong_arity, "{}{} defines no forward() of three tensors", line_prefix(CallSite::caller()),
       class_name());
}
Tensors Block::forward(const Tensors& in) {
  switch (in.size()) {
    case 0:
      return {forward()};
    case 1:
      return {forward(in[0])};
    case 2:
      return {forward(in[0], in[1])};
    case 3:
      return {forward(in[0], in[1], in[2])};
    default:
      fail(Mistake::wrong_arity, "{}{} defines no forward() of {} tensors; override forward(const Tensors&)",
           line_prefix(CallSite::caller()), class_name(), in.size());
  }
}

}  // namespace kiln

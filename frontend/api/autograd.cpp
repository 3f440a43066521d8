// The public interface of gradients.
#include "frontend/autograd/backward.h"
#include "frontend/call/line.h"
#include "frontend/trace/call_trace.h"
#include "runtime/messages.h"

#include <kiln/autograd.h>
#include <kiln/f.h>

#include <utility>

namespace kiln {

using detail::GradVariable;
using detail::TensorAccess;

namespace autograd {

bool is_training() { return kiln::is_training(); }
namespace {
CallTrace* call_trace() { return Trace::current() ? Trace::current()->call() : nullptr; }
}  // namespace

bool is_recording() {
  CallTrace* const call = call_trace();
  return call ? call->is_recording() : kiln::detail::is_recording();
}
bool is_recorded(const Tensor& t) {
  if (!t.defined()) return false;
  if (CallTrace* const call = call_trace()) return call->is_recorded(t);
  return !t.is_traced() && kiln::detail::has_history(t);
}

detail::ModeScope::ModeScope(std::optional<bool> recording, bool training)
    : outer_recording_(CallContext::current().recording),
      outer_training_(CallContext::current().training),
      outer_scope_(static_cast<unsigned char>(CallContext::current().scope)) {
  CallContext& now = CallContext::current();
  now.training = training;
  if (!recording) return;
  if (CallTrace* const call = call_trace(); call && *recording) call->opens_record();
  now.recording = *recording;
  now.scope = *recording ? RecordingScope::record : RecordingScope::pause;
}
detail::ModeScope::~ModeScope() {
  CallContext& now = CallContext::current();
  now.recording = outer_recording_;
  now.training = outer_training_;
  now.scope = static_cast<RecordingScope>(outer_scope_);
}

void backward(const Tensors& heads, const Tensors& head_gradients, const BackwardOptions& options,
              std::source_location where) {
  const TrainMode mode(options.train);
  at_line(where, [&] {
    kiln::detail::run_backward(heads, head_gradients, nullptr, {.retain = options.retain_graph}, where);
  });
}

Tensors grad(const Tensors& heads, const Tensors& variables, const GradOptions& options,
             std::source_location where) {
  if (variables.empty()) fail("{}grad needs a variable", line_prefix(where));
  for (std::size_t i = 0; i < variables.size(); ++i)
    if (!variables[i].defined()) fail("{}variable {} is an undefined Tensor", line_prefix(where), i);
  const TrainMode mode(options.train);
  return at_line(where, [&] {
    return kiln::detail::run_backward(
        heads, options.head_gradients, &variables,
        {.retain = options.retain_graph.value_or(options.create_graph), .create_graph = options.create_graph},
        where);
  });
}

}  // namespace autograd

namespace {

/// The tensor's array, whose gradient is spoken of. Throws for a traced one, and for a part of one.
void require_array(const Tensor& t, const char* what, std::source_location where) {
  if (!t.defined())
    fail("{}{} of an undefined Tensor (made by Tensor() and never assigned)", line_prefix(where), what);
  if (t.is_traced() || Trace::current()) abandon_trace(what, where);
}

}  // namespace

void Tensor::attach_grad(GradReq req, std::source_location where) {
  require_array(*this, "attach_grad()", where);
  if (!is_floating(dtype_))
    fail(Mistake::integer_gradient,
         "{}attach_grad() of an array of {}: only floating-point arrays have gradients", line_prefix(where),
         name_of(dtype_));
  if (offset_ != 0 || shape_.elements() != array_->shape.elements())
    fail("{}attach_grad() of a view of another array: attach a gradient to the array, or copy() the view",
         line_prefix(where));
  array_->shape = shape_;
  detail::attach_gradient(*this, req);
}

Tensor Tensor::grad(std::source_location where) const {
  require_array(*this, "grad()", where);
  GradVariable* const variable = detail::variable_of(*this);
  if (!variable)
    fail(Mistake::no_gradient, "{}grad() of an array without a gradient: call attach_grad() first",
         line_prefix(where));
  return detail::gradient_of(*variable);
}

void Tensor::zero_grad(std::source_location where) {
  require_array(*this, "zero_grad()", where);
  GradVariable* const variable = detail::variable_of(*this);
  if (!variable)
    fail("{}zero_grad() of an array without a gradient: call attach_grad() first", line_prefix(where));
  if (variable->grad.defined()) {
    const autograd::Pause pause(is_training());
    variable->grad[kiln::slice()] = 0;
  }
}

Tensor Tensor::detach(std::source_location where) const {
  if (!array_ || is_traced() || Trace::current()) return F::BlockGrad(*this, where);
  // The same elements, as another array would have them: without history.
  const autograd::Pause pause(is_training());
  return copy(where);
}

void Tensor::backward(std::source_location where) const { autograd::backward({*this}, {}, {}, where); }
void Tensor::backward(const Tensor& head_gradient, const autograd::BackwardOptions& options,
                      std::source_location where) const {
  autograd::backward({*this},
                     head_gradient.defined() ? std::vector<Tensor>{head_gradient} : std::vector<Tensor>{},
                     options, where);
}

}  // namespace kiln

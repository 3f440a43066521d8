// The values of a parameter: shape, dtype and device, initialization, and the gradient.
#include "frontend/autograd/tape.h"
#include "frontend/call/line.h"
#include "frontend/call/readable.h"
#include "frontend/gluon/block/block_state.h"
#include "frontend/gluon/parameter/initial_values.h"
#include "frontend/gluon/parameter/parameter_state.h"
#include "frontend/tensor/elements.h"
#include "runtime/log.h"
#include "runtime/messages.h"

#include <kiln/autograd.h>

#include <algorithm>
#include <utility>

namespace kiln {

DeferredInitializationError::~DeferredInitializationError() = default;

using detail::ParameterAccess;
using detail::ParameterState;
using detail::TensorAccess;

namespace {

Device device_of(const ParameterState& p) { return p.device.value_or(DeviceScope::current()); }

Tensor empty_values(const ParameterState& p) {
  return detail::TensorAccess::empty(p.shape, p.options.dtype, device_of(p));
}

Tensor initial_values(const ParameterState& p, const Initializer& init) {
  try {
    return kiln::initial_values(init, {p.options.dtype, p.shape}, device_of(p));
  } catch (const Error& e) {
    fail("Parameter '{}' of shape {} cannot be initialized: {}", p.name, p.shape.str(), e.what());
  } catch (const std::bad_alloc&) {
    fail("Parameter '{}' of shape {} cannot be initialized: out of memory", p.name, p.shape.str());
  }
}

/// To be called when the array is new or written, so that no other thread reads it.
void allow_release(const ParameterState& p) {
  if (p.weights == Weights::release) TensorAccess::array(p.data)->allow_release();
}

void publish(ParameterState& p, Tensor data) {
  p.data = std::move(data);
  p.attach_gradient();
  allow_release(p);
  p.deferred.reset();
  p.ready.store(true, std::memory_order_release);
}

/// ", as net-0000.params," for net-symbol.json; empty if the symbol file has no name of an export.
std::string exported_with(std::string_view symbol_file) {
  constexpr std::string_view ending = "-symbol.json";
  if (!symbol_file.ends_with(ending)) return {};
  symbol_file.remove_suffix(ending.size());
  return fmt::format(", as {}-0000.params,", symbol_file);
}

[[noreturn]] void no_values(const ParameterState& p, std::source_location where) {
  if (p.deferred)
    throw DeferredInitializationError(numbered(
        fmt::format(
            "{}Parameter '{}' has not been initialized yet because initialization was deferred: its shape {} "
            "follows from the first call. Call the network on one batch first, or give the sizes where its "
            "layer is made (in_units, in_channels)",
            line_prefix(where), p.name, p.shape.str()),
        Mistake::deferred));
  if (!p.listed)
    fail(Mistake::not_initialized,
         "{}Parameter '{}' has not been initialized, and it belongs to no block, so that the initialize() of "
         "a "
         "network does not reach it, nor do save_parameters() and a Trainer. Let the block make it: in the "
         "constructor {} = params().get(\"{}\", {{...}}). One outside of networks has an initialize() of its "
         "own",
         line_prefix(where), p.name, p.name, p.name);
  if (!p.symbol_file.empty())
    fail(Mistake::not_initialized,
         "{}Parameter '{}' has not been initialized: SymbolBlock::imports() of {} got no file of parameters. "
         "Give the file that was exported with it{} as the third argument or to load_parameters(). "
         "initialize() makes new values",
         line_prefix(where), p.name, p.symbol_file, exported_with(p.symbol_file));
  const std::string unregistered = detail::unregistered_block();
  fail(Mistake::not_initialized, "{}Parameter '{}' has not been initialized: {}", line_prefix(where), p.name,
       unregistered.empty()
           ? "call initialize() on the network first, after all of its blocks were made: they "
             "are made in the constructor, not in hybrid_forward"
           : unregistered);
}

/// `shape` with its unknown extents taken from `other`; nothing if the shapes are incompatible.
std::optional<Shape> merged(const Shape& shape, const Shape& other) {
  if (shape.empty()) return other;
  if (other.empty()) return shape;
  if (shape.rank() != other.rank()) return {};
  Shape out = shape;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] <= 0) out[i] = other[i];
    if (other[i] > 0 && out[i] != other[i]) return {};
  }
  return out;
}

}  // namespace

bool ParameterState::shape_known() const {
  // A parameter with values may be a scalar or an array without elements, from a file of MXNet's numpy mode.
  if (ready.load(std::memory_order_acquire)) return true;
  return !shape.empty() && std::all_of(shape.begin(), shape.end(), [](std::int64_t d) { return d > 0; });
}

void ParameterState::attach_gradient() {
  if (is_floating(options.dtype)) detail::attach_gradient(data, options.grad_req);
}

void ParameterAccess::finish_deferred(const Parameter& p) {
  ParameterState& s = *p.state_;
  if (s.ready.load(std::memory_order_acquire)) return;
  std::lock_guard lock(s.mutex);
  if (s.ready.load(std::memory_order_acquire) || !s.deferred) return;
  if (!s.shape_known())
    throw DeferredInitializationError(
        numbered("Parameter '" + s.name + "' cannot be initialized: its shape " + s.shape.str() +
                     " does not follow from the inputs of the first call. Give the whole shape where the "
                     "parameter is made, or override infer_shape() in its block.",
                 Mistake::deferred));
  publish(s, initial_values(s, *s.deferred));
}

void ParameterAccess::load(const Parameter& p, const Tensor& values, bool cast_dtype) {
  ParameterState& s = *p.state_;
  std::unique_lock lock(s.mutex);
  const auto shape = merged(s.shape, values.shape());
  if (!shape)
    fail(Mistake::saved_shape,
         "Parameter '{}' has the shape {} and cannot take the saved values, of shape {}", s.name,
         s.shape.str(), values.shape().str());
  if (values.dtype() != s.options.dtype && !cast_dtype)
    fail(Mistake::saved_dtype,
         "Parameter '{}' is {} and the saved values are {}: cast() the network to {}, or load with "
         "{{.cast_dtype = "
         "true}}",
         s.name, name_of(s.options.dtype), name_of(values.dtype()), name_of(values.dtype()));
  s.shape = *shape;
  if (!s.ready) {
    // An array just read, which the caller's list alone holds, becomes the parameter's without a copy.
    const bool own = TensorAccess::is_array(values) && TensorAccess::array(values).use_count() == 1;
    if (own && values.dtype() == s.options.dtype && values.device() == device_of(s))
      return publish(s, values);
    publish(s, empty_values(s));
  }
  lock.unlock();
  s.data.copy_from(HostElements(values).data(), values.dtype());
  allow_release(s);
}

void ParameterAccess::give(Parameter p, const Tensor& values, Device device) {
  if (p.dtype() != values.dtype()) p.cast(values.dtype());
  load(p, values, /*cast_dtype=*/false);
  p.to(device);
}

void ParameterAccess::set_weights(const Parameter& p, Weights weights) {
  ParameterState& s = *p.state_;
  const std::lock_guard lock(s.mutex);
  s.weights = weights;
  if (!s.ready) return;
  if (weights == Weights::release)
    allow_release(s);
  else
    static_cast<void>(TensorAccess::array(s.data)->data());
}

Shape Parameter::shape() const {
  if (state_->ready.load(std::memory_order_acquire)) return state_->shape;
  std::lock_guard lock(state_->mutex);
  return state_->shape;
}

void Parameter::set_shape(const Shape& shape) {
  std::lock_guard lock(state_->mutex);
  const auto both = merged(state_->shape, shape);
  if (!both || (state_->ready && *both != state_->shape))
    fail("Parameter '{}' has the shape {} and cannot get the shape {}", name(), state_->shape.str(),
         shape.str());
  if (*both == state_->shape) return;
  state_->fix_variable_attrs();
  state_->shape = *both;
}

DType Parameter::dtype() const {
  detail::depend_on(state_->revision);
  return state_->options.dtype;
}

void Parameter::initialize(const Initializer& init, const Initializer& default_init, bool force_reinit,
                           std::source_location where) {
  at_line(where, [&] { give_values(init, default_init, force_reinit); });
}

void Parameter::give_values(const Initializer& init, const Initializer& default_init, bool force_reinit) {
  ParameterState& s = *state_;
  if (s.constant && !(force_reinit && init.defined())) {
    if (force_reinit) set_data(*s.constant, {});
    return;
  }
  if (s.ready && !force_reinit) {
    warn_once(
        "initialize " + s.name,
        "Parameter '" + s.name +
            "' has values already and keeps them; initialize(init, {.force_reinit = true}) gives new ones");
    return;
  }
  const Initializer chosen = init.defined() ? init.of(s.name) : default_init.of(s.name, s.options.init);
  if (!chosen.defined()) fail("Parameter '{}' has no initializer", s.name);
  std::unique_lock lock(s.mutex);
  if (!s.shape_known()) {
    if (!s.options.allow_deferred_init)
      fail(
          "Parameter '{}' cannot be initialized: its shape {} has unknown extents. Give them in its "
          "constructor, or construct it with {{.allow_deferred_init = true}}",
          s.name, s.shape.str());
    s.deferred = chosen;
    if (!s.device) s.device = DeviceScope::current();
    return;
  }
  Tensor values = initial_values(s, chosen);
  if (!s.ready) return publish(s, std::move(values));
  lock.unlock();
  set_data(values, {});  // into the same array, so that compiled code reads the new values
}

bool Parameter::is_initialized() const { return state_->ready.load(std::memory_order_acquire); }
bool Parameter::is_deferred() const {
  if (is_initialized()) return false;
  std::lock_guard lock(state_->mutex);
  return state_->deferred.has_value();
}

const Tensor& Parameter::data(std::source_location where) const {
  if (!defined()) fail("{}{}", line_prefix(where), detail::empty_parameter);
  if (!state_->ready.load(std::memory_order_acquire)) no_values(*state_, where);
  detail::depend_on(state_->revision);
  return state_->data;
}

Tensor Parameter::grad(std::source_location where) const {
  const Tensor& values = data(where);
  detail::GradVariable* const variable = detail::variable_of(values);
  if (!variable)
    fail("{}Cannot get gradient array for Parameter '{}' because grad_req is null", line_prefix(where),
         name());
  return detail::gradient_of(*variable);
}

void Parameter::zero_grad() {
  if (is_initialized() && detail::variable_of(state_->data)) state_->data.zero_grad();
}

void Parameter::set_data(const Tensor& data, std::source_location where) {
  ParameterState& s = *state_;
  {
    std::lock_guard lock(s.mutex);
    const auto shape = merged(s.shape, data.shape(where));
    if (!shape)
      fail("{}Parameter '{}' has shape {} and cannot take values of shape {}", line_prefix(where), s.name,
           s.shape.str(), data.shape().str());
    if (!s.ready) {
      if (!s.deferred) no_values(s, where);
      s.shape = *shape;
      publish(s, empty_values(s));
    }
  }
  check_readable(data, "set_data()", where);
  s.data.copy_from(HostElements(data).data(), data.dtype(), where);
  allow_release(s);
}

void Parameter::cast(DType dtype) {
  ParameterState& s = *state_;
  std::lock_guard lock(s.mutex);
  s.options.dtype_by_name = true;
  s.variable_attrs.reset();
  s.symbol.reset();
  if (s.options.dtype == dtype) return;
  s.options.dtype = dtype;
  s.revision->changed(detail::Revision::was_cast);
  if (!s.ready) return;
  Tensor converted = detail::TensorAccess::empty(s.shape, dtype, s.data.device());
  converted.copy_from(HostElements(s.data).data(), s.data.dtype());
  s.data = std::move(converted);
  s.attach_gradient();
  allow_release(s);
}

Device Parameter::device() const {
  detail::depend_on(state_->revision);
  if (is_initialized()) return state_->data.device();
  std::lock_guard lock(state_->mutex);
  return state_->device.value_or(DeviceScope::current());
}

void Parameter::to(Device device, std::source_location where) {
  at_line(where, [&] { move(device); });
}

void Parameter::move(Device device) {
  ParameterState& s = *state_;
  const DeviceScope exists(device);
  std::lock_guard lock(s.mutex);
  if (!s.ready && std::exchange(s.device, device) != device) s.revision->changed(detail::Revision::was_moved);
  s.device = device;
  if (!s.ready || s.data.device() == device) return;
  const autograd::Pause pause(is_training());
  const detail::GradVariable* const before = detail::variable_of(s.data);
  const Tensor gradient = before ? before->grad : Tensor();
  const bool fresh = before && before->fresh;
  s.data = s.data.to(device);
  s.revision->changed(detail::Revision::was_moved);
  allow_release(s);
  if (s.constant) return;
  s.attach_gradient();
  if (detail::GradVariable* const variable = detail::variable_of(s.data); variable && gradient.defined()) {
    variable->grad = gradient.to(device);
    variable->fresh = fresh;
  }
}

}  // namespace kiln

// The handle of a parameter: construction, options, and the printed form.
#include "frontend/call/line.h"
#include "frontend/call/numpy_scope.h"
#include "frontend/call/trace.h"
#include "frontend/gluon/parameter/parameter_state.h"
#include "runtime/fail.h"

#include <bit>
#include <cmath>
#include <ostream>
#include <utility>

namespace kiln {

using detail::OptionRead;
using detail::ParameterAccess;
using detail::ParameterOption;
using detail::ParameterState;

namespace {

void check_multipliers(const std::string& name, double lr_mult, double wd_mult) {
  if (!std::isfinite(lr_mult)) fail("Parameter '{}': lr_mult is {}; it is a finite number", name, lr_mult);
  if (!(wd_mult >= 0 && std::isfinite(wd_mult)))
    fail("Parameter '{}': wd_mult is {}; it is a finite number, 0 or more", name, wd_mult);
}

constexpr const char* was_set = "was set again";

/// Makes the recording depend on an option.
[[gnu::cold, gnu::noinline]] void note_option(const std::shared_ptr<ParameterState>& p,
                                              ParameterOption option) {
  OptionRead read = detail::option_read(p, option);
  read.changes = p->revision_of(option)->count();
  detail::depend_on(p->revision_of(option), std::move(read));
}
/// `value`, an option that hybrid_forward may read. Each step of a Trainer reads several.
template <class T>
[[gnu::always_inline]] inline const T& read_option(const std::shared_ptr<ParameterState>& p,
                                                   ParameterOption option, const T& value) {
  if (detail::has_dependencies()) [[unlikely]]
    note_option(p, option);
  return value;
}
void set_number(const ParameterState& p, ParameterOption option, double& number, double v) {
  if (std::bit_cast<std::uint64_t>(std::exchange(number, v)) != std::bit_cast<std::uint64_t>(v))
    p.revision_of(option)->changed(was_set);
}

std::string text_of(const ParameterOptions& options, ParameterOption option) {
  switch (option) {
    case ParameterOption::grad_req:
      return options.grad_req == GradReq::null ? "null" : options.grad_req == GradReq::add ? "add" : "write";
    case ParameterOption::lr_mult:
      return fmt::format("{}", options.lr_mult);
    case ParameterOption::wd_mult:
      return fmt::format("{}", options.wd_mult);
    case ParameterOption::init:
      break;
  }
  return options.init.defined() ? options.init.text() : "none";
}

}  // namespace

OptionRead detail::option_read(const std::shared_ptr<ParameterState>& parameter, ParameterOption option) {
  return {parameter, parameter->name, option_names[static_cast<std::size_t>(option)],
          text_of(parameter->options, option)};
}

Parameter::Parameter(const std::string& name, const Shape& shape, const ParameterOptions& options,
                     std::source_location where)
    : state_(std::make_shared<ParameterState>()) {
  for (std::int64_t d : shape)
    if (d < 0)
      fail(
          "{}Parameter '{}' has a negative extent in its shape {}; 0 is an extent that the first call "
          "determines",
          line_prefix(where), name, shape.str());
  at_line(where, [&] { check_multipliers(name, options.lr_mult, options.wd_mult); });
  state_->name = name;
  state_->shape = shape;
  state_->options = options;
  if (!options.differentiable) state_->options.grad_req = GradReq::null;
}

Parameter& Parameter::operator=(const Parameter& o) { return *this = Parameter(o); }
Parameter& Parameter::operator=(Parameter&& o) {
  // While recording, handles are local variables of hybrid_forward. One that is undecided is in no recording.
  if (state_ && !Trace::current()) {
    const ParameterState& own = ParameterAccess::own_state(*this);
    const bool other = !o.state_ || &own != &ParameterAccess::own_state(o);
    if (other && own.stands != ParameterState::Stands::undecided)
      state_->revision->changed(detail::Revision::was_replaced);
  }
  state_ = std::move(o.state_);
  return *this;
}

const std::string& Parameter::name() const { return state_->name; }

GradReq Parameter::grad_req() const {
  return read_option(state_.get(), ParameterOption::grad_req, state_->options.grad_req);
}
void Parameter::set_grad_req(GradReq req) {
  const GradReq now = state_->options.differentiable ? req : GradReq::null;
  if (std::exchange(state_->options.grad_req, now) == now) return;
  state_->revision_of(ParameterOption::grad_req)->changed(was_set);
  if (is_initialized()) state_->attach_gradient();
}
double Parameter::lr_mult() const {
  return read_option(state_.get(), ParameterOption::lr_mult, state_->options.lr_mult);
}
void Parameter::set_lr_mult(double v, std::source_location where) {
  at_line(where, [&] { check_multipliers(name(), v, state_->options.wd_mult); });
  set_number(*state_, ParameterOption::lr_mult, state_->options.lr_mult, v);
}
double Parameter::wd_mult() const {
  return read_option(state_.get(), ParameterOption::wd_mult, state_->options.wd_mult);
}
void Parameter::set_wd_mult(double v, std::source_location where) {
  at_line(where, [&] { check_multipliers(name(), state_->options.lr_mult, v); });
  set_number(*state_, ParameterOption::wd_mult, state_->options.wd_mult, v);
}
const Initializer& Parameter::init() const {
  return read_option(state_.get(), ParameterOption::init, state_->options.init);
}
void Parameter::set_init(const Initializer& v) {
  state_->options.init = v;
  state_->revision_of(ParameterOption::init)->changed(was_set);
}

std::string Parameter::str() const {
  const auto& o = state_->options;
  const std::string dtype =
      o.dtype_by_name ? std::string(name_of(o.dtype)) : fmt::format("<class 'numpy.{}'>", name_of(o.dtype));
  Shape shown = shape();
  // An unknown extent in the notation of numpy mode.
  if (NumpyScope::program()) std::replace(shown.begin(), shown.end(), std::int64_t{0}, std::int64_t{-1});
  return fmt::format("{} {} (shape={}, dtype={})", state_->constant ? "Constant" : "Parameter", name(),
                     shown.str(), dtype);
}

Constant::Constant(const std::string& name, const Tensor& value)
    : Parameter(name, value.shape(),
                {.grad_req = GradReq::null,
                 .dtype = value.dtype(),
                 .init = Initializer("Constant_" + name, nullptr),
                 .differentiable = false}) {
  state_->constant = value.copy();
  state_->data = value.copy();
  state_->ready = true;
}

std::ostream& operator<<(std::ostream& os, const Parameter& p) { return os << p.str(); }

}  // namespace kiln

// The state of a Trainer: counts, numbers, optimizer states, and the choice of parameters.
#include "frontend/gluon/trainer/trainer_state.h"

#include "frontend/call/line.h"
#include "frontend/tensor/elements.h"
#include "runtime/messages.h"

#include <algorithm>
#include <cmath>

namespace kiln::detail {
namespace {

/// to = from, without allocations where both have the same names.
void assign(const optimizer::Memory& from, optimizer::Memory& to) {
  const auto same_name = [](const auto& a, const auto& b) { return a.first == b.first; };
  if (!std::equal(from.begin(), from.end(), to.begin(), to.end(), same_name)) {
    to = from;
    return;
  }
  auto at = to.begin();
  for (const auto& [name, value] : from) (at++)->second = value;
}

GradVariable* variable_of(const TrainedParameter& p) {
  return detail::variable_of(ParameterAccess::state(p.parameter).data);
}

}  // namespace

LossScaler::LossScaler(double scale, std::int64_t steps) : scale_(scale), steps_(steps) {
  if (!(scale >= min_scale && scale <= max_scale))
    fail("the factor of losses is {}; it is {} to {}", scale, min_scale, max_scale);
  if (steps < 0 || steps >= steps_to_double)
    fail("the factor of losses has {} steps without overflow; it is doubled after {}", steps, steps_to_double);
}

bool LossScaler::stepped(bool overflow) {
  if (overflow) {
    steps_ = 0;
    const bool can_halve = scale_ > min_scale;
    if (can_halve) scale_ /= 2;
    return can_halve;
  }
  if (++steps_ == steps_to_double) {
    steps_ = 0;
    scale_ = std::min(max_scale, scale_ * 2);
  }
  return true;
}

const UpdateChoice& TrainerState::train(std::source_location where) {
  choice.chosen.clear();
  choice.parameters.clear();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& p = parameters[i].parameter;
    if (p.grad_req() == GradReq::null) continue;
    const Device device = TensorAccess::device(p.data(where));
    if (choice.chosen.empty()) choice.device = device;
    if (!(device == choice.device))
      fail(
          "{}Parameter '{}' is on {} and '{}' on {}: a Trainer updates parameters of one device; move the "
          "network with to()",
          line_prefix(where), parameters[choice.chosen[0]].parameter.name(), choice.device.str(), p.name(),
          device.str());
    choice.chosen.push_back(i);
    choice.parameters.push_back(described(parameters[i]));
  }
  return choice;
}

const UpdateChoice& TrainerState::choose(bool ignore_stale, std::source_location where) {
  // Missing values explain stale gradients: train() tells of them first.
  train(where);
  std::size_t fresh = 0;
  const Parameter* stale = nullptr;
  for (std::size_t k = 0; k < choice.chosen.size(); ++k) {
    const TrainedParameter& trained = parameters[choice.chosen[k]];
    const Parameter& p = trained.parameter;
    const GradVariable* const variable = variable_of(trained);
    if (!variable)
      fail("{}Parameter '{}' is an array of {}, which has no gradient: set its grad_req to null",
           line_prefix(where), p.name(), name_of(p.dtype()));
    if (variable->fresh) {
      choice.chosen[fresh] = choice.chosen[k];
      choice.parameters[fresh++] = choice.parameters[k];
    } else if (!stale) {
      stale = &p;
    }
  }
  choice.chosen.resize(fresh);
  choice.parameters.resize(fresh);
  if (!stale || ignore_stale) return choice;
  if (choice.chosen.empty())
    fail(Mistake::stale_gradient,
         "{}Gradient of Parameter `{}` has not been updated by backward since last `step`, nor has any "
         "other of this Trainer: before each step, call backward() of a loss that is computed inside "
         "autograd::Record from its parameters",
         line_prefix(where), stale->name());
  fail(Mistake::stale_gradient,
       "{}Gradient of Parameter `{}` has not been updated by backward since last `step`. This could mean a "
       "bug in your model that made it only use a subset of the Parameters (Blocks) for this iteration. If "
       "you are intentionally only using a subset, call step with ignore_stale_grad = true to skip updating "
       "of Parameters with stale gradient",
       line_prefix(where), stale->name());
}

void TrainerState::make_states(const UpdateChoice& of) {
  for (std::size_t k = 0; k < of.chosen.size(); ++k) {
    TrainedParameter& p = parameters[of.chosen[k]];
    const UpdatedParameter& type = of.parameters[k];
    const TensorType wanted{type.state_dtype(), type.type.shape};
    if (p.states.size() == state_count + (type.master ? 1 : 0) &&
        std::all_of(p.states.begin(), p.states.end(), [&](const Tensor& s) {
          return TensorAccess::dtype(s) == wanted.dtype && TensorAccess::shape(s) == wanted.shape;
        })) {
      // The network has been moved, or the states come from a file.
      for (Tensor& s : p.states)
        if (!(TensorAccess::device(s) == of.device)) s = s.to(of.device);
      continue;
    }
    if (!p.states.empty())
      fail(
          "Parameter '{}' was cast to {} or has got another shape, and its states in the Trainer have not: "
          "make another Trainer after cast()",
          p.parameter.name(), type.type.str());
    const autograd::Pause pause;
    for (const std::string& name : state_names(*optimizer, type))
      p.states.push_back(name == master_state ? p.parameter.data().astype(DType::f32)
                                              : filled(wanted, 0, of.device));
  }
}

UpdateGraph TrainerState::graph(const UpdateChoice& of, std::source_location where) const {
  optimizer::Memory unused;
  std::vector<double> numbers;
  optimizer->numbers({.base_rate = 1, .rate = 1}, unused,
                     numbers);  // how many; a rule may divide by the rate
  const DeviceScope device(of.device);
  UpdateGraph update = update_graph(*optimizer, of.parameters, numbers.size(), where);
  for (const Tensor& t : update.captured)
    if (!(TensorAccess::device(t) == of.device))
      fail("{}the rule of optimizer '{}' reads an array on {}, and the parameters are on {}",
           line_prefix(where), optimizer->name(), TensorAccess::device(t).str(), of.device.str());
  return update;
}

void TrainerState::prepare(const UpdateChoice& of, std::int64_t batch_size, NextUpdate& next) const {
  next.num_update = num_update;
  next.counts.clear();
  for (const std::size_t i : of.chosen) {
    next.counts.push_back(parameters[i].count + 1);
    next.num_update = std::max(next.num_update, next.counts.back());
  }
  assign(memory, next.memory);
  const double rate = optimizer->learning_rate(next.num_update);
  if (!(rate >= 0 && std::isfinite(rate)))
    fail("the learning rate of update {} is {}: it is a finite number, 0 or more", next.num_update, rate);
  const double rescale = optimizer->options().rescale_grad * gradient_scale / static_cast<double>(batch_size);
  next.numbers.clear();
  for (std::size_t k = 0; k < of.chosen.size(); ++k) {
    const TrainedParameter& p = parameters[of.chosen[k]];
    const bool decays = p.name.empty() || p.name.ends_with("_weight") || p.name.ends_with("_gamma");
    const optimizer::Progress progress{next.counts[k], next.num_update, rate, rate * p.parameter.lr_mult(),
                                       decays ? optimizer->options().wd * p.parameter.wd_mult() : 0};
    next.numbers.insert(next.numbers.end(), {progress.rate, progress.decay, rescale});
    optimizer->numbers(progress, next.memory, next.numbers);
  }
  next.arrays.assign(next.numbers, of.parameters, of.device);
}

void TrainerState::add_arguments(ArgumentList& arguments, const UpdateChoice& of, const NextUpdate& next,
                                 std::span<const Tensor> captured) const {
  for (const std::size_t i : of.chosen)
    for (const Tensor& s : parameters[i].states) arguments.add(s);
  next.arrays.add_to(arguments, of.parameters);
  for (const Tensor& t : captured) arguments.add(t);
}

void check_batch_size(std::int64_t batch_size) {
  if (batch_size < 1)
    fail(Mistake::no_batch_size,
         "the batch size of a step is {}: gradients are divided by it, so it is at least 1", batch_size);
}

void TrainerState::finish(const UpdateChoice& of, NextUpdate& next) {
  for (std::size_t k = 0; k < of.chosen.size(); ++k) {
    parameters[of.chosen[k]].count = next.counts[k];
    variable_of(parameters[of.chosen[k]])->fresh = false;
  }
  num_update = next.num_update;
  memory.swap(next.memory);
}

}  // namespace kiln::detail

// What a step needs to know and to keep besides its code.
#include "frontend/gluon/trainer/trainer_state.h"

#include "frontend/eager/invoke.h"
#include "frontend/gluon/parameter/parameter_state.h"
#include "runtime/fail.h"

#include <algorithm>
#include <cmath>

namespace kiln::detail {
namespace {

bool is_small_float(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

GradVariable* variable_of(const TrainedParameter& p) {
  return detail::variable_of(ParameterAccess::state(p.parameter).data);
}

}  // namespace

std::vector<std::size_t> TrainerState::trained(std::source_location where) const {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& p = parameters[i].parameter;
    if (p.grad_req() == GradReq::null) continue;
    p.data(where);
    out.push_back(i);
  }
  return out;
}

std::vector<std::size_t> TrainerState::choose(bool ignore_stale, std::source_location where) const {
  std::vector<std::size_t> chosen;
  // Missing values explain stale gradients: trained() tells of them first.
  for (const std::size_t i : trained(where)) {
    const Parameter& p = parameters[i].parameter;
    const GradVariable* const variable = variable_of(parameters[i]);
    if (!variable)
      fail("{}Parameter '{}' is an array of {}, which has no gradient: set its grad_req to null",
           line_prefix(where), p.name(), name_of(p.dtype()));
    if (variable->fresh) {
      chosen.push_back(i);
    } else if (!ignore_stale) {
      fail(
          "{}Gradient of Parameter `{}` has not been updated by backward since last `step`. This could mean "
          "a bug in your model that made it only use a subset of the Parameters (Blocks) for this iteration. "
          "If you are intentionally only using a subset, call step with ignore_stale_grad = true to skip "
          "updating of Parameters with stale gradient",
          line_prefix(where), p.name());
    }
  }
  return chosen;
}

UpdatedParameter TrainerState::described(const TrainedParameter& p) const {
  const ParameterState& state = ParameterAccess::state(p.parameter);
  const DType dtype = state.options.dtype;
  return {{dtype, state.shape}, p.name, optimizer->options().multi_precision && is_small_float(dtype)};
}

std::vector<UpdatedParameter> TrainerState::described(std::span<const std::size_t> chosen) const {
  std::vector<UpdatedParameter> out;
  for (const std::size_t i : chosen) out.push_back(described(parameters[i]));
  return out;
}

void TrainerState::make_states(std::span<const std::size_t> chosen) {
  const std::vector<UpdatedParameter> types = described(chosen);
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    TrainedParameter& p = parameters[chosen[k]];
    const std::vector<std::string> names = state_names(*optimizer, types[k]);
    const DType dtype = types[k].state_dtype();
    if (p.states.size() == names.size() &&
        std::all_of(p.states.begin(), p.states.end(), [&](const Tensor& s) {
          return TensorAccess::dtype(s) == dtype && TensorAccess::shape(s) == types[k].type.shape;
        }))
      continue;
    if (!p.states.empty())
      fail(
          "Parameter '{}' was cast to {} or has got another shape, and its states in the Trainer have not: "
          "make another Trainer after cast()",
          p.parameter.name(), types[k].type.str());
    const autograd::Pause pause;
    for (const std::string& name : names)
      p.states.push_back(name == master_state ? p.parameter.data().astype(DType::f32)
                                              : zeros(types[k].type.shape, dtype));
  }
}

UpdateGraph TrainerState::graph(std::span<const std::size_t> chosen, std::source_location where) const {
  optimizer::Memory unused;
  const std::size_t numbers = optimizer->numbers({}, unused).size();
  return update_graph(*optimizer, described(chosen), numbers, where);
}

UpdateCounts TrainerState::counted(std::span<const std::size_t> chosen) const {
  UpdateCounts out{num_update, {}, memory};
  for (const std::size_t i : chosen) {
    out.counts.push_back(parameters[i].count + 1);
    out.num_update = std::max(out.num_update, out.counts.back());
  }
  return out;
}

std::vector<double> TrainerState::numbers(std::span<const std::size_t> chosen, UpdateCounts& counts,
                                          std::int64_t batch_size) const {
  const double rate = optimizer->learning_rate(counts.num_update);
  if (!std::isfinite(rate))
    fail("the learning rate of update {} is {}: it is a finite number", counts.num_update, rate);
  const double rescale = optimizer->options().rescale_grad / static_cast<double>(batch_size);
  std::vector<double> out;
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    const TrainedParameter& p = parameters[chosen[k]];
    const bool decays = p.name.empty() || p.name.ends_with("_weight") || p.name.ends_with("_gamma");
    const optimizer::Progress progress{counts.counts[k], counts.num_update, rate,
                                       rate * p.parameter.lr_mult(),
                                       decays ? optimizer->options().wd * p.parameter.wd_mult() : 0};
    out.insert(out.end(), {progress.rate, progress.decay, rescale});
    const std::vector<double> own = optimizer->numbers(progress, counts.memory);
    out.insert(out.end(), own.begin(), own.end());
  }
  return out;
}

void TrainerState::set_arguments(CallFrame& frame, std::size_t first, std::span<const std::size_t> chosen,
                                 const NumberArrays& numbers, std::span<const Tensor> captured) const {
  const auto add = [&](const Tensor& t) {
    frame.set_argument(first++, *TensorAccess::array(t), TensorAccess::byte_offset(t));
  };
  for (const std::size_t i : chosen)
    for (const Tensor& s : parameters[i].states) add(s);
  numbers.set(frame, first);
  first += numbers.size();
  for (const Tensor& t : captured) add(t);
}

void TrainerState::before_update(std::span<const std::size_t> chosen,
                                 std::span<const Tensor> captured) const {
  for (const std::size_t i : chosen) {
    before_write(*TensorAccess::array(ParameterAccess::state(parameters[i].parameter).data));
    for (const Tensor& s : parameters[i].states) before_write(*TensorAccess::array(s));
  }
  for (const Tensor& t : captured) before_write(*TensorAccess::array(t));
}

void check_batch_size(std::int64_t batch_size) {
  if (batch_size < 1)
    fail("the batch size of a step is {}: gradients are divided by it, so it is at least 1", batch_size);
}

void TrainerState::finish(std::span<const std::size_t> chosen, UpdateCounts counts) {
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    parameters[chosen[k]].count = counts.counts[k];
    variable_of(parameters[chosen[k]])->fresh = false;
  }
  num_update = counts.num_update;
  memory = std::move(counts.memory);
}

}  // namespace kiln::detail

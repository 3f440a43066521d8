// amp: mixed precision of the process, and the scale of a trainer's losses.
#include "frontend/autograd/tape.h"
#include "frontend/call/amp_rules.h"
#include "frontend/call/line.h"
#include "frontend/gluon/hybridize/cached_call.h"
#include "frontend/gluon/trainer/trainer_state.h"
#include "runtime/fail.h"

#include <kiln/amp.h>
#include <kiln/autograd.h>

namespace kiln {

using detail::TrainerAccess;
using detail::TrainerState;

namespace {

TrainerState& amp_state(Trainer& trainer, std::source_location where) {
  TrainerState& state = TrainerAccess::state(trainer, where);
  if (!state.has_amp) fail("{}the trainer has no loss scale: call amp::init_trainer()", line_prefix(where));
  return state;
}

}  // namespace

void amp::init(DType target_dtype, const InitOptions& options, std::source_location where) {
  at_line(where, [&] {
    check_amp_target(target_dtype);
    if (const AmpRules* const rules = detail::amp_rules) {
      if (rules->target() == target_dtype) return;
      fail("amp::init() was called for {} before: a process has one mixed precision",
           name_of(rules->target()));
    }
    if (detail::recording_counts.alive > 0)
      fail("amp::init() comes after the first call of a hybridized network: call it before");
    detail::amp_rules = new AmpRules(target_dtype, options);  // of the process: threads may outlive statics
  });
}

void amp::init_trainer(Trainer& trainer, std::source_location where) {
  at_line(where, [&] {
    const AmpRules* const rules = detail::amp_rules;
    if (!rules) fail("amp::init_trainer() before amp::init(): call amp::init() at the program's beginning");
    TrainerState& state = TrainerAccess::state(trainer, where);
    state.has_amp = true;
    if (rules->target() == DType::f16 && !state.scaler) state.scaler = state.loaded_scaler;
  });
}

amp::LossScale::LossScale(const std::vector<Tensor>& losses, Trainer& trainer, std::source_location where)
    : losses_(losses) {
  at_line(where, [&] {
    TrainerState& state = amp_state(trainer, where);
    if (losses.empty()) fail("scale_loss() needs a loss");
    for (const Tensor& loss : losses) {
      if (!loss.defined()) fail("scale_loss() got a tensor without an array");
      if (!is_floating(loss.dtype()))
        fail("scale_loss() takes losses of a floating-point dtype, and not {}", name_of(loss.dtype()));
    }
    if (!state.scaler) return;
    state.gradient_scale = 1 / state.scaler->scale();
    const autograd::Record record(is_training());
    for (Tensor& loss : losses_) loss = loss * state.scaler->scale();
  });
}

void amp::LossScale::backward(std::source_location where) const {
  autograd::backward(losses_, {}, {}, where);
}

amp::LossScale amp::scale_loss(const Tensor& loss, Trainer& trainer, std::source_location where) {
  return {std::vector<Tensor>{loss}, trainer, where};
}
amp::LossScale amp::scale_loss(const std::vector<Tensor>& losses, Trainer& trainer,
                               std::source_location where) {
  return {losses, trainer, where};
}

void amp::unscale(Trainer& trainer, std::source_location where) {
  at_line(where, [&] {
    TrainerState& state = amp_state(trainer, where);
    const double scale = std::exchange(state.gradient_scale, 1);
    if (scale == 1) return;
    const autograd::Pause pause;
    for (const detail::TrainedParameter& p : state.parameters) {
      if (p.parameter.grad_req() == GradReq::null) continue;
      Tensor gradient = p.parameter.grad();
      gradient *= scale;
    }
  });
}

double amp::loss_scale(const Trainer& trainer) {
  const TrainerState& state = TrainerAccess::state(trainer);
  return state.scaler ? state.scaler->scale() : 1;
}

std::vector<std::string> amp::list_lp16_ops(DType target_dtype) {
  check_amp_target(target_dtype);
  return amp_operators(target_dtype, AmpKind::target);
}
std::vector<std::string> amp::list_fp32_ops(DType target_dtype) {
  check_amp_target(target_dtype);
  return amp_operators(target_dtype, AmpKind::fp32);
}
std::vector<std::string> amp::list_lp16_fp32_ops(DType target_dtype) {
  check_amp_target(target_dtype);
  return amp_operators(target_dtype, AmpKind::both);
}
std::vector<std::string> amp::list_widest_type_cast(DType target_dtype) {
  check_amp_target(target_dtype);
  return amp_operators(target_dtype, AmpKind::widest);
}
std::vector<amp::ConditionalOp> amp::list_conditional_fp32_ops(DType target_dtype) {
  check_amp_target(target_dtype);
  return amp_conditional_operators();
}

}  // namespace kiln

// Rules that scale each element's step by the history of its gradients.
#include "frontend/gluon/trainer/options.h"
#include "runtime/fail.h"

#include <kiln/f.h>
#include <kiln/optimizers.h>

#include <cmath>

namespace kiln::optimizer {
namespace {

Tensor average(double beta, const Tensor& old, const Tensor& next) { return beta * old + (1 - beta) * next; }

double power(double beta, std::int64_t t) { return std::pow(beta, static_cast<double>(t)); }

/// Checks the rate of a rule that divides by it.
void check_divisor(const Progress& p, std::string_view optimizer) {
  if (!(p.rate > 0))
    fail(
        "{} divides by the learning rate, which is {} in update {}: it is above 0, and lr_mult too; to keep "
        "a "
        "parameter as it is, set its grad_req to null",
        optimizer, p.rate, p.num_update);
}

/// Adam's rate, corrected for moments that begin with zero.
double corrected_rate(const Progress& p, double beta1, double beta2) {
  return p.rate * std::sqrt(1 - power(beta2, p.count)) / (1 - power(beta1, p.count));
}

}  // namespace

FTML::FTML(const Options& o, Where where)
    : Optimizer("ftml", o, where, {"beta1", "beta2", "epsilon"}, 0.0025),
      beta1_(o.beta1.value_or(0.6)),
      beta2_(o.beta2.value_or(0.999)),
      epsilon_(o.epsilon.value_or(1e-8)) {}

std::vector<std::string> FTML::states() const { return {"d", "v", "z"}; }

void FTML::numbers(const Progress& p, Memory&, std::vector<double>& out) const {
  check_divisor(p, name());
  out.insert(out.end(), {(1 - power(beta1_, p.count)) / p.rate, 1 - power(beta2_, p.count)});
}

void FTML::update(Update& u) const {
  const Tensor g = clipped(decayed(u));
  Tensor &d = u.states[0], &v = u.states[1], &z = u.states[2];
  v = average(beta2_, v, F::square(g));
  const Tensor next = u.numbers[0] * (F::sqrt(v / u.numbers[1]) + epsilon_);
  z = average(beta1_, z, g) - (next - beta1_ * d) * u.weight;
  d = next;
  u.weight = -z / next;
}

LAMB::LAMB(const Options& o, Where where)
    : Optimizer("lamb", o, where,
                {"beta1", "beta2", "epsilon", "lower_bound", "upper_bound", "bias_correction"}, 0.001),
      beta1_(o.beta1.value_or(0.9)),
      beta2_(o.beta2.value_or(0.999)),
      epsilon_(o.epsilon.value_or(1e-6)),
      bias_correction_(o.bias_correction.value_or(true)) {}

std::vector<std::string> LAMB::states() const { return {"mean", "var"}; }

void LAMB::numbers(const Progress& p, Memory&, std::vector<double>& out) const {
  out.insert(out.end(), {1 - power(beta1_, p.count), 1 - power(beta2_, p.count)});
}

void LAMB::update(Update& u) const {
  const Tensor g = rescaled(u);
  u.states[0] = average(beta1_, u.states[0], g);
  u.states[1] = average(beta2_, u.states[1], F::square(g));
  Tensor mean = u.states[0], var = u.states[1];
  if (bias_correction_) {
    mean = mean / u.numbers[0];
    var = var / u.numbers[1];
  }
  const Tensor change = mean / (F::sqrt(var) + epsilon_) + u.decay * u.weight;
  const auto norm = [](const Tensor& t) { return F::sqrt(F::sum(F::square(t)).reshape({1})); };
  Tensor w = norm(u.weight);
  if (const auto bound = options().lower_bound) w = F::maximum(w, *bound);
  if (const auto bound = options().upper_bound) w = F::minimum(w, *bound);
  const Tensor c = norm(change), ratio = w / c;
  const Tensor trust = F::where((w == 0) + (c == 0), F::ones_like(ratio), ratio);
  u.weight = u.weight - u.rate * trust * change;
}

Adam::Adam(const Options& o, Where where)
    : Optimizer("adam", o, where, {"beta1", "beta2", "epsilon", "lazy_update"}, 0.001),
      beta1_(o.beta1.value_or(0.9)),
      beta2_(o.beta2.value_or(0.999)),
      epsilon_(o.epsilon.value_or(1e-8)) {}

std::vector<std::string> Adam::states() const { return {"mean", "var"}; }

void Adam::numbers(const Progress& p, Memory&, std::vector<double>& out) const {
  out.insert(out.end(), {corrected_rate(p, beta1_, beta2_)});
}

void Adam::update(Update& u) const {
  const Tensor g = clipped(decayed(u));
  u.states[0] = average(beta1_, u.states[0], g);
  u.states[1] = average(beta2_, u.states[1], F::square(g));
  u.weight = u.weight - u.numbers[0] * u.states[0] / (F::sqrt(u.states[1]) + epsilon_);
}

AdamW::AdamW(const Options& o, Where where)
    : Optimizer("adamw", o, where, {"beta1", "beta2", "epsilon", "correct_bias"}, 0.001),
      beta1_(o.beta1.value_or(0.9)),
      beta2_(o.beta2.value_or(0.999)),
      epsilon_(o.epsilon.value_or(1e-6)),
      correct_bias_(o.correct_bias.value_or(true)) {}

std::vector<std::string> AdamW::states() const { return {"mean", "var"}; }

void AdamW::numbers(const Progress& p, Memory&, std::vector<double>& out) const {
  out.insert(out.end(), {correct_bias_ ? corrected_rate(p, beta1_, beta2_) : p.rate, p.rate * p.decay});
}

void AdamW::update(Update& u) const {
  const Tensor g = rescaled(u);
  u.states[0] = average(beta1_, u.states[0], g);
  u.states[1] = average(beta2_, u.states[1], F::square(g));
  u.weight =
      u.weight - u.numbers[0] * u.states[0] / (F::sqrt(u.states[1]) + epsilon_) - u.numbers[1] * u.weight;
}

Adamax::Adamax(const Options& o, Where where)
    : Optimizer("adamax", o, where, {"beta1", "beta2"}, 0.002),
      beta1_(o.beta1.value_or(0.9)),
      beta2_(o.beta2.value_or(0.999)) {}

std::vector<std::string> Adamax::states() const { return {"mean", "norm"}; }

void Adamax::numbers(const Progress& p, Memory&, std::vector<double>& out) const {
  out.insert(out.end(), {p.rate / (1 - power(beta1_, p.count))});
}

void Adamax::update(Update& u) const {
  const Tensor g = clipped(decayed(u));
  u.states[0] = average(beta1_, u.states[0], g);
  u.states[1] = F::maximum(beta2_ * u.states[1], F::abs(g));
  u.weight = u.weight - u.numbers[0] * u.states[0] / (u.states[1] + 1e-8);
}

Nadam::Nadam(const Options& o, Where where)
    : Optimizer("nadam", o, where, {"beta1", "beta2", "epsilon", "schedule_decay"}, 0.001),
      beta1_(o.beta1.value_or(0.9)),
      beta2_(o.beta2.value_or(0.999)),
      epsilon_(o.epsilon.value_or(1e-8)),
      schedule_decay_(o.schedule_decay.value_or(0.004)) {}

std::vector<std::string> Nadam::states() const { return {"mean", "var"}; }

void Nadam::numbers(const Progress& p, Memory& memory, std::vector<double>& out) const {
  const auto momentum_at = [&](std::int64_t t) {
    return beta1_ * (1 - 0.5 * std::pow(0.96, static_cast<double>(t) * schedule_decay_));
  };
  const double momentum = momentum_at(p.count), next = momentum_at(p.count + 1);
  double& product = kiln::detail::remembered(memory, "momentum_product", 1);
  product *= momentum;
  out.insert(out.end(),
             {(1 - momentum) / (1 - product), next / (1 - product * next), 1 - power(beta2_, p.count)});
}

void Nadam::update(Update& u) const {
  const Tensor g = clipped(decayed(u));
  u.states[0] = average(beta1_, u.states[0], g);
  u.states[1] = average(beta2_, u.states[1], F::square(g));
  const Tensor mean = u.numbers[0] * g + u.numbers[1] * u.states[0];
  u.weight = u.weight - u.rate * mean / (F::sqrt(u.states[1] / u.numbers[2]) + epsilon_);
}

AdaGrad::AdaGrad(const Options& o, Where where)
    : Optimizer("adagrad", o, where, {"eps"}), eps_(o.eps.value_or(1e-7)) {}

std::vector<std::string> AdaGrad::states() const { return {"history"}; }

void AdaGrad::update(Update& u) const {
  const Tensor g = rescaled(u);
  u.states[0] = u.states[0] + F::square(g);
  u.weight = u.weight - u.rate * (g / F::sqrt(u.states[0] + eps_) + u.decay * u.weight);
}

RMSProp::RMSProp(const Options& o, Where where)
    : Optimizer("rmsprop", o, where, {"gamma1", "gamma2", "epsilon", "centered", "clip_weights"}, 0.001),
      gamma1_(o.gamma1.value_or(0.9)),
      gamma2_(o.gamma2.value_or(0.9)),
      epsilon_(o.epsilon.value_or(1e-8)),
      centered_(o.centered.value_or(false)) {}

std::vector<std::string> RMSProp::states() const {
  return centered_ ? std::vector<std::string>{"n", "g", "delta"} : std::vector<std::string>{"n"};
}

void RMSProp::update(Update& u) const {
  const Tensor g = clipped(decayed(u));
  u.states[0] = average(gamma1_, u.states[0], F::square(g));
  if (centered_) {
    Tensor &mean = u.states[1], &delta = u.states[2];
    mean = average(gamma1_, mean, g);
    delta = gamma2_ * delta - u.rate * g / F::sqrt(u.states[0] - F::square(mean) + epsilon_);
    u.weight = u.weight + delta;
  } else {
    u.weight = u.weight - u.rate * g / F::sqrt(u.states[0] + epsilon_);
  }
  if (const auto bound = options().clip_weights) u.weight = F::clip(u.weight, -*bound, *bound);
}

AdaDelta::AdaDelta(const Options& o, Where where)
    : Optimizer("adadelta", o, where, {"rho", "epsilon"}),
      rho_(o.rho.value_or(0.9)),
      epsilon_(o.epsilon.value_or(1e-5)) {}

std::vector<std::string> AdaDelta::states() const { return {"gradients", "deltas"}; }

void AdaDelta::update(Update& u) const {
  const Tensor g = rescaled(u);
  Tensor &gradients = u.states[0], &deltas = u.states[1];
  gradients = average(rho_, gradients, F::square(g));
  const Tensor delta = F::sqrt(deltas + epsilon_) / F::sqrt(gradients + epsilon_) * g;
  deltas = average(rho_, deltas, F::square(delta));
  u.weight = u.weight - (delta + u.decay * u.weight);
}

Ftrl::Ftrl(const Options& o, Where where)
    : Optimizer("ftrl", o, where, {"lamda1", "beta"}, 0.1),
      lamda1_(o.lamda1.value_or(0.01)),
      beta_(o.beta.value_or(1)) {}

std::vector<std::string> Ftrl::states() const { return {"z", "n"}; }

void Ftrl::numbers(const Progress& p, Memory&, std::vector<double>&) const { check_divisor(p, name()); }

void Ftrl::update(Update& u) const {
  const Tensor g = rescaled(u);
  Tensor &z = u.states[0], &n = u.states[1];
  const Tensor next = n + F::square(g);
  z = z + g - (F::sqrt(next) - F::sqrt(n)) * u.weight / u.rate;
  n = next;
  const Tensor moved = (F::sign(z) * lamda1_ - z) / ((beta_ + F::sqrt(n)) / u.rate + u.decay);
  u.weight = moved * (F::abs(z) > lamda1_);
}

}  // namespace kiln::optimizer

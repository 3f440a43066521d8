// Rules of gradient descent, with and without momentum.
#include "frontend/gluon/trainer/options.h"

#include <kiln/f.h>
#include <kiln/optimizers.h>

#include <cmath>
#include <utility>

namespace kiln::optimizer {
namespace {

std::vector<std::string> momentum_state(double momentum) {
  return momentum == 0 ? std::vector<std::string>{} : std::vector<std::string>{"momentum"};
}

}  // namespace

SGD::SGD(const Options& o, Where where)
    : Optimizer("sgd", o, where, {"momentum", "lazy_update"}), momentum_(o.momentum.value_or(0)) {}

std::vector<std::string> SGD::states() const { return momentum_state(momentum_); }

void SGD::update(Update& u) const {
  const Tensor change = u.rate * (rescaled(u) + u.decay * u.weight);
  if (momentum_ == 0) {
    u.weight = u.weight - change;
    return;
  }
  u.states[0] = momentum_ * u.states[0] - change;
  u.weight = u.weight + u.states[0];
}

NAG::NAG(const Options& o, Where where)
    : Optimizer("nag", o, where, {"momentum"}), momentum_(o.momentum.value_or(0)) {}

std::vector<std::string> NAG::states() const { return momentum_state(momentum_); }

void NAG::update(Update& u) const {
  const Tensor g = rescaled(u), change = u.rate * (g + u.decay * u.weight);
  if (momentum_ == 0) {
    u.weight = u.weight - change;
    return;
  }
  const Tensor kept = momentum_ * u.states[0];
  u.weight = u.weight + momentum_ * (kept - change) - change;
  // MXNet writes the weight first, and reads it again for the decay in the momentum.
  u.states[0] = kept - u.rate * (g + u.decay * u.weight);
}

Signum::Signum(const Options& o, Where where)
    : Optimizer("signum", o, where, {"momentum", "wd_lh"}),
      momentum_(o.momentum.value_or(0.9)),
      wd_lh_(o.wd_lh.value_or(0)) {}

std::vector<std::string> Signum::states() const { return momentum_state(momentum_); }

void Signum::update(Update& u) const {
  const Tensor g = rescaled(u);
  if (momentum_ == 0) {
    u.weight = (1 - u.rate * u.decay) * u.weight - u.rate * F::sign(g);
    return;
  }
  u.states[0] = momentum_ * u.states[0] - (1 - momentum_) * (g + u.decay * u.weight);
  u.weight = (1 - u.rate * wd_lh_) * u.weight + u.rate * F::sign(u.states[0]);
}

LARS::LARS(const Options& o, Where where)
    : Optimizer("lars", o, where, {"momentum", "lazy_update", "eta", "eps", "momentum_correction"}),
      momentum_(o.momentum.value_or(0)),
      eta_(o.eta.value_or(0.001)),
      eps_(o.eps.value_or(0)),
      momentum_correction_(o.momentum_correction.value_or(true)) {}

std::vector<std::string> LARS::states() const { return momentum_state(momentum_); }

void LARS::numbers(const Progress& p, Memory& memory, std::vector<double>& out) const {
  const double last = std::exchange(kiln::detail::remembered(memory, "last_rate", p.base_rate), p.base_rate);
  out.insert(out.end(), {momentum_correction_ && last != 0 ? momentum_ * (p.base_rate / last) : momentum_});
}

void LARS::update(Update& u) const {
  const auto norm = [](const Tensor& t) { return F::sqrt(F::sum(F::square(t)).reshape({1})); };
  Tensor rate = u.rate;
  if (!u.name.ends_with("gamma") && !u.name.ends_with("beta") && !u.name.ends_with("bias")) {
    const Tensor w = norm(u.weight), g = norm(u.gradient * u.rescale);
    const Tensor scale = eta_ * w / (g + u.decay * w + eps_);
    rate = F::where((w > 0) * (g > 0), scale, F::ones_like(scale)) * rate;
  }
  const Tensor change = rate * (rescaled(u) + u.decay * u.weight);
  if (momentum_ == 0) {
    u.weight = u.weight - change;
    return;
  }
  u.states[0] = u.numbers[0] * u.states[0] - change;
  u.weight = u.weight + u.states[0];
}

SGLD::SGLD(const Options& o, Where where) : Optimizer("sgld", o, where) {}

void SGLD::numbers(const Progress& p, Memory&, std::vector<double>& out) const {
  out.insert(out.end(), {std::sqrt(p.rate)});
}

void SGLD::update(Update& u) const {
  const Tensor noise = F::random_normal(0, 1, u.weight.shape(), u.weight.dtype());
  u.weight = u.weight - u.rate / 2 * (rescaled(u) + u.decay * u.weight) + u.numbers[0] * noise;
}

}  // namespace kiln::optimizer

// Learning rate schedules: MXNet's formulas, evaluated in double in MXNet's order of operations.
#include "frontend/call/line.h"
#include "frontend/gluon/trainer/factor_chain.h"
#include "ir/attrs.h"
#include "runtime/fail.h"

#include <kiln/lr_scheduler.h>

#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numbers>

namespace kiln::lr_scheduler {
namespace {

constexpr double default_base_lr = 0.01;

double base_of(const auto& options) { return options.base_lr.value_or(default_base_lr); }

/// Also of the rate that a schedule ends with.
void check_rate(double rate, const char* option, const char* schedule) {
  if (!(rate >= 0 && std::isfinite(rate)))
    fail("{}: {} is {}; a learning rate is a finite number, 0 or more", schedule, option, rate);
}

void check_warmup(const auto& o, const char* schedule) {
  if (o.base_lr) check_rate(*o.base_lr, "base_lr", schedule);
  check_rate(o.warmup_begin_lr, "warmup_begin_lr", schedule);
  if (o.warmup_steps < 0)
    fail("{}: warmup_steps is {}; it is a number of updates, 0 for none", schedule, o.warmup_steps);
  // A schedule without a base_lr gets the optimizer's, and is checked then.
  if (o.base_lr && o.warmup_begin_lr > *o.base_lr)
    fail("{}: warmup_begin_lr {} is above base_lr {}: a warm-up rises to base_lr", schedule,
         o.warmup_begin_lr, *o.base_lr);
}

void check_factor(double factor, const char* schedule) {
  if (!(factor >= 0 && factor <= 1))
    fail("{}: factor is {}; it is at least 0 and at most 1, so that the rate falls", schedule, factor);
}

void check_length(const auto& o, const char* schedule) {
  if (o.max_update < 1)
    fail("{}: max_update is {}; it is the number of the last update, at least 1", schedule, o.max_update);
  if (o.warmup_steps >= o.max_update)
    fail("{}: the warm-up of {} updates is not shorter than the schedule, max_update = {}", schedule,
         o.warmup_steps, o.max_update);
}

double warmup_lr(const auto& o, std::int64_t n) {
  if (o.warmup_mode == WarmupMode::constant) return o.warmup_begin_lr;
  const double increase =
      (base_of(o) - o.warmup_begin_lr) * static_cast<double>(n) / static_cast<double>(o.warmup_steps);
  return o.warmup_begin_lr + increase;
}

std::string number(double v) { return ir::python_float(v); }

std::string common_text(const auto& o) {
  std::string text = ", base_lr=" + number(base_of(o));
  if (o.warmup_steps > 0)
    text +=
        fmt::format(", warmup_steps={}, warmup_begin_lr={}, warmup_mode={}", o.warmup_steps,
                    number(o.warmup_begin_lr), o.warmup_mode == WarmupMode::linear ? "linear" : "constant");
  return text + ")";
}

std::string text_of(const Factor& s) {
  const FactorOptions& o = s.options();
  return fmt::format("Factor(step={}, factor={}, stop_factor_lr={}", o.step, number(o.factor),
                     number(o.stop_factor_lr)) +
         common_text(o);
}
std::string text_of(const MultiFactor& s) {
  const MultiFactorOptions& o = s.options();
  return fmt::format("MultiFactor(step=[{}], factor={}", fmt::join(o.step, ", "), number(o.factor)) +
         common_text(o);
}
std::string text_of(const Poly& s) {
  const PolyOptions& o = s.options();
  return fmt::format("Poly(max_update={}, pwr={}, final_lr={}", o.max_update, number(o.pwr),
                     number(o.final_lr)) +
         common_text(o);
}
std::string text_of(const Cosine& s) {
  const CosineOptions& o = s.options();
  return fmt::format("Cosine(max_update={}, final_lr={}", o.max_update, number(o.final_lr)) + common_text(o);
}

}  // namespace

Factor::Factor(const FactorOptions& options, Where where) : options_(options) {
  at_line(where, [&] {
    if (options.step < 1) fail("Factor: step is {}; it is a number of updates, at least 1", options.step);
    check_factor(options.factor, "Factor");
    if (!std::isfinite(options.stop_factor_lr))
      fail("Factor: stop_factor_lr is {}; it is a finite number", options.stop_factor_lr);
    check_warmup(options, "Factor");
  });
  chain_ = std::make_shared<detail::FactorChain>(base_of(options), options.factor, options.stop_factor_lr);
}

double Factor::operator()(std::int64_t n) const {
  if (n < options_.warmup_steps) return warmup_lr(options_, n);
  return chain_->after(n > options_.step ? (n - 1) / options_.step : 0);
}

MultiFactor::MultiFactor(const MultiFactorOptions& options, Where where) : options_(options) {
  at_line(where, [&] {
    if (options.step.empty()) fail("MultiFactor: step is empty; it lists the numbers of updates to pass");
    for (std::size_t i = 0; i < options.step.size(); ++i)
      if (options.step[i] < 1 || (i > 0 && options.step[i] <= options.step[i - 1]))
        fail("MultiFactor: step is [{}]; its numbers are at least 1 and increase",
             fmt::join(options.step, ", "));
    check_factor(options.factor, "MultiFactor");
    check_warmup(options, "MultiFactor");
  });
}

double MultiFactor::operator()(std::int64_t n) const {
  if (n < options_.warmup_steps) return warmup_lr(options_, n);
  double rate = base_of(options_);
  for (const std::int64_t step : options_.step)
    if (n > step) rate *= options_.factor;
  return rate;
}

Poly::Poly(const PolyOptions& options, Where where) : options_(options) {
  at_line(where, [&] {
    check_length(options, "Poly");
    check_warmup(options, "Poly");
    check_rate(options.final_lr, "final_lr", "Poly");
    if (!(options.pwr >= 0 && std::isfinite(options.pwr)))
      fail("Poly: pwr is {}; it is the degree of a polynomial, 0 or more", options.pwr);
  });
}

double Poly::operator()(std::int64_t n) const {
  const PolyOptions& o = options_;
  if (n < o.warmup_steps) return warmup_lr(o, n);
  if (n > o.max_update) n = o.max_update;
  const auto steps = static_cast<double>(o.max_update - o.warmup_steps);
  return o.final_lr +
         (base_of(o) - o.final_lr) * std::pow(1 - static_cast<double>(n - o.warmup_steps) / steps, o.pwr);
}

Cosine::Cosine(const CosineOptions& options, Where where) : options_(options) {
  at_line(where, [&] {
    check_length(options, "Cosine");
    check_warmup(options, "Cosine");
    check_rate(options.final_lr, "final_lr", "Cosine");
  });
}

double Cosine::operator()(std::int64_t n) const {
  const CosineOptions& o = options_;
  if (n < o.warmup_steps) return warmup_lr(o, n);
  if (n > o.max_update) n = o.max_update;
  const auto steps = static_cast<double>(o.max_update - o.warmup_steps);
  return o.final_lr + (base_of(o) - o.final_lr) *
                          (1 + std::cos(std::numbers::pi * static_cast<double>(n - o.warmup_steps) / steps)) /
                          2;
}

template <class S>
void Schedule::become(const S& schedule) {
  rate_ = schedule;
  text_ = text_of(schedule);
  has_base_ = schedule.options().base_lr.has_value();
  rebase_ = [schedule](double base_lr, Where where) {
    auto options = schedule.options();
    if (options.base_lr && *options.base_lr != base_lr)
      fail(
          "{}the learning rate is given twice: learning_rate is {}, and the schedule's base_lr {}; give one "
          "of them",
          line_prefix(where), base_lr, *options.base_lr);
    options.base_lr = base_lr;
    return Schedule(S(options, where));
  };
}

Schedule::Schedule(const Factor& s) { become(s); }
Schedule::Schedule(const MultiFactor& s) { become(s); }
Schedule::Schedule(const Poly& s) { become(s); }
Schedule::Schedule(const Cosine& s) { become(s); }

Schedule Schedule::with_base_lr(double base_lr, Where where) const {
  return rebase_ ? rebase_(base_lr, where) : *this;
}

}  // namespace kiln::lr_scheduler

// The ranges of optimizers' options, and their checks.
#include "frontend/gluon/trainer/options.h"

#include "ir/nearest_name.h"
#include "runtime/fail.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <variant>

namespace kiln::detail {
namespace {

using optimizer::Options;

/// The numbers that an option may be. All are finite.
struct Range {
  double low;
  bool low_included;
  double high;  ///< excluded
  const char* text;
  bool contains(double v) const {
    return std::isfinite(v) && (low_included ? v >= low : v > low) && v < high;
  }
};
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr Range any{-infinity, false, infinity, "a finite number"};
constexpr Range not_negative{0, true, infinity, "a finite number, 0 or more"};
constexpr Range positive{0, false, infinity, "a finite number above 0"};
/// The share of an average that its next value keeps.
constexpr Range share{0, true, 1, "at least 0 and below 1: the share that an average keeps"};
/// A negative one is in use, too.
constexpr Range momentum{-1, false, 1, "between -1 and 1, exclusive: else steps grow for ever"};

/// An option that only some optimizers have. A number has a range.
struct OwnOption {
  std::string_view name;
  std::variant<std::optional<double> Options::*, std::optional<bool> Options::*> member;
  Range range = any;
};

const OwnOption own_options[] = {
    {"momentum", &Options::momentum, momentum},
    {"beta1", &Options::beta1, share},
    {"beta2", &Options::beta2, share},
    {"epsilon", &Options::epsilon, not_negative},
    {"lazy_update", &Options::lazy_update},
    {"wd_lh", &Options::wd_lh, not_negative},
    {"lower_bound", &Options::lower_bound, not_negative},
    {"upper_bound", &Options::upper_bound, not_negative},
    {"bias_correction", &Options::bias_correction},
    {"correct_bias", &Options::correct_bias},
    {"eta", &Options::eta, not_negative},
    {"eps", &Options::eps, not_negative},
    {"momentum_correction", &Options::momentum_correction},
    {"gamma1", &Options::gamma1, share},
    {"gamma2", &Options::gamma2, momentum},
    {"centered", &Options::centered},
    {"clip_weights", &Options::clip_weights, positive},
    {"rho", &Options::rho, share},
    {"lamda1", &Options::lamda1, not_negative},
    {"beta", &Options::beta, not_negative},
    {"schedule_decay", &Options::schedule_decay, not_negative},
};

void check_number(std::string_view optimizer, std::string_view name, double value, const Range& range) {
  if (!range.contains(value)) fail("{}: {} is {}; it is {}", optimizer, name, value, range.text);
}

constexpr const char* common_options =
    "learning_rate, wd, rescale_grad, clip_gradient, lr_scheduler, begin_num_update, multi_precision, "
    "param_idx2name";

}  // namespace

void check_rate(double rate) {
  if (!not_negative.contains(rate))
    fail("the learning rate is {}; it is {}. To maximise, negate the loss", rate, not_negative.text);
}

void check_options(std::string_view optimizer, const Options& given, std::span<const std::string_view> own) {
  for (const OwnOption& option : own_options) {
    const bool is_given =
        std::visit([&](const auto member) { return (given.*member).has_value(); }, option.member);
    if (!is_given || std::find(own.begin(), own.end(), option.name) != own.end()) continue;
    const std::string_view near = ir::nearest_name(option.name, own);
    fail("{} has no option '{}'{}; it has {}{}{}", optimizer, option.name,
         near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near),
         fmt::format("{}", fmt::join(own, ", ")), own.empty() ? "" : ", ", common_options);
  }
  for (const OwnOption& option : own_options)
    if (const auto* number = std::get_if<std::optional<double> Options::*>(&option.member))
      if (const auto& value = given.**number) check_number(optimizer, option.name, *value, option.range);
  if (given.lower_bound && given.upper_bound && *given.lower_bound > *given.upper_bound)
    fail("{}: lower_bound {} is above upper_bound {}", optimizer, *given.lower_bound, *given.upper_bound);
  if (given.learning_rate) check_rate(*given.learning_rate);
  check_number(optimizer, "wd", given.wd, not_negative);
  check_number(optimizer, "rescale_grad", given.rescale_grad, any);
  if (given.clip_gradient && !(*given.clip_gradient > 0))
    fail("{}: clip_gradient is {}; it is the largest absolute value that a gradient keeps, above 0",
         optimizer, *given.clip_gradient);
  if (given.begin_num_update < 0)
    fail("{}: begin_num_update is {}; it is a number of updates", optimizer, given.begin_num_update);
}

nlohmann::json options_json(const Options& o) {
  nlohmann::json out = {
      {"wd", o.wd}, {"rescale_grad", o.rescale_grad}, {"multi_precision", o.multi_precision}};
  if (o.clip_gradient) out["clip_gradient"] = *o.clip_gradient;
  if (o.begin_num_update != 0) out["begin_num_update"] = o.begin_num_update;
  for (const OwnOption& option : own_options)
    std::visit(
        [&](const auto member) {
          if (const auto& value = o.*member) out[std::string(option.name)] = *value;
        },
        option.member);
  return out;
}

}  // namespace kiln::detail

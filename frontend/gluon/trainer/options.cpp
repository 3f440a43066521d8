#include "frontend/gluon/trainer/options.h"

#include "ir/nearest_name.h"
#include "runtime/fail.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <variant>

namespace kiln::detail {
namespace {

using optimizer::Options;

/// An option that only some optimizers have.
struct OwnOption {
  std::string_view name;
  std::variant<std::optional<double> Options::*, std::optional<bool> Options::*> member;
};

const OwnOption own_options[] = {
    {"momentum", &Options::momentum},
    {"beta1", &Options::beta1},
    {"beta2", &Options::beta2},
    {"epsilon", &Options::epsilon},
    {"lazy_update", &Options::lazy_update},
    {"wd_lh", &Options::wd_lh},
    {"lower_bound", &Options::lower_bound},
    {"upper_bound", &Options::upper_bound},
    {"bias_correction", &Options::bias_correction},
    {"correct_bias", &Options::correct_bias},
    {"eta", &Options::eta},
    {"eps", &Options::eps},
    {"momentum_correction", &Options::momentum_correction},
    {"gamma1", &Options::gamma1},
    {"gamma2", &Options::gamma2},
    {"centered", &Options::centered},
    {"clip_weights", &Options::clip_weights},
    {"rho", &Options::rho},
    {"lamda1", &Options::lamda1},
    {"beta", &Options::beta},
    {"schedule_decay", &Options::schedule_decay},
};

constexpr const char* common_options =
    "learning_rate, wd, rescale_grad, clip_gradient, lr_scheduler, begin_num_update, multi_precision, "
    "param_idx2name";

}  // namespace

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

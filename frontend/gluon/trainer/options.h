// Checks of optimizers' options.
#pragma once
#include <kiln/optimizer.h>

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>

namespace kiln::detail {

/// Throws for a learning rate that is negative or not finite.
void check_rate(double rate);

/// Throws if `given` has an option that is neither one of every optimizer nor in `own`, or a number outside
/// of its range.
void check_options(std::string_view optimizer, const optimizer::Options& given,
                   std::span<const std::string_view> own);

/// The number of this name in `memory`; `first` if there is none. Allocates nothing if there is one.
double& remembered(optimizer::Memory& memory, std::string_view name, double first);

/// Whether the rule is one of Kiln's, so that its operators belong to the program's line that makes the step.
bool is_library_rule(const optimizer::Optimizer& optimizer);

/// The given options as JSON, by name, for files of states.
nlohmann::json options_json(const optimizer::Options& options);

}  // namespace kiln::detail

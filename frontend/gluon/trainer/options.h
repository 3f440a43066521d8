#pragma once
#include <kiln/optimizer.h>

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>

/// The options of optimizers by name.
namespace kiln::detail {

/// Throws if `given` has an option that is neither one of every optimizer nor in `own`.
void check_options(std::string_view optimizer, const optimizer::Options& given,
                   std::span<const std::string_view> own);

/// The given options as JSON, by name, for files of states.
nlohmann::json options_json(const optimizer::Options& options);

}  // namespace kiln::detail

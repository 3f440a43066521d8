// The nearest of several names, for messages.
#pragma once
#include <span>
#include <string_view>

namespace kiln::ir {

/// The name of `known` that a misspelt one is nearest to, for messages; empty if none is near.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known);

}  // namespace kiln::ir

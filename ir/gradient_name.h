// The names of gradients in locations.
#pragma once
#include <string_view>

namespace kiln::ir {

/// Ends the name of a node in the locations of its gradients: "dense0_fwd_grad".
inline constexpr std::string_view gradient_suffix = "_grad";

}  // namespace kiln::ir

// Operators by the names that a person may give them.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

/// The operators that a function, method or layer of C++ calls: "nn::Dense", "F.softmax", "nd::relu",
/// "random::normal". Empty for other names.
std::vector<std::string_view> ops_spelled(std::string_view name);

/// Operators similar to a name that is none, the likeliest first: their C++ spelling ends with it, else a
/// name has it in it, else a name is the nearest. At most five texts, "FullyConnected (nn::Dense)".
std::vector<std::string> ops_like(std::string_view name);

}  // namespace kiln

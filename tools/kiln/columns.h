// Texts of a fixed width, for tables.
#pragma once
#include <cstddef>
#include <string>

namespace kiln::tool {

/// A text of at most `most` characters: its middle is left out.
std::string fitted(const std::string& text, std::size_t most);
/// "640", "12.5K", "3.1M": units of 1000.
std::string short_number(double n);

}  // namespace kiln::tool

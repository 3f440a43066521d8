// Text for terminals.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::tool {

/// The columns of a page of text.
inline constexpr std::size_t page_width = 80;

/// The lines of a text of at most `columns` columns, broken between words; a longer word has a line alone.
std::vector<std::string> wrapped(std::string_view text, std::size_t columns = page_width);

/// "640", "12.5K", "3.1M": units of 1000.
std::string short_number(double n);

}  // namespace kiln::tool

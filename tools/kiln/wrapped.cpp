// Breaks text between words.
#include "tools/kiln/wrapped.h"

#include <fmt/format.h>
#include <sstream>
#include <utility>

namespace kiln::tool {

std::vector<std::string> wrapped(std::string_view text, std::size_t columns) {
  std::vector<std::string> lines;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    if (!lines.empty() && lines.back().size() + 1 + word.size() <= columns)
      lines.back() += " " + word;
    else
      lines.push_back(word);
  }
  return lines;
}

std::string short_number(double n) {
  if (n < 1e3) return fmt::format("{:.0f}", n);
  for (const auto& [unit, name] : {std::pair(1e3, "K"), {1e6, "M"}, {1e9, "G"}, {1e12, "T"}})
    if (n < 999.95 * unit) return fmt::format("{:.1f}{}", n / unit, name);
  return fmt::format("{:.3g}", n);
}

}  // namespace kiln::tool

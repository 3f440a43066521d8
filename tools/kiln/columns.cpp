// Texts of a fixed width, for tables.
#include "tools/kiln/columns.h"

#include <fmt/format.h>
#include <utility>

namespace kiln::tool {

std::string fitted(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  const std::size_t tail = (most - 3) / 2;
  return text.substr(0, most - 3 - tail) + "..." + text.substr(text.size() - tail);
}

std::string short_number(double n) {
  if (n < 1e3) return fmt::format("{:.0f}", n);
  for (const auto& [unit, name] : {std::pair(1e3, "K"), {1e6, "M"}, {1e9, "G"}, {1e12, "T"}})
    if (n < 999.95 * unit) return fmt::format("{:.1f}{}", n / unit, name);
  return fmt::format("{:.3g}", n);
}

}  // namespace kiln::tool

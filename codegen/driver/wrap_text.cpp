// Breaks lines of MLIR at spaces.
#include "codegen/driver/wrap_text.h"

#include <algorithm>
#include <vector>

namespace kiln::codegen {
namespace {

/// A space at which a line may be broken. The less `cost`, the better: few brackets are open there, and the
/// words on both sides do not belong together.
struct Break {
  std::size_t at;
  int cost;
};

/// Whether a part of an operation begins or ends at space `at`.
bool is_between_parts(std::string_view line, std::size_t at) {
  const std::string_view rest = line.substr(at + 1);
  return line[at - 1] == ',' || rest.starts_with("->") || rest.starts_with(": ") ||
         rest.starts_with("loc(") || rest.starts_with("attributes ");
}

std::vector<Break> breaks_of(std::string_view line, std::size_t indent) {
  constexpr int within_part = 100;
  std::vector<Break> breaks;
  bool in_string = false;
  int depth = 0;
  for (std::size_t i = indent; i < line.size(); ++i) {
    const char c = line[i];
    if (in_string && c == '\\')
      ++i;
    else if (c == '"')
      in_string = !in_string;
    else if (in_string)
      continue;
    else if (line.substr(i, 2) == "//")
      break;
    else if (line.substr(i, 2) == "->")
      ++i;
    else if (c == '(' || c == '[' || c == '{' || c == '<')
      ++depth;
    else if (c == ')' || c == ']' || c == '}' || c == '>')
      --depth;
    else if (c == ' ' && i > indent)
      breaks.push_back({i, depth + (is_between_parts(line, i) ? 0 : within_part)});
  }
  return breaks;
}

/// The best of the spaces in [first, last): the last of the cheapest in the second half of a line from
/// `from`.
const Break* best_break(const Break* first, const Break* last, std::size_t from, std::size_t width) {
  const Break* best = nullptr;
  for (const Break* b = first; b != last && b->at <= from + width; ++b)
    if (!best || best->at < from + width / 2 || b->cost <= best->cost) best = b;
  return best;
}

void wrap_line(std::string& out, std::string_view line, std::size_t columns) {
  if (line.size() <= columns) {
    out += line;
    return;
  }
  const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
  const std::string continued(indent + 4, ' ');
  const std::vector<Break> breaks = breaks_of(line, indent);
  const Break *next = breaks.data(), *const end = next + breaks.size();
  std::size_t from = 0, width = columns;
  while (line.size() - from > width && next != end) {
    const Break* const fits = best_break(next, end, from, width);
    const Break& chosen = fits ? *fits : *next;  // a longer token stays whole
    out += line.substr(from, chosen.at - from);
    out += "\n" + continued;
    from = chosen.at + 1;
    next = &chosen + 1;
    width = columns - std::min(columns, continued.size());
  }
  out += line.substr(from);
}

}  // namespace

std::string wrap_text(std::string_view text, std::size_t columns) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    wrap_line(out, text.substr(0, end), columns);
    if (end == std::string_view::npos) break;
    out += '\n';
    text.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace kiln::codegen

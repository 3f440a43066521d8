#include "mutants.h"

#include <charconv>
#include <fmt/format.h>
#include <optional>

namespace kiln::ptx {
namespace {

std::optional<long> number(std::string_view s) {
  long value = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
  if (s.empty() || error != std::errc() || end != s.data() + s.size()) return {};
  return value;
}

/// Places of a line's text.
struct Range {
  std::size_t begin, size;
};

/// The operands, which commas separate, braces or not.
std::vector<Range> operands_of(std::string_view line) {
  std::vector<Range> out;
  std::size_t begin = line.find_first_of(" \t");
  while (begin < line.size()) {
    begin = line.find_first_not_of(" \t", begin);
    const std::size_t end = std::min(line.find_first_of(",;", begin), line.size());
    out.push_back({begin, end - begin});
    if (end >= line.size() || line[end] == ';') break;
    begin = end + 1;
  }
  return out;
}

/// The lines that the instruction can be changed to.
std::vector<std::pair<MutantKind, std::string>> changes_of(std::string_view line) {
  std::vector<std::pair<MutantKind, std::string>> out;
  const auto replaced = [&](Range r, const std::string& by) {
    return std::string(line.substr(0, r.begin)) + by + std::string(line.substr(r.begin + r.size));
  };
  const std::vector<Range> operands = operands_of(line);
  const auto number_of = [&](std::size_t i) {
    return i < operands.size() ? number(line.substr(operands[i].begin, operands[i].size)) : std::nullopt;
  };
  if (line.starts_with("bar.sync") || line.starts_with("barrier.sync")) {
    out.emplace_back(MutantKind::barrier, "");
  } else if (line.starts_with("shfl.sync.")) {
    if (const auto by = number_of(2))
      for (const long changed : {*by / 2, *by * 2 % 32, (*by + 1) % 32})
        if (changed != *by)
          out.emplace_back(MutantKind::distance, replaced(operands[2], std::to_string(changed)));
  } else if (line.starts_with("ld.shared.") || line.starts_with("st.shared.")) {
    const std::size_t open = line.find('['), close = line.find(']');
    const std::size_t plus = std::min(line.find('+', open), close);
    const long offset = plus < close ? number(line.substr(plus + 1, close - plus - 1)).value_or(0) : 0;
    for (const long by : {4, -4})
      out.emplace_back(MutantKind::offset, replaced({plus, close - plus}, fmt::format("+{}", offset + by)));
  } else if (line.starts_with("setp.")) {
    if (const auto bound = number_of(2))
      for (const long by : {1, -1})
        out.emplace_back(MutantKind::bound, replaced(operands[2], std::to_string(*bound + by)));
  }
  return out;
}

}  // namespace

std::vector<Mutant> mutants_of(const std::string& ptx) {
  std::vector<Mutant> out;
  for (std::size_t begin = 0; begin < ptx.size();) {
    const std::size_t end = std::min(ptx.find('\n', begin), ptx.size());
    std::size_t first = std::min(ptx.find_first_not_of(" \t", begin), end);
    // Behind a predicate.
    if (first < end && ptx[first] == '@') first = std::min(ptx.find_first_of(" \t", first) + 1, end);
    const std::string line = ptx.substr(first, end - first);
    for (const auto& [kind, to] : changes_of(line))
      out.push_back({kind, ptx.substr(0, first) + to + ptx.substr(end), line, to});
    begin = end + 1;
  }
  return out;
}

}  // namespace kiln::ptx

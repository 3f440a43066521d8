// The edit distance of names.
#include "ir/nearest_name.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace kiln::ir {
namespace {

/// The Levenshtein distance of two names.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t changed = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known) {
  // A name from a file may have any length; none that long is close to a known one.
  if (name.size() > 64) return {};
  std::string_view best;
  std::size_t least = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const std::string_view candidate : known) {
    std::size_t d = distance(name, candidate);
    if (d < least || (d == least && !best.empty() && candidate < best)) {
      least = d;
      best = candidate;
    }
  }
  return best;
}

}  // namespace kiln::ir

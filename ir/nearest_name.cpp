// The edit distance of names.
#include "ir/nearest_name.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace kiln::ir {
namespace {

/// The optimal string alignment distance of two names: the number of letters that are added, left out,
/// replaced, or swapped with the next one.
std::size_t distance(std::string_view a, std::string_view b) {
  // Rows of the table for the first i - 2, i - 1 and i letters of a.
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, last);
    std::swap(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known) {
  // A name from a file may have any length; none that long is close to a known one.
  if (name.size() > 64) return {};
  std::string_view best;
  // Of three letters one may be wrong, of fewer none.
  std::size_t least = (name.size() < 4 ? name.size() / 3 : std::max<std::size_t>(2, name.size() / 3)) + 1;
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

#include "codegen/strips.h"

#include "runtime/strip.h"

#include <llvm/ADT/STLExtras.h>

namespace kiln::codegen {
namespace {

using Steps = llvm::MutableArrayRef<StripStep>;

/// What a strip's rows take should be no more than this, about a first cache: several kernels use most of it.
constexpr std::int64_t strip_bytes = 32 * 1024;

bool same_strip(const StripStep& a, const StripStep& b) {
  return a.strip && b.strip && a.strip[0] == b.strip[0];
}

/// Rows that all loops of a strip can be cut into; 1: none.
std::int64_t rows_of(Steps steps) {
  const std::int64_t marked = steps.front().strip[1];
  std::int64_t rows = marked;
  for (const StripStep& s : steps) rows = std::min(rows, s.step.extent);
  const bool cut = marked % rows == 0 &&
                   llvm::all_of(steps, [&](const StripStep& s) { return s.step.extent % rows == 0; });
  return cut ? rows : 1;
}

Step join(Steps steps, std::int64_t rows) {
  const auto strip = steps.front().strip;
  const std::int64_t row_bytes = strip[2] * (strip[1] / rows);
  StripPlan plan{{}, rows, std::clamp<std::int64_t>(strip_bytes / row_bytes, 1, rows)};
  Step joined;
  for (auto& [s, _] : steps) {
    plan.parts.push_back({std::move(s.kernel), std::move(s.params), s.operands.size(), s.extent / rows});
    llvm::append_range(joined.operands, s.operands);
    joined.name += (joined.name.empty() ? "" : "+") + s.name;
    for (std::string& line : s.locations)
      if (!llvm::is_contained(joined.locations, line)) joined.locations.push_back(std::move(line));
  }
  joined.control = make_strip(std::move(plan));
  return joined;
}

}  // namespace

std::vector<Step> join_strips(std::vector<StripStep> steps) {
  std::vector<Step> result;
  for (Steps rest = steps; !rest.empty();) {
    std::size_t count = 1;
    while (count < rest.size() && same_strip(rest.front(), rest[count])) ++count;
    const Steps strip = rest.take_front(count);
    rest = rest.drop_front(count);
    if (const std::int64_t rows = count > 1 ? rows_of(strip) : 1; rows > 1)
      result.push_back(join(strip, rows));
    else
      for (StripStep& s : strip) result.push_back(std::move(s.step));
  }
  return result;
}

}  // namespace kiln::codegen

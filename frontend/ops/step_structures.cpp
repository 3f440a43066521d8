// Follows the structures of a loop's steps from the last step to the first.
#include "frontend/ops/step_structures.h"

#include <algorithm>

namespace kiln::ops {
namespace {

/// Maximum number of step structures that a loop is composed with. Its other steps have the union of theirs,
/// where a gradient of 0 may have another sign.
constexpr std::size_t max_structures = 64;

}  // namespace

const StepStructure& StepStructures::of(const Flags& states_after) {
  const auto known = known_.find(states_after);
  if (known != known_.end()) return known->second;
  return known_.emplace(states_after, gradient_.structure(states_after, heads_, types_)).first->second;
}

StepSequence StepStructures::sequence(Flags states, std::int64_t steps) {
  StepSequence s{{std::move(states)}, 0};
  while (static_cast<std::int64_t>(s.list.size()) < steps) {
    const Flags& next = of(s.list.back()).states;
    const auto known = std::find(s.list.begin(), s.list.end(), next);
    s.again = static_cast<std::size_t>(known - s.list.begin());
    if (known != s.list.end()) break;
    s.list.push_back(next);
  }
  return s;
}

bool StepStructures::has_one_structure(std::span<const Flags> list, Flags& all) {
  all = list.front();
  for (const Flags& f : list) unite(all, f);
  for (Flags before; before != all;) {
    before = all;
    unite(all, of(before).states);
  }
  const auto& values = of(all).values;
  return std::all_of(list.begin(), list.end(), [&](const Flags& f) { return of(f).values == values; });
}

StepSequence StepStructures::merged(StepSequence s) {
  const std::size_t last = std::min(s.again, max_structures - 1);
  std::size_t from = 0;
  Flags tail;
  while (from <= last && !has_one_structure(std::span(s.list).subspan(from), tail)) ++from;
  if (from > last) {
    if (s.list.size() <= max_structures) return s;
    from = max_structures - 1;
    (void)has_one_structure(std::span(s.list).subspan(from), tail);
  }
  s.list.resize(from);
  s.list.push_back(std::move(tail));
  s.again = from;
  return s;
}

CarriedSums StepStructures::carried(const StepSequence& s) {
  Flags states(s.list.front().size()), shared(gradient_.shared().size());
  for (const Flags& f : s.list) {
    unite(states, f);
    unite(states, of(f).states);
    unite(shared, of(f).shared);
  }
  CarriedSums c;
  for (std::size_t i = 0; i < states.size(); ++i)
    if (states[i]) c.states.push_back(i);
  for (std::size_t i = 0; i < shared.size(); ++i)
    if (shared[i]) c.shared.push_back(i);
  return c;
}

}  // namespace kiln::ops

// The may-alias pairs of a recording.
#include "frontend/call/possible_aliases.h"

#include <algorithm>

namespace kiln {

using detail::Array;

void PossibleAliases::add(const ArrayPtr& result, std::span<const ArrayPtr> sources) {
  std::vector<const Array*> all = origins(*result);
  for (const ArrayPtr& source : sources) {
    const std::vector<const Array*> more = origins(*source);
    all.insert(all.end(), more.begin(), more.end());
    if (!find(*source)) items_.push_back({source, source.get(), more});
  }
  items_.push_back({result, result.get(), std::move(all)});
}

bool PossibleAliases::may_be_one(const Array& a, const Array& b) const {
  const std::vector<const Array*> of_a = origins(a), of_b = origins(b);
  return std::find_first_of(of_a.begin(), of_a.end(), of_b.begin(), of_b.end()) != of_a.end();
}

bool PossibleAliases::has_another(const Array& array) const {
  return std::any_of(items_.begin(), items_.end(), [&](const Item& item) {
    return item.address != &array && !item.array.expired() && may_be_one(array, *item.address);
  });
}

std::vector<const Array*> PossibleAliases::origins(const Array& array) const {
  const Item* item = find(array);
  return item ? item->origins : std::vector<const Array*>{&array};
}

const PossibleAliases::Item* PossibleAliases::find(const Array& array) const {
  const auto found =
      std::find_if(items_.begin(), items_.end(), [&](const Item& i) { return i.address == &array; });
  return found == items_.end() ? nullptr : &*found;
}

}  // namespace kiln

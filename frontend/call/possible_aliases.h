// May-alias pairs of a recording.
#pragma once
#include "frontend/tensor/array.h"

#include <memory>
#include <span>
#include <vector>

namespace kiln {

/// May-alias pairs of a recording: values decide whether two arrays are one (one branch returned a captured
/// array, the other a new one). The recording holds them as different values, which is valid until a write to
/// one is observable through the other.
class PossibleAliases {
 public:
  using ArrayPtr = std::shared_ptr<detail::Array>;

  /// `result` may alias each of `sources`, and transitively their possible aliases.
  void add(const ArrayPtr& result, std::span<const ArrayPtr> sources);
  bool empty() const { return items_.empty(); }
  bool may_be_one(const detail::Array& a, const detail::Array& b) const;
  /// Whether the program has a handle to another array that may alias this one.
  bool has_another(const detail::Array& array) const;

 private:
  /// The possible aliases of each array. Weak: an array without handles is unobservable, and the weak
  /// reference keeps its address from being reused.
  struct Item {
    std::weak_ptr<detail::Array> array;
    const detail::Array* address;
    std::vector<const detail::Array*> origins;
  };
  std::vector<const detail::Array*> origins(const detail::Array& array) const;
  const Item* find(const detail::Array& array) const;

  std::vector<Item> items_;
};

}  // namespace kiln

#pragma once
#include "frontend/tensor/array.h"

#include <memory>
#include <span>
#include <vector>

namespace kiln {

/// Arrays of a recording of which values decide whether they are one: one branch returned an array from
/// outside, the other a new one. A recording holds them as different values; that is right as long as nobody
/// writes to one and sees the other.
class PossibleAliases {
 public:
  using ArrayPtr = std::shared_ptr<detail::Array>;

  /// `result` may be the same array as each of `sources`, and as whatever those may be.
  void add(const ArrayPtr& result, std::span<const ArrayPtr> sources);
  bool empty() const { return items_.empty(); }
  bool may_be_one(const detail::Array& a, const detail::Array& b) const;
  /// Whether a program has a handle to another array that may be this one.
  bool has_another(const detail::Array& array) const;

 private:
  /// The arrays that an array may be. Weak: an array without a handle is seen by nobody, and its address is
  /// not used again while this stands here.
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

#pragma once
#include <kiln/export.h>

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstdint>
#include <memory>
#include <ranges>
#include <utility>

namespace kiln {

class HybridBlock;

namespace detail {

class Revision;

/// The part of an Attr that does not depend on the type of its value.
class KILN_API AttrOwner {
 public:
  explicit AttrOwner(const HybridBlock* owner);
  /// The recording that this thread makes, if any, depends on the value.
  void read() const;
  /// Recordings that depend on the value do not hold any more.
  void changed() const;
  /// Whether the block around was assigned the other one's block just now, so that its members follow.
  bool left_for(const AttrOwner& o) const;

 private:
  std::shared_ptr<Revision> revision_;
};

/// Whether hybrid_forward computes the same with both: floating-point numbers, also those in a container, are
/// compared by their bits.
template <class T>
bool same_value(const T& a, const T& b) {
  if constexpr (std::same_as<T, float>)
    return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
  else if constexpr (std::same_as<T, double>)
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
  else if constexpr (std::ranges::sized_range<const T>)
    return std::ranges::equal(a, b, [](const auto& x, const auto& y) { return same_value(x, y); });
  else
    return a == b;
}

}  // namespace detail

/// A member whose value hybrid_forward reads: `Attr<float> scale{this, 2.0f};`, then `x * scale`. A plain
/// member is part of a recording, and a later value of it is not seen; assigning another value to an Attr
/// makes the next call record again. Copies of the block see the same value. Assigning one Attr to another
/// copies the value. Thread rule: many calls may read it at once; assigning is the program's to order.
template <std::equality_comparable T>
class Attr {
 public:
  /// Throws when `owner` is null.
  Attr(HybridBlock* owner, T value) : shared_(std::make_shared<Shared>(owner, std::move(value))) {}
  Attr(const Attr&) = default;
  Attr(Attr&&) = default;
  Attr& operator=(const Attr& o) {
    if (!shared_->owner.left_for(o.shared_->owner)) return *this = o.get();
    shared_ = o.shared_;
    return *this;
  }
  Attr& operator=(Attr&&) = default;

  Attr& operator=(const T& value) {
    if (detail::same_value(shared_->value, value)) return *this;
    shared_->value = value;
    shared_->owner.changed();
    return *this;
  }
  operator const T&() const { return get(); }
  /// The same by a name, for where nothing tells the compiler which type is wanted.
  const T& get() const {
    shared_->owner.read();
    return shared_->value;
  }

 private:
  struct Shared {
    Shared(const HybridBlock* block, T v) : owner(block), value(std::move(v)) {}
    detail::AttrOwner owner;
    T value;
  };
  std::shared_ptr<Shared> shared_;
};

}  // namespace kiln

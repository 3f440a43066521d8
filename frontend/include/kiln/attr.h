// Attr<T>: a member of a block whose changes invalidate recordings.
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
  /// Makes this thread's recording, if any, depend on the value.
  void read() const;
  /// Invalidates the recordings that depend on the value.
  void changed() const;
  /// Whether the owner was just assigned the owner of the other Attr, so that its members follow.
  bool left_for(const AttrOwner& o) const;

 private:
  std::shared_ptr<Revision> revision_;
};

/// Equality for recordings: floating-point numbers, in containers too, are compared by their bits.
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

/// A tracked member of a block: `Attr<float> scale{this, 2.0f};`, then `x * scale` in hybrid_forward. A plain
/// member is baked into the recording; assigning another value to an Attr makes the next call record again.
/// Copies of the block share the value. Assigning one Attr to another copies the value. Thread rule:
/// concurrent calls may read it; the program synchronises assignments.
template <std::equality_comparable T>
class Attr {
 public:
  /// Throws if `owner` is null.
  Attr(HybridBlock* owner, T value) : shared_(std::make_shared<Shared>(owner, std::move(value))) {}
  Attr(const Attr&) = default;
  Attr(Attr&&) = default;
  /// A block that is assigned as a whole takes the other block's attribute; else as the assignment of its
  /// value.
  Attr& operator=(const Attr& o) {
    if (!shared_->owner.left_for(o.shared_->owner)) return *this = o.get();
    shared_ = o.shared_;
    return *this;
  }
  Attr& operator=(Attr&&) = default;

  /// Sets the value. A recording that read another one is not used any more; an equal value changes nothing.
  Attr& operator=(const T& value) {
    if (detail::same_value(shared_->value, value)) return *this;
    shared_->value = value;
    shared_->owner.changed();
    return *this;
  }
  /// The value, as get().
  operator const T&() const { return get(); }
  /// The value, for contexts without an implicit conversion.
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

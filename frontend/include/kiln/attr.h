// Attr<T>: a member of a block whose changes invalidate recordings.
#pragma once
#include <kiln/export.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace kiln {

class HybridBlock;

namespace detail {

class Revision;

/// The part of an Attr that does not depend on the type of its value.
class KILN_API AttrOwner {
 public:
  /// `name`: for messages; empty: its number among the Attrs of the owner.
  AttrOwner(const HybridBlock* owner, std::string name);
  /// Makes this thread's recording depend on the value. Returns whether there is one.
  bool read() const;
  /// Notes the value that this thread's recording reads, as text.
  void note(const std::string& value) const;
  /// Invalidates the recordings that depend on the value.
  void changed() const;
  /// Whether the owner was just assigned the owner of the other Attr, so that its members follow.
  bool left_for(const AttrOwner& o) const;
  /// Whether a block that was moved from has been assigned the owner, so that its members follow.
  bool given_to_moved() const;

 private:
  std::shared_ptr<Revision> revision_;
  std::string name_;
};

[[noreturn]] KILN_API void fail_moved_attr();

/// A value as text for messages; empty for a type without one. Long lists are cut.
template <class T>
std::string value_text(const T& value) {
  if constexpr (std::same_as<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::floating_point<T> || std::integral<T>) {
    char text[64];
    const std::to_chars_result end = std::to_chars(text, text + sizeof(text), value);
    return std::string(text, end.ptr);
  } else if constexpr (std::is_enum_v<T>) {
    return value_text(static_cast<std::underlying_type_t<T>>(value));
  } else if constexpr (std::convertible_to<const T&, std::string_view>) {
    return '"' + std::string(std::string_view(value)) + '"';
  } else if constexpr (std::ranges::sized_range<const T>) {
    constexpr std::size_t most = 8;
    std::string list;
    std::size_t count = 0;
    for (const auto& element : value) {
      if (count++ == most) return "{" + list + ", ...}";
      list += (list.empty() ? "" : ", ") + value_text(element);
    }
    return "{" + list + "}";
  } else {
    return {};
  }
}

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
/// Copies of the block share the value. Assigning one Attr to another copies the value. Use after a move
/// throws, until the block is assigned another. Thread rule: concurrent calls may read it; the program
/// synchronises assignments.
template <std::equality_comparable T>
class Attr {
 public:
  /// `name`: how messages call it, as in "why a call was recorded"; by default its number in the block.
  /// Throws if `owner` is null.
  Attr(HybridBlock* owner, T value, std::string name = {})
      : shared_(std::make_shared<Shared>(owner, std::move(value), std::move(name))) {}
  Attr(const Attr&) = default;
  Attr(Attr&&) = default;
  /// A block that is assigned as a whole takes the other block's attribute; else as the assignment of its
  /// value.
  Attr& operator=(const Attr& o) {
    const detail::AttrOwner& other = o.shared().owner;
    if (!(shared_ ? shared_->owner.left_for(other) : other.given_to_moved())) return *this = o.get();
    shared_ = o.shared_;
    return *this;
  }
  Attr& operator=(Attr&&) = default;

  /// Sets the value. A recording that read another one is not used any more; an equal value changes nothing.
  Attr& operator=(const T& value) {
    Shared& s = shared();
    if (detail::same_value(s.value, value)) return *this;
    s.value = value;
    s.owner.changed();
    return *this;
  }
  /// The value, as get().
  operator const T&() const { return get(); }
  /// The value, for contexts without an implicit conversion.
  const T& get() const {
    const Shared& s = shared();
    if (s.owner.read()) s.owner.note(detail::value_text(s.value));
    return s.value;
  }

 private:
  struct Shared {
    Shared(const HybridBlock* block, T v, std::string name)
        : owner(block, std::move(name)), value(std::move(v)) {}
    detail::AttrOwner owner;
    T value;
  };
  Shared& shared() const {
    if (!shared_) [[unlikely]]
      detail::fail_moved_attr();
    return *shared_;
  }
  std::shared_ptr<Shared> shared_;
};

}  // namespace kiln

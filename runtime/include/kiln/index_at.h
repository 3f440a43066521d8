// A number in brackets, with the line that has it.
#pragma once
#include <kiln/export.h>

#include <concepts>
#include <cstdint>
#include <source_location>
#include <type_traits>

namespace kiln {

/// A number in brackets, with the line that has it. An Attr of an integer is one too.
struct IndexAt {
  /// An integer.
  template <std::integral I>
  IndexAt(I i, std::source_location line = std::source_location::current())
      : index(static_cast<std::int64_t>(i)), where(line) {}
  template <class A>
  requires requires(const A& a) {
    { a.get() } -> std::convertible_to<std::int64_t>;
    requires std::integral<std::remove_cvref_t<decltype(a.get())>>;
  }
  /// The value of an Attr of an integer.
  IndexAt(const A& attr, std::source_location line = std::source_location::current())
      : IndexAt(attr.get(), line) {}
  std::int64_t index;          ///< the number
  std::source_location where;  ///< the line with the brackets
};

}  // namespace kiln

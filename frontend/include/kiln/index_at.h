// A number in brackets, with the line that has it.
#pragma once
#include <kiln/export.h>

#include <concepts>
#include <cstdint>
#include <source_location>

namespace kiln {

/// A number in brackets, with the line that has it.
struct IndexAt {
  template <std::integral I>
  IndexAt(I i, std::source_location line = std::source_location::current())
      : index(static_cast<std::int64_t>(i)), where(line) {}
  std::int64_t index;
  std::source_location where;
};

}  // namespace kiln

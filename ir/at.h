// Indices of any integer type.
#pragma once
#include <cstddef>
#include <cstdint>

namespace kiln::ir {

/// An axis or a place that is not negative, as an index.
inline std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace kiln::ir

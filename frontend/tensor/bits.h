// Comparison of arrays by their bits.
#pragma once
#include <kiln/export.h>
#include <kiln/tensor.h>

#include <optional>
#include <string>

namespace kiln::detail {

/// The index of the first differing element; -1 for another shape or dtype; nothing if bit-identical. All
/// NaNs are equal.
KILN_API std::optional<std::int64_t> first_difference(const Tensor& a, const Tensor& b);

/// One element as text with its bits: "0.5 (0x3f000000)".
KILN_API std::string element_text(const Tensor& t, std::int64_t index);

}  // namespace kiln::detail

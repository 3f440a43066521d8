// The dtypes of an operator's inputs and results, as far as they follow from its first input alone.
#pragma once
#include "ir/graph.h"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace kiln {

/// The dtype of result `output` of an operator whose first input has the floating dtype `first`. Nothing if
/// that alone does not tell it, or if the result is no float.
std::optional<DType> amp_result_dtype(const ir::Node& node, std::uint32_t output, DType first);

/// The dtype that the operator wants of input `i` then. Nothing if it takes several, as of an index.
std::optional<DType> amp_input_dtype(const ir::Node& node, std::size_t i, DType first);

}  // namespace kiln

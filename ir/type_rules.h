#pragma once
// Helpers of the rules of several primitives' result types: texts of mismatches, arithmetic of extents.
#include "ir/at.h"
#include "ir/primitives.h"
#include "ir/result_type.h"
#include "runtime/fail.h"

#include <optional>
#include <string>
#include <string_view>

namespace kiln::ir {

/// Throws unless the operands of `what` have one type.
void require_same(const char* what, const TensorType& a, const TensorType& b);

bool has_axis(const Shape& shape, std::int64_t axis);
std::string no_axis(const Shape& shape, std::int64_t axis);
std::string mixed(DType a, DType b);
/// The text for a list whose length is not the rank.
std::string wrong_count(std::string_view list, const Shape& shape, const Shape& values);

/// The sum of two extents, which may come from a file. Throws where it does not fit in 64 bits.
std::int64_t plus(std::int64_t a, std::int64_t b);

/// The type of x with `low` and `high` elements more per axis.
ResultType padded_type(const TensorType& x, const Shape& low, const Shape& high);

/// The shape of x with `axis` replaced by the axes of `indices`.
Shape gathered(const Shape& x, const Shape& indices, std::int64_t axis);
bool is_index(DType dtype);

/// Why `w` is no window over x, if it is none.
std::optional<Mismatch> check_window(const Window& w, const TensorType& x);
/// The batch, `channels`, and the number of window positions along each spatial axis.
ResultType slid(const TensorType& x, std::int64_t channels, const Window& w);

}  // namespace kiln::ir

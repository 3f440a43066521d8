// Helpers of the families of MXNet's numpy mode.
#pragma once
#include "frontend/ops/common.h"

/// Helpers of the families of MXNet's numpy mode.
namespace kiln::ops {

/// A copy of a classic operator's definition under another name, with its reference except for the fields of
/// `own`.
OpDef renamed(std::span<const OpDef> family, std::string_view classic, std::string_view name,
              std::vector<std::string_view> inputs, std::vector<std::string_view> aliases = {},
              const OpReference& own = {});

/// The sorted axes of the attribute `axis`: None is all, () none. A scalar accepts the axes 0 and -1 without
/// effect.
Shape numpy_axes(const Attrs& a, int rank);

/// numpy's tensordot: contracts `a_axes` of a with `b_axes` of b. The result has the free axes of a, then the
/// free axes of b.
Value contract(Primitives& p, Value a, const Shape& a_axes, Value b, const Shape& b_axes);

}  // namespace kiln::ops

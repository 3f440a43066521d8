// Helpers of operators with sliding windows.
#pragma once
#include "frontend/ops/common.h"
#include "ir/shape_rule.h"

/// Helpers of operators with sliding windows.
namespace kiln::ops {

/// The attribute, or `fallback` for each of `rank` axes if it is ().
Shape or_all(const Shape& given, int rank, std::int64_t fallback);
/// Validates an attribute of a window, which may come from a file: `rank` numbers from `least` to 2^30.
void require_sizes(std::string_view name, const Shape& sizes, int rank, std::int64_t least);

/// Throws if a window is larger than the padded image on an axis. `data`: (N, C, spatial...), whose unknown
/// extents are not validated: shape rules and compositions report this mistake alike.
void require_windows_fit(const ir::PartialShape& data, const ir::Window& w);

AttrSpec layout_attr();
/// Throws unless the layout is channels-first.
void require_channels_first(const Attrs& a);

/// The attributes kernel, stride, dilate, pad and num_group.
ir::ConvSpec conv_spec(const Attrs& a);

}  // namespace kiln::ops

// The derivation of a view: the steps by which the program made it from other views of its array.
#pragma once
#include "frontend/tensor/array.h"

#include <optional>
#include <vector>

namespace kiln {

/// The last step of the view's derivation in this call of a block; none if the recording knows none.
std::optional<detail::Array::Origin> origin_of(const Tensor& t);
/// The view that `view` was derived from.
Tensor base_of(const Tensor& view, const detail::Array::Origin& origin);

/// Whether the view was derived from another one in this call of a block: the base may be a separate value,
/// also where the view is the whole array again.
bool is_derived(const Tensor& t);
/// The steps by which the view was derived in this call of a block, from the last to the first. Empty if the
/// recording knows none.
std::vector<detail::Array::Origin> derivation_of(const Tensor& t);

/// Another view of t's array.
Tensor view_of(const Tensor& t, std::int64_t offset, const Shape& shape);
/// The same, derived from t by `step`, which a recording keeps for reads and writes.
Tensor view_of(const Tensor& t, std::int64_t offset, const Shape& shape, const detail::ViewStep& step);

/// Whether both cover the same elements of an array in the same shape.
inline bool same_view(const Tensor& a, const Tensor& b) {
  return detail::TensorAccess::offset(a) == detail::TensorAccess::offset(b) &&
         detail::TensorAccess::shape(a) == detail::TensorAccess::shape(b);
}
/// The number of elements per index of the first axis; 0 for none.
std::int64_t row_elements(const Shape& shape);

}  // namespace kiln

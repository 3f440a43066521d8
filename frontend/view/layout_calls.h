// The operators that change layout, as a node or an entry of the tape has them: cutting a view out of its
// array, and replacing it there. In numpy mode they are MXNet's operators of that mode.
#pragma once
#include "frontend/tensor/array.h"

#include <source_location>

namespace kiln {

/// `spec` has the operator's codes: MXNet's or numpy's.
Tensor record_reshape_node(const Tensor& x, const Shape& spec, bool numpy, bool np_shape,
                           std::source_location where);
/// Reshapes to this shape, which has no codes.
Tensor record_reshape(const Tensor& x, const Shape& shape, std::source_location where);
Tensor record_reshape_like(const Tensor& x, const Tensor& like, std::source_location where);
/// These rows, also where an index removes the axis.
Tensor record_slice(const Tensor& x, const detail::RowRange& rows, std::source_location where);
/// x with these rows replaced by `update`.
Tensor record_slice_assign(const Tensor& x, const Tensor& update, const detail::RowRange& rows,
                           std::source_location where);
/// Removes (squeeze) or adds (expand_dims) a first axis of extent 1.
Tensor record_first_axis(const char* op, const Tensor& x, std::source_location where);
/// Removes the first axis, of extent 1, by a code of npx.reshape that copies the others.
Tensor record_numpy_squeeze(const Tensor& x, std::source_location where);

}  // namespace kiln

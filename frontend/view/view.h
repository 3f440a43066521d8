// A view as the program sees it: its elements, and how a write through it reaches its array.
#pragma once
#include "frontend/view/derivation.h"

#include <kiln/tensor.h>

#include <span>
#include <vector>

/// Views: a handle covers the elements [offset, offset + size) of its array, in C order. Reads and writes
/// through concrete and traced views. A separate value is a handle with an alias number, valid in the scopes
/// of one call of a block (frontend/tensor/view_scope.h).
namespace kiln {

/// `list` with every view replaced by a handle that is a separate value in scopes of `call`, with its present
/// contents. Concrete arrays that are not on the tape have no values; a write may give them one.
std::vector<Tensor> own_values(std::span<const Tensor> list, std::uint64_t call, std::source_location where);

/// Maps results of a call back to its caller, in scopes of `call`: an argument becomes the caller's handle
/// again. Any other separate value, such as the result of a branch, stays one; several results that are one
/// value stay one value. `arguments` are own_values() of `given`.
std::vector<Tensor> returned_values(std::vector<Tensor> results, std::span<const Tensor> given,
                                    std::span<const Tensor> arguments, std::uint64_t call,
                                    std::source_location where);

/// Whether both handles are the same separate value.
bool same_own_value(const Tensor& a, const Tensor& b);

/// The separate value that the handle is, or that it is a view of. Undefined: the handle reads its array's
/// value.
Tensor own_behind(const Tensor& t);

/// `cut_out` returns the view as a separate array. `replaced` returns the contents of the view's array with
/// `next` in the place of the view's elements; `next` itself if the view covers the array. In a trace the
/// results are nodes. For concrete arrays they are entries of the tape, which compute nothing. `recorded`:
/// whether the write is recorded.
Tensor cut_out(const Tensor& t, std::source_location where);
Tensor replaced(const Tensor& view, Tensor next, bool recorded, std::source_location where);

/// Copies `value`, of equal number and dtype, into the elements of `view`. Every handle of the array sees it.
void write_view(const Tensor& view, const Tensor& value, std::source_location where);
/// The same if `value` differs from the present elements only in the elements of `part`, a view within
/// `view`.
void write_part(const Tensor& view, const Tensor& part, const Tensor& value, std::source_location where);

}  // namespace kiln

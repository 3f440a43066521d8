#pragma once
#include "frontend/tensor/array.h"

#include <kiln/tensor.h>

#include <span>
#include <vector>

/// Views: a handle covers the elements [offset, offset + size) of its array, in C order. Reads and writes
/// through concrete and traced views.
namespace kiln {

/// Throws: an array is used where only symbols are allowed.
[[noreturn]] void fail_mixed(std::source_location where);
/// The current value of a traced tensor. For a view, records the nodes that extract it from its array. Throws
/// for a concrete array (see fail_mixed()).
ir::Entry value_of(const Tensor& t, std::source_location where);

/// A handle of a traced tensor that is a value of its own in scopes of `call` (view_scope.h).
Tensor own_value(const Tensor& t, const ir::Entry& value, std::uint64_t call);
/// The same handles, of which each that is a view is a value of its own in scopes of `call`: the one that it
/// is here. Concrete arrays that are not on the tape have no values; a write may give them one.
std::vector<Tensor> own_values(std::span<const Tensor> list, std::uint64_t call, std::source_location where);

/// The results of a call that took `arguments`, which own_values() made of those `given`, where it was called,
/// in scopes of `call`: an argument is what was given, and another value of its own, as what a branch
/// returns, stays one, also as several results.
std::vector<Tensor> returned_values(std::vector<Tensor> results, std::span<const Tensor> given,
                                    std::span<const Tensor> arguments, std::uint64_t call,
                                    std::source_location where);

/// Whether both handles are the same value of its own.
bool same_own_value(const Tensor& a, const Tensor& b);

/// The value of its own that a handle reads, or that it is a view of, in a trace or on the tape; undefined:
/// the array's.
Tensor own_behind(const Tensor& t);

/// Whether the view was derived from another one in this call of a block: a value of its own may lie behind
/// it, also where it is the whole array again.
bool is_derived(const Tensor& t);

/// The steps by which the view was derived in this call of a block, from the last to the first. Empty if the
/// recording knows none.
std::vector<detail::Array::Origin> derivation_of(const Tensor& t);

/// A view as an array of its own, and the contents of view's array with `next` in the place of the view's
/// elements (or `next` itself): in a trace as nodes, for concrete arrays as entries of the tape, which
/// compute nothing. `recorded`: the write is.
Tensor cut_out(const Tensor& t, std::source_location where);
Tensor replaced(const Tensor& view, Tensor next, bool recorded, std::source_location where);

/// Another view of t's array.
Tensor view_of(const Tensor& t, std::int64_t offset, const Shape& shape);
/// The same, derived from t by `step`, which a recording keeps for reads and writes.
Tensor view_of(const Tensor& t, std::int64_t offset, const Shape& shape, const detail::ViewStep& step);

/// Replaces the elements of `view` by those of `value`, of equal number and dtype. Every handle of the array
/// sees it.
void write_view(const Tensor& view, const Tensor& value, std::source_location where);
/// The same where `value` differs from the present elements in those of `part` alone, a view within `view`.
void write_part(const Tensor& view, const Tensor& part, const Tensor& value, std::source_location where);

/// For concrete arrays: gives the elements of `part`, a view within `view`, those of `elements`. For the tape
/// it is the write of `value`, an entry without elements, into `view`.
void write_on_tape(const Tensor& view, const Tensor& value, const Tensor& part, const Tensor& elements,
                   std::source_location where);

/// The shape. Throws for a symbol without shapes and an undefined tensor; `what` names the access.
const Shape& known_shape(const Tensor& t, const char* what, std::source_location where);

}  // namespace kiln

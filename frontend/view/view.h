// What a view is to the program: what it reads, and how a write through it reaches its array.
#pragma once
#include "frontend/view/derivation.h"

#include <kiln/tensor.h>

#include <span>
#include <vector>

/// Views: a handle covers the elements [offset, offset + size) of its array, in C order. Reads and writes
/// through concrete and traced views.
namespace kiln {

/// The same handles, of which each that is a view is a value of its own in scopes of `call`: the one that it
/// is here. Concrete arrays that are not on the tape have no values; a write may give them one.
std::vector<Tensor> own_values(std::span<const Tensor> list, std::uint64_t call, std::source_location where);

/// The results of a call that took `arguments`, which own_values() made of those `given`, where it was
/// called, in scopes of `call`: an argument is what was given, and another value of its own, as what a branch
/// returns, stays one, also as several results.
std::vector<Tensor> returned_values(std::vector<Tensor> results, std::span<const Tensor> given,
                                    std::span<const Tensor> arguments, std::uint64_t call,
                                    std::source_location where);

/// Whether both handles are the same value of its own.
bool same_own_value(const Tensor& a, const Tensor& b);

/// The value of its own that a handle reads, or that it is a view of, in a trace or on the tape; undefined:
/// the array's.
Tensor own_behind(const Tensor& t);

/// A view as an array of its own, and the contents of view's array with `next` in the place of the view's
/// elements (or `next` itself): in a trace as nodes, for concrete arrays as entries of the tape, which
/// compute nothing. `recorded`: the write is.
Tensor cut_out(const Tensor& t, std::source_location where);
Tensor replaced(const Tensor& view, Tensor next, bool recorded, std::source_location where);

/// Replaces the elements of `view` by those of `value`, of equal number and dtype. Every handle of the array
/// sees it.
void write_view(const Tensor& view, const Tensor& value, std::source_location where);
/// The same where `value` differs from the present elements in those of `part` alone, a view within `view`.
void write_part(const Tensor& view, const Tensor& part, const Tensor& value, std::source_location where);

}  // namespace kiln

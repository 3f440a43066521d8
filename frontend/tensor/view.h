#pragma once
#include "frontend/tensor/array.h"

#include <kiln/tensor.h>

/// Views: a handle covers the elements [offset, offset + size) of its array, in C order. Reading and writing
/// through one, concrete or traced.
namespace kiln {

/// The elements of a concrete tensor.
std::byte* elements_of(const Tensor& t);

/// The elements of `t` for the program: throws for a traced tensor, naming the line and `what` was asked for.
const std::byte* readable_elements(const Tensor& t, const char* what, std::source_location where);

/// Throws: an array is used where only values to come can be.
[[noreturn]] void fail_mixed(std::source_location where);
/// The value of a traced tensor at this point of the program. Records the nodes that cut it out of its array,
/// if need be. Throws for an array (see fail_mixed()).
ir::Entry value_of(const Tensor& t, std::source_location where);

/// Another view of t's array.
Tensor view_of(const Tensor& t, std::int64_t offset, const Shape& shape);
/// The same, which the program made out of t by `step`. A recording reads and writes it in these terms.
Tensor view_of(const Tensor& t, std::int64_t offset, const Shape& shape, const detail::ViewStep& step);

/// Replaces the elements that `view` covers by those of `value`, which has as many and the same dtype. Every
/// handle of the array sees it.
void write_view(const Tensor& view, const Tensor& value, std::source_location where);

/// The shape, or an error that says why there is none (a symbol without shapes, an undefined tensor). `what`
/// is what the program asked for.
const Shape& known_shape(const Tensor& t, const char* what, std::source_location where);

}  // namespace kiln

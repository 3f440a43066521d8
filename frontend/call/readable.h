// The questions that a program may ask of a tensor, and the errors for tensors that have no answer.
#pragma once
#include "frontend/tensor/array.h"

#include <functional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>

namespace kiln {

/// Throws for a tensor whose elements the program cannot read: a traced one; names the line and the access
/// `what`.
void check_readable(const Tensor& t, const char* what, std::source_location where);
/// The same for code of the program: throws for an array that is not on the CPU, too.
std::byte* host_elements(const Tensor& t, const char* what, std::source_location where);

/// The device of these tensors, which a call reads; DeviceScope's without any. Throws for tensors of two
/// devices; `what` reads them, `name` tells the name of each.
Device common_device(std::span<const Tensor* const> tensors, std::string_view what,
                     const std::function<std::string(std::size_t)>& name, std::source_location where);

/// The shape. Throws for a symbol without shapes and an undefined tensor; `what` names the access.
const Shape& known_shape(const Tensor& t, const char* what, std::source_location where);

/// Throws: an array is used where only symbols are allowed.
[[noreturn]] void fail_mixed(std::source_location where);
}  // namespace kiln

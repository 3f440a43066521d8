// Transposed convolutions, as compositions of convolutions and products.
#pragma once
#include "ir/primitives.h"

#include <string>

namespace kiln::ir {

/// The gradient of the convolution `spec` with respect to its data, at g of (N, C, spatial...). The weight is
/// (C, F / groups, kernel...), the result (N, F, out...). An extent `out` is stride * (spatial - 1) + dilate
/// * (kernel - 1) + 1 - pad_low - pad_high + adjust. Throws if an extent would not be positive.
///
/// With strides, most taps of an output would multiply zeros between the elements of g. The outputs at one
/// distance from the next multiple of the stride, a phase, have their taps in common: each phase is a
/// convolution of g with these taps alone. With many phases, as in upsampling by 8, all are one convolution
/// whose filters are the filters of each phase, with one tap more than most of them have. Few filters, as of
/// an image of three colours, would leave most lanes of a register empty. An output is then the sum of its
/// taps' products, and all products are one product of matrices. Of images of one element each output has one
/// tap: these are a product of matrices, too. Its gradients are a convolution and its weights' gradient, not
/// sums of the phases' gradients (ir/convolution_gradients.h).
Value transposed_convolution(Primitives& p, Value g, Value weight, const ConvSpec& spec, const Shape& adjust);

/// Throws the error of a window that leaves no output of data of the shape `data`.
[[noreturn]] void fail_without_outputs(const Window& w, const std::string& data);

}  // namespace kiln::ir

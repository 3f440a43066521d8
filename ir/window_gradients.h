#pragma once
#include "ir/primitives.h"

#include <vector>

/// Gradients of the primitives with sliding windows, as compositions of such primitives.
namespace kiln::ir {

/// Of data and weight, as `contributions` (ir/gradients.h). That of the weight in several groups that are not
/// depthwise is a convolution whose contracted index runs over the batch: it is summed in the order of that
/// convolution.
std::vector<Value> convolution_gradients(Primitives& p, const Primitives::Taped& t, Value g,
                                         const std::vector<bool>& wanted);
/// Of data and weight of a transposed_convolution.
std::vector<Value> transposed_convolution_gradients(Primitives& p, const Primitives::Taped& t, Value g,
                                                    const std::vector<bool>& wanted);
/// Of x and g of a convolution_weights.
std::vector<Value> convolution_weights_gradients(Primitives& p, const Primitives::Taped& t, Value g,
                                                 const std::vector<bool>& wanted);

/// Of the data of a reduce_window. Of several equal maxima of a window the first one, in C order, has the
/// derivative 1.
Value reduce_window_gradient(Primitives& p, const Primitives::Taped& t, Value g);

}  // namespace kiln::ir

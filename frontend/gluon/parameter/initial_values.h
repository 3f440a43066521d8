// New arrays with the values of an initializer.
#pragma once
#include "runtime/tensor_type.h"

#include <kiln/initializer.h>

namespace kiln {

/// A new array with the values of an initializer. Values of a distribution are made on all threads, with the
/// same bits for any number of them. Takes one counter of the initializers' random stream.
Tensor initial_values(const Initializer& initializer, const TensorType& type, Device device);

}  // namespace kiln

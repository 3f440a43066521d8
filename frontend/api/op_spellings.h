// The C++ functions, methods and layers that call each operator.
#pragma once
#include <span>
#include <string_view>

namespace kiln {

/// One function, method or layer that calls an operator.
struct OpSpelling {
  std::string_view op;   ///< the name in the definition
  std::string_view cxx;  ///< "F::relu", "Tensor::relu", "nn::Activation"
};
/// Ordered by operator.
std::span<const OpSpelling> op_spellings();

}  // namespace kiln

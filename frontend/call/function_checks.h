// Checks of the results of an autograd::Function's methods, run or recorded.
#pragma once
#include <kiln/tensor.h>

#include <string>
#include <vector>

namespace kiln {

/// Throws unless the results of backward() fit the inputs of forward(): one for each, of its shape and dtype
/// or undefined. Unknown shapes are not checked. `line`: the call's, as line_prefix().
void check_function_gradients(const std::vector<Tensor>& gradients, const std::vector<Tensor>& inputs,
                              const std::string& line);
/// Throws unless forward() returned a result, and defined ones.
void check_function_results(const std::vector<Tensor>& results, const std::string& line);

}  // namespace kiln

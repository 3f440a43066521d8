#pragma once
#include <kiln/tensor.h>

#include <functional>
#include <source_location>
#include <vector>

namespace kiln {

/// The two methods of an autograd::Function, called once each while they are recorded.
struct FunctionMethods {
  using Method = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
  Method forward, backward;
};

/// Records a call of a function with a gradient of its own as a node of this thread's trace, or as a Symbol:
/// both methods are traced into subgraphs, `backward` as the body of a gradient that may read the values that
/// `forward` kept. Throws, with the line, if a method writes into what it is given or has kept, and if it
/// returns what autograd::Function does not allow.
std::vector<Tensor> record_function(const FunctionMethods& methods, const std::vector<Tensor>& inputs,
                                    std::source_location where);

/// Throws unless the results of backward() fit the inputs of forward(): one for each, of its shape and dtype
/// or undefined. What is not known is not checked. `line`: that of the call, as line_prefix().
void check_function_gradients(const std::vector<Tensor>& gradients, const std::vector<Tensor>& inputs,
                              const std::string& line);
/// Throws unless forward() returned a result, and defined ones.
void check_function_results(const std::vector<Tensor>& results, const std::string& line);

}  // namespace kiln

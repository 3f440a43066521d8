// Recording a call of an autograd::Function as a node.
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

/// Records a call of a function that defines its gradient, as a node of this thread's trace or as a Symbol.
/// Both methods are traced into subgraphs, `backward` as the body of a gradient that may read the values that
/// `forward` kept. Throws, with the line, if a method writes into its arguments or kept arrays, or returns a
/// result that autograd::Function does not allow.
std::vector<Tensor> record_function(const FunctionMethods& methods, const std::vector<Tensor>& inputs,
                                    std::source_location where);

}  // namespace kiln

// Checks of the results of an autograd::Function's methods.

#include "frontend/call/function_checks.h"

#include "frontend/tensor/array.h"
#include "runtime/fail.h"

namespace kiln {

using detail::TensorAccess;

void check_function_results(const std::vector<Tensor>& results, const std::string& line) {
  if (results.empty()) fail("{}the forward of a Function returned no array", line);
  for (std::size_t k = 0; k < results.size(); ++k)
    if (!results[k].defined())
      fail("{}result {} of the forward of a Function is an undefined Tensor", line, k);
}

void check_function_gradients(const std::vector<Tensor>& gradients, const std::vector<Tensor>& inputs,
                              const std::string& line) {
  if (gradients.size() != inputs.size())
    fail(
        "{}the backward of a Function returned {} gradient{} for {} input{}: it returns one for each, an "
        "undefined Tensor for none",
        line, gradients.size(), gradients.size() == 1 ? "" : "s", inputs.size(),
        inputs.size() == 1 ? "" : "s");
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined() || !is_floating(TensorAccess::dtype(inputs[i]))) continue;
    if (!TensorAccess::array(gradients[i])->shape_known || !TensorAccess::array(inputs[i])->shape_known)
      continue;
    const TensorType got{TensorAccess::dtype(gradients[i]), TensorAccess::shape(gradients[i])},
        expected{TensorAccess::dtype(inputs[i]), TensorAccess::shape(inputs[i])};
    if (!(got == expected))
      fail("{}the backward of a Function returned {} as the gradient of input {}, which is {}", line,
           got.str(), i, expected.str());
  }
}

}  // namespace kiln

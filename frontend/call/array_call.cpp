// The parts of a call on arrays that most calls do not need.
#include "frontend/call/array_call.h"

namespace kiln::detail {

std::vector<Tensor> ArrayCall::make_results() {
  std::vector<Tensor> results;
  results.reserve(result_count());
  for (const TensorType& type : frame_.executable().plan().outputs)
    results.push_back(make_result(results.size(), type));
  return results;
}

void ArrayCall::set_results(std::span<const std::shared_ptr<Array>> arrays) {
  for (std::size_t i = 0; i < arrays.size(); ++i) set_result(i, *arrays[i]);
  existing_ = arrays;
}

void ArrayCall::keep_old_contents() {
  const auto keep = [](Array& array) { before_write(array); };
  for (const std::shared_ptr<Array>& array : existing_) keep(*array);
  for (const ExecutablePlan::WriteBack& w : frame_.executable().plan().write_backs)
    keep(static_cast<Array&>(*frame_.argument(w.input).storage));
}

}  // namespace kiln::detail

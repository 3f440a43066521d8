#include "frontend/gluon/trainer/number_arrays.h"

#include "frontend/tensor/array.h"
#include "frontend/tensor/convert.h"

#include <algorithm>

namespace kiln::detail {
namespace {

/// The numbers as an array, if any parameter computes in this dtype.
Tensor rounded(std::span<const double> numbers, std::span<const UpdatedParameter> parameters, DType dtype) {
  if (std::none_of(parameters.begin(), parameters.end(),
                   [&](const auto& p) { return p.computed() == dtype; }))
    return {};
  Tensor out = TensorAccess::empty({static_cast<std::int64_t>(numbers.size())}, dtype);
  convert_elements(numbers.data(), DType::f64, TensorAccess::array(out)->host_data(), dtype, numbers.size());
  return out;
}

}  // namespace

NumberArrays::NumberArrays(std::span<const double> numbers, std::span<const UpdatedParameter> parameters)
    : parameters_(parameters),
      each_(parameters.empty() ? 0 : numbers.size() / parameters.size()),
      singles_(rounded(numbers, parameters, DType::f32)),
      doubles_(rounded(numbers, parameters, DType::f64)) {}

void NumberArrays::set(CallFrame& frame, std::size_t first) const {
  std::size_t number = 0;
  for (const UpdatedParameter& p : parameters_) {
    const Tensor& array = p.computed() == DType::f64 ? doubles_ : singles_;
    for (std::size_t n = 0; n < each_; ++n, ++number)
      frame.set_argument(first + number, *TensorAccess::array(array),
                         number * size_of(TensorAccess::dtype(array)));
  }
}

}  // namespace kiln::detail

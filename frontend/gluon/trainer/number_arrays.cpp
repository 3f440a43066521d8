// Writes the numbers of an update into one array per dtype.
#include "frontend/gluon/trainer/number_arrays.h"

#include "frontend/tensor/elements.h"

#include <algorithm>

namespace kiln::detail {
namespace {

/// Writes the numbers into `out`, if any parameter computes in this dtype.
void round(std::span<const double> numbers, std::span<const UpdatedParameter> parameters, DType dtype,
           Device device, Tensor& out) {
  if (std::none_of(parameters.begin(), parameters.end(),
                   [&](const auto& p) { return p.computed() == dtype; }))
    return;
  const Shape shape{static_cast<std::int64_t>(numbers.size())};
  if (!out.defined() || TensorAccess::shape(out) != shape || !(TensorAccess::device(out) == device))
    out = TensorAccess::empty(shape, dtype, device);
  set_elements(out, numbers);
}

}  // namespace

void NumberArrays::assign(std::span<const double> numbers, std::span<const UpdatedParameter> parameters,
                          Device device) {
  size_ = numbers.size();
  round(numbers, parameters, DType::f32, device, singles_);
  round(numbers, parameters, DType::f64, device, doubles_);
}

void NumberArrays::add_to(ArgumentList& arguments, std::span<const UpdatedParameter> parameters) const {
  std::size_t number = 0;
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    const Tensor& array = parameters[k].computed() == DType::f64 ? doubles_ : singles_;
    for (; number < (k + 1) * size_ / parameters.size(); ++number)
      arguments.add(*TensorAccess::array(array), number * size_of(TensorAccess::dtype(array)));
  }
}

}  // namespace kiln::detail

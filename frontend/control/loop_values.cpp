// Checks and arranges the values of a loop.
#include "frontend/control/loop_values.h"

#include "frontend/call/line.h"
#include "frontend/call/numpy_scope.h"
#include "frontend/tensor/array.h"
#include "runtime/fail.h"

#include <algorithm>

namespace kiln::detail {

Shape row_shape(const Shape& stacked) {
  if (stacked.rank() <= 1 && !NumpyScope::program()) return {1};
  return Shape(stacked.dims().subspan(1));
}

void check_data(const F::Tensors& data, std::source_location where) {
  const auto known = [](const Tensor& t) { return TensorAccess::array(t)->shape_known; };
  if (!std::all_of(data.begin(), data.end(), known)) return;
  const Shape& first = TensorAccess::shape(data[0]);
  for (const Tensor& t : data)
    if (const Shape& shape = TensorAccess::shape(t); shape.empty() || shape[0] != first[0])
      fail("{}foreach needs data with one number of steps along the first axis; got {} and {}",
           line_prefix(where), first.str(), shape.str());
}

void check_states(const F::Tensors& before, const F::Tensors& after, const char* what,
                  std::source_location where) {
  if (before.size() != after.size())
    fail("{}the body was given {} {} and returned {}", line_prefix(where), before.size(), what, after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (!after[i].defined()) fail("{}the body returned an undefined Tensor", line_prefix(where));
    if (!TensorAccess::array(before[i])->shape_known || !TensorAccess::array(after[i])->shape_known) continue;
    const TensorType a{before[i].dtype(), TensorAccess::shape(before[i])},
        b{after[i].dtype(), TensorAccess::shape(after[i])};
    if (!(a == b))
      fail("{}number {} of the {} is {} before a step and {} after it: shape and dtype must stay",
           line_prefix(where), i, what, a.str(), b.str());
  }
}

LoopResults parted(F::Tensors all, std::size_t outputs) {
  const auto at = all.begin() + static_cast<std::ptrdiff_t>(outputs);
  return {F::Tensors(all.begin(), at), F::Tensors(at, all.end())};
}

F::Tensors joined(const LoopResults& r) {
  F::Tensors all = r.outputs;
  all.insert(all.end(), r.states.begin(), r.states.end());
  return all;
}

}  // namespace kiln::detail

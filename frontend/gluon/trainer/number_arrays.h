// The numbers of an update as arguments of its code.
#pragma once
#include "frontend/call/array_call.h"
#include "frontend/gluon/trainer/update_graph.h"

#include <span>
#include <vector>

namespace kiln::detail {

/// The numbers of an update as arguments. They are elements of one array for each dtype, rounded once; an
/// argument of shape (1,) is a place in it. The arrays are written anew in each step.
class NumberArrays {
 public:
  /// Takes over `numbers`: as many for each of `parameters`, which are on `device`.
  void assign(std::span<const double> numbers, std::span<const UpdatedParameter> parameters, Device device);
  /// Adds the numbers, for the `parameters` of assign(). The arrays outlive the call.
  void add_to(ArgumentList& arguments, std::span<const UpdatedParameter> parameters) const;

 private:
  std::size_t size_ = 0;
  Tensor singles_, doubles_;
};

}  // namespace kiln::detail

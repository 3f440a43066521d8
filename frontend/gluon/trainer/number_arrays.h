#pragma once
#include "frontend/gluon/trainer/update_graph.h"
#include "runtime/call_frame.h"

#include <span>
#include <vector>

namespace kiln::detail {

/// The numbers of an update as arguments. They are elements of one array for each dtype, rounded once; an
/// argument of shape (1,) is a place in it. The arrays are written anew in each step.
class NumberArrays {
 public:
  /// Takes over `numbers`: as many for each of `parameters`, which are on `device`.
  void assign(std::span<const double> numbers, std::span<const UpdatedParameter> parameters, Device device);
  /// Sets the frame's arguments from number `first` on, for the `parameters` of assign(). The arrays outlive
  /// its run.
  void set(CallFrame& frame, std::size_t first, std::span<const UpdatedParameter> parameters) const;
  std::size_t size() const { return size_; }

 private:
  std::size_t size_ = 0;
  Tensor singles_, doubles_;
};

}  // namespace kiln::detail

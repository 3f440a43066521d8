#pragma once
#include "frontend/gluon/trainer/update_graph.h"
#include "runtime/call_frame.h"

#include <span>
#include <vector>

namespace kiln::detail {

/// The numbers of an update as arguments. They are elements of one array for each dtype, rounded once; an
/// argument of shape (1,) is a place in it.
class NumberArrays {
 public:
  /// `numbers` as TrainerState::numbers() returns them: as many for each of `parameters`.
  NumberArrays(std::span<const double> numbers, std::span<const UpdatedParameter> parameters);
  /// Sets the frame's arguments from number `first` on. The arrays outlive its run.
  void set(CallFrame& frame, std::size_t first) const;
  std::size_t size() const { return parameters_.size() * each_; }

 private:
  std::span<const UpdatedParameter> parameters_;
  std::size_t each_;  // per parameter
  Tensor singles_, doubles_;
};

}  // namespace kiln::detail

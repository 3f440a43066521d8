// The stacked outputs of a loop's steps.
#pragma once
#include <kiln/tensor.h>

#include <vector>

namespace kiln {

/// Stacks the outputs of a loop's steps along a new first axis of extent `rows`. Outputs are copied at the
/// end of their step: in-place writes of later steps do not affect them. In the backward pass the copy is the
/// first use of its step.
class StepOutputs {
 public:
  StepOutputs(std::int64_t rows, std::source_location where);

  /// Throws if a step's outputs differ from the first step's in number, shape or dtype.
  void add(const std::vector<Tensor>& outputs);
  bool empty() const { return taken_ == 0; }
  /// Zeros for steps that did not run.
  std::vector<Tensor> stacked();

 private:
  void check(const std::vector<Tensor>& outputs) const;
  void copy_rows(const std::vector<Tensor>& outputs);

  std::int64_t rows_, taken_ = 0;
  std::source_location where_;
  bool recorded_;                           // in a trace or on the tape
  std::vector<Tensor> first_;               // the first step's, for their types
  std::vector<Tensor> arrays_;              // eager: filled row by row
  std::vector<std::vector<Tensor>> steps_;  // recorded: the values of each step
};

}  // namespace kiln

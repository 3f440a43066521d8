#pragma once
#include <kiln/tensor.h>

#include <vector>

namespace kiln {

/// The outputs of a loop's steps, each stacked along a new first axis of `rows` extents. A step's outputs are
/// taken as they are when it is over: what a later step writes in place does not reach them.
class StepOutputs {
 public:
  StepOutputs(std::int64_t rows, std::source_location where) : rows_(rows), where_(where) {}

  /// Throws where a step gives others than the first did, in number, shape or dtype.
  void add(const std::vector<Tensor>& outputs);
  bool empty() const { return taken_ == 0; }
  /// Rows of steps that were not taken are zero.
  std::vector<Tensor> stacked();

 private:
  void check(const std::vector<Tensor>& outputs) const;
  void copy_rows(const std::vector<Tensor>& outputs);

  std::int64_t rows_, taken_ = 0;
  std::source_location where_;
  std::vector<Tensor> first_;               // the first step's, for their types
  std::vector<Tensor> arrays_;              // run at once: filled row by row
  std::vector<std::vector<Tensor>> steps_;  // recorded: the values of each step
};

}  // namespace kiln

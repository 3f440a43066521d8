#pragma once
#include <kiln/model.h>

#include <map>
#include <string>
#include <vector>

namespace kiln::tool {

/// Gradients of a network's outputs, by number of the output.
using HeadGradients = std::map<std::size_t, Tensor>;

/// What a training call and its backward pass compute.
struct GradientRun {
  std::vector<Tensor> outputs;
  std::vector<NamedArray> gradients;  ///< of inputs and parameters, by name; integer arrays have none
};

/// The arrays `head_grad:I` of a file. Throws kiln::Error, naming file and entry, for an output that `model`
/// does not have and for an array that is neither one of the model's nor of the kinds that golden data has.
HeadGradients read_head_gradients(const std::string& path, const Model& model);

/// Runs `model` in `options.mode` with recording, and its backward pass from all floating outputs: with the
/// given gradients, or ones. Compiled: as a hybridized block. An output of integers, or that no gradient
/// passes, counts for nothing; an array that no output depends on has the gradient zero. `from` names the
/// origin of `heads` in errors, which say which of them has another shape or dtype than its output.
GradientRun run_gradients(const Model& model, const std::map<std::string, Tensor>& inputs,
                          const HeadGradients& heads, const RunOptions& options,
                          const std::string& from = "the head gradients");

}  // namespace kiln::tool

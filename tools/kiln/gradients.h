// Gradients of a model, for `kiln verify --grad` and `kiln run --grad`.
#pragma once
#include <kiln/model.h>
#include <kiln/symbol_block.h>

#include <map>
#include <source_location>
#include <string>
#include <vector>

namespace kiln::tool {

/// The line of a call of the command, which would be Kiln's own: messages and profiles name the file's alone.
constexpr std::source_location no_line{};

/// Gradients of a network's outputs, by number of the output.
using HeadGradients = std::map<std::size_t, Tensor>;

/// The results of a training call and of its backward pass.
struct GradientRun {
  std::vector<Tensor> outputs;
  std::vector<NamedArray> gradients;  ///< of inputs and parameters, by name; integer arrays have none
};

/// The arrays `head_grad:I` of a file. Throws kiln::Error, naming file and entry, for an output that `model`
/// does not have, and for an array that belongs neither to the model nor to golden data.
HeadGradients read_head_gradients(const std::string& path, const Model& model);

/// A model as a network that trains: its parameters have gradients.
class TrainingModel {
 public:
  /// `options.mode` compiled: a hybridized block. Copies the inputs, which have gradients if
  /// `input_gradients`. Throws as Model::prepare().
  TrainingModel(const Model& model, const std::map<std::string, Tensor>& inputs, const RunOptions& options,
                bool input_gradients = true);

  /// A call with recording, and its backward pass from all floating outputs: with the given gradients, or
  /// ones. An output of integers, or that no gradient passes, counts for nothing. `from` names the origin of
  /// `heads` in errors, which say which of them has another shape or dtype than its output. Returns the
  /// outputs.
  std::vector<Tensor> run(const HeadGradients& heads = {}, const std::string& from = "the head gradients");
  /// On the CPU, of parameters, and of inputs that have gradients, by name; an array that no output depends
  /// on has the gradient zero.
  std::vector<NamedArray> gradients() const;

  const SymbolBlock& network() const { return net_; }

 private:
  RunOptions options_;
  bool input_gradients_;
  std::vector<std::string> names_;  // of arrays_, the inputs
  std::vector<Tensor> arrays_;
  SymbolBlock net_;  // its parameters are the model's
};

/// The outputs and gradients of one run of `model`.
GradientRun run_gradients(const Model& model, const std::map<std::string, Tensor>& inputs,
                          const HeadGradients& heads, const RunOptions& options,
                          const std::string& from = "the head gradients");

}  // namespace kiln::tool

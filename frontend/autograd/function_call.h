// Recorded calls whose gradient is a program.
#pragma once
#include "frontend/tensor/array.h"
#include "ir/graph.h"

#include <kiln/tensor.h>

#include <limits>
#include <memory>
#include <source_location>
#include <span>
#include <vector>

/// Recorded calls whose gradient is a program. These are calls of autograd::Function, and of the operator
/// `_function` in a block that is expanded (expand.h).
namespace kiln::detail {

struct TapeEntry;

/// One call: its two methods, and the types and arrays of its inputs and results.
class FunctionCall {
 public:
  virtual ~FunctionCall() = default;
  FunctionCall(const FunctionCall&) = delete;

  virtual std::vector<Tensor> forward(const std::vector<Tensor>& inputs) = 0;

  /// The gradient of each input, in the thread's modes; undefined: none. `heads` by result; undefined: zeros.
  /// With `history`, inputs and results that forward() kept lead to the inputs and results of `entry`.
  std::vector<Tensor> gradients(const std::shared_ptr<TapeEntry>& entry, std::span<const Tensor> heads,
                                bool history);

 protected:
  /// Gradients pass to the first inputs, `differentiable`; the others are constants.
  explicit FunctionCall(std::size_t differentiable = std::numeric_limits<std::size_t>::max())
      : differentiable_(differentiable) {}
  virtual std::vector<Tensor> backward(const std::vector<Tensor>& heads) = 0;

 private:
  friend std::vector<Tensor> run_function(const std::shared_ptr<FunctionCall>&, const std::vector<Tensor>&,
                                          std::source_location);
  struct Known {
    TensorType type;
    Device device;
    std::weak_ptr<Array> array;  // that forward() may have kept: never the program's, nor a part of one
  };
  std::size_t differentiable_;
  std::vector<Known> inputs_, outputs_;
};

/// Runs the call on copies of `inputs`, and records it if one of these has a history. The results are arrays
/// that nobody else has. Throws, with the line, as autograd::Function tells.
std::vector<Tensor> run_function(const std::shared_ptr<FunctionCall>& call, const std::vector<Tensor>& inputs,
                                 std::source_location where);

/// A call of the node `_function`, which runs its subgraphs node by node. `known`: results with known
/// elements; undefined ones are computed.
std::shared_ptr<FunctionCall> function_call(const ir::Node& node, std::vector<Tensor> known,
                                            std::source_location where);

}  // namespace kiln::detail

// The update of parameters as a graph.
#pragma once
#include "ir/graph.h"

#include <kiln/optimizer.h>

#include <source_location>
#include <span>
#include <string>
#include <vector>

namespace kiln::detail {

/// A parameter in an update, as far as its code depends on it.
struct UpdatedParameter {
  TensorType type;
  std::string_view name;  ///< by Options::param_idx2name; the Trainer keeps it
  bool master = false;    ///< the rule updates a float32 copy: the last state, "weight32"
  bool operator==(const UpdatedParameter&) const = default;

  /// The dtype in which the rule computes.
  DType computed() const { return type.dtype == DType::f64 ? DType::f64 : DType::f32; }
  DType state_dtype() const { return master ? DType::f32 : type.dtype; }
};

inline constexpr std::string_view master_state = "weight32";
/// The names of a parameter's states, the master copy included.
std::vector<std::string> state_names(const optimizer::Optimizer& optimizer, const UpdatedParameter& p);

/// The update of some parameters by an optimizer. The graph's inputs are all weights, all gradients, and the
/// states parameter by parameter. Numbers of shape (1,) follow, parameter by parameter: rate, decay, rescale,
/// and the numbers of Optimizer::numbers(). The last inputs are `captured`. New weights and states are
/// Graph::writes; there are no outputs.
struct UpdateGraph {
  ir::Graph graph;
  std::vector<Tensor>
      captured;             ///< arrays that the rule uses besides its arguments, as a member of its class
  std::size_t states = 0;   ///< per parameter, without the master copy
  std::size_t numbers = 0;  ///< per parameter
};

/// Traces the optimizer's rule for each parameter. `numbers`: how many Optimizer::numbers() returns. `where`:
/// the program's line that makes the step. Throws if the rule returns values of other shapes or dtypes, or if
/// a graph cannot express it.
UpdateGraph update_graph(const optimizer::Optimizer& optimizer, std::span<const UpdatedParameter> parameters,
                         std::size_t numbers, std::source_location where);

/// A graph without writes and with one output: for each gradient of `parameters`, its input, 0 if all its
/// elements are finite, else NaN.
ir::Graph finite_graph(std::span<const UpdatedParameter> parameters);

}  // namespace kiln::detail

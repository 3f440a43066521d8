// The state of a Model, for the files of this folder.
#pragma once
#include "codegen/driver/compile.h"
#include "frontend/symbol/symbol_infer.h"
#include "ir/graph.h"
#include "runtime/executable.h"

#include <kiln/model.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace kiln {

/// The options of a compilation of a model's graph.
CompileOptions compile_options_of(const RunOptions& options);
/// How the message about an array that is none of `names` goes on: the names are of save_parameters(), and
/// which calls write these. Empty if the file has one of them, or no such names.
std::string by_position_advice(const std::vector<NamedArray>& arrays, const std::vector<std::string>& names);

struct Model::State {
  Symbol symbol;
  std::string file;         ///< for errors; may be empty
  std::string params_file;  ///< likewise
  std::vector<ir::NodePtr> order;
  Variables variables;
  std::map<std::string, Tensor, std::less<>> values;

  void add_params(const std::vector<NamedArray>& params);
  /// Variables without a value, in topological order.
  std::vector<std::string> input_names() const;
  /// The type that the model's values and these shapes give a variable, as far as they do.
  std::optional<ir::GivenType> given_type(const ir::Node& variable,
                                          const std::map<std::string, Shape>& shapes) const;
  /// Throws for a shape of another variable than these.
  void require_inputs(const std::map<std::string, Shape>& shapes) const;

  /// The graph with all types and the values of its variables, in the order of Variables::all.
  struct Bound {
    TypedGraph graph;
    Variables variables;  ///< of the copied graph
    std::vector<Tensor> values;
    std::vector<bool> is_parameter;
  };
  Bound bind(const std::map<std::string, Tensor>& inputs, const RunOptions& options) const;
  ir::Graph to_graph(const Bound& bound, const RunOptions& options) const;
  std::string in_file() const { return file.empty() ? "the symbol" : file; }
};

/// Runs a graph node by node, and releases each value after its last use.
class EagerPlan {
 public:
  EagerPlan() = default;
  explicit EagerPlan(const Model::State::Bound& bound);
  /// `variables` as in Bound::values; operators that update one write to its array.
  std::vector<Tensor> run(const std::vector<Tensor>& variables) const;
  std::size_t size() const { return steps_.size(); }

 private:
  struct Step {
    ir::NodePtr node;
    std::vector<std::size_t> inputs;
    std::size_t first_output;
    std::size_t outputs;
    std::vector<std::size_t> dead;  // values whose last use is this step
  };
  std::vector<Step> steps_;
  std::vector<std::size_t> results_;
  std::size_t slots_ = 0;
};

/// The values of a model's variables on a device: the variables themselves, or copies of the ones that are
/// elsewhere.
class PlacedVariables {
 public:
  PlacedVariables() = default;
  PlacedVariables(const std::vector<Tensor>& variables, Device device);
  /// The present contents of the variables.
  const std::vector<Tensor>& values();
  /// Copies back to the variables the elements that a call has written into their copies.
  void store();

 private:
  struct Place {
    Tensor variable;
    std::uint64_t copied = 0, stored = 0;  // versions of the variable and of its copy when they were equal
  };
  std::vector<Place> places_;
  std::vector<Tensor> values_;
};

struct PreparedModel::State {
  RunOptions options;
  Model::State::Bound bound;
  EagerPlan eager;
  std::shared_ptr<const Executable> executable;
  PlacedVariables variables;  ///< on the device
  PrepareStats stats;
};

}  // namespace kiln

#pragma once
#include <kiln/io.h>
#include <kiln/symbol.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// A symbol file with its parameters, to be run as it is: what the command `kiln` and the golden tests do.
/// Programs that build on a network use SymbolBlock.
namespace kiln {

/// eager: node by node, each compiled as a graph of its own. compiled: all nodes as one graph.
enum class RunMode { eager, compiled };

struct RunOptions {
  RunMode mode = RunMode::compiled;
  int threads = 0;     ///< at most so many; 0: kiln::num_threads()
  bool train = false;  ///< BatchNorm uses the batch's statistics, Dropout drops
  bool fuse = true;    ///< compiled only; false: one kernel per primitive
  /// Outputs of inner nodes ("fc1_output", see Model::internals) to compute too; they come after the model's
  /// own.
  std::vector<std::string> extra_outputs = {};
};

/// What making a model ready cost.
struct PrepareStats {
  double compile_ms = 0;              ///< from the graph to code; 0 for eager, whose first call compiles
  std::size_t kernels = 0;            ///< launches of one call; for eager, nodes
  std::size_t arena_bytes = 0;        ///< temporaries of one call
  std::size_t arena_lower_bound = 0;  ///< the least that these temporaries could take
};

/// A model made ready for inputs of certain shapes and dtypes. One thread at a time.
class KILN_API PreparedModel {
 public:
  /// Computes on the inputs it was prepared with (whose arrays may have been written meanwhile): the model's
  /// outputs, then the extra ones. For training, the auxiliary states are updated: in this object, not in the
  /// model.
  std::vector<Tensor> run();
  /// Auxiliary states as they are now, by name.
  std::vector<NamedArray> auxiliary_states() const;
  const PrepareStats& stats() const;

  struct State;  // the library's own; frontend/model/model_state.h

 private:
  friend class Model;
  explicit PreparedModel(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

/// Immutable; any thread. A handle.
class KILN_API Model {
 public:
  /// Reads a symbol file of any version of MXNet and, unless empty, a params file. Throws kiln::Error, naming
  /// file, node and array, for bad files, for operators that Kiln does not have, for an array that the symbol
  /// lacks and for an array whose shape contradicts the symbol.
  static Model load(const std::string& symbol_path, const std::optional<std::string>& params_path = {});
  /// A symbol with values for some of its variables; names may carry "arg:" and "aux:".
  static Model from_symbol(const Symbol& symbol, const std::vector<NamedArray>& params = {});

  const Symbol& symbol() const;
  /// Variables without a value, in the order in which the graph needs them.
  std::vector<std::string> input_names() const;
  /// Values of variables by name, in the graph's order.
  std::vector<NamedArray> params() const;
  std::vector<std::string> output_names() const;
  /// Names of the visible outputs of all operator nodes, in execution order: what `extra_outputs` may hold.
  std::vector<std::string> internals() const;

  /// Values for all variables that have none: of the given shape, or of the one that follows from the others.
  /// Numbers that look random and are always the same. Throws, listing them, when shapes remain unknown.
  std::map<std::string, Tensor> make_inputs(const std::map<std::string, Shape>& shapes) const;

  /// Checks names, shapes and dtypes, infers the rest and compiles. Throws for an input that is missing or
  /// unknown.
  PreparedModel prepare(const std::map<std::string, Tensor>& inputs, const RunOptions& options = {}) const;
  /// prepare() and run() once.
  std::vector<Tensor> run(const std::map<std::string, Tensor>& inputs, const RunOptions& options = {}) const;
  /// The text of every stage: trace, kiln, fused, buffers, mlir, llvm, asm, plan.
  std::map<std::string, std::string> dump(const std::map<std::string, Tensor>& inputs,
                                          const RunOptions& options = {}) const;

  struct State;  // the library's own; frontend/model/model_state.h

 private:
  explicit Model(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

/// Reads any symbol file and writes PREFIX-symbol.json, and given a params file PREFIX-000N.params, as
/// MXNet 1.9.1 would. Unknown operators are kept. A file that MXNet 1.9.1 wrote comes back byte for byte.
KILN_API void convert_model(const std::string& symbol_path, const std::string& prefix,
                            const std::optional<std::string>& params_path = {}, int epoch = 0);

}  // namespace kiln

// Model: a symbol file with its parameters, ready to run.
#pragma once
#include <kiln/device.h>
#include <kiln/io.h>
#include <kiln/precision.h>
#include <kiln/recompute.h>
#include <kiln/symbol.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

/// A symbol file with its parameters, run without changes, as by the command `kiln`. To build on a network
/// use SymbolBlock.
namespace kiln {

/// How a model runs. Both modes give the same bits.
enum class RunMode {
  eager,     ///< node by node, each compiled as a separate graph
  compiled,  ///< all nodes as one graph
};

/// Options of a run.
struct RunOptions {
  RunMode mode = RunMode::compiled;  ///< how it runs
  int threads = 0;                   ///< upper limit; 0: kiln::num_threads()
  bool train = false;                ///< BatchNorm uses the batch's statistics, Dropout drops
  bool fuse = true;                  ///< compiled only; false: one kernel per primitive
  /// dump() only: the stages of a recorded call that wants the gradients of all inputs and parameters. Adds
  /// the stage "joint"; the others hold the forward, then the backward part.
  bool gradients = false;
  Recompute recompute = Recompute::cheap;  ///< of such a call
  /// The device that the model runs on. cuda(0): the first NVIDIA GPU, with the bits of the CPU, except for
  /// products on tensor cores (`precision`). Inputs and outputs are arrays of the CPU.
  Device device = {};
  /// Of products and convolutions. Unset: the PrecisionScope in which the model is prepared, else
  /// KILN_PRECISION.
  std::optional<Precision> precision = {};
  std::string arch = {};  ///< dump() only, for cuda: "sm_80", which all newer GPUs run too, or "sm_90"
  bool sass = false;      ///< dump() only, for cuda: the stage "sass" too, by NVIDIA's ptxas and nvdisasm
  /// Outputs of inner nodes ("fc1_output", see Model::internals), appended to the model's outputs.
  std::vector<std::string> extra_outputs = {};
};

/// The cost of preparing a model.
struct PrepareStats {
  double compile_ms = 0;              ///< from graph to code; 0 in eager mode, whose first call compiles
  std::size_t kernels = 0;            ///< kernel launches per call; in eager mode, nodes
  std::size_t arena_bytes = 0;        ///< temporaries of one call, in bytes
  std::size_t arena_lower_bound = 0;  ///< lower bound of arena_bytes
};

/// A model prepared for inputs of fixed shapes and dtypes. Thread rule: one thread at a time.
class KILN_API PreparedModel {
 public:
  /// Runs on the current contents of the prepared inputs. Returns the model's outputs, then the extra ones.
  /// In training mode updates the auxiliary states of this object, not the model's.
  std::vector<Tensor> run();
  /// The current auxiliary states by name.
  std::vector<NamedArray> auxiliary_states() const;
  /// The time and the kernels that prepare() took.
  const PrepareStats& stats() const;

  struct State;  // the library's own; frontend/model/model_state.h

 private:
  friend class Model;
  explicit PreparedModel(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

/// An immutable handle. Thread rule: any thread.
class KILN_API Model {
 public:
  /// Reads a symbol file of any version of MXNet and, unless empty, a params file. Throws kiln::Error, naming
  /// file, node and array, for bad files, unknown operators, an array that the symbol does not use,
  /// and an array whose shape contradicts the symbol.
  static Model load(const std::string& symbol_path, const std::optional<std::string>& params_path = {},
                    std::source_location where = std::source_location::current());
  /// A symbol with values for some of its variables; names may have the prefix "arg:" or "aux:".
  static Model from_symbol(const Symbol& symbol, const std::vector<NamedArray>& params = {});

  /// The graph of the file. The reference lives as long as the model.
  const Symbol& symbol() const;
  /// Variables without a value, in topological order.
  std::vector<std::string> input_names() const;
  /// Values of variables by name, in the graph's order.
  std::vector<NamedArray> params() const;
  /// The names of the results, in order.
  std::vector<std::string> output_names() const;
  /// Names of the visible outputs of all operator nodes, in execution order; valid as `extra_outputs`.
  std::vector<std::string> internals() const;
  /// The node of one of internals(), for messages: "'fc1' (FullyConnected), net-symbol.json:12". Throws for
  /// another name.
  std::string describe_node(const std::string& internal) const;

  /// Reproducible pseudo-random values for all variables without a value, with the given or inferred shapes.
  /// Throws if shapes remain unknown, listing them.
  std::map<std::string, Tensor> make_inputs(const std::map<std::string, Shape>& shapes) const;

  /// Checks names, shapes and dtypes of the inputs, infers all others and compiles. Throws for a missing or
  /// unknown input, and for a device that this machine does not have.
  PreparedModel prepare(const std::map<std::string, Tensor>& inputs, const RunOptions& options = {}) const;
  /// prepare() and run() once.
  std::vector<Tensor> run(const std::map<std::string, Tensor>& inputs, const RunOptions& options = {}) const;
  /// The text of every stage: trace, joint (of gradients), kiln, fused, buffers, mlir, llvm, asm or ptx, sass
  /// on request, plan.
  std::map<std::string, std::string> dump(const std::map<std::string, Tensor>& inputs,
                                          const RunOptions& options = {}) const;
  /// The compiled graph in Graphviz's language: an edge has the value's dtype and shape, and the nodes that a
  /// kernel computes are a cluster. Symbol::dot() needs no inputs.
  std::string dot(const std::map<std::string, Tensor>& inputs, const RunOptions& options = {}) const;

  struct State;  // the library's own; frontend/model/model_state.h

 private:
  friend struct PlannedModel;  // the library's own; frontend/model/planned_model.h
  explicit Model(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

/// Rewrites any symbol file as PREFIX-symbol.json, and a params file as PREFIX-000N.params, in the form of
/// MXNet 1.9.1. Keeps unknown operators. Files written by MXNet 1.9.1 are reproduced byte for byte.
KILN_API void convert_model(const std::string& symbol_path, const std::string& prefix,
                            const std::optional<std::string>& params_path = {}, int epoch = 0,
                            std::source_location where = std::source_location::current());

}  // namespace kiln

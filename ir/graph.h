// The operator graph, in plain C++.
#pragma once
#include "ir/op_def.h"

#include <kiln/error.h>
#include <kiln/precision.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

/// The operator graph, in plain C++: recorded by a trace, composed by a Symbol, stored in a -symbol.json.
namespace kiln::ir {

struct Node;
using NodePtr = std::shared_ptr<Node>;
struct Subgraph;
using SubgraphPtr = std::shared_ptr<const Subgraph>;

/// Output `output` of a node. `version` counts the writes to an auxiliary state; it is kept for MXNet's files
/// only.
struct Entry {
  NodePtr node;
  std::uint32_t output = 0;
  /// An operator that updates an auxiliary state keeps the entry and increments its version.
  std::uint32_t version = 0;
  bool operator==(const Entry&) const = default;
};

/// A variable (`op_name` "null") or an operator applied to entries. A node is immutable after
/// construction, except for `types`.
struct Node {
  /// Null for a variable, and for an unknown operator (such a node can be printed, not run).
  const OpDef* op = nullptr;
  /// The name the node was composed with: "null", the operator's name or an alias.
  std::string op_name = "null";
  std::string name;
  /// The attributes as given text, hidden ones (`__shape__`) included.
  std::map<std::string, std::string, std::less<>> attr_text;
  /// The same, parsed and completed by the operator's definition.
  Attrs attrs;
  std::vector<Entry> inputs;
  /// The bodies of a control flow operator.
  std::vector<SubgraphPtr> subgraphs;
  /// Nodes that run before this one though it does not use their values.
  std::vector<NodePtr> control_deps;
  /// For an unknown operator: the number of outputs by its file.
  std::uint32_t counted_in_file = 0;
  /// Composed in MXNet's numpy mode: rank 0 is a scalar, an extent of 0 an empty array. Otherwise rank 0 does
  /// not exist, and an extent of 0 is unknown.
  bool np_shape = false;
  /// Check::indices: an index out of range ends the call where the operator would take the nearest one.
  bool check_indices = false;
  /// Whether a gradient may pass through the node; false in the scope of an autograd::Pause.
  bool recorded = true;
  /// Not `recorded` because the call was not: outside of the program's own autograd::Record and Pause.
  bool recorded_as_call = false;
  /// Whether the recording of a body added the node, a `_copy`, so that a result is a separate node. The
  /// program has no such call: a run of the body step by step leaves it out.
  bool copies_result = false;
  /// The training mode and the precision of a scope within the recorded call; none: the graph's.
  std::optional<bool> train;
  std::optional<Precision> precision;
  SourceLocation location;
  /// The number of the child block that made the call, from 1 in the order of calls; 0: none
  /// (Recompute::blocks).
  std::uint32_t child_block = 0;
  /// Types of the counted outputs; empty while they are unknown.
  std::vector<TensorType> types;

  bool is_variable() const { return op_name == "null"; }
  /// Iterative: recursion along a long chain of nodes would overflow the stack.
  ~Node();
};

/// The body of a control flow node. The node's attributes bind its variables, by position, to values of the
/// enclosing graph; the body uses nothing else from outside.
struct Subgraph {
  std::vector<NodePtr> inputs;  ///< its variables
  std::vector<NodePtr> nodes;   ///< all, topologically sorted, in the order of its file or trace
  std::vector<Entry> outputs;
};

/// The input of compile(): nodes in execution order with all types known.
struct Graph {
  std::string name = "graph";
  /// Variables bound to the executable's arguments, in argument order. Their types are in Node::types.
  std::vector<NodePtr> inputs;
  /// Which inputs are parameters. They change rarely: values that derive from them alone become prepacked
  /// constants.
  std::vector<bool> is_parameter;
  /// All nodes, topologically sorted; in program order if recorded by a trace. Variables may be missing.
  std::vector<NodePtr> nodes;
  std::vector<Entry> outputs;
  /// New contents of inputs, written at the end of the call: in-place operators and auxiliary states.
  /// compile() adds the updates of inputs that are OpDef::aux.
  struct Write {
    std::size_t input;
    Entry value;
    /// Whether all writes are in the scope of an autograd::Pause, which an array with a gradient allows.
    bool paused = false;
  };
  std::vector<Write> writes;
  bool train = false;
};

/// The nodes reachable from `outputs`, in the order of MXNet's files: depth-first post-order, a node's inputs
/// from left to right, then its control dependencies.
std::vector<NodePtr> topological_order(const std::vector<Entry>& outputs);

/// The number of a node's outputs in `node_row_ptr` of MXNet's files, and how many of them a symbol lists.
std::uint32_t counted_outputs(const Node& node);
std::uint32_t visible_outputs(const Node& node);
/// "fc1_output", "split0_output1", "bn0_mean"; the name itself for a variable.
std::string output_name(const Entry& entry);

/// The type of a variable as far as the caller knows it.
struct GivenType {
  PartialShape shape;
  std::optional<DType> dtype;
};
struct Inferred {
  bool complete = false;  ///< whether all nodes have types
  /// Partial output shapes of the nodes without types.
  std::unordered_map<const Node*, std::vector<PartialShape>> partial;
  PartialShape shape_of(const Entry& e) const;
};

/// Fills Node::types of all nodes of `order`, bodies included. Sources of types: variables that have them,
/// `given`, and declarations of variables. Types propagate forward through the operators' compositions,
/// partial shapes in both directions through shape rules. A creation operator with an unknown extent 0
/// (`_zeros` of (0, 12), a recurrent state for any batch) gets the extent its users need, in `attrs`. Inside
/// a body, this changes a copy of the body. Throws on a contradiction, naming node, operator and shapes.
/// Linear in the size of the graph.
Inferred infer_types(const std::vector<NodePtr>& order, bool train,
                     const std::unordered_map<const Node*, GivenType>& given = {});

/// Whether a creation operator, here or in a body, has a shape known only from its uses.
bool has_open_source(const std::vector<NodePtr>& nodes);

/// The `__dtype__` and `__shape__` that a variable declares.
std::optional<DType> declared_dtype(const Node& variable);
PartialShape declared_shape(const Node& variable);

/// A deep copy of topologically sorted nodes: bodies are copied, inputs refer to the copies, types are
/// dropped.
class GraphCopy {
 public:
  GraphCopy() = default;
  explicit GraphCopy(const std::vector<NodePtr>& order);
  const std::vector<NodePtr>& nodes() const { return nodes_; }
  const NodePtr& of(const Node* original) const { return copies_.at(original); }
  Entry of(const Entry& e) const { return {of(e.node.get()), e.output, e.version}; }

 private:
  std::vector<NodePtr> nodes_;
  std::unordered_map<const Node*, NodePtr> copies_;
};
Subgraph copy_of(const Subgraph& body);

/// The stage "trace" of a dump: one line per node with types, attributes and source line.
std::string to_string(const Graph& graph);

}  // namespace kiln::ir

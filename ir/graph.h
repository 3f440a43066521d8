#pragma once
#include "ir/op_def.h"

#include <kiln/error.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

/// The operator graph: what a trace records, what a Symbol composes and what a -symbol.json holds. Plain C++.
namespace kiln::ir {

struct Node;
using NodePtr = std::shared_ptr<Node>;
struct Subgraph;
using SubgraphPtr = std::shared_ptr<const Subgraph>;

/// Output `output` of a node. `version` counts the writes to an auxiliary state, as MXNet's files do; nothing
/// computes with it.
struct Entry {
  NodePtr node;
  std::uint32_t output = 0;
  std::uint32_t version = 0;
};

/// A variable (`op_name` "null") or an operator applied to entries. A node is complete when it is made and
/// changes no more, but for `types`.
struct Node {
  /// Null for a variable, and for an operator that Kiln does not have (such a node can be printed, not run).
  const OpDef* op = nullptr;
  /// The name the node was composed with: "null", the operator's name or an alias.
  std::string op_name = "null";
  std::string name;
  /// The attributes as text, in the form they were given; hidden ones (`__shape__`) are among them.
  std::map<std::string, std::string, std::less<>> attr_text;
  /// The same, read and completed by the operator's row.
  Attrs attrs;
  std::vector<Entry> inputs;
  /// The bodies of a control flow operator.
  std::vector<SubgraphPtr> subgraphs;
  /// Nodes that come before this one for another reason than their values.
  std::vector<NodePtr> control_deps;
  /// For an operator that Kiln does not have: how many outputs the file it came from counts.
  std::uint32_t counted_in_file = 0;
  /// Composed in MXNet's numpy mode, where rank 0 is a scalar and an extent 0 an array without elements.
  /// (Outside of it the one does not exist and the other means "not known".)
  bool np_shape = false;
  SourceLocation location;
  /// Types of the counted outputs; empty while they are unknown.
  std::vector<TensorType> types;

  bool is_variable() const { return op_name == "null"; }
  /// Long chains are taken apart in a loop: a recursive destructor would overflow the stack.
  ~Node();
};

/// A graph within a node. Its variables stand for values of the graph around, which the node's attributes
/// match by position; it uses nothing else from outside.
struct Subgraph {
  std::vector<NodePtr> inputs;  ///< its variables
  std::vector<NodePtr> nodes;   ///< all, each after its inputs, in the order of its file or trace
  std::vector<Entry> outputs;
};

/// What compile() takes: nodes in execution order with all types known.
struct Graph {
  std::string name = "graph";
  /// Variables bound to the executable's arguments, in argument order. Their types are in Node::types.
  std::vector<NodePtr> inputs;
  /// Which inputs are parameters: they seldom change, so what they alone decide is kept as prepacked
  /// constants.
  std::vector<bool> is_parameter;
  /// All nodes, each after its inputs; in program order where a trace recorded them. Variables may be left
  /// out.
  std::vector<NodePtr> nodes;
  std::vector<Entry> outputs;
  /// New contents of inputs, written when the call is over: in-place operators and auxiliary states beyond
  /// those that operators declare (see OpDef::aux, which compile() handles by itself).
  struct Write {
    std::size_t input;
    Entry value;
  };
  std::vector<Write> writes;
  bool train = false;
};

/// The nodes that `outputs` need, in the order of MXNet's files: depth first and post-order, a node's inputs
/// from left to right and then its control dependencies.
std::vector<NodePtr> topological_order(const std::vector<Entry>& outputs);

/// How many outputs a node has in MXNet's files (their `node_row_ptr`), and how many of those a symbol lists.
std::uint32_t counted_outputs(const Node& node);
std::uint32_t visible_outputs(const Node& node);
/// "fc1_output", "split0_output1", "bn0_mean"; the name itself for a variable.
std::string output_name(const Entry& entry);

/// A variable's type as far as it is given from outside.
struct GivenType {
  PartialShape shape;
  std::optional<DType> dtype;
};
struct Inferred {
  bool complete = false;  ///< whether all nodes have types
  /// Shapes of the outputs of nodes without types, as far as they are known.
  std::unordered_map<const Node*, std::vector<PartialShape>> partial;
  PartialShape shape_of(const Entry& e) const;
};

/// Fills Node::types of all nodes of `order` from the variables that have them, those `given` and the shapes
/// that variables declare: forwards through the operators' functions, both ways through their shape rules,
/// the bodies of control flow included. An array made from nothing with an extent 0 that is not known
/// (`_zeros` of (0, 12), a recurrent state for any batch) gets the extent that its users need, in `attrs`;
/// one in a body does so in a copy of the body. Throws, naming node, operator and shapes, on a contradiction.
/// The work is in proportion to the graph.
Inferred infer_types(const std::vector<NodePtr>& order, bool train,
                     const std::unordered_map<const Node*, GivenType>& given = {});

/// Whether the shape of an array made from nothing, here or in a body, is known by its use only.
bool has_open_source(const std::vector<NodePtr>& nodes);

/// What a variable declares in `__dtype__` and `__shape__`.
std::optional<DType> declared_dtype(const Node& variable);
PartialShape declared_shape(const Node& variable);

/// Copies of nodes, each of which stands after its inputs: without types, with copied bodies, and with the
/// copies in the place of the nodes that they use.
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

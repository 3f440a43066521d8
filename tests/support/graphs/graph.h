// Graphs of operators as plain data.
#pragma once
#include <kiln/kiln.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

/// Graphs of operators as plain data, which tests make, change, run and print.
namespace graphs {

using Attributes = std::map<std::string, std::string>;

/// Output number `output` of node number `node`.
struct Ref {
  std::size_t node = 0;
  std::uint32_t output = 0;
  bool operator==(const Ref&) const = default;
};

struct Node {
  std::string op;  ///< "null": a variable
  std::string name;
  Attributes attrs = {};
  std::vector<Ref> inputs = {};
  kiln::Tensor value = {};     ///< of a variable
  std::string subgraphs = {};  ///< of a loop or branch: a list of graphs, as a file says it
  bool is_variable() const { return op == "null"; }
};

/// Nodes in an order such that each uses earlier ones only.
struct Graph {
  std::vector<Node> nodes;
  std::vector<Ref> outputs;
  bool train = false;
  std::uint64_t seed = 1;  ///< of the random numbers of a run

  Ref add_variable(std::string name, kiln::Tensor value);
  Ref add(std::string op, std::string name, std::vector<Ref> inputs, Attributes attrs = {});
  std::size_t operators() const;
};

/// Only the nodes that outputs need.
Graph without_dead_nodes(const Graph& graph);

/// As a symbol file says it.
std::string to_json(const Graph& graph);
/// A program that runs the graph in both modes and prints whether their bits differ.
std::string to_program(const Graph& graph);

/// Shown outputs of the node of an operator with these attributes.
std::uint32_t outputs_of(const Node& node);

}  // namespace graphs

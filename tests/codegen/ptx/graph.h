// Graphs of work, as CUDA's.
#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <vector>

/// The work of a node is done after the work of the nodes that it depends on.
namespace kiln::ptx {

class Graph {
 public:
  /// The new node's handle; null if a node that it is to come after is not one of this graph.
  void* add(void* const* after, std::size_t after_count, std::function<int()> work);
  /// Does the work, of nodes that may be next in an order that the seed chooses. The first result that is no
  /// success.
  int run() const;

 private:
  struct Node {
    std::vector<std::size_t> after;
    std::function<int()> work;
  };
  std::vector<Node> nodes_;
  std::map<const void*, std::size_t> numbers_;  // of nodes, by their handles
  std::vector<std::shared_ptr<char>> handles_;
};

/// The graphs of the device and the graphs that can be launched, by their handles.
class Graphs {
 public:
  void* create();
  Graph* find(void* graph);
  bool destroy(void* graph) { return graphs_.erase(graph) > 0; }

  /// Of the graph as it is.
  void* instantiate(const Graph& graph);
  /// A launch keeps it until it is done. Null if there is no such graph.
  std::shared_ptr<const Graph> find_executable(void* executable) const;
  bool destroy_executable(void* executable) { return executables_.erase(executable) > 0; }

  std::size_t graph_count() const { return graphs_.size(); }
  std::size_t executable_count() const { return executables_.size(); }

 private:
  std::map<void*, std::unique_ptr<Graph>> graphs_;
  std::map<void*, std::shared_ptr<const Graph>> executables_;
};

}  // namespace kiln::ptx

// Minimum cuts of directed graphs.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace kiln::passes {

/// A directed graph with capacities, and its minimum cut between two vertices (Dinic's algorithm:
/// O(vertices^2 * edges) at worst, close to linear on graphs of operations).
class MinCut {
 public:
  static constexpr std::int64_t unbounded = std::numeric_limits<std::int64_t>::max() / 4;

  explicit MinCut(std::size_t vertices) : edges_of_(vertices) {}
  void add_edge(std::size_t from, std::size_t to, std::int64_t capacity);
  /// By vertex: whether it is on the sink's side. Of all minimum cuts the one closest to the sink. A cut
  /// through an unbounded edge is a precondition's failure and not reported.
  std::vector<bool> sink_side(std::size_t source, std::size_t sink);

 private:
  struct Edge {
    std::size_t to;
    std::int64_t capacity;  ///< remaining
  };
  bool find_levels(std::size_t source, std::size_t sink);
  std::int64_t augment(std::size_t source, std::size_t sink);

  std::vector<Edge> edges_;  // edge i and its reverse, i ^ 1
  std::vector<std::vector<std::size_t>> edges_of_;
  std::vector<std::int64_t> level_;
  std::vector<std::size_t> next_;  // by vertex: the first edge that may still lead to the sink
};

}  // namespace kiln::passes

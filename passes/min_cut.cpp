// Dinic's algorithm.
#include "passes/min_cut.h"

#include <algorithm>

namespace kiln::passes {

void MinCut::add_edge(std::size_t from, std::size_t to, std::int64_t capacity) {
  edges_of_[from].push_back(edges_.size());
  edges_.push_back({to, capacity});
  edges_of_[to].push_back(edges_.size());
  edges_.push_back({from, 0});
}

bool MinCut::find_levels(std::size_t source, std::size_t sink) {
  level_.assign(edges_of_.size(), -1);
  level_[source] = 0;
  std::vector<std::size_t> queue{source};
  for (std::size_t i = 0; i < queue.size(); ++i)
    for (const std::size_t e : edges_of_[queue[i]])
      if (edges_[e].capacity > 0 && level_[edges_[e].to] < 0) {
        level_[edges_[e].to] = level_[queue[i]] + 1;
        queue.push_back(edges_[e].to);
      }
  return level_[sink] >= 0;
}

/// Sends flow along one path of increasing levels; 0 if there is none. Iterative: paths are as long as the
/// graph is deep.
std::int64_t MinCut::augment(std::size_t source, std::size_t sink) {
  std::vector<std::size_t> path;
  for (std::size_t at = source; at != sink;) {
    std::size_t& next = next_[at];
    while (next < edges_of_[at].size()) {
      const Edge& e = edges_[edges_of_[at][next]];
      if (e.capacity > 0 && level_[e.to] == level_[at] + 1) break;
      ++next;
    }
    if (next < edges_of_[at].size()) {
      path.push_back(edges_of_[at][next]);
      at = edges_[path.back()].to;
      continue;
    }
    if (path.empty()) return 0;
    at = edges_[path.back() ^ 1].to;
    ++next_[at];
    path.pop_back();
  }
  std::int64_t flow = unbounded;
  for (const std::size_t e : path) flow = std::min(flow, edges_[e].capacity);
  for (const std::size_t e : path) {
    edges_[e].capacity -= flow;
    edges_[e ^ 1].capacity += flow;
  }
  return flow;
}

std::vector<bool> MinCut::sink_side(std::size_t source, std::size_t sink) {
  while (find_levels(source, sink)) {
    next_.assign(edges_of_.size(), 0);
    while (augment(source, sink) > 0) {
    }
  }
  std::vector<bool> side(edges_of_.size());
  side[sink] = true;
  std::vector<std::size_t> queue{sink};
  for (std::size_t i = 0; i < queue.size(); ++i)
    for (const std::size_t e : edges_of_[queue[i]])
      if (const std::size_t from = edges_[e].to; edges_[e ^ 1].capacity > 0 && !side[from]) {
        side[from] = true;
        queue.push_back(from);
      }
  return side;
}

}  // namespace kiln::passes

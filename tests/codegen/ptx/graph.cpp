// Adds nodes to graphs of work and runs them in an order that the seed chooses.
#include "graph.h"

#include <algorithm>
#include <cstdlib>
#include <random>

namespace kiln::ptx {

void* Graph::add(void* const* after, std::size_t after_count, std::function<int()> work) {
  Node node{{}, std::move(work)};
  for (std::size_t i = 0; i < after_count; ++i) {
    const auto found = numbers_.find(after[i]);
    if (found == numbers_.end()) return nullptr;
    node.after.push_back(found->second);
  }
  void* const handle = handles_.emplace_back(std::make_shared<char>()).get();
  numbers_.emplace(handle, nodes_.size());
  nodes_.push_back(std::move(node));
  return handle;
}

int Graph::run() const {
  const char* const text = std::getenv("KILN_PTX_SEED");
  std::minstd_rand random(text ? static_cast<unsigned>(std::strtoull(text, nullptr, 10)) : 1);
  std::vector<bool> done(nodes_.size());
  int result = 0;
  for (std::size_t left = nodes_.size(); left > 0; --left) {
    std::vector<std::size_t> next;
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (!done[i] &&
          std::all_of(nodes_[i].after.begin(), nodes_[i].after.end(), [&](std::size_t n) { return done[n]; }))
        next.push_back(i);
    const std::size_t chosen = next[random() % next.size()];
    done[chosen] = true;
    if (const int r = nodes_[chosen].work(); result == 0) result = r;
  }
  return result;
}

void* Graphs::create() {
  auto graph = std::make_unique<Graph>();
  void* const handle = graph.get();
  graphs_.emplace(handle, std::move(graph));
  return handle;
}

Graph* Graphs::find(void* graph) {
  const auto found = graphs_.find(graph);
  return found == graphs_.end() ? nullptr : found->second.get();
}

void* Graphs::instantiate(const Graph& graph) {
  auto copy = std::make_shared<Graph>(graph);
  void* const handle = copy.get();
  executables_.emplace(handle, std::move(copy));
  return handle;
}

std::shared_ptr<const Graph> Graphs::find_executable(void* executable) const {
  const auto found = executables_.find(executable);
  return found == executables_.end() ? nullptr : found->second;
}

}  // namespace kiln::ptx

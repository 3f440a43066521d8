// Builds, updates and launches the driver's graphs.
#include "runtime/cuda/graph.h"

#include "runtime/cuda/driver.h"

#include <algorithm>
#include <cstdint>

namespace kiln::nvidia {

Graph::Graph() { check(driver().create_graph(&graph_, /*flags=*/0), "making a graph of the GPU"); }

Graph::~Graph() {
  // The driver frees it when its last run is done.
  if (executable_) driver().destroy_graph_executable(executable_);
  driver().destroy_graph(graph_);
}

void Graph::add_kernel(void* function, unsigned blocks, unsigned threads, void** parameters,
                       std::string_view name, std::string_view line) {
  const KernelNode node{function, {blocks, 1, 1}, {threads, 1, 1}, 0, parameters, nullptr};
  void* const after = last_;
  check(driver().add_kernel(&last_, graph_, &after, after ? 1 : 0, &node), "adding a kernel to a graph");
  kernels_.add(name, line);
}

void Graph::add_copy(std::byte* to, const std::byte* from, std::size_t bytes, void* context) {
  // A row has less than 2 GiB.
  constexpr std::size_t most = std::size_t{1} << 30;
  while (bytes > 0) {
    CopyNode node;
    node.from.address = reinterpret_cast<std::uint64_t>(from);
    node.to.address = reinterpret_cast<std::uint64_t>(to);
    node.bytes = node.from.pitch = node.to.pitch = std::min(bytes, most);
    void* const after = last_;
    check(driver().add_copy(&last_, graph_, &after, after ? 1 : 0, &node, context),
          "adding a copy to a graph");
    to += node.bytes, from += node.bytes, bytes -= node.bytes;
  }
}

void Graph::run(Stream& stream) {
  if (!last_) return;
  if (!executable_) {
    names_ = kernels_.str();
    check(driver().instantiate(&executable_, graph_, nullptr, nullptr, 0), "preparing a graph of the GPU");
  }
  const int result = driver().launch_graph(executable_, stream.handle());
  if (!names_.empty()) stream.launched(names_, {});
  stream.check(result, "launching a graph of kernels");
}

}  // namespace kiln::nvidia

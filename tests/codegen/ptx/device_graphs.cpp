// The driver's functions for graphs. A graph's kernels and copies are checked when they are added, and done
// when somebody waits for the stream that the graph was launched on.
#include "device.h"
#include "driver_functions.h"

namespace {

using namespace kiln::nvidia;
using namespace kiln::ptx;

int add(void** node, void* handle, void* const* after, std::size_t after_count, std::function<int()> work) {
  Graph* const graph = device().graphs.find(handle);
  if (!graph) return invalid_handle;
  *node = graph->add(after, after_count, std::move(work));
  return *node ? success : invalid_handle;
}

Extent extent(const unsigned (&size)[3]) { return {size[0], size[1], size[2]}; }

bool is_linear(const CopyNode::Place& place) {
  constexpr int of_device = 2;
  return place.memory == of_device && place.x == 0 && place.y == 0 && place.z == 0 && place.level == 0 &&
         !place.array && !place.reserved;
}

}  // namespace

extern "C" {

int cuGraphCreate(void** graph, unsigned flags) {
  if (flags != 0) return invalid_value;
  const Lock lock(device().mutex);
  return *graph = device().graphs.create(), success;
}
int cuGraphDestroy(void* graph) {
  const Lock lock(device().mutex);
  return device().graphs.destroy(graph) ? success : invalid_handle;
}
int cuGraphAddKernelNode(void** node, void* graph, void* const* after, std::size_t after_count,
                         const KernelNode* k) {
  const Lock lock(device().mutex);
  if (k->extra) return invalid_value;
  std::function<int()> work;
  const int result =
      prepare_launch(k->function, extent(k->grid), extent(k->block), k->shared_bytes, k->parameters, work);
  return result == success ? add(node, graph, after, after_count, std::move(work)) : result;
}
/// Of one row.
int cuGraphAddMemcpyNode(void** node, void* graph, void* const* after, std::size_t after_count,
                         const CopyNode* c, void* context) {
  const Lock lock(device().mutex);
  Memory& m = device().memory;
  const std::uint64_t to = c->to.address, from = c->from.address;
  const std::size_t bytes = c->bytes;
  if (context != &device() || !is_linear(c->to) || !is_linear(c->from) || bytes == 0 || c->rows != 1 ||
      c->depth != 1 || !m.find(to, bytes) || !m.find(from, bytes))
    return invalid_value;
  return add(node, graph, after, after_count,
             [=, &m] { return m.copy(to, from, bytes) ? success : invalid_value; });
}
int cuGraphInstantiate_v2(void** executable, void* handle, void**, char*, std::size_t) {
  const Lock lock(device().mutex);
  const Graph* const graph = device().graphs.find(handle);
  if (!graph) return invalid_handle;
  return *executable = device().graphs.instantiate(*graph), success;
}
int cuGraphLaunch(void* executable, void* handle) {
  const Lock lock(device().mutex);
  const auto stream = device().streams.find(handle);
  const auto graph = device().graphs.find_executable(executable);
  if (!stream || !graph) return invalid_handle;
  if (is_to_fail("KILN_PTX_FAIL_LAUNCH", ++device().launches)) return launch_failed;
  device().streams.add(stream, [graph] { return graph->run(); });
  return handle ? success : stream->run();
}
int cuGraphExecDestroy(void* executable) {
  const Lock lock(device().mutex);
  return device().graphs.destroy_executable(executable) ? success : invalid_handle;
}
}

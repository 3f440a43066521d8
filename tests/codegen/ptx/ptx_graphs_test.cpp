// Graphs on the emulated device.
#include "driver_functions.h"
#include "sample_kernels.h"

#include <catch2/catch.hpp>

using namespace kiln::ptx;
using Catch::Matchers::Contains;

namespace {

/// A graph, memory of 16 words that hold n at word n, and a kernel that adds n to the word at `in` and writes
/// the sum to the word at `out`.
struct GraphOfSums {
  void *graph = nullptr, *module = nullptr, *function = nullptr;
  std::uint64_t memory = 0;

  GraphOfSums() {
    REQUIRE(cuGraphCreate(&graph, 0) == 0);
    REQUIRE(cuMemAlloc_v2(&memory, 64) == 0);
    for (std::uint32_t i = 0; i < 16; ++i) REQUIRE(cuMemcpyHtoD_v2(word(i), &i, 4) == 0);
    REQUIRE(cuModuleLoadData(&module, kernel(R"(
ld.global.b32 %r3, [%rd1];
add.s32 %r3, %r3, %r1;
st.global.b32 [%rd2], %r3;
ret;)")
                                          .c_str()) == 0);
    REQUIRE(cuModuleGetFunction(&function, module, "k") == 0);
  }
  ~GraphOfSums() {
    CHECK(cuMemFree_v2(memory) == 0);
    if (module) CHECK(cuModuleUnload(module) == 0);
    if (graph) CHECK(cuGraphDestroy(graph) == 0);
  }

  std::uint64_t word(std::uint32_t i) const { return memory + 4 * i; }
  std::uint32_t value(std::uint32_t i) const {
    std::uint32_t v = 0;
    CHECK(cuMemcpyDtoH_v2(&v, word(i), 4) == 0);
    return v;
  }
  int add(std::uint32_t in, std::uint32_t out, std::uint32_t n, std::vector<void*> after, void** node) const {
    std::uint64_t from = word(in), to = word(out);
    void* parameters[] = {&from, &to, &n};
    const kiln::nvidia::KernelNode k{function, {1, 1, 1}, {1, 1, 1}, 0, parameters, nullptr};
    return cuGraphAddKernelNode(node, graph, after.data(), after.size(), &k);
  }
  int copy(std::uint32_t in, std::uint32_t out, std::vector<void*> after, void** node) const {
    kiln::nvidia::CopyNode c;
    c.from.address = word(in), c.to.address = word(out), c.bytes = 4;
    void* context = nullptr;
    CHECK(cuDevicePrimaryCtxRetain(&context, 0) == 0);
    const int result = cuGraphAddMemcpyNode(node, graph, after.data(), after.size(), &c, context);
    CHECK(cuDevicePrimaryCtxRelease_v2(0) == 0);
    return result;
  }
};

}  // namespace

TEST_CASE("a graph's work is done in the order of its edges, each time somebody waits for a launch") {
  GraphOfSums g;
  void *executable = nullptr, *stream = nullptr;
  {
    // The parameters are copied: they are gone when the graph is launched.
    void *first = nullptr, *second = nullptr, *third = nullptr;
    REQUIRE(g.add(1, 2, 10, {}, &first) == 0);
    REQUIRE(g.copy(2, 3, {first}, &second) == 0);
    REQUIRE(g.add(3, 1, 100, {first, second}, &third) == 0);
  }
  REQUIRE(cuGraphInstantiate_v2(&executable, g.graph, nullptr, nullptr, 0) == 0);
  CHECK(cuGraphDestroy(std::exchange(g.graph, nullptr)) == 0);
  REQUIRE(cuStreamCreate(&stream, 1) == 0);
  CHECK(cuGraphLaunch(executable, stream) == 0);
  CHECK(g.value(1) == 1);
  CHECK(cuStreamSynchronize(stream) == 0);
  CHECK(g.value(2) == 11);
  CHECK(g.value(1) == 111);
  // One that is destroyed before its launch is done is freed later.
  CHECK(cuGraphLaunch(executable, stream) == 0);
  CHECK(cuGraphExecDestroy(executable) == 0);
  CHECK(cuStreamSynchronize(stream) == 0);
  CHECK(g.value(1) == 221);
  CHECK(cuGraphLaunch(executable, stream) == 400);
  CHECK(cuGraphExecDestroy(executable) == 400);
  CHECK(cuStreamDestroy_v2(stream) == 0);
}

TEST_CASE("graphs that cannot be are refused") {
  GraphOfSums g;
  void *node = nullptr, *executable = nullptr;
  int other = 0;
  CHECK(g.add(1, 2, 0, {&other}, &node) == 400);
  CHECK(g.copy(1, 2, {&other}, &node) == 400);
  CHECK(g.copy(1, 16, {}, &node) == 1);
  REQUIRE(g.add(1, 2, 0, {}, &node) == 0);
  REQUIRE(cuGraphInstantiate_v2(&executable, g.graph, nullptr, nullptr, 0) == 0);
  CHECK(cuGraphDestroy(g.graph) == 0);
  CHECK(g.add(1, 2, 0, {}, &node) == 400);
  CHECK(cuGraphInstantiate_v2(&executable, std::exchange(g.graph, nullptr), nullptr, nullptr, 0) == 400);
  CHECK(cuModuleUnload(std::exchange(g.module, nullptr)) == 0);
  CHECK(cuGraphLaunch(executable, nullptr) == 400);  // its kernel is no longer loaded
  CHECK(cuGraphExecDestroy(executable) == 0);
}

// A graph and a plan, for a debugger that stops in `stop`.
#include "ir/graph.h"

#include "ir/primitive.h"
#include "runtime/plan.h"

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace kiln;
using Space = BufferRef::Space;

namespace {

/// The debugger stops here and looks at the caller.
[[gnu::noinline]] void stop(const void* value) { asm volatile("" : : "r"(value) : "memory"); }

/// A node that lives as long as the program: the library alone has the destructor of nodes.
ir::NodePtr node(const std::string& op, const std::string& name, std::initializer_list<ir::Entry> inputs,
                 std::vector<TensorType> types) {
  ir::NodePtr made(new ir::Node{}, [](ir::Node*) {});
  made->op_name = op;
  made->name = name;
  made->inputs = inputs;
  made->types = std::move(types);
  return made;
}

Blob code(std::size_t bytes) { return std::make_shared<const std::vector<std::byte>>(bytes); }

}  // namespace

int main() {
  const TensorType row{DType::f32, {2, 4}}, half{DType::f32, {2, 2}};
  ir::Graph graph;
  graph.name = "net0";
  ir::NodePtr data = node("null", "data", {}, {row}), bias = node("null", "bias", {}, {});
  ir::NodePtr sum = node("broadcast_add", "plus0", {{data}, {bias}}, {row});
  sum->location = {"/home/user/net.cpp", 12, 3};
  ir::NodePtr split = node("SliceChannel", "split0", {{sum}}, {half, half});
  graph.inputs = {data, bias};
  graph.nodes = {data, bias, sum, split};
  graph.outputs = {{split}, {split, 1}};
  graph.writes.push_back({1, {sum}});
  graph.train = true;
  [[maybe_unused]] const ir::Node* const sum_node = sum.get();
  ir::Subgraph body{{data}, {data, split}, {{split, 1}}};
  [[maybe_unused]] const ir::Entry entry{split, 1}, no_node;
  [[maybe_unused]] const ir::Value value{7}, no_value;

  ExecutablePlan plan;
  plan.name = "net0";
  plan.inputs = {row, half};
  plan.outputs = {row};
  plan.kernels = {{"dense_relu", {1, 2}, "kiln_dense", code(5)},
                  {"softmax", {3, 4}, "kiln_softmax", code(1), {.schedule = "rows by warps"}},
                  {"native", {5, 6}, "native", nullptr}};
  Step launch{.kernel = 1,
              .operands = {{Space::input, 1}, {Space::arena, 0, 64}, {Space::output, 0, 8}, {Space::rng}},
              .extent = 16,
              .grain = 4,
              .name = "softmax"};
  Step loop{.control = LoopPlan{}, .operands = {{Space::constant, 2}}};
  Step check{.control = BoundsCheck{{3}, 4, "take0", ""}, .name = "take0"};
  plan.steps = {launch, loop, check};
  plan.bodies.resize(1);
  plan.bodies[0].name = "step";
  plan.saved_bytes = 64;
  plan.arena_bytes = 192;
  stop(&plan);
}

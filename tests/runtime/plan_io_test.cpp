// Plans written and read back: everything that a plan can hold, and bytes that are no plan.
#include "runtime/plan_io.h"

#include <kiln/error.h>

#include <catch2/catch.hpp>
#include <cstring>

using namespace kiln;
using Space = BufferRef::Space;

namespace {

Blob blob(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int v : values) bytes.push_back(static_cast<std::byte>(v));
  return std::make_shared<const std::vector<std::byte>>(std::move(bytes));
}

ExecutablePlan body(const std::string& name) {
  ExecutablePlan plan;
  plan.name = name;
  plan.inputs = {{DType::f32, {3}}};
  plan.outputs = {{DType::f32, {3}}};
  plan.kernels = {{"exp", {3, 4}, "kiln_exp", blob({1, 2})}};
  plan.steps = {{.operands = {{Space::input, 0}, {Space::output, 0}}, .params = {1}, .extent = 3}};
  return plan;
}

ExecutablePlan everything() {
  ExecutablePlan plan;
  plan.name = "net";
  plan.target = "some target";
  plan.inputs = {{DType::f16, {2, 0, 1}}, {DType::boolean, Shape{}}, {DType::i64, {5}}};
  plan.outputs = {{DType::bf16, {7}}};
  plan.write_backs = {{0, {Space::input, 0}, 0}, {2, {Space::arena, 0, 128}, 40}};
  plan.kernels = {{"dense_relu", {~std::uint64_t{0}, 1}, "kiln_dense", blob({0, 255, 10, 13, 0})}};
  Buffer constant(12);
  std::memcpy(constant.data(), "\x00\xff constants", 12);
  plan.constants = {std::make_shared<const Buffer>(std::move(constant)),
                    std::make_shared<const Buffer>(Buffer(std::size_t{0}))};
  plan.prepacked = {
      {.inputs = {0, 2},
       .key = 1ull << 63,
       .bytes = 256,
       .steps = {{.operands = {{Space::input, 0, 8}, {Space::prepacked, 0, 64}}, .params = {-1, 9}}}},
      {.inputs = {1},
       .bytes = 64,
       .packing = Packing{.element_bytes = 2,
                          .groups = 1,
                          .columns = 3,
                          .channels = 8,
                          .taps = 1,
                          .packed_channels = 8,
                          .panel = 4,
                          .channel_block = 16,
                          .columns_last = true}}};
  plan.steps = {
      {.operands = {{Space::constant, 1}, {Space::rng}},
       .params = {3, std::int64_t{1} << 40, -5},
       .extent = 100,
       .grain = 16,
       .scratch_bytes = 512,
       .name = "a \"b\"",
       .locations = {"net.cpp:3", "net.cpp:4"}},
      {.control = LoopPlan{.body = 0, .steps = 9, .draws = 2, .carries = 1, .conditional = true}},
      {.control = BranchPlan{.then = 1, .otherwise = 0}},
      {.control = BoundsCheck{.shape = {5}, .extent = 10, .node = "take of t", .line = "net.cpp:7"},
       .operands = {{Space::input, 2}}},
  };
  plan.bodies = {body("step"), body("other")};
  plan.bodies[1].bodies = {body("inner")};
  plan.arena_bytes = 4096;
  plan.arena_lower_bound = 4000;
  plan.random_draws = 18;
  plan.compile_ms = 1.25;
  return plan;
}

}  // namespace

TEST_CASE("a plan that was read back is the plan", "[plan_io]") {
  const ExecutablePlan plan = everything();
  const auto bytes = write_plan(plan);
  const ExecutablePlan again = read_plan(bytes);
  CHECK(to_string(again) == to_string(plan));
  CHECK(write_plan(again) == bytes);
  CHECK(again.target == plan.target);
  CHECK(again.inputs == plan.inputs);
  CHECK(again.outputs == plan.outputs);
  CHECK(*again.kernels[0].object == *plan.kernels[0].object);
  CHECK(std::memcmp(again.constants[0]->data(), plan.constants[0]->data(), 12) == 0);
  CHECK(reinterpret_cast<std::uintptr_t>(again.constants[0]->data()) % 64 == 0);
  for (std::size_t i = 0; i < plan.steps.size(); ++i) CHECK(again.steps[i].control == plan.steps[i].control);
  CHECK(again.bodies[1].bodies[0].name == "inner");
  CHECK(again.prepacked[1].packing == plan.prepacked[1].packing);
  CHECK(kernel_count(again) == 4);
}

TEST_CASE("a plan prints a line for each thing that it holds", "[plan_io]") {
  const std::string text = to_string(everything());
  for (const char* line :
       {"plan net\n", "  arena of 4096 bytes (at least 4000)\n", "  18 random counters\n",
        "  input 0: float16 (2, 0, 1)\n", "  constant 0: 12 bytes\n",
        "  kernel 0: ffffffffffffffff0000000000000001, 5 bytes  # dense_relu\n",
        "  prepacked 0 of inputs 0, 2: 256 bytes\n",
        "  prepacked 1 of inputs 1: 64 bytes, all elements in panels of 4\n",
        "    0: kernel 0 params -1 9 extent 1 grain 1 (input 0 + 8, prepacked 0 + 64)\n",
        "    0: kernel 0 params 3 1099511627776 -5 extent 100 grain 16 scratch 512 (constant 1, random)  # a "
        "\"b\" "
        "at net.cpp:3, net.cpp:4\n",
        "    1: loop of body 0: at most 9 steps, 1 carried, 0 scanned, 0 invariant, 0 stacked, 2 random ()\n",
        "    2: branch to body 1 else 0 ()\n", "    3: check of 5 indices below 10 for take of t (input 2)\n",
        "  write 40 bytes of arena 128 to input 2\n", "  body 1\n", "      body 0\n        plan inner\n"})
    CHECK(text.find(line) != std::string::npos);
}

TEST_CASE("bytes that are no plan are refused", "[plan_io]") {
  const auto bytes = write_plan(everything());
  for (std::size_t n = 0; n < bytes.size(); ++n) CHECK_THROWS_AS(read_plan(std::span(bytes).first(n)), Error);
  auto longer = bytes;
  longer.push_back(std::byte{0});
  CHECK_THROWS_AS(read_plan(longer), Error);
  // Damage is found, or it is another plan that can be printed.
  for (std::size_t i = 0; i < bytes.size(); ++i)
    for (const int bit : {1, 0x20, 0x80}) {
      auto damaged = bytes;
      damaged[i] ^= static_cast<std::byte>(bit);
      std::string text;
      try {
        text = to_string(read_plan(damaged));
      } catch (const Error& e) {
        text = e.what();
      }
      CHECK(!text.empty());
    }
}

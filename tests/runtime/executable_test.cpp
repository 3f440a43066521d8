// The work of run() around kernels: operands, arena, prepacked constants, write-backs. The kernels here are
// plain functions.
#include "native_kernel.h"

#include <kiln/error.h>
#include <kiln/memory.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>
#include <thread>

using namespace kiln;
using Space = BufferRef::Space;

namespace {

// operand 2 = operand 0 * params[0] + operand 1
void scale_add(void* const* b, const std::int64_t* p, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i)
    static_cast<float*>(b[2])[i] =
        static_cast<const float*>(b[0])[i] * static_cast<float>(p[0]) + static_cast<const float*>(b[1])[i];
}

void negate(void* const* b, const std::int64_t*, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i)
    static_cast<float*>(b[1])[i] = -static_cast<const float*>(b[0])[i];
}

void copy(void* const* b, const std::int64_t*, std::int64_t begin, std::int64_t end) {
  std::copy_n(static_cast<const float*>(b[0]) + begin, end - begin, static_cast<float*>(b[1]) + begin);
}

void copy_state(void* const* b, const std::int64_t*, std::int64_t, std::int64_t) {
  std::memcpy(b[1], b[0], 16);
}

constexpr KernelFn functions[] = {scale_add, negate, copy_state, copy};

Step step(KernelFn f, std::vector<BufferRef> operands, std::int64_t extent,
          std::vector<std::int64_t> params = {}) {
  return {.kernel = static_cast<std::uint32_t>(std::find(std::begin(functions), std::end(functions), f) -
                                               std::begin(functions)),
          .operands = std::move(operands),
          .params = std::move(params),
          .extent = extent,
          .grain = 4};
}

Executable load(ExecutablePlan plan) {
  return load_with(std::move(plan), {functions[0], functions[1], functions[2], functions[3]});
}

constexpr std::int64_t n = 10;
const TensorType vector_type{DType::f32, {n}};

struct Vector : Storage {
  explicit Vector(float first) : Storage(Buffer(n * sizeof(float))) {
    std::iota(values(), values() + n, first);
  }
  float* values() { return reinterpret_cast<float*>(data()); }
};

}  // namespace

TEST_CASE("steps run in order on inputs, constants, the arena and outputs", "[executable]") {
  ExecutablePlan plan;
  plan.inputs = {vector_type};
  plan.outputs = {vector_type};
  plan.arena_bytes = 128;
  Buffer constant(n * sizeof(float));
  std::fill_n(reinterpret_cast<float*>(constant.data()), n, 100.0f);
  plan.constants = {std::make_shared<const Buffer>(std::move(constant))};
  plan.steps = {step(scale_add, {{Space::input, 0}, {Space::constant, 0}, {Space::arena, 0, 64}}, n, {2}),
                step(negate, {{Space::arena, 0, 64}, {Space::output, 0}}, n)};
  const Executable e = load(std::move(plan));

  Vector in(1);
  Vector out(0);
  const Argument argument{&in};
  void* results[] = {out.values()};
  reset_peak_memory();
  const std::size_t level = memory_report().live_bytes;
  e.run({&argument, 1}, results, {});
  for (int i = 0; i < n; ++i) CHECK(out.values()[i] == -(2.0f * static_cast<float>(1 + i) + 100));
  CHECK(memory_report().peak_bytes == level + 128);
  CHECK(memory_report().arena_bytes == 0);
}

TEST_CASE("inputs begin where their arguments say, an empty step does nothing", "[executable]") {
  ExecutablePlan plan;
  plan.inputs = {vector_type};
  plan.outputs = {vector_type};
  plan.steps = {step(negate, {{Space::input, 0, 8}, {Space::output, 0}}, 4),
                step(negate, {{Space::input, 0}, {Space::output, 0}}, 0)};
  const Executable e = load(std::move(plan));
  Vector in(0);
  Vector out(50);
  const Argument argument{&in, 4};
  void* results[] = {out.values()};
  e.run({&argument, 1}, results, {});
  CHECK(out.values()[0] == -3);
  CHECK(out.values()[3] == -6);
  CHECK(out.values()[4] == 54);
}

TEST_CASE("inputs are written when all steps are done, and their versions move", "[executable]") {
  ExecutablePlan plan;
  plan.inputs = {vector_type, vector_type};
  const auto bytes = static_cast<std::int64_t>(n * sizeof(float));
  SECTION("from the arena") {
    plan.arena_bytes = bytes;
    plan.steps = {step(negate, {{Space::input, 0}, {Space::arena, 0}}, n)};
    plan.write_backs = {{0, {Space::arena, 0}, bytes}};
    const Executable e = load(std::move(plan));
    Vector a(1), b(2);
    const Argument arguments[] = {{&a}, {&b}};
    const auto version = a.version();
    e.run(arguments, {}, {});
    CHECK(a.values()[3] == -4);
    CHECK(a.version() != version);
    CHECK(b.version() == 1);
  }
  SECTION("two inputs change places") {
    plan.write_backs = {{0, {Space::input, 1}, bytes}, {1, {Space::input, 0}, bytes}};
    const Executable e = load(std::move(plan));
    Vector a(1), b(20);
    const Argument arguments[] = {{&a}, {&b}};
    e.run(arguments, {}, {});
    CHECK(a.values()[0] == 20);
    CHECK(b.values()[0] == 1);
  }
}

TEST_CASE("an input is written in place, and its version moves", "[executable]") {
  // a = -a in place, then b = 2 a + b in place: the second step reads the new contents of a.
  ExecutablePlan plan;
  plan.inputs = {vector_type, vector_type};
  const auto bytes = static_cast<std::int64_t>(n * sizeof(float));
  plan.steps = {step(negate, {{Space::input, 0}, {Space::input, 0}}, n),
                step(scale_add, {{Space::input, 0}, {Space::input, 1}, {Space::input, 1}}, n, {2})};
  plan.write_backs = {{0, {Space::input, 0}, bytes}, {1, {Space::input, 1}, bytes}};
  CHECK(plan.write_backs[0].in_place());
  const Executable e = load(std::move(plan));
  Vector a(1), b(20);
  const Argument arguments[] = {{&a}, {&b}};
  const auto version = a.version();
  reset_peak_memory();
  const std::size_t level = memory_report().live_bytes;
  e.run(arguments, {}, {});
  CHECK(memory_report().peak_bytes == level);  // nothing is staged
  CHECK(a.values()[3] == -4);
  CHECK(b.values()[3] == 15);
  CHECK(a.version() == version + 1);
  CHECK(b.version() == version + 1);
}

TEST_CASE("an input that another argument overlaps is written after the last step", "[executable]") {
  // x = -x in place, then out = 2 y + y: y is what it was when the call began.
  ExecutablePlan plan;
  const TensorType four{DType::f32, {4}};
  plan.inputs = {four, four};
  plan.outputs = {four};
  plan.steps = {step(negate, {{Space::input, 0}, {Space::input, 0}}, 4),
                step(scale_add, {{Space::input, 1}, {Space::input, 1}, {Space::output, 0}}, 4, {2})};
  plan.write_backs = {{0, {Space::input, 0}, 16}};
  const Executable e = load(std::move(plan));
  for (const std::size_t x : {0u, 1u, 2u, 6u})
    for (const std::size_t y : {0u, 1u, 3u, 5u, 6u}) {
      INFO("x at " << x << ", y at " << y);
      Vector memory(1);
      float out[4];
      void* results[] = {out};
      const Argument arguments[] = {{&memory, x * sizeof(float)}, {&memory, y * sizeof(float)}};
      e.run(arguments, results, {});
      const auto old_value = [](std::size_t i) { return static_cast<float>(1 + i); };
      for (std::size_t i = 0; i < 4; ++i) CHECK(out[i] == 3 * old_value(y + i));
      for (std::size_t i = 0; i < n; ++i)
        CHECK(memory.values()[i] == (i >= x && i < x + 4 ? -old_value(i) : old_value(i)));
    }
}

TEST_CASE("overlaps among many arguments are found", "[executable]") {
  // A long argument that is only read overlaps several short ones; the steps write one of these.
  ExecutablePlan plan;
  const TensorType two{DType::f32, {2}};
  plan.inputs = {two, vector_type, two, two};
  plan.outputs = {vector_type};
  plan.steps = {step(negate, {{Space::input, 2}, {Space::input, 2}}, 2),
                step(negate, {{Space::input, 1}, {Space::output, 0}}, n)};
  plan.write_backs = {{2, {Space::input, 2}, 8}};
  const Executable e = load(std::move(plan));
  for (const std::size_t at : {0u, 3u, 8u}) {
    Vector memory(1), out(0), other(0);
    void* results[] = {out.values()};
    const Argument arguments[] = {{&memory, 4}, {&memory}, {&memory, at * sizeof(float)}, {&other}};
    e.run(arguments, results, {});
    for (std::size_t i = 0; i < n; ++i) CHECK(out.values()[i] == -static_cast<float>(1 + i));
    CHECK(memory.values()[at] == -static_cast<float>(1 + at));
  }
}

TEST_CASE("packed parameters are made once per version, and anew each call for external memory",
          "[executable]") {
  ExecutablePlan plan;
  plan.inputs = {vector_type};
  plan.outputs = {vector_type};
  plan.prepacked = {{.inputs = {0},
                     .key = 5,
                     .bytes = static_cast<std::int64_t>(n * sizeof(float)),
                     .steps = {step(negate, {{Space::input, 0}, {Space::prepacked, 0}}, n)}}};
  plan.steps = {step(negate, {{Space::prepacked, 0}, {Space::output, 0}}, n)};
  const Executable e = load(std::move(plan));
  Vector out(0);
  void* results[] = {out.values()};

  Vector own(1);
  const Argument argument{&own};
  e.run({&argument, 1}, results, {});
  CHECK(out.values()[0] == 1);
  own.values()[0] = 7;
  e.run({&argument, 1}, results, {});
  CHECK(out.values()[0] == 1);  // nobody said that it changed
  own.bump_version();
  e.run({&argument, 1}, results, {});
  CHECK(out.values()[0] == 7);

  float memory[n] = {3};
  Storage external{Buffer(memory, sizeof memory, {})};
  const Argument wrapped{&external};
  e.run({&wrapped, 1}, results, {});
  CHECK(out.values()[0] == 3);
  memory[0] = 4;
  e.run({&wrapped, 1}, results, {});
  CHECK(out.values()[0] == 4);
}

TEST_CASE("prepacked constants of different parts of one storage are different", "[executable]") {
  const TensorType half{DType::f32, {n / 2}};
  ExecutablePlan plan;
  plan.inputs = {half};
  plan.outputs = {half};
  plan.prepacked = {{.inputs = {0},
                     .key = 5,
                     .bytes = 20,
                     .steps = {step(negate, {{Space::input, 0}, {Space::prepacked, 0}}, n / 2)}}};
  plan.steps = {step(negate, {{Space::prepacked, 0}, {Space::output, 0}}, n / 2)};
  const Executable e = load(std::move(plan));
  Vector in(0), out(0);
  void* results[] = {out.values()};
  const Argument first{&in, 0}, second{&in, 20};
  e.run({&first, 1}, results, {});
  CHECK(out.values()[1] == 1);
  e.run({&second, 1}, results, {});
  CHECK(out.values()[1] == 6);
}

TEST_CASE("contents are released for a prepacked constant with their bits", "[executable]") {
  const auto plan_with = [](KernelFn pack) {
    ExecutablePlan plan;
    plan.inputs = plan.outputs = {vector_type};
    plan.prepacked = {{.inputs = {0},
                       .key = 7,
                       .bytes = n * 4,
                       .steps = {step(pack, {{Space::input, 0}, {Space::prepacked, 0}}, n)},
                       .packing = Packing{.element_bytes = 4,
                                          .groups = 1,
                                          .columns = n,
                                          .channels = 1,
                                          .taps = 1,
                                          .packed_channels = 1,
                                          .panel = n,
                                          .channel_block = 16}}};
    plan.steps = {step(copy, {{Space::prepacked, 0}, {Space::output, 0}}, n)};
    return plan;
  };
  Vector in(1), out(0);
  void* const result = out.data();
  const Argument argument{&in};
  const std::size_t level = memory_report().live_bytes;
  in.allow_release();
  CHECK(in.may_release());
  SECTION("the same bits") {
    load(plan_with(copy)).run({&argument, 1}, {&result, 1}, {});
    CHECK(memory_report().live_bytes == level);
    CHECK_FALSE(in.may_release());
    CHECK_FALSE(in.overlaps(out));
    {
      const Storage::Reading contents(in);
      CHECK(memory_report().live_bytes == level + n * 4);
      CHECK(reinterpret_cast<const float*>(contents.data())[3] == 4);
    }
    CHECK(memory_report().live_bytes == level);
    CHECK(in.bytes() == n * 4);
    CHECK(in.values()[3] == 4);
    CHECK(memory_report().live_bytes == level + n * 4);
  }
  SECTION("a Reading delays it") {
    const Executable e = load(plan_with(copy));
    {
      const Storage::Reading contents(in);
      e.run({&argument, 1}, {&result, 1}, {});
      CHECK(in.may_release());
    }
    e.run({&argument, 1}, {&result, 1}, {});
    CHECK_FALSE(in.may_release());
  }
  SECTION("other bits") {
    load(plan_with(negate)).run({&argument, 1}, {&result, 1}, {});
    CHECK(memory_report().live_bytes == level + n * 4);
    CHECK_FALSE(in.may_release());
  }
  SECTION("steps read the contents") {
    ExecutablePlan plan = plan_with(copy);
    plan.steps.push_back(step(copy, {{Space::input, 0}, {Space::output, 0}}, n));
    load(std::move(plan)).run({&argument, 1}, {&result, 1}, {});
    CHECK(memory_report().live_bytes == level + n * 4);
    CHECK_FALSE(in.may_release());
  }
  SECTION("a plan with other sizes is refused") {
    for (const std::int64_t panel : {std::int64_t{0}, n - 1, std::int64_t{1} << 62}) {
      ExecutablePlan plan = plan_with(copy);
      plan.prepacked[0].packing->panel = panel;
      CHECK_THROWS_AS(load(std::move(plan)), Error);
    }
  }
  CHECK(in.values()[3] == 4);
}

TEST_CASE("a prepacked constant of two parameters is made anew when either changes", "[executable]") {
  const auto bytes = static_cast<std::int64_t>(n * sizeof(float));
  ExecutablePlan plan;
  plan.inputs = {vector_type, vector_type};
  plan.outputs = {vector_type};
  plan.prepacked = {
      {.inputs = {1},
       .key = 5,
       .bytes = bytes,
       .steps = {step(negate, {{Space::input, 1}, {Space::prepacked, 0}}, n)}},
      {.inputs = {0, 1},
       .key = 6,
       .bytes = bytes,
       .steps = {
           step(scale_add, {{Space::input, 0}, {Space::prepacked, 0}, {Space::prepacked, 1}}, n, {1})}}};
  plan.steps = {step(negate, {{Space::prepacked, 1}, {Space::output, 0}}, n)};
  const Executable e = load(std::move(plan));
  Vector a(10), b(2), other(5), out(0);
  void* results[] = {out.values()};
  const auto run = [&](Vector& first, Vector& second) {
    const Argument arguments[] = {{&first}, {&second}};
    e.run(arguments, results, {});
    return out.values()[0];
  };
  CHECK(run(a, b) == -8);
  a.values()[0] = 20;
  b.values()[0] = 3;
  CHECK(run(a, b) == -8);  // nobody said that they changed
  b.bump_version();
  CHECK(run(a, b) == -17);
  CHECK(run(a, other) == -15);
  CHECK(run(a, b) == -17);
  a.values()[0] = 30;
  a.bump_version();
  CHECK(run(a, b) == -27);

  // Storages come and go; none is taken for another, and what was made from them does not pile up.
  const auto level = memory_report().live_bytes;
  for (int i = 0; i < 4; ++i) {
    const auto passing = std::make_unique<Vector>(static_cast<float>(i));
    CHECK(run(a, *passing) == -(30 - static_cast<float>(i)));
  }
  CHECK(memory_report().live_bytes == level);
}

TEST_CASE("kernels read the random state", "[executable]") {
  ExecutablePlan plan;
  plan.outputs = {{DType::i64, {2}}};
  plan.steps = {step(copy_state, {{Space::rng, 0}, {Space::output, 0}}, 1)};
  const Executable e = load(std::move(plan));
  std::uint64_t out[2] = {};
  void* results[] = {out};
  e.run({}, results, {.seed = 42, .counter = 7});
  CHECK(out[0] == 42);
  CHECK(out[1] == 7);
}

TEST_CASE("many threads call one executable", "[executable]") {
  ExecutablePlan plan;
  plan.inputs = {vector_type};
  plan.outputs = {vector_type};
  plan.arena_bytes = 100'000;
  plan.steps = {step(negate, {{Space::input, 0}, {Space::arena, 0, 4096}}, n),
                step(negate, {{Space::arena, 0, 4096}, {Space::output, 0}}, n)};
  const Executable e = load(std::move(plan));
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&, t] {
      Vector in(static_cast<float>(t)), out(0);
      const Argument argument{&in};
      void* results[] = {out.values()};
      for (int i = 0; i < 300; ++i) {
        e.run({&argument, 1}, results, {});
        if (!std::equal(in.values(), in.values() + n, out.values())) ++wrong;
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(wrong == 0);
}

TEST_CASE("a plan that refers to nothing is an internal error", "[executable]") {
  ExecutablePlan plan;
  plan.steps = {step(negate, {{Space::input, 3}, {Space::output, 0}}, 1)};
  try {
    const Executable e = load(std::move(plan));
    FAIL("no error");
  } catch (const Error& e) {
    CHECK(e.kind() == Error::Kind::internal);
  }
}

// Tapes of a million recorded calls: passed and freed without recursion, and their memory returns.
#include "counted_allocations.h"

#include <kiln/kiln.h>

#include <catch2/catch.hpp>
#include <functional>

using namespace kiln;

namespace {

constexpr int calls = 1'000'000;

/// The memory and the objects that a tape may keep.
struct Kept {
  std::size_t bytes = memory_report().live_bytes;
  std::size_t objects = Allocations::alive();
  bool operator==(const Kept&) const = default;
};

Tensor variable() {
  Tensor x = ones({1});
  x.attach_grad();
  return x;
}

/// y = step(y), from `y` on.
Tensor recorded(Tensor y, int steps, const std::function<Tensor(const Tensor&)>& step) {
  const autograd::Record record;
  for (int i = 0; i < steps; ++i) y = step(y);
  return y;
}

/// Records a tape of `steps` calls, continues with `use` and drops the tape. A short one first makes
/// everything that is made once.
void check_returns(int steps, const std::function<Tensor(int)>& record,
                   const std::function<void(const Tensor&)>& use) {
  use(record(10));
  const Kept before;
  {
    const Tensor y = record(steps);
    CHECK(memory_report().live_bytes >= before.bytes + static_cast<std::size_t>(steps) * sizeof(float));
    use(y);
  }
  CHECK(Kept() == before);
}

}  // namespace

TEST_CASE("a backward pass through a million calls frees them") {
  Tensor x = variable();
  check_returns(
      calls, [&](int n) { return recorded(x, n, [&](const Tensor& y) { return y * x; }); },
      [&](const Tensor& y) { y.backward(); });
  CHECK(x.grad().item<float>() == calls + 1);
}

TEST_CASE("a million calls are freed without a backward pass") {
  const Tensor x = variable();
  check_returns(
      calls, [&](int n) { return recorded(x, n, [&](const Tensor& y) { return y * x; }); },
      [](const Tensor&) {});
}

TEST_CASE("a tape is freed after a pass that retains it, for one of its values") {
  const Tensor x = variable();
  Tensor early;
  check_returns(
      calls / 5,
      [&](int n) {
        early = recorded(x, 1, [](const Tensor& y) { return y * 2; });
        return recorded(early, n, [&](const Tensor& y) { return y * x; });
      },
      [&](const Tensor& y) {
        CHECK(autograd::grad({y}, {early}, {.retain_graph = true})[0].item<float>() == 1);
        early = Tensor();
      });
}

TEST_CASE("a value that is used twice by each call is passed once") {
  Tensor x = variable();
  const Kept before;
  {
    const Tensor y = recorded(x, calls / 2, [](const Tensor& t) { return (t + t) * 0.5; });
    y.backward();
    CHECK(x.grad().item<float>() == 1);
  }
  x = Tensor();
  CHECK(memory_report().live_bytes == before.bytes - sizeof(float));
}

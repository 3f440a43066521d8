// Results that are larger than caches are written past them, whole lines at a time.
#include "function_net.h"

using namespace kiln;

namespace {

using Results = struct F::contrib::Results;

constexpr std::int64_t large = 32 * 1024 * 1024 / 4 + 13;  // floats

Tensors halved(F& f, const Tensors& in) { return {f.abs(in[0]) * 0.5 + in[1]}; }

/// The same, in parts that no cache is too small for.
void check_in_parts(const Tensor& result, const Tensors& in) {
  constexpr std::int64_t part = 1000 * 1000;
  for (std::int64_t i = 0; i < large; i += part) {
    const auto range = slice(i, std::min(i + part, large));
    F f;
    REQUIRE(same_bits(result[range].copy(), halved(f, {in[0][range].copy(), in[1][range].copy()})[0]));
  }
}

}  // namespace

TEST_CASE("a result that no cache holds") {
  const Tensors in{random::uniform(-1, 1, {large}), random::uniform(-1, 1, {large})};
  check_in_parts(everywhere(halved, in)[0], in);
}

TEST_CASE("a narrow result that no cache holds") {
  const Tensor x = random::uniform(-1, 1, {4 * large + 5});
  const Tensor above =
      everywhere([](F&, const Tensors& in) { return Tensors{(in[0] > 0).astype(DType::u8)}; }, {x})[0];
  CHECK(above.astype(DType::f64).sum().item<double>() == (x > 0).astype(DType::f64).sum().item<double>());
}

TEST_CASE("rows of a loop that begin within a line") {
  const Tensor x = random::uniform(-1, 1, {2, large}), y = random::uniform(-1, 1, {large});
  const auto body = [](F& f, const Tensors& in) -> Tensors {
    const Results r = f.contrib().foreach (
        [&](const Tensors& rows, const Tensors&) -> Results {
          return {halved(f, {rows[0], in[1]}), {}};
        },
        {in[0]}, {});
    return r.outputs;
  };
  const Tensor rows = everywhere(body, {x, y})[0];
  for (std::int64_t i = 0; i < 2; ++i) check_in_parts(rows[i], {x[i].copy(), y});
}

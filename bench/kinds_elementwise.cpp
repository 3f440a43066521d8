// Functions of each element, and sums whose results are larger than the caches near a core.
#include "bench/kinds.h"

#include <utility>

using namespace kiln;

namespace bench {
namespace {

/// Numbers in [low, high): where the function is defined.
Tensor within(const Sizes& sizes) {
  const std::int64_t low = sizes.at("range")[0], high = sizes.at("range")[1];
  return (uniform(shape_of(sizes)) - 0.5) * static_cast<double>(high - low) + static_cast<double>(low);
}

std::function<Sizes(Draw&)> vectors(std::int64_t low, std::int64_t high) {
  return [=](Draw& d) -> Sizes {
    return {{"shape", Sizes::array({d.extent(10'000, 2'000'000)})}, {"range", {low, high}}};
  };
}

using Function1 = Tensor (*)(const Tensor&, std::source_location);

Kind function_kind(const char* name, Function1 f, std::int64_t low, std::int64_t high) {
  return {name, vectors(low, high), [f](const Sizes& sizes) {
            return function([f](F&, const Tensors& in) { return f(in[0], std::source_location::current()); },
                            {within(sizes)});
          }};
}

Kind power() {
  return {"power", vectors(0, 4), [](const Sizes& sizes) {
            const Tensor x = within(sizes);
            return function([](F& f, const Tensors& in) { return f.power(in[0], in[1]); }, {x, 2 - x});
          }};
}

/// A result of 8 to 32 MiB.
Kind stream() {
  const auto draw = [](Draw& d) -> Sizes { return {{"shape", Sizes::array({d.extent(1 << 21, 1 << 23)})}}; };
  return {"stream", draw, [](const Sizes& sizes) {
            const Shape shape = shape_of(sizes);
            return function([](F&, const Tensors& in) { return in[0] + in[1]; },
                            {uniform(shape), uniform(shape)});
          }};
}

}  // namespace

std::vector<Kind> elementwise_kinds() {
  return {
      function_kind("exp", F::exp, -8, 8),
      function_kind("log", F::log, 0, 8),
      function_kind("tanh", F::tanh, -4, 4),
      function_kind("sigmoid", F::sigmoid, -8, 8),
      function_kind("erf", F::erf, -4, 4),
      function_kind("sin", F::sin, -8, 8),
      function_kind("cos", F::cos, -8, 8),
      function_kind("tan", F::tan, -8, 8),
      function_kind("sinh", F::sinh, -8, 8),
      function_kind("cosh", F::cosh, -8, 8),
      function_kind("expm1", F::expm1, -8, 8),
      function_kind("log1p", F::log1p, 0, 8),
      function_kind("log2", F::log2, 0, 8),
      function_kind("log10", F::log10, 0, 8),
      function_kind("arcsin", F::arcsin, -1, 1),
      function_kind("arccos", F::arccos, -1, 1),
      function_kind("arctan", F::arctan, -8, 8),
      power(),
      stream(),
  };
}

}  // namespace bench

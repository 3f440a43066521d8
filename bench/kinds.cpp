// The kinds of workloads, and the sizes that a seed draws for them.
#include "bench/kinds.h"

#include <cmath>
#include <iostream>
#include <iterator>

using namespace kiln;

namespace bench {
namespace {

constexpr int workloads_a_kind = 10;

bool prime(std::int64_t n) {
  for (std::int64_t d = 2; d * d <= n; ++d)
    if (n % d == 0) return false;
  return n > 1;
}

std::vector<Kind> all_kinds() {
  std::vector<Kind> kinds;
  for (const auto family : {row_kinds, elementwise_kinds, movement_kinds, normalization_kinds, product_kinds,
                            convolution_kinds, low_precision_kinds}) {
    std::vector<Kind> more = family();
    std::move(more.begin(), more.end(), std::back_inserter(kinds));
  }
  return kinds;
}

std::string joined(const Sizes& extents) {
  std::string text;
  for (const Sizes& e : extents) text += (text.empty() ? "" : "x") + e.dump();
  return text;
}

/// topk/64x1000_k5
std::string name_of(const Kind& kind, const Sizes& sizes) {
  std::string text = kind.name + "/" + joined(sizes.begin().value());
  for (auto s = std::next(sizes.begin()); s != sizes.end(); ++s)
    text += "_" + s.key() + (s.value().is_array() ? joined(s.value()) : s.value().dump());
  return text;
}

void for_each(std::uint64_t seed, const std::function<void(const Kind&, const Sizes&)>& visit) {
  for (const Kind& kind : all_kinds())
    for (int number = 0; number < workloads_a_kind; ++number) {
      Draw draw(seed, kind.same_sizes.empty() ? kind.name : kind.same_sizes, number);
      visit(kind, kind.draw(draw));
    }
}

}  // namespace

Draw::Draw(std::uint64_t seed, const std::string& kind, int number) : number_(number) {
  std::vector<std::uint32_t> words(kind.begin(), kind.end());
  words.insert(words.end(), {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                             static_cast<std::uint32_t>(number)});
  std::seed_seq all(words.begin(), words.end());
  generator_.seed(all);
}

std::int64_t Draw::extent(std::int64_t low, std::int64_t high) {
  const double fraction = std::ldexp(static_cast<double>(generator_() >> 11), -53);
  const double any =
      static_cast<double>(low) * std::pow(static_cast<double>(high) / static_cast<double>(low), fraction);
  const std::int64_t n = std::clamp(static_cast<std::int64_t>(std::lround(any)), low, high);
  const auto last_up_to = [&](const auto& wanted) {
    for (std::int64_t m = n; m >= low; --m)
      if (wanted(m)) return m;
    return n;
  };
  switch (number_ % 3) {
    case 1:
      return last_up_to(prime);
    case 2:
      return last_up_to([](std::int64_t m) { return m % 16 == 0; });
    default:
      return n;
  }
}

void add_kinds(std::uint64_t seed) {
  for_each(seed, [](const Kind& kind, const Sizes& sizes) {
    add(name_of(kind, sizes), [make = kind.make, sizes] { return make(sizes); });
  });
}

void print_shapes(std::uint64_t seed) {
  for_each(seed, [](const Kind& kind, const Sizes& sizes) {
    Sizes line{{"workload", name_of(kind, sizes)}, {"kind", kind.name}};
    line.update(sizes);
    std::cout << line << "\n";
  });
}

Shape shape_of(const Sizes& sizes, const char* name) {
  return Shape(std::span<const std::int64_t>(sizes.at(name).get<std::vector<std::int64_t>>()));
}

Sizes draw_images(Draw& d) {
  constexpr std::int64_t elements = 1 << 21;
  const std::int64_t side = d.extent(7, 112);
  const std::int64_t channels = d.extent(4, std::clamp<std::int64_t>(elements / (side * side), 4, 512));
  return {{"shape", {d.count(channels * side * side, elements), channels, side, side}}};
}

Kind unary(std::string name, std::function<Sizes(Draw&)> draw,
           std::function<Tensor(F&, const Tensor&, const Sizes&)> body) {
  return {std::move(name), std::move(draw), [body = std::move(body)](const Sizes& sizes) {
            return function([=](F& f, const Tensors& in) { return body(f, in[0], sizes); },
                            {randn(shape_of(sizes))});
          }};
}

}  // namespace bench

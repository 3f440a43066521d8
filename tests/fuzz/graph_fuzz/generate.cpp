// Draws the families of a random graph.
#include "generate.h"

#include "families.h"

namespace graphs {

namespace {

/// Families and their weights.
constexpr Weighted of_small[] = {{sampled, 22},   {pointwise, 16},    {of_two, 14},      {reduction, 8},
                                 {rows, 4},       {moved, 16},        {gathered, 6},     {constants, 4},
                                 {product, 8},    {unrolled_cell, 3}, {layers, 9},       {random_numbers, 1},
                                 {while_loop, 1}, {branch, 1},        {for_each_loop, 2}};
/// The families that loops and branches are drawn from.
constexpr Weighted of_control[] = {{for_each_loop, 4}, {while_loop, 3}, {branch, 2}};
/// Families that keep the rows of large arrays.
constexpr Weighted of_large[] = {{sampled, 1}, {pointwise, 4}, {of_two, 4},    {reduction, 3}, {rows, 12},
                                 {moved, 3},   {gathered, 1},  {constants, 1}, {product, 1}};

}  // namespace

MadeList any_of(Maker& m, std::span<const Weighted> families) {
  std::size_t all = 0;
  for (const Weighted& f : families) all += f.weight;
  std::size_t draw = m.pick(all);
  for (const Weighted& f : families) {
    if (draw < f.weight) return f.family(m);
    draw -= f.weight;
  }
  return {};
}

Graph generate(std::uint64_t seed, bool control_flow) {
  Maker m(seed);
  const std::size_t variables = 1 + m.pick(3), operators = 3 + m.pick(m.large() ? 10 : 13);
  const kiln::DType main = m.large() ? m.pick_float() : m.pick_dtype();
  for (std::size_t i = 0; i < variables; ++i) {
    const kiln::Shape shape = m.some_shape();
    const kiln::DType dtype = m.chance(3) ? m.pick_dtype() : main;
    m.offer({m.variable(shape, dtype)});
  }
  for (std::size_t tries = 0; m.graph().operators() < operators && tries < 6 * operators; ++tries)
    m.attempt([&](Maker& maker) {
      if (maker.large()) return any_of(maker, of_large);
      return control_flow && maker.chance(5) ? any_of(maker, of_control) : any_of(maker, of_small);
    });
  return m.finish();
}

}  // namespace graphs

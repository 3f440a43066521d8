// Distributions whose values can be made in any order.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numbers>
#include <span>

/// Independent values: number i is a function of the random numbers at i and next to it, so that any part of
/// an array can be made alone.
namespace kiln::init {

struct Distribution {
  enum class Kind { constant, uniform, normal };
  Kind kind = Kind::constant;
  double scale = 0;  ///< the constant, half the width of the range around 0, the deviation around 0
};

/// Writes the values from number `first` on, which is even. `random` returns numbers in [0, 1) by their
/// index, and is called in ascending order.
template <class Random>
void fill(std::span<double> out, const Distribution& d, std::uint64_t first, const Random& random) {
  switch (d.kind) {
    case Distribution::Kind::constant:
      for (double& v : out) v = d.scale;
      return;
    case Distribution::Kind::uniform:
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = (2 * random(first + i) - 1) * d.scale;
      return;
    case Distribution::Kind::normal:
      // Box-Muller transform: two uniform numbers give two normal ones.
      for (std::size_t i = 0; i < out.size(); i += 2) {
        const double radius = d.scale * std::sqrt(-2 * std::log(1 - random(first + i)));
        const double angle = 2 * std::numbers::pi * random(first + i + 1);
        out[i] = radius * std::cos(angle);
        if (i + 1 < out.size()) out[i + 1] = radius * std::sin(angle);
      }
  }
}

/// The same with the next numbers of a stream.
inline void fill(std::span<double> out, const Distribution& d, const std::function<double()>& uniform) {
  fill(out, d, 0, [&](std::uint64_t) { return uniform(); });
}

}  // namespace kiln::init

// Compares arrays within a tolerance, and prints a line for each.
#include "tools/kiln/tolerance.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace kiln::tool {
namespace {

bool close(double got, double expected, Tolerance t) {
  if (std::isnan(got) || std::isnan(expected)) return std::isnan(got) && std::isnan(expected);
  if (std::isinf(got) || std::isinf(expected)) return got == expected;
  return std::abs(got - expected) <= t.absolute + t.relative * std::abs(expected);
}

bool compare(const std::string& name, const Tensor& got, const Tensor& expected, Tolerance tolerance) {
  if (got.shape() != expected.shape() || got.dtype() != expected.dtype()) {
    fmt::print("{}: {} {}, expected {} {}\n", name, got.shape().str(), name_of(got.dtype()),
               expected.shape().str(), name_of(expected.dtype()));
    return false;
  }
  std::vector<double> g = got.astype(DType::f64).to_vector<double>();
  std::vector<double> e = expected.astype(DType::f64).to_vector<double>();
  double largest = 0;
  std::size_t off = 0, first = 0;
  for (std::size_t i = g.size(); i-- > 0;) {
    if (std::isfinite(g[i]) && std::isfinite(e[i])) largest = std::max(largest, std::abs(g[i] - e[i]));
    if (!close(g[i], e[i], tolerance)) ++off, first = i;
  }
  fmt::print("{}: {} {}, largest difference {:.3g}", name, got.shape().str(), name_of(got.dtype()), largest);
  if (off != 0)
    fmt::print("; {} of {} elements differ, first {}: {} expected {}", off, g.size(), first, g[first],
               e[first]);
  fmt::print("\n");
  return off == 0;
}

}  // namespace

bool compare_arrays(std::span<const NamedArray> got, std::span<const NamedArray> expected,
                    const std::string& file, Tolerance tolerance) {
  bool all = true;
  std::size_t compared = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::string& name = got[i].name;
    const Tensor* array = find_array(expected, name);
    if (array == nullptr && i < expected.size() && expected[i].name.empty()) array = &expected[i].array;
    const bool gradient = name.starts_with("grad:");
    if (array == nullptr && (!gradient || (i + 1 == got.size() && compared == 0)))
      throw Error(fmt::format("{}: no array {} to compare with", file, name));
    if (array == nullptr) continue;
    all = compare(name, got[i].array, *array, tolerance) && all;
    ++compared;
  }
  return all;
}

}  // namespace kiln::tool

// The distance of arrays from other ones.
#include "tools/kiln/agreement.h"

#include <kiln/error.h>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <span>
#include <vector>

namespace kiln::tool {
namespace {

double distance(double got, double expected) {
  if (std::isnan(got) || std::isnan(expected))
    return std::isnan(got) && std::isnan(expected) ? 0 : std::numeric_limits<double>::infinity();
  return got == expected ? 0 : std::abs(got - expected);
}

/// The class of a row: the first greatest element, or the first NaN.
std::ptrdiff_t greatest(std::span<const double> row) {
  const auto is_less = [](double a, double b) { return !std::isnan(a) && (std::isnan(b) || a < b); };
  return std::max_element(row.begin(), row.end(), is_less) - row.begin();
}
/// Whether two rows have one class. A row with NaN has none, unless the other has one too.
bool agree(std::span<const double> a, std::span<const double> b) {
  const std::ptrdiff_t i = greatest(a), j = greatest(b);
  return i == j && std::isnan(a[static_cast<std::size_t>(i)]) == std::isnan(b[static_cast<std::size_t>(j)]);
}

}  // namespace

void Agreement::add(const Tensor& got, const Tensor& expected) {
  if (got.shape() != expected.shape())
    throw Error(fmt::format("an array has the shape {}, and the one that it is compared with has {}",
                            got.shape().str(), expected.shape().str()));
  const std::vector<double> g = got.astype(DType::f64).to_vector<double>(),
                            e = expected.astype(DType::f64).to_vector<double>();
  for (std::size_t i = 0; i < g.size(); ++i) {
    const double d = distance(g[i], e[i]);
    largest_ = std::max(largest_, d);
    sum_ += d;
    if (std::isfinite(e[i])) magnitude_ = std::max(magnitude_, std::abs(e[i]));
  }
  elements_ += static_cast<std::int64_t>(g.size());
  const Shape shape = got.shape();
  if (shape.rank() < 2 || shape.back() < 2) return;
  const auto width = static_cast<std::size_t>(shape.back());
  for (std::size_t i = 0; i < g.size(); i += width) {
    ++rows_;
    same_class_ += agree({g.data() + i, width}, {e.data() + i, width});
  }
}

std::string Agreement::str() const {
  std::string text = fmt::format("largest error {:.3g}, mean {:.3g}, of magnitudes up to {:.3g}", largest_,
                                 mean(), magnitude_);
  if (rows_ > 0)
    text += fmt::format("; the same class in {} of {} rows ({:.1f} %)", same_class_, rows_,
                        100.0 * static_cast<double>(same_class_) / static_cast<double>(rows_));
  return text;
}

}  // namespace kiln::tool

// Initializers whose values depend on each other, or on where they are.
#include "frontend/call/line.h"
#include "frontend/gluon/parameter/random_fill.h"
#include "runtime/fail.h"

#include <kiln/initializer.h>

#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace kiln::init {
namespace {

/// The inner product, as eight interleaved sums, which a compiler may keep in vector registers.
double inner(std::span<const double> a, std::span<const double> b) {
  constexpr std::size_t lanes = 8;
  std::array<double, lanes> sums{};
  std::size_t i = 0;
  for (; i + lanes <= a.size(); i += lanes)
    for (std::size_t k = 0; k < lanes; ++k) sums[k] += a[i + k] * b[i + k];
  for (; i < a.size(); ++i) sums[i % lanes] += a[i] * b[i];
  double sum = 0;
  for (const double s : sums) sum += s;
  return sum;
}

/// Makes `row` orthogonal to the first `count` rows of `rows`, of length 1, and returns its length then.
double subtract_projections(std::span<double> row, std::span<const double> rows, std::size_t count) {
  for (std::size_t j = 0; j < count; ++j) {
    const std::span<const double> other = rows.subspan(j * row.size(), row.size());
    const double projection = inner(row, other);
    for (std::size_t i = 0; i < row.size(); ++i) row[i] -= projection * other[i];
  }
  return std::sqrt(inner(row, row));
}

/// Fills `rows` with rows that are orthogonal to each other and of length 1; there are at most as many as
/// columns. A row that loses most of its length is treated twice, which leaves no more than rounding errors
/// of the others in it (Kahan; Parlett 1980). One that is next to nothing then is drawn again.
void fill_orthogonal(std::span<double> rows, std::size_t columns,
                     const std::function<void(std::span<double>)>& draw) {
  for (std::size_t r = 0; r * columns < rows.size(); ++r) {
    const std::span<double> row = rows.subspan(r * columns, columns);
    for (;;) {
      draw(row);
      const double drawn = std::sqrt(inner(row, row));
      double length = subtract_projections(row, rows, r);
      if (length < 0.7 * drawn) length = subtract_projections(row, rows, r);
      if (!(length > 1e-10 * drawn)) continue;
      for (double& v : row) v /= length;
      break;
    }
  }
}

}  // namespace

Initializer Orthogonal(const OrthogonalOptions& o, Where where) {
  const bool normal = o.rand_type == "normal";
  if (!normal && o.rand_type != "uniform")
    fail("{}Unknown random type '{}' of Orthogonal; there are uniform and normal", line_prefix(where),
         o.rand_type);
  if (!std::isfinite(o.scale))
    fail("{}Orthogonal: the scale is {}; it is a finite number", line_prefix(where), o.scale);
  auto fill = [normal, scale = o.scale](std::span<double> out, const Shape& shape,
                                        const std::function<double()>& uniform) {
    if (shape.rank() < 1) fail("Orthogonal needs an axis: choose another initializer for a scalar");
    if (out.empty()) return;
    const auto rows = static_cast<std::size_t>(shape[0]);
    const std::size_t columns = out.size() / rows;
    const Distribution drawn{normal ? Distribution::Kind::normal : Distribution::Kind::uniform, 1};
    const auto draw = [&](std::span<double> row) { init::fill(row, drawn, uniform); };
    if (rows <= columns) {
      fill_orthogonal(out, columns, draw);
    } else {
      std::vector<double> transposed(out.size());
      fill_orthogonal(transposed, rows, draw);
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < columns; ++c) out[r * columns + c] = transposed[c * rows + r];
    }
    for (double& v : out) v *= scale;
  };
  return Initializer(
      fmt::format("[\"orthogonal\", {{\"scale\": {}, \"rand_type\": \"{}\"}}]", o.scale, o.rand_type),
      std::move(fill));
}

Initializer Bilinear() {
  return Initializer("[\"bilinear\", {}]", [](std::span<double> out, const Shape& shape,
                                              const std::function<double()>&) {
    if (shape.rank() != 4)
      fail("Bilinear makes the window of a transposed convolution, of four axes: inputs, outputs, window");
    // By MXNet's formula: both axes have the scale of the last.
    const double factor = std::ceil(static_cast<double>(shape[3]) / 2);
    const double center = (2 * factor - 1 - std::fmod(factor, 2)) / (2 * factor);
    const auto height = static_cast<std::size_t>(shape[2]), width = static_cast<std::size_t>(shape[3]);
    const auto weight = [&](std::size_t at) {
      return 1 - std::abs(static_cast<double>(at) / factor - center);
    };
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = weight(i % width) * weight(i / width % height);
  });
}

Initializer LSTMBias(double forget_bias) {
  return Initializer(
      fmt::format("[\"lstmbias\", {{\"forget_bias\": {}}}]", forget_bias),
      [forget_bias](std::span<double> out, const Shape& shape, const std::function<double()>&) {
        if (shape.rank() != 1 || shape[0] % 4 != 0)
          fail("LSTMBias is for the bias of an LSTM cell, which has a quarter for each of its four gates");
        const std::size_t quarter = out.size() / 4;
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = i / quarter == 1 ? forget_bias : 0;
      });
}

}  // namespace kiln::init

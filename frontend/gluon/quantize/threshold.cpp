// Thresholds of activations: extremes, a percentile, and the least Kullback-Leibler divergence.
#include "frontend/gluon/quantize/threshold.h"

#include "runtime/fail.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

namespace kiln::detail {
namespace {

constexpr double percentile = 0.9999;
/// The ranges whose divergence is computed, at equal distances: the time is their number times the bins.
constexpr std::int64_t max_ranges = 1024;

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Gives each empty bin a little that the others lose, so that a logarithm is finite, and makes the sum 1.
/// False if the others do not have as much.
bool smooth(std::vector<double>& p) {
  constexpr double little = 1e-4;
  const auto empty = static_cast<double>(std::count(p.begin(), p.end(), 0.0));
  const double others = static_cast<double>(p.size()) - empty;
  if (others == 0 || little * empty >= others) return false;
  const double loss = little * empty / others;
  double sum = 0;
  for (double& x : p) {
    x = x == 0 ? little : x - loss;
    sum += x;
  }
  for (double& x : p) x /= sum;
  return true;
}

/// Writes the bins `in`, quantised to groups, to q. Empty bins of p stay empty.
void quantise(std::span<const double> in, std::int64_t levels, const std::vector<double>& p,
              std::vector<double>& q) {
  const std::size_t group = in.size() / index(levels);
  q.assign(in.size(), 0.0);
  for (std::size_t level = 0; level < index(levels); ++level) {
    const std::size_t begin = level * group, end = level + 1 == index(levels) ? in.size() : begin + group;
    double sum = 0, filled = 0;
    for (std::size_t i = begin; i < end; ++i) {
      sum += in[i];
      filled += in[i] != 0;
    }
    if (filled == 0) continue;
    for (std::size_t i = begin; i < end; ++i)
      if (p[i] != 0) q[i] = sum / filled;
  }
}

/// Nothing if it is infinite.
std::optional<double> divergence(std::vector<double>& p, std::vector<double>& q) {
  if (!smooth(p) || !smooth(q)) return {};
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (p[i] <= 0 || q[i] <= 0) return {};
    sum += p[i] * std::log(p[i] / q[i]);
  }
  return sum;
}

/// The end of the least range of bins around 0 that has this part of all elements.
double at_percentile(const Histogram& h) {
  std::int64_t all = h.zeros();
  for (std::int64_t k = 0; k < h.bins(); ++k) all += h.positive(k) + h.negative(k);
  const double wanted = percentile * static_cast<double>(all);
  std::int64_t found = h.zeros(), k = 0;
  for (; k < h.bins() && static_cast<double>(found) < wanted; ++k) found += h.positive(k) + h.negative(k);
  return static_cast<double>(std::max<std::int64_t>(k, 1)) * h.width();
}

/// The two bins beside 0 are one bin of a signed distribution.
double at_entropy_range(const Histogram& h, DType dtype) {
  const bool is_signed = dtype == DType::i8;
  std::vector<std::int64_t> counts;
  for (std::int64_t k = h.bins() - 1; is_signed && k > 0; --k) counts.push_back(h.negative(k));
  counts.push_back(h.positive(0) + h.negative(0));
  for (std::int64_t k = 1; k < h.bins(); ++k) counts.push_back(h.positive(k));
  const EntropyRange range = entropy_range(counts, is_signed, is_signed ? 255 : 256);
  return static_cast<double>(range.bins + 1) * h.width();
}

}  // namespace

EntropyRange entropy_range(std::span<const std::int64_t> counts, bool is_signed, std::int64_t levels) {
  const std::int64_t half =
      is_signed ? static_cast<std::int64_t>(counts.size()) / 2 : static_cast<std::int64_t>(counts.size()) - 1;
  const std::int64_t zero = is_signed ? half : 0;
  EntropyRange best{half, std::numeric_limits<double>::infinity()};
  std::vector<double> in, p, q;
  const std::int64_t least = is_signed ? levels / 2 : levels - 1;
  const std::int64_t stride = std::max<std::int64_t>((half - least) / max_ranges, 0) + 1;
  for (std::int64_t bins = least; bins <= half; bins += stride) {
    const std::int64_t first = is_signed ? zero - bins : 0, last = zero + bins;
    in.assign(counts.begin() + first, counts.begin() + last + 1);
    p = in;
    p.front() += std::accumulate(counts.begin(), counts.begin() + first, 0.0);
    p.back() += std::accumulate(counts.begin() + last + 1, counts.end(), 0.0);
    if (is_signed) in.front() = 0;
    quantise(in, levels, p, q);
    const std::optional<double> found = divergence(p, q);
    if (found && *found < best.divergence) best = {bins, *found};
  }
  return best;
}

double calibrated_threshold(const Histogram& h, Calibration calibration, DType dtype) {
  const double greatest = h.magnitude();
  if (greatest == 0) return 0;
  switch (calibration) {
    case Calibration::extremes:
      return greatest;
    case Calibration::percentile:
      return std::min(greatest, at_percentile(h));
    case Calibration::entropy:
      return std::min(greatest, at_entropy_range(h, dtype));
  }
  fail("calibration {} is none of Calibration", static_cast<int>(calibration));
}

}  // namespace kiln::detail

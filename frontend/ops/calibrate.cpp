// The calibration of a quantised range by relative entropy.
#include "frontend/ops/quantized.h"
#include "frontend/ops/reference.h"

#include <limits>

namespace kiln::ops {
namespace {

/// The histogram that all candidates share: arrays of the N bins, and sums of the bins before each edge.
struct Histogram {
  std::int64_t bins, levels;
  Value counts, place;               // (N), float64 and int64
  Value counts_before, used_before;  // (N + 1), float64: of the counts, and of the bins that are not empty
  Value edges;                       // (N + 1), float32
};

Value zeros_first(Primitives& p, Value x) { return p.pad(x, 0, {1}, {0}); }

Histogram histogram_of(Primitives& p, Args in, const Attrs& a) {
  const Shape &hist = p.shape(in[0]), &edges = p.shape(in[1]);
  const std::int64_t levels = count_of(a, "num_quantized_bins");
  if (hist.rank() != 1 || hist[0] % 2 == 0 || hist[0] / 2 < levels / 2)
    fail("needs a histogram with an odd number of bins, num_quantized_bins {} or more, got {}", levels,
         hist.str());
  if (!(edges == Shape{hist[0] + 1}))
    fail(Mistake::operand_shape, "a histogram {} has {} edges, got {}", hist.str(), hist[0] + 1, edges.str());
  const std::int64_t bins = hist[0];
  const Value given = p.unary(Unary::trunc, convert(p, in[0], DType::f64));
  const Value counts = p.binary(Binary::max, given, p.like(given, 0));
  const Value used = p.cast(p.compare(Compare::ne, counts, p.like(counts, 0)), DType::f64);
  return {bins,
          levels,
          counts,
          p.iota({DType::i64, {bins}}, 0),
          zeros_first(p, p.cumulative(Reduce::sum, counts, 0)),
          zeros_first(p, p.cumulative(Reduce::sum, used, 0)),
          convert(p, in[1], DType::f32)};
}

/// A candidate: the bins [start, stop) around the middle are the range, the others are clipped to its ends.
struct Candidate {
  Value start, stop;  // (N), int64: the same in each element
  Value within;       // (N): the bins of the range
};

Value number(Primitives& p, Value x, std::int64_t v) { return p.full_integer(p.type(x), v); }
Value both(Primitives& p, Value a, Value b) { return p.binary(Binary::logical_and, a, b); }

/// The distribution that the range has, with the clipped counts in its first and its last bin.
Value clipped_counts(Primitives& p, const Histogram& h, const Candidate& c) {
  const Value nothing = p.like(h.counts, 0), last = p.sub(c.stop, number(p, c.stop, 1));
  const Value inner = both(p, c.within, p.compare(Compare::gt, h.place, c.start));
  const Value total = p.gather(h.counts_before, number(p, h.place, h.bins), 0);
  const Value below = p.gather(h.counts_before, p.add(c.start, number(p, c.start, 1)), 0),
              above = p.sub(total, p.gather(h.counts_before, c.stop, 0));
  const auto where = [&](Value place, Value v) {
    return p.select(p.compare(Compare::eq, h.place, place), v, nothing);
  };
  return p.add(p.add(p.select(inner, h.counts, nothing), where(c.start, below)), where(last, above));
}

/// The distribution after quantisation: each level has the mean of its bins that are not empty. As in MXNet,
/// the count of the range's first bin is left out.
Value quantised_counts(Primitives& p, const Histogram& h, const Candidate& c, Value clipped) {
  const Value merged = p.div(p.sub(c.stop, c.start), number(p, c.start, h.levels));
  const Value last = number(p, merged, h.levels - 1), one = number(p, merged, 1);
  const Value level = p.binary(Binary::min, p.div(p.sub(h.place, c.start), merged), last);
  const Value begin = p.add(c.start, p.binary(Binary::max, p.mul(level, merged), one));
  const Value end =
      p.select(p.compare(Compare::eq, level, last), c.stop, p.add(c.start, p.mul(p.add(level, one), merged)));
  const auto between = [&](Value before) {
    return p.sub(p.gather(before, end, 0), p.gather(before, begin, 0));
  };
  const Value used = between(h.used_before), nothing = p.like(used, 0);
  const Value filled =
      both(p, p.compare(Compare::ne, clipped, nothing), p.compare(Compare::ne, used, nothing));
  return p.select(both(p, filled, c.within), p.div(between(h.counts_before), used), nothing);
}

/// A distribution without zeros, of the sum 1: `eps` for each zero is taken from the other elements.
struct Smoothed {
  Value x;
  Value valid;  // (1): some element is not 0, and they have enough
};
Smoothed smoothed(Primitives& p, Value x, const Candidate& c) {
  const Shape shape = p.shape(x);
  constexpr double eps = 0.0001f;
  const Value zero = p.compare(Compare::eq, x, p.like(x, 0));
  const auto total = [&](Value v) {
    return p.reshape(p.reduce(Reduce::sum, p.select(c.within, v, p.like(v, 0)), {0}), {1});
  };
  const auto each = [&](Value v) { return p.broadcast(v, shape, {0}); };
  const Value zeros = total(p.cast(zero, DType::f64)),
              others = total(p.cast(p.unary(Unary::logical_not, zero), DType::f64));
  const Value taken = p.div(p.mul(zeros, p.like(zeros, eps)), others);
  const Value y = p.add(x, p.select(zero, p.like(x, eps), p.unary(Unary::neg, each(taken))));
  return {p.div(y, each(total(y))), p.compare(Compare::lt, taken, p.like(taken, 1))};
}

/// The relative entropy of a candidate's distributions (1), float32; the greatest float32 without any.
Value divergence(Primitives& p, const Histogram& h, const Candidate& c) {
  const Value clipped = clipped_counts(p, h, c);
  const Smoothed before = smoothed(p, clipped, c), after = smoothed(p, quantised_counts(p, h, c, clipped), c);
  const Value terms = p.mul(before.x, p.unary(Unary::log, p.div(before.x, after.x)));
  const Value sum = p.reduce(Reduce::sum, p.select(c.within, terms, p.like(terms, 0)), {0});
  const Value result = p.cast(p.reshape(sum, {1}), DType::f32);
  return p.select(both(p, before.valid, after.valid), result,
                  p.like(result, std::numeric_limits<float>::max()));
}

Values calibrate_entropy(Primitives& p, Args in, const Attrs& a) {
  const Histogram h = histogram_of(p, in, a);
  const std::int64_t middle = h.bins / 2, narrowest = h.levels / 2, candidates = middle - narrowest + 1;
  const auto stop_of = [&](Value candidate) {
    return p.add(candidate, number(p, candidate, middle + narrowest + 1));
  };
  const Value numbers = p.iota({DType::i64, {candidates}}, 0);
  const Value first = p.gather(h.edges, p.full_integer({DType::i64, {1}}, middle + narrowest + 1), 0);
  const Value worst = p.like(first, std::numeric_limits<float>::max());
  // The first candidate of the least divergence.
  return p.loop(
      candidates, Values{first, worst}, Values{numbers}, {}, [&](Args best, Args row) -> ir::LoopStep {
        const Value candidate = p.reshape(row[0], {1});
        const Value stop = p.broadcast(stop_of(candidate), {h.bins}, {0});
        Candidate c{p.sub(number(p, stop, h.bins), stop), stop, {}};
        c.within = both(p, p.compare(Compare::ge, h.place, c.start), p.compare(Compare::lt, h.place, c.stop));
        const Value now = divergence(p, h, c), better = p.compare(Compare::lt, now, best[1]);
        const Value threshold = p.gather(h.edges, stop_of(candidate), 0);
        return {{p.select(better, threshold, best[0]), p.select(better, now, best[1])}, {}, {}};
      });
}
void calibrate_shape(ShapeFacts& f, const Attrs&) {
  f.rank(f.in[0], 1);
  f.rank(f.in[1], 1);
  f.linear(Axis{f.in[0], 0}, Axis{f.in[1], 0}, 1, 1);
  for (PartialShape& out : f.out) f.is(out, Shape{1});
}

}  // namespace

OpDef calibrate_entropy_op() {
  return {
      .name = "_contrib_calibrate_entropy",
      .summary = "The threshold of the quantised range that loses the least information about a histogram.",
      .reference =
          {
              .shapes = "hist (N), hist_edges (M) -> threshold (1), divergence (1). N is odd, M = N + 1.",
              .dtypes =
                  "Any, hist and hist_edges independently; the results are float32. Computed in float64.",
              .nan = "A NaN in hist gives the first threshold and the divergence 3.4028235e38. A NaN in "
                     "hist_edges is copied.",
              .ties = "Of equal divergences the narrowest range has the threshold.",
              .empty = "An empty histogram throws. One of zeros gives the first threshold and the divergence "
                       "3.4028235e38.",
              .integers = "Counts are truncated to integers; negative ones are 0.",
              .gradient = "None: zeros.",
              .formula =
                  "A candidate is the range of the bins m - i to m + i around the middle m, i from "
                  "num_quantized_bins / 2 to m. p: its counts, with the counts outside added to its ends. "
                  "q: its bins in num_quantized_bins groups, each with its mean in place of its counts. "
                  "divergence = sum of p log(p / q), both with zeros smoothed to 0.0001 and of the sum "
                  "1; the least. threshold = hist_edges[m + i + 1].",
              .source =
                  "MXNet 1.9.1 (src/operator/quantization/calibrate.cc); S. Migacz, 8-bit Inference with "
                  "TensorRT, 2017.",
          },
      .inputs = {"hist", "hist_edges"},
      .attrs = {int_attr("num_quantized_bins", 255, "The number of integers of the range, 1 to N.")},
      .counted_outputs = outputs<2>,
      .visible_outputs = outputs<2>,
      .output_names = {"threshold", "divergence"},
      .compose = calibrate_entropy,
      .stops_gradient = true,
      .shape_rule = calibrate_shape};
}

}  // namespace kiln::ops

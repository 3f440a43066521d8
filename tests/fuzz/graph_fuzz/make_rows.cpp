// Reductions, and chains of kernels that work row by row on each other's results.
#include "families.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace graphs {

using namespace kiln;

namespace {

/// The last axis, the last two, or any of them.
std::string some_axes(Maker& m, const Made& x) {
  const std::int64_t rank = x.shape().rank();
  const std::size_t choice = m.pick(6);
  if (choice < 3) return tuple({rank - 1});
  if (choice == 3 && rank > 1) return tuple({rank - 2, rank - 1});
  std::vector<std::int64_t> axes;
  for (std::int64_t i = 0; i < rank; ++i)
    if (m.chance(2)) axes.push_back(i);
  if (axes.empty()) axes.push_back(static_cast<std::int64_t>(m.pick(static_cast<std::size_t>(rank))));
  return tuple(axes);
}

Made statistic(Maker& m, const Made& x, const std::string& axes) {
  static const std::vector<std::string> operators{"sum", "mean", "max", "min", "norm"};
  return m.one(m.one_of(operators), {x}, {{"axis", axes}, {"keepdims", "True"}});
}

/// (x - mean) / sqrt(variance + eps), operator by operator.
Made normalized(Maker& m, const Made& x, const std::string& axes) {
  const Attributes attrs{{"axis", axes}, {"keepdims", "True"}};
  const Made centered = m.one("broadcast_sub", {x, m.one("mean", {x}, attrs)});
  const Made variance = m.one("mean", {m.one("square", {centered})}, attrs);
  const Made scale = m.one("rsqrt", {m.one("_plus_scalar", {variance}, {{"scalar", "1e-3"}})});
  return m.one("broadcast_mul", {centered, scale});
}

Made layer_norm(Maker& m, const Made& x) {
  const Shape channels{x.shape().back()};
  const Made gamma = m.variable(channels, x.dtype()), beta = m.variable(channels, x.dtype());
  return m.one("LayerNorm", {x, gamma, beta});
}

/// One more array of the shape that `x`, one of `live`, has.
Made next_of_rows(Maker& m, const MadeList& live, const Made& x, const std::string& axes) {
  switch (m.pick(8)) {
    case 0:
      return m.one(m.one_of({"softmax", "log_softmax", "softmin"}), {x}, {{"axis", "-1"}});
    case 1:
    case 2: {
      const Made s = statistic(m, x, axes);
      const std::string op =
          m.one_of({"broadcast_sub", "broadcast_div", "broadcast_mul", "broadcast_maximum"});
      return m.one(op, {m.one_of(live), s});
    }
    case 3:
      return normalized(m, x, axes);
    case 4:
      return layer_norm(m, x);
    case 5: {
      const std::string op = m.one_of({"elemwise_add", "elemwise_mul", "_maximum"});
      return m.one(op, {x, m.one_of(live)});
    }
    default:
      return pointwise_of(m, x);
  }
}

/// The end of a chain of rows: the array itself, transposed, or summed along or across.
Made end_of_rows(Maker& m, const Made& x) {
  const std::int64_t rank = x.shape().rank();
  switch (m.pick(6)) {
    case 0:
      return x;
    case 1:
      return m.one(m.one_of({"sum", "max"}), {x}, {{"axis", some_axes(m, x)}});
    case 2:
      return m.one("sum", {x}, {{"axis", "0"}});
    default:
      if (rank < 2) return x;
      return m.one("SwapAxis", {x},
                   {{"dim1", fmt::format("{}", rank - 1)}, {"dim2", fmt::format("{}", rank - 2)}});
  }
}

}  // namespace

MadeList reduction(Maker& m) {
  static const std::vector<std::string> operators{"sum", "mean", "max", "min", "prod", "nansum", "norm"};
  static const std::vector<std::string> over_one{"softmax", "log_softmax", "argmax", "argmin"};
  const Made x = m.some_array();
  const std::string axis = fmt::format("{}", m.pick(x.shape().size()));
  if (m.chance(3)) return m.node(m.one_of(over_one), {x}, {{"axis", axis}});
  Attributes attrs;
  const std::size_t axes = m.pick(4);
  if (axes == 1) attrs["axis"] = some_axes(m, x);
  if (axes > 1) attrs["axis"] = axis;
  if (m.chance(2)) attrs["keepdims"] = "True";
  return m.node(m.one_of(operators), {x}, attrs);
}

MadeList rows(Maker& m) {
  Made x = m.some_array();
  for (int more = m.large() ? 2 : 0; more > 0; --more)
    if (const Made other = m.some_array(); other.value.size() > x.value.size()) x = other;
  if (x.value.size() == 0) throw Error("no rows");
  x = m.as_float(x);
  const std::string axes = some_axes(m, x);
  // An argument is in memory anyway; a computed array could stay in cache.
  if (!m.chance(3)) x = pointwise_of(m, x);
  MadeList live{x};
  for (std::size_t steps = 1 + m.pick(m.large() ? 5 : 3); steps > 0; --steps) {
    const Made from = m.chance(3) ? m.one_of(live) : live.back();
    const Made next = next_of_rows(m, live, from, axes);
    if (next.dtype() == x.dtype()) live.push_back(next);
  }
  // Mostly one array leaves the rows. Two that one kernel computes may both end in the following kernels.
  const bool two = m.chance(m.large() ? 2 : 4);
  if (two) live.push_back(pointwise_of(m, live.back()));
  MadeList results;
  for (std::size_t i = 0; i < live.size(); ++i) {
    const bool last = i + (two ? 2 : 1) >= live.size();
    if (!last && !m.chance(3)) continue;
    results.push_back(end_of_rows(m, live[i]));
    results.back().wanted = last || m.chance(2);
  }
  return results;
}

}  // namespace graphs

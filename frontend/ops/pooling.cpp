// Pooling, its gradients and its shapes.
#include "frontend/ops/layers.h"
#include "frontend/ops/own_gradient.h"
#include "frontend/ops/reference.h"
#include "runtime/dtype_table.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace kiln::ops {
namespace {

/// `sums` over windows divided by the windows' sizes, counted as in MXNet: the product over the axes of the
/// positions inside the padded image, or inside the image. Products of these counts are exact.
Value averages(Primitives& p, Value sums, const Shape& in, const ir::Window& w, const Shape& pad,
               bool include_pad) {
  const Shape out = p.shape(sums);
  double same = 1;
  Value varying;
  for (int i = 0; i < w.kernel.rank(); ++i) {
    const std::int64_t n = out[at(i + 2)];
    if (n > 1 << 20) fail("average pooling to {} has too many windows along axis {}", out.str(), i + 2);
    std::vector<float> counts;
    for (std::int64_t o = 0; o < n; ++o) {
      std::int64_t begin = o * w.stride[at(i)] - pad[at(i)],
                   end = std::min(begin + w.kernel[at(i)], in[at(i + 2)] + pad[at(i)]);
      if (!include_pad) begin = std::max<std::int64_t>(begin, 0), end = std::min(end, in[at(i + 2)]);
      counts.push_back(static_cast<float>(std::max<std::int64_t>(1, end - begin)));
    }
    if (std::adjacent_find(counts.begin(), counts.end(), std::not_equal_to<>()) == counts.end()) {
      if (n > 0) same *= counts[0];
      continue;
    }
    Value along = p.constant({DType::f32, {n}}, std::as_bytes(std::span<const float>(counts)));
    along = p.broadcast_along(convert(p, along, p.dtype(sums)), out, i + 2);
    varying = varying.valid() ? p.mul(varying, along) : along;
  }
  if (!varying.valid()) return p.div(sums, p.like(sums, same));
  return p.div(sums, same == 1 ? varying : p.mul(varying, p.like(sums, same)));
}

/// `maxima` over windows; of a window wholly in the padding, as a full pooling may have after the end of an
/// axis, MXNet's least finite number.
Value with_outside_windows(Primitives& p, Value maxima, const Shape& in, const ir::Window& w) {
  if (!is_floating(p.dtype(maxima))) return maxima;  // the maximum of no integers is the least one
  const Shape out = p.shape(maxima);
  for (int i = 0; i < w.kernel.rank(); ++i) {
    const std::int64_t extent = in[at(i + 2)], n = out[at(i + 2)], pad = w.pad_low[at(i)],
                       stride = w.stride[at(i)];
    // The windows [first, end) have an element of the array.
    const std::int64_t first = std::max<std::int64_t>(pad - w.kernel[at(i)] + stride, 0) / stride,
                       end = extent == 0 ? 0 : (extent + pad + stride - 1) / stride;
    if (first == 0 && end >= n) continue;
    const TensorType places{DType::i64, out};
    const Value window = p.iota(places, i + 2);
    const Value inside =
        p.binary(Binary::logical_and, p.compare(Compare::ge, window, p.full_integer(places, first)),
                 p.compare(Compare::lt, window, p.full_integer(places, end)));
    maxima = p.select(inside, maxima, p.like(maxima, -row_of(p.dtype(maxima)).format.greatest()));
  }
  return maxima;
}

/// The attributes kernel, stride and pad for `spatial` axes.
ir::Window pooling_window(const Attrs& a, int spatial) {
  const Shape pad = or_all(a.tuple("pad"), spatial, 0);
  ir::Window w{a.tuple("kernel"), or_all(a.tuple("stride"), spatial, 1), Shape::filled(spatial, 1), pad, pad};
  require_sizes("kernel", w.kernel, spatial, 1);
  require_sizes("stride", w.stride, spatial, 1);
  require_sizes("pad", w.pad_low, spatial, 0);
  return w;
}

}  // namespace

Value pooled(Primitives& p, Value x, const Attrs& a) {
  require_channels_first(a);
  const Shape data = p.shape(x);
  int spatial = data.rank() - 2;
  if (spatial < 1) fail("Pooling needs (N, C, spatial...), got {}", data.str());
  const std::string& type = a.word("pool_type");
  std::int64_t power = 0;
  if (type == "lp") {
    power = a.is_none("p_value") ? 2 : a.integer("p_value");
    if (power < 1 || power > 3) fail("lp pooling supports the p_value 1, 2 or 3, not {}", power);
    x = p.unary(Unary::abs, x);
    Value base = x;
    for (std::int64_t i = 1; i < power; ++i) x = p.mul(x, base);
  }
  auto root = [&](Value sum) {
    if (power == 2) return p.unary(Unary::sqrt, sum);
    return power == 3 ? p.unary(Unary::cbrt, sum) : sum;
  };
  bool average = type == "avg";
  Reduce op = type == "max" ? Reduce::max : Reduce::sum;

  if (a.boolean("global_pool")) {
    Shape axes, to{data[0], data[1]};
    std::int64_t count = 1;
    for (int i = 2; i < data.rank(); ++i) {
      axes.push_back(i);
      to.push_back(1);
      count *= data[at(i)];
    }
    Value r = p.reduce(op, x, axes);
    if (average) r = p.div(r, p.like(r, static_cast<double>(count)));
    return p.reshape(root(r), to);
  }

  const Shape& kernel = a.tuple("kernel");
  if (kernel.rank() != spatial)
    fail("a kernel {} does not fit data of the shape {}", kernel.str(), data.str());
  ir::Window w = pooling_window(a, spatial);
  const Shape &pad = w.pad_low, &stride = w.stride;
  require_windows_fit(data, w);
  const std::string& convention = a.word("pooling_convention");
  if (convention == "same")
    fail("pooling_convention same is not supported by MXNet 1.9.1: use valid or full");
  Shape out{data[0], data[1]};
  for (int i = 0; i < spatial; ++i) {
    const std::int64_t room = data[at(i + 2)] + times(2, pad[at(i)]) - kernel[at(i)], s = stride[at(i)];
    std::int64_t extent = (convention == "full" ? (room + s - 1) / s : room / s) + 1;
    out.push_back(extent);
    // The part of a last window beyond the padding (full) contributes nothing.
    w.pad_high[at(i)] =
        std::max<std::int64_t>(0, (extent - 1) * s + kernel[at(i)] - data[at(i + 2)] - pad[at(i)]);
  }
  Value r = p.reduce_window(op, x, w);
  if (type == "max") r = with_outside_windows(p, r, data, w);
  if (average) {
    bool include_pad = a.is_none("count_include_pad") || a.boolean("count_include_pad");
    r = averages(p, r, data, w, pad, include_pad);
  }
  return root(r);
}
void pooling_shape(ShapeFacts& f, const Attrs& a) {
  PartialShape &data = f.in[0], &out = f.out[0];
  f.ranks(data, out);
  f.same(Axis{data, 0}, Axis{out, 0});
  f.same(Axis{data, 1}, Axis{out, 1});
  const int n = data.extents.rank() - 2;
  if (a.boolean("global_pool")) {
    for (int i = 0; i < n; ++i) f.is(Axis{out, i + 2}, 1);
    return;
  }
  if (n < 1 || a.tuple("kernel").rank() != n) return;
  const ir::Window w = pooling_window(a, n);
  require_windows_fit(data, w);
  for (int i = 0; i < n; ++i)
    window_shape(f, {data, i + 2}, {out, i + 2}, w.kernel[at(i)], w.stride[at(i)], w.pad_low[at(i)],
                 a.word("pooling_convention") == "full");
}

namespace {

/// A global maximum is a reduction, whose rule gives the head to every equal element; of a window only the
/// first one has it.
Values pooling_gradient(Primitives& p, const GradientArgs& args) {
  if (!args.attrs.boolean("global_pool") || args.attrs.word("pool_type") != "max") return {};
  const Shape data = p.shape(args.in[0]), windows{data[0], data[1], Shape(data.dims().subspan(2)).elements()};
  const Value x = p.reshape(args.in[0], windows), g = args.heads[0];
  if (!g.valid()) return Values(1);
  const auto over = [&](Value of_window) { return spread(p, of_window, windows, {2}); };
  const TensorType number{DType::i64, windows};
  const Value place = p.iota(number, 2),
              none = p.full_integer(number, std::numeric_limits<std::int64_t>::max());
  const Value hit = p.compare(Compare::eq, x, over(args.out[0]));
  const Value first = over(p.reduce(Reduce::min, p.select(hit, place, none), {2}));
  const Value dx = p.select(p.compare(Compare::eq, place, first), over(g), p.like(x, 0));
  return {p.reshape(dx, data)};
}
int pooling_outputs(const Attrs& a) { return a.word("pool_type") == "max" ? 2 : 1; }
Values pooling(Primitives& p, Args in, const Attrs& a) {
  const Value x = a.word("pool_type") == "max" ? in[0] : widen(p, in[0]);
  Values out{convert(p, pooled(p, x, a), p.dtype(in[0]))};
  out.resize(static_cast<std::size_t>(pooling_outputs(a)));
  return out;
}

// Adaptive pooling: window i of n covers floor(i * extent / n) up to ceil((i + 1) * extent / n).

/// The sums over the windows of one axis, and their divisors.
std::pair<Value, Value> adaptive_sums(Primitives& p, Value x, int axis, std::int64_t n) {
  Shape shape = p.shape(x);
  const std::int64_t extent = shape[at(axis)], longest = (extent + n - 1) / n + 1;
  // Positions within a window; positions beyond its end are masked.
  TensorType table{DType::i64, {n, longest}};
  const auto number = [&](std::int64_t v) { return p.full_integer(table, v); };
  Value window = p.iota(table, 0), place = p.iota(table, 1);
  Value begin = p.div(p.mul(window, number(extent)), number(n));
  Value end = p.div(p.add(p.mul(p.add(window, number(1)), number(extent)), number(n - 1)), number(n));
  Value index = p.add(begin, place);
  Value inside = p.compare(Compare::lt, index, end);
  Value picked = p.gather(x, index, axis);  // (..., n, longest, ...)
  Value taken = p.broadcast(inside, p.shape(picked), {axis, axis + 1});
  Value sums = p.reduce(Reduce::sum, p.select(taken, picked, p.like(picked, 0)), {axis + 1});
  Value counts = convert(p, p.reduce(Reduce::sum, p.cast(inside, DType::i64), {1}), p.dtype(x));
  return {sums, p.broadcast_along(counts, p.shape(sums), axis)};
}

Values adaptive_average(Primitives& p, Args in, const Attrs& a) {
  const Shape data = p.shape(in[0]), &size = a.tuple("output_size");
  if (data.rank() != 4 || size.rank() > 2 || data[2] < 1 || data[3] < 1)
    fail("needs (N, C, H, W) and an output_size of at most two numbers, got {} and {}", data.str(),
         size.str());
  const std::int64_t height = size.empty() ? 1 : size[0], width = size.empty() ? 1 : size.back();
  for (std::int64_t n : {height, width})
    if (n < 1 || n > 1 << 20) fail("output_size {} must be from 1 to 2^20", size.str());
  auto [rows, row_counts] = adaptive_sums(p, widen(p, in[0]), 2, height);
  auto [sums, counts] = adaptive_sums(p, rows, 3, width);
  Value heights = p.slice(row_counts, {0, 0, 0, 0}, {data[0], data[1], height, 1}, Shape::filled(4, 1));
  counts = p.mul(counts, p.broadcast_to(heights, p.shape(sums)));
  return {convert(p, p.div(sums, counts), p.dtype(in[0]))};
}

}  // namespace

std::span<const OpDef> pooling_ops() {
  static const std::vector<OpDef> rows{
      {.name = "Pooling",
       .aliases = {"_npx_pooling"},
       .summary = "Reduces each position of a sliding window to its maximum, average, sum or p-norm.",
       .reference =
           {
               .shapes = "data (N, C, H, W) -> (N, C, H', W'). H' = floor((H + 2 pad - kH) / stride) + 1, "
                         "and W' likewise; rounded up with pooling_convention=full. With global_pool (N, C, "
                         "1, 1). One to three spatial axes.",
               .dtypes = "Any; the result has the dtype of data. Averages, sums and norms of half precision "
                         "are computed in float32 and rounded once.",
               .nan = "A window with a NaN gives NaN, for every pool_type.",
               .ties = "Of equal maxima of a window the first in C order has the gradient.",
               .empty =
                   "No samples or channels give none. A global maximum of no elements is -inf (of integers "
                   "the least), a sum or norm 0, an average NaN. A window of padding alone: see source.",
               .integers = "Sums and powers wrap modulo 2^n, averages and roots are truncated. Of bool a sum "
                           "is 1 if any element is.",
               .gradient = "data: the sum over its windows of: max: g at the first maximum, 0 where the "
                           "maximum is NaN; avg: g / n; sum: g; lp: g sign(x) |x|^(p - 1) / y^(p - 1), NaN "
                           "where y = 0 and p > 1.",
               .formula = "max: max of x. avg: sum of x / n. sum: sum of x. lp: (sum of |x|^p)^(1 / p), over "
                          "the elements x of the window. Padding is -inf for max, else 0. n is the size of "
                          "the window without its part beyond the padding; with count_include_pad=False "
                          "without the padding, at least 1.",
               .source = "MXNet 1.9.1 (src/operator/nn/pooling.cc). A window of padding alone has as maximum "
                         "the least finite number of the dtype, as there. The gradient of an average with "
                         "pooling_convention=full is the derivative, unlike there in float32.",
           },
       .inputs = {"data"},
       .attrs = {tuple_attr("kernel",
                            "The extents of the window, one for each spatial axis. Unused with global_pool."),
                 word_attr("pool_type", "max", {"avg", "lp", "max", "sum"},
                           "The reduction; lp is the p-norm."),
                 bool_attr("global_pool", false, "Whether the window is the whole image, without padding."),
                 library_hint(bool_attr("cudnn_off", false, "Whether MXNet leaves cuDNN aside.")),
                 word_attr("pooling_convention", "valid", {"full", "same", "valid"},
                           "valid: only windows within the padded image. full: also a last window that "
                           "reaches beyond it. same throws."),
                 tuple_attr("stride",
                            "The distance of windows, one number for each spatial axis, 1 or more. (): 1."),
                 tuple_attr("pad", "Padding on both sides of each spatial axis, 0 or more. (): 0."),
                 or_none("p_value", AttrKind::integer, "p of lp: 1, 2 or 3. None: 2."),
                 or_none("count_include_pad", AttrKind::boolean,
                         "Whether an average counts the padding in its window. None: it does."),
                 layout_attr()},
       .counted_outputs = pooling_outputs,
       .compose = pooling,
       .gradient = pooling_gradient,
       .shape_rule = pooling_shape},
      {.name = "_contrib_AdaptiveAvgPooling2D",
       .summary = "Averages an image over windows whose number is given, so that every size of image gives "
                  "one size of result.",
       .reference =
           {
               .shapes = "data (N, C, H, W) -> (N, C, H', W').",
               .dtypes = wide_dtypes,
               .nan = "A window with a NaN gives NaN.",
               .empty = "No samples or channels give none. An image without elements throws.",
               .integers = "Sums wrap modulo 2^n, and the quotient is truncated.",
               .gradient = "data: each element has the sum of g / n over the windows that hold it, n "
                           "elements in a window.",
               .formula = "y[n, c, i, j] = mean of data[n, c, h, w] over a window. Its rows h are from "
                          "floor(i H / H') to ceil((i + 1) H / H') - 1, its columns likewise.",
               .source = "MXNet 1.9.1 (src/operator/contrib/adaptive_avg_pooling.cc).",
           },
       .inputs = {"data"},
       .attrs = {tuple_attr("output_size", "(H', W'), or one number for both, from 1 to 2^20. (): 1.")},
       .compose = adaptive_average},
  };
  return rows;
}

}  // namespace kiln::ops

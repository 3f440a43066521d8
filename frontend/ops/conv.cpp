// Convolution, Deconvolution and im2col.
#include "frontend/ops/shape_rules.h"
#include "frontend/ops/windows.h"
#include "ir/transposed_convolution.h"

#include <algorithm>

namespace kiln::ops {
namespace {

Values convolution(Primitives& p, Args in, const Attrs& a) {
  require_channels_first(a);
  const Shape data = p.shape(in[0]), weight = p.shape(in[1]);
  ir::ConvSpec spec = conv_spec(a);
  const Shape& kernel = spec.window.kernel;
  if (data.rank() != kernel.rank() + 2)
    fail(Mistake::wrong_rank, "a kernel {} needs data of {} axes, got {}", kernel.str(), kernel.rank() + 2,
         data.str());
  std::int64_t filters = count_of(a, "num_filter");
  if (spec.groups < 1 || data[1] % spec.groups != 0 || filters % spec.groups != 0)
    fail("num_group {} must divide the {} channels and the {} filters", spec.groups, data[1], filters);
  Shape expected{filters, data[1] / spec.groups};
  for (std::int64_t k : kernel) expected.push_back(k);
  if (!(weight == expected))
    fail(Mistake::weight_does_not_fit,
         "Shape inconsistent, Provided = {}, inferred shape={}: the weight does not fit data of the shape {}",
         weight.str(), expected.str(), data.str());
  for (int i = 0; i < kernel.rank(); ++i)
    if (times(spec.window.dilate[at(i)], kernel[at(i)] - 1) - data[at(i + 2)] >=
        times(2, spec.window.pad_low[at(i)]))
      fail(Mistake::window_too_large, "kernel size exceed input: kernel {} on data {} with pad {}",
           kernel.str(), data.str(), spec.window.pad_low.str());
  for (const Value v : in.subspan(1)) require_one_wide_dtype(p, in[0], v, "Convolution");
  Value image = widen(p, in[0]), filter = widen(p, in[1]);
  Value y = p.convolution(image, filter, spec);
  if (!a.boolean("no_bias")) y = p.add(y, p.broadcast_along(widen(p, in[2]), p.shape(y), 1));
  return {convert(p, y, p.dtype(in[0]))};
}
void convolution_shape(ShapeFacts& f, const Attrs& a) {
  PartialShape &data = f.in[0], &weight = f.in[1], &out = f.out[0];
  const ir::ConvSpec spec = conv_spec(a);
  const ir::Window& w = spec.window;
  const int n = w.kernel.rank();
  if (spec.groups < 1 || n + 2 > Shape::max_rank) return;
  for (PartialShape* x : {&data, &weight, &out}) f.rank(*x, n + 2);
  f.same(Axis{data, 0}, Axis{out, 0});
  f.linear({weight, 1}, {data, 1}, spec.groups, 0);
  f.is(Axis{weight, 0}, count_of(a, "num_filter"));
  f.is(Axis{out, 1}, count_of(a, "num_filter"));
  if (f.in.size() > 2) f.is(f.in[2], Shape{count_of(a, "num_filter")});
  for (int i = 0; i < n; ++i) {
    f.is(Axis{weight, i + 2}, w.kernel[at(i)]);
    window_shape(f, {data, i + 2}, {out, i + 2}, w.dilate[at(i)] * (w.kernel[at(i)] - 1) + 1, w.stride[at(i)],
                 w.pad_low[at(i)], false);
  }
}

// Deconvolution: the weight is (C, num_filter / num_group, kernel...).

Values deconvolution(Primitives& p, Args in, const Attrs& a) {
  require_channels_first(a);
  const Shape data = p.shape(in[0]), weight = p.shape(in[1]);
  ir::ConvSpec spec = conv_spec(a);
  const Shape& kernel = spec.window.kernel;
  const int n = kernel.rank();
  if (data.rank() != n + 2)
    fail(Mistake::wrong_rank, "a kernel {} needs data of {} axes, got {}", kernel.str(), n + 2, data.str());
  std::int64_t filters = count_of(a, "num_filter");
  if (spec.groups < 1 || filters < 1 || data[1] % spec.groups != 0 || filters % spec.groups != 0)
    fail("num_group {} must divide the {} channels and the {} filters", spec.groups, data[1], filters);
  Shape expected{data[1], filters / spec.groups};
  for (std::int64_t k : kernel) expected.push_back(k);
  if (!(weight == expected))
    fail(Mistake::weight_does_not_fit,
         "Shape inconsistent, Provided = {}, inferred shape={}: the weight does not fit data of the shape {}",
         weight.str(), expected.str(), data.str());
  Shape adjust = or_all(a.tuple("adj"), n, 0);
  require_sizes("adj", adjust, n, 0);
  if (const Shape& target = a.tuple("target_shape"); !target.empty()) {
    require_sizes("target_shape", target, n, 1);
    for (int i = 0; i < n; ++i) {
      // The surplus is cut by equal padding on both sides; an odd element is added back.
      const std::int64_t whole = times(spec.window.stride[at(i)], data[at(i + 2)] - 1) + 1 +
                                 times(spec.window.dilate[at(i)], kernel[at(i)] - 1);
      const std::int64_t surplus = whole - target[at(i)];
      if (surplus < 0) fail("target_shape {} is too big: data {} gives {}", target.str(), data.str(), whole);
      spec.window.pad_low[at(i)] = spec.window.pad_high[at(i)] = (surplus + 1) / 2;
      adjust[at(i)] = surplus % 2;
    }
  }
  for (const Value v : in.subspan(1)) require_one_wide_dtype(p, in[0], v, "Deconvolution");
  Value y = ir::transposed_convolution(p, widen(p, in[0]), widen(p, in[1]), spec, adjust);
  if (!a.boolean("no_bias")) y = p.add(y, p.broadcast_along(widen(p, in[2]), p.shape(y), 1));
  return {convert(p, y, p.dtype(in[0]))};
}
void deconvolution_shape(ShapeFacts& f, const Attrs& a) {
  PartialShape &data = f.in[0], &weight = f.in[1], &out = f.out[0];
  const ir::ConvSpec spec = conv_spec(a);
  const ir::Window& w = spec.window;
  const int n = w.kernel.rank();
  if (spec.groups < 1 || count_of(a, "num_filter") % spec.groups != 0 || n + 2 > Shape::max_rank) return;
  for (PartialShape* x : {&data, &weight, &out}) f.rank(*x, n + 2);
  f.same(Axis{data, 0}, Axis{out, 0});
  f.same(Axis{data, 1}, Axis{weight, 0});
  f.is(Axis{weight, 1}, count_of(a, "num_filter") / spec.groups);
  f.is(Axis{out, 1}, count_of(a, "num_filter"));
  if (f.in.size() > 2) f.is(f.in[2], Shape{count_of(a, "num_filter")});
  const Shape adjust = or_all(a.tuple("adj"), n, 0), &target = a.tuple("target_shape");
  for (int i = 0; i < n; ++i) {
    f.is(Axis{weight, i + 2}, w.kernel[at(i)]);
    if (target.rank() == n) f.is(Axis{out, i + 2}, target[at(i)]);
    if (!target.empty() || adjust.rank() != n) continue;
    const std::int64_t reach = w.dilate[at(i)] * (w.kernel[at(i)] - 1) + 1;
    f.linear({data, i + 2}, {out, i + 2}, w.stride[at(i)],
             reach - w.stride[at(i)] - 2 * w.pad_low[at(i)] + adjust[at(i)]);
  }
}

/// The elements under each window as a column: (N, C * prod(kernel), windows).
Values im2col(Primitives& p, Args in, const Attrs& a) {
  const Shape& kernel = a.tuple("kernel");
  const int n = kernel.rank();
  Shape data = p.shape(in[0]);
  if (n < 1 || data.rank() != n + 2)
    fail(Mistake::wrong_rank, "a kernel {} needs data of {} axes, got {}", kernel.str(), n + 2, data.str());
  const Shape stride = or_all(a.tuple("stride"), n, 1), dilate = or_all(a.tuple("dilate"), n, 1);
  const Shape pad = or_all(a.tuple("pad"), n, 0);
  require_sizes("kernel", kernel, n, 1);
  require_sizes("stride", stride, n, 1);
  require_sizes("dilate", dilate, n, 1);
  require_sizes("pad", pad, n, 0);
  if (kernel.elements() > 1 << 12) fail("the kernel {} is too large for im2col", kernel.str());
  Shape around{0, 0};
  for (std::int64_t v : pad) around.push_back(v);
  Value x = p.pad(in[0], 0, around, around);
  data = p.shape(x);

  Shape step{1, 1}, counts;
  for (int i = 0; i < n; ++i) {
    const std::int64_t room = data[at(i + 2)] - times(dilate[at(i)], kernel[at(i)] - 1) - 1;
    if (room < 0)
      fail(Mistake::window_too_large, "kernel size exceed input: kernel {} on data {}", kernel.str(),
           data.str());
    step.push_back(stride[at(i)]);
    counts.push_back(room / stride[at(i)] + 1);
  }
  Values columns;
  Shape place = Shape::filled(n, 0);
  for (std::int64_t k = 0; k < kernel.elements(); ++k) {
    Shape start{0, 0}, limit{data[0], data[1]};
    for (int i = 0; i < n; ++i) {
      start.push_back(place[at(i)] * dilate[at(i)]);
      limit.push_back(start.back() + (counts[at(i)] - 1) * stride[at(i)] + 1);
    }
    columns.push_back(p.reshape(p.slice(x, start, limit, step), {data[0], data[1], 1, counts.elements()}));
    for (int i = n - 1; i >= 0 && ++place[at(i)] == kernel[at(i)]; --i) place[at(i)] = 0;
  }
  Value stacked = p.concatenate(columns, 2);
  return {p.reshape(stacked, {data[0], times(data[1], kernel.elements()), counts.elements()})};
}

}  // namespace

std::span<const OpDef> conv_ops() {
  static const std::vector<OpDef> rows{
      {.name = "Convolution",
       .aliases = {"_npx_convolution"},
       .summary = "Cross-correlation with a bias, in one to three dimensions.",
       .inputs = {"data", "weight", "bias"},
       .active_inputs = inputs_with_bias,
       .attrs = {required("kernel", AttrKind::tuple), tuple_attr("stride"), tuple_attr("dilate"),
                 tuple_attr("pad"), required("num_filter", AttrKind::integer), int_attr("num_group", 1),
                 library_hint(int_attr("workspace", 1024)), bool_attr("no_bias", false),
                 library_hint(or_none("cudnn_tune", AttrKind::text)),
                 library_hint(bool_attr("cudnn_off", false)), layout_attr()},
       .compose = convolution,
       .shape_rule = convolution_shape},
      {.name = "Deconvolution",
       .aliases = {"_npx_deconvolution"},
       .summary = "The transposed convolution, with a bias, in one to three dimensions.",
       .inputs = {"data", "weight", "bias"},
       .active_inputs = inputs_with_bias,
       .attrs = {required("kernel", AttrKind::tuple), tuple_attr("stride"), tuple_attr("dilate"),
                 tuple_attr("pad"), tuple_attr("adj"), tuple_attr("target_shape"),
                 required("num_filter", AttrKind::integer), int_attr("num_group", 1),
                 library_hint(int_attr("workspace", 512)), bool_attr("no_bias", true),
                 library_hint(or_none("cudnn_tune", AttrKind::text)),
                 library_hint(bool_attr("cudnn_off", false)), layout_attr()},
       .compose = deconvolution,
       .shape_rule = deconvolution_shape},
      {.name = "im2col",
       .summary = "The elements under each position of a sliding window, as columns.",
       .inputs = {"data"},
       .attrs = {required("kernel", AttrKind::tuple), tuple_attr("stride"), tuple_attr("dilate"),
                 tuple_attr("pad")},
       .compose = im2col},
  };
  return rows;
}

}  // namespace kiln::ops

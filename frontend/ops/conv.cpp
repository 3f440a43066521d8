// Convolution, Deconvolution and im2col.
#include "frontend/ops/layers.h"
#include "frontend/ops/reference.h"
#include "ir/transposed_convolution.h"

#include <algorithm>

namespace kiln::ops {

ir::ConvSpec convolution_call(Primitives& p, Value x, Value w, const Attrs& a) {
  require_channels_first(a);
  const Shape data = p.shape(x), weight = p.shape(w);
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
  require_windows_fit(data, spec.window);
  return spec;
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
  if (!a.boolean("no_bias")) f.is(f.in[2], Shape{count_of(a, "num_filter")});
  require_windows_fit(data, w);
  for (int i = 0; i < n; ++i) {
    f.is(Axis{weight, i + 2}, w.kernel[at(i)]);
    window_shape(f, {data, i + 2}, {out, i + 2}, w.dilate[at(i)] * (w.kernel[at(i)] - 1) + 1, w.stride[at(i)],
                 w.pad_low[at(i)], false);
  }
}

namespace {

Values convolution(Primitives& p, Args in, const Attrs& a) {
  const ir::ConvSpec spec = convolution_call(p, in[0], in[1], a);
  require_one_dtype(p, in, "Convolution");
  Value image = widen_factor(p, in[0]), filter = widen_factor(p, in[1]);
  Value y = p.convolution(image, filter, spec);
  if (!a.boolean("no_bias")) y = p.add(y, p.broadcast_along(widen_factor(p, in[2]), p.shape(y), 1));
  return {convert(p, y, p.dtype(in[0]))};
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
  require_one_dtype(p, in, "Deconvolution");
  Value y = ir::transposed_convolution(p, widen_factor(p, in[0]), widen_factor(p, in[1]), spec, adjust);
  if (!a.boolean("no_bias")) y = p.add(y, p.broadcast_along(widen_factor(p, in[2]), p.shape(y), 1));
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
    const std::int64_t more = reach - w.stride[at(i)] - 2 * w.pad_low[at(i)] + adjust[at(i)];
    const std::int64_t extent = Axis{data, i + 2}.get();
    if (more <= 0 && extent != unknown && extent <= -more / w.stride[at(i)])
      ir::fail_without_outputs(w, data.str());
    f.linear({data, i + 2}, {out, i + 2}, w.stride[at(i)], more);
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
  require_windows_fit(data, {kernel, stride, dilate, pad, pad});
  if (kernel.elements() > 1 << 12) fail("the kernel {} is too large for im2col", kernel.str());
  Shape around{0, 0};
  for (std::int64_t v : pad) around.push_back(v);
  Value x = p.pad(in[0], 0, around, around);
  data = p.shape(x);

  Shape step{1, 1}, counts;
  for (int i = 0; i < n; ++i) {
    const std::int64_t room = data[at(i + 2)] - times(dilate[at(i)], kernel[at(i)] - 1) - 1;
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
  static const AttrSpec
      kernel = required("kernel", AttrKind::tuple, "The extents of the window, one for each spatial axis."),
      stride = tuple_attr("stride",
                          "The distance of windows, one number for each spatial axis, 1 or more. (): 1."),
      dilate = tuple_attr(
          "dilate",
          "The distance of elements within a window, one number for each spatial axis, 1 or more. (): 1."),
      num_filter = required("num_filter", AttrKind::integer, "O, the number of channels of the result."),
      num_group = int_attr("num_group", 1,
                           "g, the number of groups of channels. It divides C and O; each group of results "
                           "reads its own group of data."),
      cudnn_tune =
          library_hint(or_none("cudnn_tune", AttrKind::text, "How MXNet chooses cuDNN's algorithm.")),
      cudnn_off = library_hint(bool_attr("cudnn_off", false, "Whether MXNet leaves cuDNN aside."));
  static constexpr auto workspace = [](std::int64_t megabytes) {
    return library_hint(int_attr("workspace", megabytes, "The limit of MXNet's temporary memory, in MB."));
  };
  static constexpr std::string_view no_bias = "Whether there is no bias: the inputs are data and weight.";
  static const std::vector<OpDef> rows{
      {.name = "Convolution",
       .aliases = {"_npx_convolution"},
       .summary =
           "A convolution (cross-correlation) of data with weight, plus a bias, in one to three dimensions.",
       .reference =
           weighted_reference |
           OpReference{
               .shapes = "data (N, C, H, W), weight (O, C/g, kH, kW), bias (O) -> (N, O, H', W'), g groups. "
                         "H' = floor((H + 2 pad - dilate (kH - 1) - 1) / stride) + 1, and W' likewise. In "
                         "one dimension (N, C, W), in three (N, C, D, H, W).",
               .nan = "A NaN in data makes the results of all windows with it NaN, in every channel of its "
                      "group. A NaN in weight or bias makes its channel NaN. The padding is 0 and is "
                      "multiplied: an infinite weight on it gives NaN.",
               .empty = "No samples give no samples. Without channels the result is the bias, or 0 without "
                        "one. A window larger than the padded data throws, and so does data without elements "
                        "along a spatial axis.",
               .gradient = "data: the transposed convolution of g with weight. weight: the correlation of "
                           "data with g. bias: the sum of g over all axes except the channels.",
               .formula = "y[n, o, i, j] = bias[o] + sum over c, p, q of data[n, c, h, w] weight[o, c, p, "
                          "q]. h = i stride - pad + p dilate and w = j stride - pad + q dilate.",
               .source = "MXNet 1.9.1 (src/operator/nn/convolution.cc). The order of additions is Kiln's "
                         "own; some kernels of 3x3 in float32 use Winograd's algorithm (Lavin and Gray "
                         "2015), which may give NaN for infinite data.",
           },
       .inputs = {"data", "weight", "bias"},
       .active_inputs = inputs_with_bias,
       .attrs = {kernel, stride, dilate,
                 tuple_attr("pad", "Zeros on both sides of each spatial axis, 0 or more. (): 0."), num_filter,
                 num_group, workspace(1024), bool_attr("no_bias", false, no_bias), cudnn_tune, cudnn_off,
                 layout_attr()},
       .compose = convolution,
       .shape_rule = convolution_shape},
      {.name = "Deconvolution",
       .aliases = {"_npx_deconvolution"},
       .summary = "A transposed convolution of data with weight, plus a bias, in one to three dimensions.",
       .reference =
           weighted_reference |
           OpReference{
               .shapes = "data (N, C, H, W), weight (C, O/g, kH, kW), bias (O) -> (N, O, H', W'), g groups. "
                         "H' = stride (H - 1) + dilate (kH - 1) + 1 - 2 pad + adj, and W' likewise. In one "
                         "dimension (N, C, W), in three (N, C, D, H, W).",
               .nan = "A NaN in data makes all results that it reaches NaN, in every channel of its group; "
                      "one in weight or bias does the same.",
               .empty = "No samples give no samples. Without channels the result is the bias, or 0 without "
                        "one. Data without elements along a spatial axis throws.",
               .gradient = "data: the convolution of g with weight. weight: the correlation of g with data. "
                           "bias: the sum of g over all axes except the channels.",
               .formula = "y[n, o, i, j] = bias[o] + sum over c, h, w, p, q of data[n, c, h, w] weight[c, o, "
                          "p, q]. The sum has the terms with i = h stride - pad + p dilate and j = w stride "
                          "- pad + q dilate.",
               .source =
                   "MXNet 1.9.1 (src/operator/nn/deconvolution.cc). The order of additions is Kiln's own.",
           },
       .inputs = {"data", "weight", "bias"},
       .active_inputs = inputs_with_bias,
       .attrs = {kernel, stride, dilate,
                 tuple_attr("pad", "Elements cut off on both sides of each spatial axis, 0 or more. (): 0."),
                 tuple_attr("adj", "Elements added after the end of each spatial axis, 0 or more. (): 0."),
                 tuple_attr("target_shape",
                            "The spatial extents of the result, which determine pad and adj. (): pad and adj "
                            "determine them."),
                 num_filter, num_group, workspace(512), bool_attr("no_bias", true, no_bias), cudnn_tune,
                 cudnn_off, layout_attr()},
       .compose = deconvolution,
       .shape_rule = deconvolution_shape},
      {.name = "im2col",
       .summary = "Copies the elements of each position of a sliding window into a column.",
       .reference =
           {
               .shapes = "data (N, C, H, W) -> (N, C kH kW, H' W'). H' = floor((H + 2 pad - dilate (kH - 1) "
                         "- 1) / stride) + 1, and W' likewise. Data of any number of spatial axes, one for "
                         "each number of kernel.",
               .dtypes = "Any; the result has the dtype of data.",
               .nan = "NaN.",
               .empty = "No samples give no samples. A window larger than the padded data throws.",
               .integers = "Elements are copied.",
               .gradient = "data: each element has the sum of g over its copies.",
               .formula = "y[n, (c kH + p) kW + q, i W' + j] = data[n, c, h, w], 0 in the padding. h = i "
                          "stride - pad + p dilate and w = j stride - pad + q dilate.",
               .source = "MXNet 1.9.1 (src/operator/nn/im2col.cc).",
           },
       .inputs = {"data"},
       .attrs = {kernel, stride, dilate,
                 tuple_attr("pad", "Zeros on both sides of each spatial axis, 0 or more. (): 0.")},
       .compose = im2col},
  };
  return rows;
}

}  // namespace kiln::ops

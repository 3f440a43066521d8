#include "frontend/ops/common.h"

#include <algorithm>
#include <functional>

namespace kiln::ops {
namespace {

Shape or_all(const Shape& given, int rank, std::int64_t fallback) {
  return given.empty() ? Shape::filled(rank, fallback) : given;
}

/// What a file says of a window, before it is computed with.
void require_sizes(std::string_view name, const Shape& sizes, int rank, std::int64_t least) {
  if (sizes.rank() != rank) fail("{} {} must have {} numbers", name, sizes.str(), rank);
  for (std::int64_t s : sizes)
    if (s < least || s >= 1 << 30) fail("{} {} must be from {} to 2^30", name, sizes.str(), least);
}

void require_channels_first(const Attrs& a) {
  if (a.is_none("layout")) return;
  const std::string& layout = a.word("layout");
  if (!layout.empty() && layout[1] != 'C') fail("layout {} is not supported: use NCW, NCHW or NCDHW", layout);
}

// Convolution.

std::size_t with_bias(const Attrs& a) { return a.boolean("no_bias") ? 2 : 3; }

ir::ConvSpec conv_spec(const Attrs& a) {
  const Shape& kernel = a.tuple("kernel");
  int n = kernel.rank();
  ir::ConvSpec spec;
  spec.groups = a.integer("num_group");
  spec.window = {kernel, or_all(a.tuple("stride"), n, 1), or_all(a.tuple("dilate"), n, 1),
                 or_all(a.tuple("pad"), n, 0), or_all(a.tuple("pad"), n, 0)};
  require_sizes("kernel", kernel, n, 1);
  require_sizes("stride", spec.window.stride, n, 1);
  require_sizes("dilate", spec.window.dilate, n, 1);
  require_sizes("pad", spec.window.pad_low, n, 0);
  return spec;
}
Values convolution(Primitives& p, Args in, const Attrs& a) {
  require_channels_first(a);
  const Shape data = p.shape(in[0]), weight = p.shape(in[1]);
  ir::ConvSpec spec = conv_spec(a);
  const Shape& kernel = spec.window.kernel;
  if (data.rank() != kernel.rank() + 2)
    fail("a kernel {} needs data of {} axes, got {}", kernel.str(), kernel.rank() + 2, data.str());
  std::int64_t filters = a.integer("num_filter");
  if (spec.groups < 1 || data[1] % spec.groups != 0 || filters % spec.groups != 0)
    fail("num_group {} must divide the {} channels and the {} filters", spec.groups, data[1], filters);
  Shape expected{filters, data[1] / spec.groups};
  for (std::int64_t k : kernel) expected.push_back(k);
  if (!(weight == expected))
    fail("Shape inconsistent, Provided = {}, inferred shape={}: the weight does not fit data of the shape {}",
         weight.str(), expected.str(), data.str());
  for (int i = 0; i < kernel.rank(); ++i)
    if (spec.window.dilate[at(i)] * (kernel[at(i)] - 1) + 1 >
        data[at(i + 2)] + 2 * spec.window.pad_low[at(i)])
      fail("kernel size exceed input: kernel {} on data {} with pad {}", kernel.str(), data.str(),
           spec.window.pad_low.str());
  Value y = p.convolution(widen(p, in[0]), widen(p, in[1]), spec);
  if (!a.boolean("no_bias")) y = p.add(y, p.broadcast_along(widen(p, in[2]), p.shape(y), 1));
  return {convert(p, y, p.dtype(in[0]))};
}
void infer_convolution(std::span<PartialShape> in, const Attrs& a) {
  std::int64_t groups = std::max<std::int64_t>(1, a.integer("num_group")), filters = a.integer("num_filter");
  Shape weight{filters, in[0].known && in[0].shape.rank() > 1 ? in[0].shape[1] / groups : 0};
  for (std::int64_t k : a.tuple("kernel")) weight.push_back(k);
  if (!in[1].known) in[1] = {weight, true};
  if (in[1].shape.rank() == weight.rank())
    for (std::size_t i = 0; i < weight.size(); ++i)
      if (in[1].shape[i] == 0) in[1].shape[i] = weight[i];
  if (in.size() > 2 && (!in[2].known || in[2].shape == Shape{0})) in[2] = {{filters}, true};
}

// Pooling.

/// `sums` over windows divided by the windows' sizes, counted as MXNet does: the product over the axes of the
/// positions inside the padded image, or inside the image. Products of such counts are exact.
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

Values pooling(Primitives& p, Args in, const Attrs& a) {
  require_channels_first(a);
  const Shape data = p.shape(in[0]);
  int spatial = data.rank() - 2;
  if (spatial < 1) fail("Pooling needs (N, C, spatial...), got {}", data.str());
  const std::string& type = a.word("pool_type");
  DType d = p.dtype(in[0]);
  Value x = type == "max" ? in[0] : widen(p, in[0]);
  std::int64_t power = 0;
  if (type == "lp") {
    power = a.is_none("p_value") ? 2 : a.integer("p_value");
    if (power < 1 || power > 3) fail("lp pooling has the p_value 1, 2 or 3, not {}", power);
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
    return {convert(p, p.reshape(root(r), to), d), Value{}};
  }

  const Shape& kernel = a.tuple("kernel");
  if (kernel.rank() != spatial)
    fail("a kernel {} does not fit data of the shape {}", kernel.str(), data.str());
  Shape pad = or_all(a.tuple("pad"), spatial, 0), stride = or_all(a.tuple("stride"), spatial, 1);
  require_sizes("kernel", kernel, spatial, 1);
  require_sizes("stride", stride, spatial, 1);
  require_sizes("pad", pad, spatial, 0);
  const std::string& convention = a.word("pooling_convention");
  if (convention == "same")
    fail("pooling_convention same is not one that MXNet 1.9.1 runs: use valid or full");
  ir::Window w{kernel, stride, Shape::filled(spatial, 1), pad, pad};
  Shape out{data[0], data[1]};
  for (int i = 0; i < spatial; ++i) {
    std::int64_t room = data[at(i + 2)] + 2 * pad[at(i)] - kernel[at(i)], s = stride[at(i)];
    if (kernel[at(i)] < 1 || s < 1 || pad[at(i)] < 0 || room < 0)
      fail("kernel size exceed input: kernel {} on data {} with pad {} and stride {}", kernel.str(),
           data.str(), pad.str(), stride.str());
    std::int64_t extent = (convention == "full" ? (room + s - 1) / s : room / s) + 1;
    out.push_back(extent);
    // A last window that reaches beyond the padding (full) sees nothing there.
    w.pad_high[at(i)] =
        std::max<std::int64_t>(0, (extent - 1) * s + kernel[at(i)] - data[at(i + 2)] - pad[at(i)]);
  }
  Value r = p.reduce_window(op, x, w);
  if (average) {
    bool include_pad = a.is_none("count_include_pad") || a.boolean("count_include_pad");
    r = averages(p, r, data, w, pad, include_pad);
  }
  return {convert(p, root(r), d), Value{}};
}
int pooling_outputs(const Attrs& a) { return a.word("pool_type") == "max" ? 2 : 1; }
Values pooling_rows(Primitives& p, Args in, const Attrs& a) {
  Values out = pooling(p, in, a);
  out.resize(static_cast<std::size_t>(pooling_outputs(a)));
  return out;
}

AttrSpec layout_attr() {
  return {"layout", AttrKind::word, None{}, true, {"NCDHW", "NCHW", "NCW", "NDHWC", "NHWC", "NWC"}};
}

}  // namespace

std::span<const OpDef> conv_ops() {
  static const std::vector<OpDef> rows{
      {.name = "Convolution",
       .aliases = {"_npx_convolution"},
       .summary = "Cross-correlation with a bias, in one to three dimensions.",
       .inputs = {"data", "weight", "bias"},
       .active_inputs = with_bias,
       .attrs = {required("kernel", AttrKind::tuple),
                 tuple_attr("stride"),
                 tuple_attr("dilate"),
                 tuple_attr("pad"),
                 required("num_filter", AttrKind::integer),
                 int_attr("num_group", 1),
                 int_attr("workspace", 1024),
                 bool_attr("no_bias", false),
                 {"cudnn_tune", AttrKind::text, None{}, true},
                 bool_attr("cudnn_off", false),
                 layout_attr()},
       .compose = convolution,
       .infer_inputs = infer_convolution},
      {.name = "Pooling",
       .aliases = {"_npx_pooling"},
       .summary = "Maximum, average, sum or p-norm over sliding windows.",
       .inputs = {"data"},
       .attrs = {tuple_attr("kernel"),
                 word_attr("pool_type", "max", {"avg", "lp", "max", "sum"}),
                 bool_attr("global_pool", false),
                 bool_attr("cudnn_off", false),
                 word_attr("pooling_convention", "valid", {"full", "same", "valid"}),
                 tuple_attr("stride"),
                 tuple_attr("pad"),
                 {"p_value", AttrKind::integer, None{}, true},
                 {"count_include_pad", AttrKind::boolean, None{}, true},
                 layout_attr()},
       .counted_outputs = pooling_outputs,
       .compose = pooling_rows},
  };
  return rows;
}

}  // namespace kiln::ops

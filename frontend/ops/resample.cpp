// Resizing of images.
#include "frontend/ops/reference.h"
#include "frontend/ops/shape_rules.h"
#include "frontend/ops/windows.h"
#include "ir/transposed_convolution.h"

#include <algorithm>
#include <cmath>

namespace kiln::ops {
namespace {

void require_image(const Shape& s, std::string_view what) {
  if (s.rank() != 4) fail("{} needs (N, C, H, W), got {}", what, s.str());
}

/// Repeats every pixel as a block of `scale` by `scale`.
Value repeated(Primitives& p, Value x, std::int64_t scale) {
  const Shape s = p.shape(x);
  Value blocks = p.broadcast(x, {s[0], s[1], s[2], scale, s[3], scale}, {0, 1, 2, 4});
  return p.reshape(blocks, {s[0], s[1], times(s[2], scale), times(s[3], scale)});
}

std::int64_t scale_of(const Attrs& a) {
  const std::int64_t scale = a.integer("scale");
  if (scale < 1 || scale > 1 << 15) fail("UpSampling needs a scale from 1 to 2^15, got {}", scale);
  return scale;
}
std::int64_t bilinear_kernel(std::int64_t scale) { return 2 * scale - scale % 2; }

Values upsampling(Primitives& p, Args in, const Attrs& a) {
  const std::int64_t scale = scale_of(a);
  for (std::size_t i = 0; i < in.size(); ++i) require_image(p.shape(in[i]), "UpSampling");
  const Shape first = p.shape(in[0]);
  if (a.word("sample_type") == "bilinear") {
    if (in.size() != 2) fail("bilinear UpSampling takes data and weight, got {} inputs", in.size());
    const std::int64_t kernel = bilinear_kernel(scale), pad = scale / 2;
    const Shape expected{first[1], 1, kernel, kernel};
    if (!(p.shape(in[1]) == expected))
      fail("bilinear UpSampling of {} needs a weight {}, got {}", first.str(), expected.str(),
           p.shape(in[1]).str());
    ir::ConvSpec spec{.window = {{kernel, kernel}, {scale, scale}, {1, 1}, {pad, pad}, {pad, pad}},
                      .groups = first[1]};
    if (const std::int64_t filters = a.integer("num_filter"); filters != 0 && filters != first[1])
      fail("bilinear UpSampling has as many filters as {} has channels, not num_filter={}", first.str(),
           filters);
    Value y = ir::transposed_convolution(p, widen(p, in[0]), widen(p, in[1]), spec, {0, 0});
    return {convert(p, y, p.dtype(in[0]))};
  }
  Values parts;
  for (Value x : in) {
    const Shape s = p.shape(x);
    const std::int64_t height = times(first[2], scale), ratio = s[2] > 0 ? height / s[2] : 0;
    if (ratio < 1 || s[2] * ratio != height || times(s[3], ratio) != times(first[3], scale))
      fail("UpSampling brings {} to {} times the size of {}, which is no multiple", s.str(), scale,
           first.str());
    parts.push_back(repeated(p, x, ratio));
  }
  if (a.word("multi_input_mode") == "concat") return {p.concatenate(parts, 1)};
  Value sum = parts[0];
  for (Value x : Args(parts).subspan(1)) {
    if (!(p.shape(x) == p.shape(sum)))
      fail("UpSampling cannot add {} and {}", p.shape(sum).str(), p.shape(x).str());
    sum = p.add(sum, x);
  }
  return {sum};
}
void upsampling_shape(ShapeFacts& f, const Attrs& a) {
  f.rank(f.in[0], 4);
  f.rank(f.out[0], 4);
  f.same(Axis{f.in[0], 0}, Axis{f.out[0], 0});
  for (int i = 2; i < 4; ++i) f.linear({f.in[0], i}, {f.out[0], i}, scale_of(a), 0);
  if (a.word("sample_type") != "bilinear" || f.in.size() != 2) return;
  const std::int64_t kernel = bilinear_kernel(scale_of(a));
  f.is(f.in[1], Shape{unknown, 1, kernel, kernel});
  f.same(Axis{f.in[0], 1}, Axis{f.in[1], 0});
}

/// Interpolates linearly along one axis between the two nearest pixels.
Value interpolated(Primitives& p, Value x, int axis, std::int64_t to, bool align_corners) {
  const std::int64_t from = p.shape(x)[at(axis)];
  TensorType places{DType::f32, {to}};
  const auto number = [&](double v) { return p.full(places, v); };
  Value source;
  if (align_corners) {
    const float ratio = to > 1 ? static_cast<float>(from - 1) / static_cast<float>(to - 1) : 0.0f;
    source = p.mul(p.iota(places, 0), number(ratio));
  } else {
    const float ratio = static_cast<float>(from) / static_cast<float>(to);
    source = p.sub(p.mul(p.add(p.iota(places, 0), number(0.5)), number(ratio)), number(0.5));
    source = p.binary(Binary::max, source, number(0));
  }
  Value whole = p.unary(Unary::floor, source);
  Value index = p.cast(whole, DType::i64);
  Value low = p.gather(x, index, axis), high = p.gather(x, p.add(index, p.like(index, 1)), axis);
  Value share = p.broadcast_along(convert(p, p.sub(source, whole), p.dtype(x)), p.shape(low), axis);
  return p.add(p.mul(p.sub(p.like(share, 1), share), low), p.mul(share, high));
}

/// The output extent for each mode of BilinearResize2D.
std::int64_t resized(std::int64_t extent, const std::string& mode, double scale) {
  const bool odd = extent % 2 != 0;
  if (mode == "odd_scale") {
    const double to = std::floor(static_cast<double>(odd ? extent - 1 : extent) * scale);
    if (!(to >= 0 && to <= 1 << 30)) fail("the scale {} leaves no pixel of {}", scale, extent);
    return static_cast<std::int64_t>(to) + odd;
  }
  if (mode == "to_even_down") return extent - odd;
  if (mode == "to_even_up") return extent + odd;
  if (mode == "to_odd_down") return extent - !odd;
  if (mode == "to_odd_up") return extent + !odd;
  const double to = std::floor(static_cast<double>(extent) * scale);
  if (!(to >= 0 && to <= 1 << 30)) fail("the scale {} leaves no pixel of {}", scale, extent);
  return static_cast<std::int64_t>(to);
}

Values bilinear_resize(Primitives& p, Args in, const Attrs& a) {
  const Shape data = p.shape(in[0]);
  require_image(data, "BilinearResize2D");
  const std::string& mode = a.word("mode");
  std::int64_t to[2];
  for (int i = 0; i < 2; ++i) {
    const char* scale = i == 0 ? "scale_height" : "scale_width";
    if (mode == "like") {
      require_image(p.shape(in[1]), "BilinearResize2D");
      to[i] = p.shape(in[1])[at(i + 2)];
    } else if (mode == "size" && a.is_none(scale)) {
      to[i] = a.integer(i == 0 ? "height" : "width");
    } else {
      to[i] = resized(data[at(i + 2)], mode, a.is_none(scale) ? 1 : a.real(scale));
    }
    if (to[i] < 1 || to[i] > 1 << 30 || data[at(i + 2)] < 1)
      fail("BilinearResize2D cannot make {} of {} along axis {}", to[i], data.str(), i + 2);
  }
  const bool align = a.boolean("align_corners");
  Value y = interpolated(p, interpolated(p, widen(p, in[0]), 3, to[1], align), 2, to[0], align);
  return {convert(p, y, p.dtype(in[0]))};
}
std::size_t resize_inputs(const Attrs& a) { return a.word("mode") == "like" ? 2 : 1; }

Values crop(Primitives& p, Args in, const Attrs& a) {
  const Shape data = p.shape(in[0]);
  require_image(data, "Crop");
  if (in.size() > 2) fail("Crop takes one or two images, got {}", in.size());
  if (in.size() == 2) require_image(p.shape(in[1]), "Crop");
  const Shape offset = or_all(a.tuple("offset"), 2, 0);
  const Shape size = in.size() == 2 ? Shape(p.shape(in[1]).dims().subspan(2)) : or_all(a.tuple("h_w"), 2, 0);
  require_sizes("offset", offset, 2, 0);
  require_sizes("h_w", size, 2, 0);
  Shape start{0, 0}, limit{data[0], data[1]};
  for (int i = 0; i < 2; ++i) {
    const std::int64_t room = data[at(i + 2)] - size[at(i)];
    start.push_back(a.boolean("center_crop") ? room / 2 : offset[at(i)]);
    limit.push_back(start.back() + size[at(i)]);
    if (room < 0 || limit.back() > data[at(i + 2)])
      fail("Crop of {} at {} does not fit into {}", size.str(), offset.str(), data.str());
  }
  return {p.slice(in[0], start, limit, Shape::filled(4, 1))};
}

}  // namespace

std::span<const OpDef> resample_ops() {
  static const std::vector<OpDef> rows{
      {.name = "UpSampling",
       .summary =
           "Enlarges images by an integer factor, by repetition or with a weight, and joins or adds several.",
       .reference =
           {
               .shapes = "nearest: arg (N, C, H, W) each -> (N, C', scale H, scale W); C' is the sum of the "
                         "channels, or C with multi_input_mode=sum. Later images may have other sizes that "
                         "divide the size of the result. bilinear: data (N, C, H, W), weight (C, 1, k, k) -> "
                         "(N, C, scale H, scale W), k = 2 scale - scale mod 2.",
               .dtypes = "Any, one for all inputs; the result has it too. bilinear: half precision is "
                         "computed in float32 and rounded once.",
               .nan = "nearest: NaN in the repeated elements. bilinear: NaN in all elements that it reaches.",
               .empty = "No samples give none. Images without elements throw.",
               .integers = "nearest: elements are copied, and their sums wrap modulo 2^n. bilinear: products "
                           "and sums wrap modulo 2^n.",
               .gradient = "nearest: the sum of g over the copies of each element. bilinear: as of "
                           "Deconvolution, weight included.",
               .formula = "nearest: y[n, c, i, j] = x[n, c, floor(i / scale), floor(j / scale)]. bilinear: a "
                          "transposed convolution of each channel with its weight, stride scale and pad "
                          "floor(scale / 2).",
               .source = "MXNet 1.9.1 (src/operator/nn/upsampling.cc). As there, the weight of bilinear is "
                         "an input and is not computed from scale.",
           },
       .inputs = {"arg"},
       .variadic = true,
       .count_attr = "num_args",
       .attrs = {required("scale", AttrKind::integer, "The factor of height and width, from 1 to 2^15."),
                 int_attr("num_filter", 0, "bilinear: the number of channels C, or 0."),
                 meaning({"sample_type", AttrKind::word, std::nullopt, false, {"bilinear", "nearest"}},
                         "nearest repeats elements; bilinear is a transposed convolution with the weight."),
                 word_attr("multi_input_mode", "concat", {"concat", "sum"},
                           "nearest: whether several images are joined along the channels or added."),
                 required("num_args", AttrKind::integer, "The number of inputs."),
                 library_hint(int_attr("workspace", 512, "The limit of MXNet's temporary memory, in MB."))},
       .compose = upsampling,
       .shape_rule = upsampling_shape},
      {.name = "_contrib_BilinearResize2D",
       .summary = "Resizes images by bilinear interpolation between the nearest elements.",
       .reference =
           {
               .shapes = "data (N, C, H, W) -> (N, C, H', W'). With mode=like also like (N', C', H', W').",
               .dtypes = "Any; the result has the dtype of data. like may have another dtype. Half precision "
                         "is computed in float32 and rounded once.",
               .nan = "An element of the result is NaN if one of the four elements around its place is, "
                      "whatever its share.",
               .empty = "No samples or channels give none. An image without elements throws.",
               .integers = "Shares are truncated to 0: the result is the lower of the two elements. Of bool "
                           "it is the higher one unless the place is exact.",
               .gradient = "data: each element has the sum of g times its share. like: zeros.",
               .formula = "y[i, j] = interpolation of data at (i rH, j rW), rH = (H - 1) / (H' - 1), 0 if H' "
                          "= 1. Without align_corners at (max((i + 0.5) rH - 0.5, 0), ...), rH = H / H'. "
                          "Places are computed in float32; width is interpolated before height.",
               .source = "MXNet 1.9.1 (src/operator/contrib/bilinear_resize.cc).",
           },
       .inputs = {"data", "like"},
       .active_inputs = resize_inputs,
       .attrs = {int_attr("height", 1, "H', if mode is size and there is no scale_height."),
                 int_attr("width", 1, "W', if mode is size and there is no scale_width."),
                 or_none("scale_height", AttrKind::real,
                         "The factor of H: H' = floor(H scale_height). odd_scale: H even: the same, H odd: "
                         "floor((H - 1) scale_height) + 1."),
                 or_none("scale_width", AttrKind::real, "The factor of W, likewise."),
                 word_attr(
                     "mode", "size",
                     {"like", "odd_scale", "size", "to_even_down", "to_even_up", "to_odd_down", "to_odd_up"},
                     "The source of H' and W'. With size: height, width or the scales. With odd_scale: the "
                     "scales. With like: the image like. With the others, as to_odd_up: the next odd or even "
                     "number that is not below or above H."),
                 bool_attr(
                     "align_corners", true,
                     "Whether the corners of data are the corners of the result. False: the borders are.")},
       .compose = bilinear_resize},
      {.name = "Crop",
       .summary = "Crops an image to a given size, or to the size of a second image.",
       .reference =
           {
               .shapes = "arg: data (N, C, H, W) -> (N, C, h, w), (h, w) = h_w; or data and an image (N', "
                         "C', h, w).",
               .dtypes = "Any; the result has the dtype of data. A second image may have another dtype.",
               .nan = "NaN.",
               .empty = "No samples or channels give none; the size 0 gives an empty image.",
               .integers = "Elements are copied.",
               .gradient = "data: g in the place that was cropped, else 0. The second image: zeros.",
               .formula = "y[n, c, i, j] = data[n, c, i + o, j + p], (o, p) = offset; with center_crop "
                          "floor((H - h) / 2) and floor((W - w) / 2).",
               .source = "MXNet 1.9.1 (src/operator/crop.cc).",
           },
       .inputs = {"arg"},
       .variadic = true,
       .count_attr = "num_args",
       .attrs = {required("num_args", AttrKind::integer, "The number of inputs, 1 or 2."),
                 tuple_attr("offset", "The first row and column that are kept. (): 0."),
                 tuple_attr("h_w", "The size of the result, with one input. (): 0."),
                 bool_attr("center_crop", false, "Whether the middle is kept; offset is unused then.")},
       .compose = crop},
  };
  return rows;
}

}  // namespace kiln::ops

// Classic slices.
#include "frontend/ops/reference.h"
#include "frontend/ops/shape_rules.h"
#include "frontend/ops/slice_range.h"
#include "ir/window_shapes.h"

#include <algorithm>

namespace kiln::ops {
namespace {

/// x[begin:end] along one axis.
Value cut(Primitives& p, Value x, int axis, std::int64_t begin, std::int64_t end) {
  const Shape& s = p.shape(x);
  Shape start = Shape::filled(s.rank(), 0), limit = s;
  start[at(axis)] = begin;
  limit[at(axis)] = end;
  return p.slice(x, start, limit, Shape::filled(s.rank(), 1));
}

/// A tuple that may have more elements than an array has axes. Throws if an element is None.
std::vector<std::int64_t> long_tuple(const Attrs& a, std::string_view name) {
  std::vector<std::int64_t> out;
  const ir::AttrValue& value = *a.find(name);
  for (const std::optional<std::int64_t>& v : std::get<ir::OptionalInts>(value)) {
    if (!v) fail("{} must be whole numbers, got {}", name, ir::to_text(value));
    out.push_back(*v);
  }
  return out;
}

/// A slice of one axis with a positive step; with `mirrored`, of the reversed axis.
struct Forwards {
  std::int64_t start, limit, step;
  bool mirrored;
};
Forwards forwards(const SliceRange& r, std::int64_t n) {
  // A longer step selects one element as well.
  const std::int64_t most = std::max<std::int64_t>(n, 1), step = std::clamp(r.step, -most, most);
  if (step > 0) return {r.start, std::max(r.start, r.end), step, false};
  // A backward slice is a forward slice of the reversed axis.
  const std::int64_t start = n - 1 - r.start;
  return {start, std::max(start, n - 1 - r.end), -step, true};
}

Values slice(Primitives& p, Args in, const Attrs& a) {
  const SliceBounds bounds(a);
  Shape from = p.shape(in[0]), start = Shape::filled(from.rank(), 0), limit = from,
        stride = Shape::filled(from.rank(), 1), mirrored;
  if (!bounds.fit(from.size()))
    fail("slice of {} needs begin, end and step for its leading axes, got {}, {} and {}", from.str(),
         bounds.begin.size(), bounds.end.size(), bounds.step.size());
  for (std::size_t i = 0; i < bounds.axes(); ++i) {
    const Forwards range = forwards(bounds.of(i, from[i]), from[i]);
    if (range.mirrored) mirrored.push_back(static_cast<std::int64_t>(i));
    start[i] = range.start;
    limit[i] = range.limit;
    stride[i] = range.step;
  }
  Value x = mirrored.empty() ? in[0] : p.reverse(in[0], mirrored);
  return {p.slice(x, start, limit, stride)};
}
void slice_shape(ShapeFacts& f, const Attrs& a) {
  const SliceBounds bounds(a);
  f.ranks(f.in[0], f.out[0]);
  if (!f.in[0].ranked || !bounds.fit(f.in[0].extents.size())) return;
  for (int i = 0; i < f.in[0].extents.rank(); ++i) {
    const Axis from{f.in[0], i}, to{f.out[0], i};
    const bool bounded = at(i) < bounds.axes();
    if (!bounded || (!bounds.begin[at(i)] && !bounds.end[at(i)] && bounds.step_of(at(i)) == 1))
      f.same(from, to);
    else if (from.get() != unknown)
      f.is(to, bounds.of(at(i), from.get()).count);
  }
}
Values slice_axis(Primitives& p, Args in, const Attrs& a) {
  const Shape& s = p.shape(in[0]);
  int axis = axis_of(a.integer("axis"), s.rank());
  std::int64_t n = s[at(axis)], begin = a.integer("begin"), end = a.is_none("end") ? n : a.integer("end");
  if (begin < 0) begin += n;
  if (end < 0) end += n;
  if (begin < 0 || end > n || begin >= end)
    fail("slice_axis [{}, {}) leaves axis {} of {}", begin, end, axis, s.str());
  return {cut(p, in[0], axis, begin, end)};
}
void slice_axis_shape(ShapeFacts& f, const Attrs& a) {
  f.ranks(f.in[0], f.out[0]);
  const auto axis = axis_in(a.integer("axis"), f.in[0].extents.rank());
  if (!f.in[0].ranked || !axis) return;
  for (int i = 0; i < f.in[0].extents.rank(); ++i)
    if (i != *axis) f.same(Axis{f.in[0], i}, Axis{f.out[0], i});
  const Axis from{f.in[0], *axis}, to{f.out[0], *axis};
  const std::int64_t begin = a.integer("begin"), end = a.is_none("end") ? 0 : a.integer("end");
  const bool from_back = a.is_none("end") || end < 0;
  // Both bounds are counted from the same end, or from opposite ends.
  if ((begin < 0) == from_back)
    f.is(to, end - begin);
  else if (begin >= 0)
    f.linear(from, to, 1, end - begin);
}
Values slice_like(Primitives& p, Args in, const Attrs& a) {
  const Shape &from = p.shape(in[0]), &like = p.shape(in[1]);
  Shape axes = axes_of(a.tuple("axes"), from.rank()), limit = from;
  if (axes.empty()) {
    if (like.rank() != from.rank())
      fail("slice_like of {} by {} needs equal numbers of axes, or the attribute axes", from.str(),
           like.str());
    for (int i = 0; i < from.rank(); ++i) axes.push_back(i);
  }
  for (std::int64_t axis : axes) {
    int i = static_cast<int>(axis);
    if (i >= like.rank() || like[at(i)] > from[at(i)])
      fail("slice_like cannot cut axis {} of {} to {}", axis, from.str(), like.str());
    limit[at(i)] = like[at(i)];
  }
  return {p.slice(in[0], Shape::filled(from.rank(), 0), limit, Shape::filled(from.rank(), 1))};
}

void slice_like_shape(ShapeFacts& f, const Attrs& a) {
  f.ranks(f.in[0], f.out[0]);
  if (a.tuple("axes").empty()) f.ranks(f.in[0], f.in[1]);
  const int rank = f.in[0].extents.rank();
  std::vector<bool> cut(at(rank), a.tuple("axes").empty());
  for (std::int64_t axis : a.tuple("axes"))
    if (const auto i = axis_in(axis, rank)) cut[at(*i)] = true;
  for (int i = 0; i < rank; ++i) f.same(Axis{f.in[cut[at(i)] ? 1u : 0u], i}, Axis{f.out[0], i});
}

/// Parts along an axis, starting at `begins`; with `squeeze`, the axis is removed.
Values split(Primitives& p, Value x, int axis, const std::vector<std::int64_t>& begins, bool squeeze) {
  Values parts;
  std::int64_t n = p.shape(x)[at(axis)];
  for (std::size_t i = 0; i < begins.size(); ++i) {
    std::int64_t begin = begins[i], end = i + 1 < begins.size() ? begins[i + 1] : n;
    if (n == 0) begin = end = 0;  // all parts of an empty axis are empty
    if (begin < 0 || end < begin || end > n)
      fail("cannot split axis {} of {} from {} to {}", axis, p.shape(x).str(), begin, end);
    Value part = cut(p, x, axis, begin, end);
    if (squeeze) {
      Shape to;
      for (int k = 0; k < p.shape(part).rank(); ++k)
        if (k != axis) to.push_back(p.shape(part)[at(k)]);
      if (end - begin != 1) fail("split: parts of {} elements cannot lose their axis", end - begin);
      part = p.reshape(part, to.empty() ? Shape{1} : to);
    }
    parts.push_back(part);
  }
  return parts;
}
std::vector<std::int64_t> equal_begins(std::int64_t n, std::int64_t parts) {
  if (parts < 1 || parts > 1 << 20 || n % parts != 0)
    fail("{} elements cannot be split in {} equal parts", n, parts);
  std::vector<std::int64_t> begins;
  for (std::int64_t i = 0; i < parts; ++i) begins.push_back(i * (n / parts));
  return begins;
}
Values slice_channel(Primitives& p, Args in, const Attrs& a) {
  int axis = axis_of(a.integer("axis"), p.shape(in[0]).rank());
  return split(p, in[0], axis, equal_begins(p.shape(in[0])[at(axis)], a.integer("num_outputs")),
               a.boolean("squeeze_axis"));
}
int slice_channel_outputs(const Attrs& a) {
  return static_cast<int>(std::clamp<std::int64_t>(a.integer("num_outputs"), 1, 1 << 20));
}
/// All axes except the split one.
void parts_shape(ShapeFacts& f, std::int64_t split_axis, bool squeeze) {
  for (PartialShape& part : f.out) {
    if (!squeeze) {
      f.ranks(f.in[0], part);
      const auto axis = axis_in(split_axis, f.in[0].extents.rank());
      for (int i = 0; axis && i < f.in[0].extents.rank(); ++i)
        if (i != *axis) f.same(Axis{f.in[0], i}, Axis{part, i});
    } else if (f.in[0].extents.rank() == 1) {
      f.is(part, Shape{1});  // parts of a vector have rank 1, not 0
    } else if (f.in[0].ranked || part.extents.rank() > 1) {
      without_axis(f, f.in[0], part, split_axis);
    }
  }
}
void equal_parts_shape(ShapeFacts& f, std::int64_t split_axis, bool squeeze) {
  parts_shape(f, split_axis, squeeze);
  const auto axis = axis_in(split_axis, f.in[0].extents.rank());
  if (!axis) return;
  const auto count = static_cast<std::int64_t>(f.out.size());
  if (squeeze) return f.is(Axis{f.in[0], *axis}, count);
  for (PartialShape& part : f.out) f.linear({part, *axis}, {f.in[0], *axis}, count, 0);
}
void slice_channel_shape(ShapeFacts& f, const Attrs& a) {
  equal_parts_shape(f, a.integer("axis"), a.boolean("squeeze_axis"));
}
Values split_v2(Primitives& p, Args in, const Attrs& a) {
  int axis = axis_of(a.integer("axis"), p.shape(in[0]).rank());
  std::vector<std::int64_t> begins;
  if (a.integer("sections") > 0)
    begins = equal_begins(p.shape(in[0])[at(axis)], a.integer("sections"));
  else
    begins = long_tuple(a, "indices");
  return split(p, in[0], axis, begins, a.boolean("squeeze_axis"));
}
int split_v2_outputs(const Attrs& a) {
  std::int64_t sections = a.integer("sections");
  return static_cast<int>(sections > 0 ? std::min<std::int64_t>(sections, 1 << 20)
                                       : long_tuple(a, "indices").size());
}

void split_v2_shape(ShapeFacts& f, const Attrs& a) {
  const bool squeeze = a.boolean("squeeze_axis");
  if (a.integer("sections") > 0) return equal_parts_shape(f, a.integer("axis"), squeeze);
  parts_shape(f, a.integer("axis"), squeeze);
  const auto axis = axis_in(a.integer("axis"), f.in[0].extents.rank());
  if (!axis || squeeze) return;
  std::vector<Axis> parts;
  for (PartialShape& part : f.out) parts.push_back({part, *axis});
  // If the first part does not begin at 0, the parts do not cover the axis.
  if (const auto begins = long_tuple(a, "indices"); !begins.empty() && begins[0] == 0)
    f.sum(parts, {f.in[0], *axis});
}

Values pad(Primitives& p, Args in, const Attrs& a) {
  const std::vector<std::int64_t> width = long_tuple(a, "pad_width");
  int rank = p.shape(in[0]).rank();
  if (width.size() != 2 * at(rank))
    fail("Pad of {} needs {} widths, got {}", p.shape(in[0]).str(), 2 * rank,
         ir::to_text(*a.find("pad_width")));
  Shape low, high;
  for (int i = 0; i < rank; ++i) {
    low.push_back(width[at(2 * i)]);
    high.push_back(width[at(2 * i + 1)]);
    if (low.back() < 0 || high.back() < 0)
      fail("Pad cannot cut: pad_width is {}", ir::to_text(*a.find("pad_width")));
  }
  if (a.word("mode") == "constant") return {p.pad(in[0], a.real("constant_value"), low, high)};
  const bool edge = a.word("mode") == "edge";
  for (int i = 0; i < rank; ++i) {
    const std::int64_t n = p.shape(in[0])[at(i)], l = low[at(i)], h = high[at(i)];
    if (!edge && (l >= n || h >= n) && (l != 0 || h != 0))
      fail("Pad cannot reflect {} and {} elements of axis {} with {}", l, h, i, n);
  }
  return {p.extend(edge ? ir::Extend::edge : ir::Extend::reflect, in[0], low, high)};
}
void pad_shape(ShapeFacts& f, const Attrs& a) {
  f.ranks(f.in[0], f.out[0]);
  const std::vector<std::int64_t> width = long_tuple(a, "pad_width");
  const int rank = f.in[0].extents.rank();
  if (width.size() != 2 * at(rank)) return;
  for (int i = 0; i < rank; ++i)
    f.linear({f.in[0], i}, {f.out[0], i}, 1, width[at(2 * i)] + width[at(2 * i + 1)]);
}

}  // namespace

std::span<const OpDef> slice_ops() {
  static const std::vector<std::string_view> one{"data"};
  static const std::vector<OpDef> rows{
      {.name = "slice",
       .aliases = {"_npi_slice", "_npx_slice", "crop"},
       .summary = "Takes the slice begin:end:step of the leading axes, as Python's slices.",
       .reference =
           slice_reference |
           OpReference{
               .shapes = "data (D1, ..., Dk, ...) -> (L1, ..., Lk, ...), k the length of begin. L = "
                         "ceil((end - begin) / step), at least 0; bounds beyond the axis are clamped to it",
               .gradient = "data: g at the positions of the slice, zeros elsewhere.",
               .formula = "y[i1, ..., ik, ...] = data[begin1 + i1 step1, ..., begink + ik stepk, ...].",
               .source = matrix_op_source},
       .inputs = one,
       .attrs = {required("begin", AttrKind::optional_ints, slice_begin),
                 required("end", AttrKind::optional_ints, slice_end),
                 meaning({"step", AttrKind::optional_ints, ir::OptionalInts{}}, slice_step)},
       .compose = slice,
       .shape_rule = slice_shape},
      {.name = "slice_axis",
       .summary = "Takes the elements begin to end - 1 of one axis.",
       .reference =
           slice_reference |
           OpReference{
               .shapes = "data (a..., D, b...) -> (a..., end - begin, b...), D along axis",
               .empty =
                   "A slice without elements throws, as do bounds beyond the axis; other axes may be empty.",
               .gradient = "data: g at the positions of the slice, zeros elsewhere.",
               .formula = "y[..., i, ...] = data[..., begin + i, ...].",
               .source = matrix_op_source},
       .inputs = one,
       .attrs = {required("axis", AttrKind::integer, "The sliced axis; negative: from the end."),
                 required("begin", AttrKind::integer,
                          "The first position; negative: from the end of the axis."),
                 meaning({"end", AttrKind::integer, std::nullopt, true},
                         "The position after the last one; negative: from the end. None: the extent.")},
       .compose = slice_axis,
       .shape_rule = slice_axis_shape},
      {.name = "slice_like",
       .summary = "Slices data from the first element of each axis to the extents of another array.",
       .reference =
           slice_reference |
           OpReference{
               .shapes = "data (D0, ..., Dn), shape_like (L0, ..., Ln) -> (L0, ..., Ln); with axes, data "
                         "keeps the extents of the others, and shape_like may have any rank",
               .dtypes = "Any, data and shape_like independently; the result has the dtype of data.",
               .empty = "An extent of 0 in data or shape_like gives a result without elements.",
               .gradient = "data: g at the positions of the slice, zeros elsewhere. shape_like: zeros.",
               .formula = "y[i0, ..., in] = data[i0, ..., in].",
               .source = matrix_op_source},
       .inputs = {"data", "shape_like"},
       .attrs = {tuple_attr("axes",
                            "The sliced axes; negative: from the end of data. (): all, and both inputs have "
                            "one rank. An extent of shape_like above that of data throws.")},
       .compose = slice_like,
       .shape_rule = slice_like_shape},
      {.name = "SliceChannel",
       .aliases = {"split"},
       .summary = "Splits an array into equal parts along an axis.",
       .reference =
           slice_reference |
           OpReference{
               .shapes = "data (a..., D, b...) -> num_outputs times (a..., D / num_outputs, b...); with "
                         "squeeze_axis (a..., b...), and (1) for a vector, in numpy mode too",
               .empty = "An empty axis gives empty parts; with squeeze_axis it throws.",
               .gradient = "data: the gradients of the parts, concatenated; zeros for a part without one.",
               .formula = "Part p: y[..., i, ...] = data[..., p D / num_outputs + i, ...].",
               .source = "MXNet 1.9.1 (src/operator/slice_channel.cc)."},
       .inputs = one,
       .attrs = {required("num_outputs", AttrKind::integer,
                          "The number of parts, which divides the extent; at most 2^20."),
                 int_attr("axis", 1, "The split axis; negative: from the end."),
                 bool_attr("squeeze_axis", false, "Whether the axis is removed from parts of one element.")},
       .counted_outputs = slice_channel_outputs,
       .visible_outputs = slice_channel_outputs,
       .compose = slice_channel,
       .shape_rule = slice_channel_shape},
      {.name = "_split_v2",
       .aliases = {"_npi_split"},
       .summary = "Splits an array along an axis, into equal parts or at given positions.",
       .reference =
           slice_reference |
           OpReference{
               .shapes = "data (a..., D, b...) -> for each part (a..., L, b...). L is D / sections, or the "
                         "distance of its position in indices from the next one, the last from D. With "
                         "squeeze_axis (a..., b...), and (1) for a vector, in numpy mode too",
               .empty = "An empty axis gives empty parts, at any positions; with squeeze_axis it throws. Two "
                        "equal positions give an empty part.",
               .gradient = "data: g of each part at its positions, zeros elsewhere.",
               .formula = "Part p: y[..., i, ...] = data[..., indices[p] + i, ...]. Elements before "
                          "indices[0] are in no part.",
               .source = matrix_op_source},
       .inputs = one,
       .attrs = {required(
                     "indices", AttrKind::optional_ints,
                     "The first position of each part, ascending, from 0 to D; not read if sections > 0."),
                 int_attr("axis", 1, "The split axis; negative: from the end."),
                 bool_attr("squeeze_axis", false, "Whether the axis is removed from parts of one element."),
                 int_attr(
                     "sections", 0,
                     "The number of equal parts, which divides the extent; at most 2^20. 0: by indices.")},
       .counted_outputs = split_v2_outputs,
       .visible_outputs = split_v2_outputs,
       .compose = split_v2,
       .shape_rule = split_v2_shape},
      {.name = "Pad",
       .aliases = {"pad"},
       .summary = "Pads an array with a constant, with its edge elements, or with its reflection.",
       .reference =
           layout_reference |
           OpReference{
               .shapes = "data (D0, D1, ...) -> (b0 + D0 + a0, b1 + D1 + a1, ...); b and a are the widths "
                         "before and after each axis",
               .empty = "constant pads an axis without elements; edge and reflect throw, unless its widths "
                        "are 0. reflect throws for a width above n - 1.",
               .integers = "Copied exactly; constant_value is converted as by Cast: truncated towards zero, "
                           "then wrapped.",
               .gradient = "data: for each element the sum of g over the positions that it is copied to.",
               .formula = "On each axis of n elements y[i] = data[s(i - b)]. edge: s(j) = min(max(j, 0), n - "
                          "1). reflect: s(j) = |j| for j < n, else 2 (n - 1) - j. constant: constant_value "
                          "where i - b is outside of [0, n).",
               .source = "MXNet 1.9.1 (src/operator/pad.cc), which takes arrays of rank 4 and 5 alone. Kiln "
                         "pads any axis of any rank."},
       .inputs = one,
       .attrs = {meaning({"mode", AttrKind::word, std::nullopt, false, {"constant", "edge", "reflect"}},
                         "The border: one number, the nearest element, or the elements beside the edge in "
                         "reverse order, without the edge."),
                 required("pad_width", AttrKind::optional_ints,
                          "Elements before and after each axis: (b0, a0, b1, a1, ...), none negative."),
                 real_attr("constant_value", 0, "The number of the border in the mode constant.")},
       .compose = pad,
       .shape_rule = pad_shape},
  };
  return rows;
}

}  // namespace kiln::ops

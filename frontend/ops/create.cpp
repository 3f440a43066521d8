// Operators that create arrays.
#include "frontend/ops/shape_rules.h"

#include <cmath>

namespace kiln::ops {
namespace {

template <int value>
Values constant(Primitives& p, Args, const Attrs& a) {
  return {p.full({a.dtype("dtype"), wanted_shape(p, a)}, value)};
}
Values full(Primitives& p, Args, const Attrs& a) {
  return {p.full({a.dtype("dtype"), wanted_shape(p, a)}, a.real("value"))};
}

/// start + step * floor(i / repeat) for `count` elements, computed in f64 and then rounded to the dtype.
Value ramp(Primitives& p, std::int64_t count, double start, double step, std::int64_t repeat, DType dtype) {
  Value i = p.iota({DType::i64, {count}}, 0);
  if (repeat != 1) i = p.div(i, p.like(i, static_cast<double>(repeat)));
  Value x = p.cast(i, DType::f64);
  return convert(p, p.add(p.like(x, start), p.mul(x, p.like(x, step))), dtype);
}

Values arange(Primitives& p, Args, const Attrs& a) {
  double start = a.real("start"), step = a.real("step"), stop = start;
  // MXNet infers the number of elements from the consumers of the range.
  if (a.boolean("infer_range") && a.is_none("stop"))
    fail(
        "infer_range=True without stop is not supported: the length would follow from the consumers of the "
        "range. Give "
        "stop, or use arange_like of an array of that length");
  if (a.is_none("stop"))
    start = 0;
  else
    stop = a.real("stop");
  std::int64_t repeat = a.integer("repeat");
  if (step == 0 || repeat < 1) fail("arange needs a step that is not 0 and a repeat of at least 1");
  double steps = std::ceil((stop - start) / step);
  if (!(steps < 9e15)) fail("arange from {} to {} by {} has too many elements", start, stop, step);
  auto count = static_cast<std::int64_t>(std::max(0.0, steps));
  return {ramp(p, times(count, repeat), start, step, repeat, a.dtype("dtype"))};
}
Values linspace(Primitives& p, Args, const Attrs& a) {
  double start = a.real("start"), stop = a.is_none("stop") ? start : a.real("stop");
  std::int64_t count = a.integer("num"), intervals = a.boolean("endpoint") ? count - 1 : count;
  if (count < 0) fail("linspace cannot have {} points", count);
  double step = intervals > 0 ? (stop - start) / static_cast<double>(intervals) : 0;
  return {ramp(p, count, start, step, 1, a.dtype("dtype"))};
}
Values arange_like(Primitives& p, Args in, const Attrs& a) {
  const Shape& like = p.shape(in[0]);
  Shape shape = like;
  if (!a.is_none("axis")) shape = {like[at(axis_of(a.integer("axis"), like.rank()))]};
  Value x = ramp(p, shape.elements(), a.real("start"), a.real("step"), a.integer("repeat"), p.dtype(in[0]));
  return {p.reshape(x, shape)};
}
void arange_like_shape(ShapeFacts& f, const Attrs& a) {
  if (a.is_none("axis")) return f.same(f.in[0], f.out[0]);
  f.rank(f.out[0], 1);
  if (const auto i = axis_in(a.integer("axis"), f.in[0].extents.rank()))
    f.same(Axis{f.in[0], *i}, Axis{f.out[0], 0});
}
Values eye(Primitives& p, Args, const Attrs& a) {
  std::int64_t rows = a.integer("N"), columns = a.integer("M") > 0 ? a.integer("M") : rows;
  if (rows < 0) fail("eye cannot have {} rows", rows);
  TensorType numbers{DType::i64, {rows, columns}};
  Value diagonal = p.add(p.iota(numbers, 0), p.full(numbers, static_cast<double>(a.integer("k"))));
  return {p.cast(p.compare(Compare::eq, diagonal, p.iota(numbers, 1)), a.dtype("dtype"))};
}
Values shape_array(Primitives& p, Args in, const Attrs&) {
  const Shape& s = p.shape(in[0]);
  return {p.constant({DType::i64, {s.rank()}}, std::as_bytes(s.dims()))};
}
Values size_array(Primitives& p, Args in, const Attrs&) {
  return {p.full_integer({DType::i64, {1}}, p.shape(in[0]).elements())};
}

std::vector<AttrSpec> range_attrs() {
  return {required("start", AttrKind::real),
          or_none("stop", AttrKind::real),
          real_attr("step", 1),
          int_attr("repeat", 1),
          bool_attr("infer_range", false),
          context_attr(),
          dtype_attr("float32")};
}

std::vector<AttrSpec> linspace_attrs() {
  std::vector<AttrSpec> attrs = range_attrs();
  for (AttrSpec& spec : attrs)
    if (spec.name == "step" || spec.name == "repeat" || spec.name == "infer_range")
      spec.ignored = "num says how many points there are, as in MXNet";
  attrs.push_back(int_attr("num", 50));
  attrs.push_back(bool_attr("endpoint", true));
  return attrs;
}

}  // namespace

std::span<const OpDef> create_ops() {
  static const std::vector<OpDef> rows{
      {.name = "_zeros",
       .summary = "An array of zeros.",
       .attrs = {tuple_or_none("shape"), context_attr(), dtype_attr("float32")},
       .compose = constant<0>},
      {.name = "_ones",
       .summary = "An array of ones.",
       .attrs = {tuple_or_none("shape"), context_attr(), dtype_attr("float32")},
       .compose = constant<1>},
      {.name = "_full",
       .aliases = {"_npi_full"},
       .summary = "An array of one value.",
       .attrs = {tuple_or_none("shape"), context_attr(), dtype_attr("float32"),
                 required("value", AttrKind::real)},
       .compose = full},
      {.name = "_arange",
       .summary = "start, start + step, ... below stop, each `repeat` times.",
       .attrs = range_attrs(),
       .compose = arange},
      {.name = "_linspace",
       .aliases = {"_npi_linspace"},
       .summary = "Evenly spaced numbers, both ends included.",
       .attrs = linspace_attrs(),
       .compose = linspace},
      {.name = "_contrib_arange_like",
       .aliases = {"_npx_arange_like"},
       .summary = "A range with as many elements as data, or as one axis of data.",
       .inputs = {"data"},
       .attrs = {real_attr("start", 0), real_attr("step", 1), int_attr("repeat", 1), context_attr(),
                 or_none("axis", AttrKind::integer)},
       .compose = arange_like,
       .shape_rule = arange_like_shape},
      {.name = "_eye",
       .summary = "Ones on a diagonal, else zeros.",
       .attrs = {required("N", AttrKind::integer), int_attr("M", 0), int_attr("k", 0), context_attr(),
                 dtype_attr("float32")},
       .compose = eye},
      {.name = "shape_array",
       .aliases = {"_npx_shape_array"},
       .summary = "The shape of data.",
       .inputs = {"data"},
       .compose = shape_array},
      {.name = "size_array",
       .summary = "The number of elements of data.",
       .inputs = {"data"},
       .compose = size_array},
  };
  return rows;
}

}  // namespace kiln::ops

// Operators that create arrays.
#include "frontend/ops/reference.h"
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

AttrSpec shape_attr() {
  return tuple_or_none("shape", "The shape; None and () are a scalar, (1,) outside of numpy mode.");
}

constexpr OpReference creation{
    .shapes = "-> shape",
    .dtypes = "Any: the result has `dtype`.",
    .nan = "There is no input.",
    .empty = "An extent of 0 gives an empty array.",
    .gradient = "None: there is no input.",
    .source = "MXNet 1.9.1 (src/operator/tensor/init_op.cc).",
};
/// The elements start + step i, computed in float64.
constexpr OpReference ramp_reference =
    creation | OpReference{
                   .shapes = "-> (n)",
                   .nan = "A NaN as start or step gives NaN, in integers 0, in int64 its least number.",
                   .integers =
                       "Computed in float64, then truncated and wrapped to the dtype. In bool: whether the "
                       "number is not 0.",
               };

std::vector<AttrSpec> range_attrs() {
  return {required("start", AttrKind::real, "The first number; without stop, the end of a range from 0."),
          or_none("stop", AttrKind::real, "The end, which is not reached. None: the range is [0, start)."),
          real_attr("step", 1, "The distance of neighbours, positive or negative, not 0."),
          int_attr("repeat", 1, "How often each number stands in the result, 1 or more."),
          bool_attr("infer_range", false,
                    "In symbol files: whether consumers give the length, as in MXNet. Throws without stop."),
          context_attr(),
          dtype_attr("float32")};
}

std::vector<AttrSpec> linspace_attrs() {
  std::vector<AttrSpec> attrs = range_attrs();
  for (AttrSpec& spec : attrs) {
    if (spec.name == "step" || spec.name == "repeat" || spec.name == "infer_range")
      spec.ignored = "num says how many points there are, as in MXNet";
    if (spec.name == "start") spec.meaning = "The first number.";
    if (spec.name == "stop") spec.meaning = "The end; None: start.";
  }
  attrs.push_back(int_attr("num", 50, "The number of points, 0 or more."));
  attrs.push_back(bool_attr("endpoint", true, "Whether stop is the last point."));
  return attrs;
}

OpDef arange_row() {
  return {
      .name = "_arange",
      .summary = "The numbers start, start + step, ... below stop, each `repeat` times.",
      .reference =
          ramp_reference |
          OpReference{.shapes = "-> (n repeat); n = ceil((stop - start) / step), at least 0",
                      .nan = "A NaN as start, stop or step throws, as an infinite number of elements does.",
                      .empty = "Empty if stop is not after start in the direction of step.",
                      .formula = "y[i] = start + step floor(i / repeat)"},
      .attrs = range_attrs(),
      .compose = arange};
}
OpDef linspace_row() {
  return {
      .name = "_linspace",
      .aliases = {"_npi_linspace"},
      .summary = "Evenly spaced numbers from start to stop.",
      .reference =
          ramp_reference |
          OpReference{.shapes = "-> (num)",
                      .nan = "A NaN as start or stop gives NaN, in integers 0, in int64 its least number.",
                      .empty = "num = 0 gives an empty array.",
                      .formula = "y[i] = start + i (stop - start) / m; m = num - 1, without endpoint num"},
      .attrs = linspace_attrs(),
      .compose = linspace};
}
OpDef arange_like_row() {
  return {.name = "_contrib_arange_like",
          .aliases = {"_npx_arange_like"},
          .summary = "A range with as many elements as data, or as one axis of data.",
          .reference = ramp_reference |
                       OpReference{.shapes = "data (...) -> (...); with axis: data (..., n, ...) -> (n)",
                                   .dtypes = "Any; the result has the dtype of data.",
                                   .empty = "An empty array, or axis, gives an empty array.",
                                   .gradient = gradient_zeros,
                                   .formula = "y[i] = start + step floor(i / repeat), i in C order",
                                   .source = "MXNet 1.9.1's arange_like; the cases of "
                                             "tests/golden/ops/i_contrib_arange_like__*."},
          .inputs = {"data"},
          .attrs = {real_attr("start", 0, "The first number."),
                    real_attr("step", 1, "The distance of neighbours."),
                    int_attr("repeat", 1, "How often each number stands in the result."), context_attr(),
                    or_none("axis", AttrKind::integer,
                            "The axis whose extent is the length; None: all elements, in data's shape.")},
          .compose = arange_like,
          .shape_rule = arange_like_shape};
}
OpDef eye_row() {
  return {.name = "_eye",
          .summary = "A matrix with ones on a diagonal and zeros elsewhere.",
          .reference = creation | OpReference{.shapes = "-> (N, M)",
                                              .integers = "Exact.",
                                              .formula = "y[i, j] = 1 if j = i + k, else 0"},
          .attrs = {required("N", AttrKind::integer, "The number of rows."),
                    int_attr("M", 0, "The number of columns; 0 and less: N."),
                    int_attr("k", 0, "The diagonal: positive above the main one, negative below."),
                    context_attr(), dtype_attr("float32")},
          .compose = eye};
}

/// Operators that read the shape of `data`.
OpDef shape_row(std::string_view name, std::vector<std::string_view> aliases, std::string_view summary,
                std::string_view shapes, std::string_view formula, decltype(OpDef::compose) compose) {
  return {.name = name,
          .aliases = std::move(aliases),
          .summary = summary,
          .reference = {.shapes = shapes,
                        .dtypes = "Any; the result is int64.",
                        .nan = "No result depends on the elements.",
                        .empty = "Extents of 0 count as such.",
                        .integers = "No result depends on the elements.",
                        .gradient = gradient_zeros,
                        .formula = formula,
                        .source = "MXNet 1.9.1 (src/operator/tensor/elemwise_unary_op_basic.cc)."},
          .inputs = {"data"},
          .compose = compose};
}

}  // namespace

std::span<const OpDef> create_ops() {
  static const std::vector<OpDef> rows{
      {.name = "_zeros",
       .summary = "An array of zeros.",
       .reference = creation | OpReference{.integers = "Exact.", .formula = "0"},
       .attrs = {shape_attr(), context_attr(), dtype_attr("float32")},
       .compose = constant<0>},
      {.name = "_ones",
       .summary = "An array of ones.",
       .reference = creation | OpReference{.integers = "Exact.", .formula = "1"},
       .attrs = {shape_attr(), context_attr(), dtype_attr("float32")},
       .compose = constant<1>},
      {.name = "_full",
       .aliases = {"_npi_full"},
       .summary = "An array of one value.",
       .reference =
           creation |
           OpReference{
               .nan = "A NaN as value gives NaN; in integers 0, in int64 its least number; in bool true.",
               .integers = "value is truncated and wrapped to the dtype. In bool: whether it is not 0.",
               .formula = "value"},
       .attrs = {shape_attr(), context_attr(), dtype_attr("float32"),
                 required("value", AttrKind::real, "The value of every element.")},
       .compose = full},
      arange_row(),
      linspace_row(),
      arange_like_row(),
      eye_row(),
      shape_row("shape_array", {"_npx_shape_array"}, "The shape of data, as an array.",
                "data (d0, d1, ...) -> (rank)", "y[i] = the extent of axis i", shape_array),
      shape_row("size_array", {}, "The number of elements of data, as an array.", "data (...) -> (1)",
                "y[0] = the product of all extents", size_array),
  };
  return rows;
}

}  // namespace kiln::ops

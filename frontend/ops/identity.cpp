// Operators that return their inputs, with a gradient of their own or in another dtype, and constants of
// their shape.
#include "frontend/ops/pointwise.h"
#include "runtime/dtype_table.h"

#include <algorithm>
#include <optional>

namespace kiln::ops {
namespace {

Values identity(Primitives&, Args in, const Attrs&) { return {in[0]}; }

// MXNet's own gradients: all of the following ignore the heads, except the last.

Values ones(Primitives& p, const GradientArgs& args) { return {p.like(args.in[0], 1)}; }
/// grad_scale, over the samples of data of two axes and more, or over the elements above valid_thresh.
Values loss_gradient(Primitives& p, const GradientArgs& args) {
  const Attrs& a = args.attrs;
  const Value x = widen(p, args.in[0]);
  const Shape shape = p.shape(x);
  const std::string& by = a.word("normalization");
  const double scale = a.real("grad_scale");
  Value dx = p.like(x, by == "batch" && shape.rank() > 1 ? scale / static_cast<double>(shape[0]) : scale);
  if (by == "valid") {
    const Value is_valid = p.compare(Compare::gt, x, p.like(x, a.real("valid_thresh")));
    const Value count = p.reduce(Reduce::sum, p.cast(is_valid, p.dtype(x)), other_axes({}, shape.rank()));
    dx = p.div(dx, p.broadcast_to(p.binary(Binary::max, count, p.like(count, 1)), shape));
  }
  return {convert(p, dx, p.dtype(args.in[0]))};
}
Value multiplier(Primitives& p, Value x, Value, const Attrs& a) { return p.like(x, a.real("scalar")); }

Values cast(Primitives& p, Args in, const Attrs& a) { return {convert(p, in[0], a.dtype("dtype"))}; }

/// The dtypes that casts of mixed precision convert; arrays of all others pass as they are.
bool is_mixed(DType dtype) { return dtype == DType::f32 || is_narrow_float(dtype); }
Values amp_cast(Primitives& p, Args in, const Attrs& a) {
  return {is_mixed(p.dtype(in[0])) ? convert(p, in[0], a.dtype("dtype")) : in[0]};
}
Values amp_multicast(Primitives& p, Args in, const Attrs& a) {
  if (in.empty()) fail("amp_multicast needs an array");
  const bool narrow = a.boolean("cast_narrow");
  std::optional<DType> common;
  for (const Value x : in) {
    const DType dtype = p.dtype(x);
    if (!is_mixed(dtype)) continue;
    if (!common)
      common = dtype;
    else if (*common != dtype && !narrow)
      common = DType::f32;
    else if (!is_narrow_float(*common))
      common = dtype;
  }
  Values out;
  for (const Value x : in) out.push_back(is_mixed(p.dtype(x)) ? convert(p, x, *common) : x);
  return out;
}
int amp_multicast_outputs(const Attrs& a) {
  return static_cast<int>(std::clamp<std::int64_t>(a.integer("num_outputs"), 1, 1 << 20));
}
void amp_multicast_shape(ir::ShapeFacts& f, const Attrs&) {
  for (std::size_t i = 0; i < std::min(f.in.size(), f.out.size()); ++i) f.same(f.in[i], f.out[i]);
}

Values zeros_like(Primitives& p, Args in, const Attrs&) { return {p.like(in[0], 0)}; }
Values ones_like(Primitives& p, Args in, const Attrs&) { return {p.like(in[0], 1)}; }

constexpr OpReference same_reference = of_data | OpReference{.integers = integers_unchanged, .formula = "x"};
constexpr OpReference same_basic = unary_basic | OpReference{.integers = integers_unchanged, .formula = "x"};
constexpr OpReference cast_reference =
    of_data |
    OpReference{
        .dtypes = "Any; the result has the dtype `dtype`.",
        .nan = "NaN in floats; 0 in integers, in int64 its least number; true in bool.",
        .ties = "Floats are rounded to nearest, ties to even.",
        .integers =
            "Of floats: truncated to int64, its least number where out of range, then wrapped. Integers "
            "wrap. In bool: whether the number is not 0.",
        .gradient = "g in the dtype of data",
        .formula = "x in the dtype `dtype`",
    };
constexpr OpReference constant_like_reference =
    of_data | OpReference{
                  .nan = "No result depends on the elements.",
                  .integers = "Exact.",
                  .gradient = gradient_zeros,
                  .source = "MXNet 1.9.1 (src/operator/tensor/init_op.cc).",
              };

OpDef make_loss_row() {
  return pointwise(
      "MakeLoss", "x as a loss: its gradient is grad_scale, whatever the gradient of the result is.",
      identity,
      same_reference |
          OpReference{.gradient = "grad_scale for every element, divided by the first extent if "
                                  "normalization is batch and data has two axes or more; by the number "
                                  "of elements > valid_thresh, at least 1, if it is valid",
                      .source = "MXNet 1.9.1 (src/operator/make_loss.cc)."},
      {},
      {real_attr("grad_scale", 1, "The gradient of each element."),
       real_attr("valid_thresh", 0, "With normalization valid: elements above it are counted."),
       word_attr("normalization", "null", {"batch", "null", "valid"},
                 "The divisor of the gradient: the first extent, 1, or the number of valid elements.")},
      loss_gradient);
}

constexpr std::string_view amp_source = "MXNet 1.9.1 (src/operator/tensor/amp_cast.cc).";

OpDef amp_multicast_row() {
  return {.name = "amp_multicast",
          .summary = "Converts arrays to the widest of their dtypes, as inserted for mixed precision.",
          .reference =
              of_data |
              OpReference{
                  .shapes = "data: num_outputs arrays (...) -> num_outputs arrays, each of its input's shape",
                  .dtypes = "Any. Arrays of float32 and half precision get one dtype: float32 "
                            "if two of them differ; with cast_narrow the first half "
                            "precision among them. Others pass as they are.",
                  .ties = "Roundings are to nearest, ties to even.",
                  .integers = integers_unchanged,
                  .gradient = "For each input: the gradient of its result, in the input's dtype",
                  .formula = "data[i] in the common dtype",
                  .source = amp_source},
          .inputs = {"data"},
          .variadic = true,
          .count_attr = "num_outputs",
          .attrs = {required("num_outputs", AttrKind::integer, "The number of arrays, 1 or more."),
                    bool_attr("cast_narrow", false, "Whether the common dtype is the narrowest one.")},
          .counted_outputs = amp_multicast_outputs,
          .visible_outputs = amp_multicast_outputs,
          .compose = amp_multicast,
          .shape_rule = amp_multicast_shape};
}

}  // namespace

std::vector<OpDef> identity_ops() {
  OpDef block =
      pointwise("BlockGrad", "x, as a constant for gradients.", identity,
                same_basic | OpReference{.gradient = "None: no gradient passes. backward() throws for a head "
                                                     "that leads to arrays by this operator alone."},
                {"stop_gradient"});
  block.stops_gradient = true;
  return {
      pointwise("_copy", "A copy of x.", identity, same_basic | OpReference{.gradient = "g"}, {"identity"}),
      std::move(block),
      pointwise("make_loss", "x as a loss: its gradient is 1, whatever the gradient of the result is.",
                identity, same_basic | OpReference{.gradient = "1 for every element, independent of g"}, {},
                {}, ones),
      pointwise("_contrib_gradientmultiplier", "x, with its gradient multiplied by scalar.", identity,
                same_reference |
                    OpReference{.gradient = "scalar g",
                                .source = "MXNet 1.9.1 (src/operator/contrib/gradient_multiplier_op.cc)."},
                {},
                {real_attr("scalar", 1, "The factor of the gradient; negative: it is reversed."),
                 ignored(bool_attr("is_int", true, "Whether scalar is an integer."),
                         "the gradient has the dtype of x")},
                head_times<multiplier>),
      make_loss_row(),
      pointwise("Cast", "Converts x to a dtype.", cast,
                cast_reference |
                    OpReference{.source = "MXNet 1.9.1 (src/operator/tensor/elemwise_unary_op_basic.cc). "
                                          "docs/differences.md has the cast that differs."},
                {"_npi_cast", "_npx_cast", "cast"},
                {required("dtype", AttrKind::dtype, "The result's dtype.")}),
      pointwise("amp_cast", "Converts x to a dtype, as inserted for mixed precision.", amp_cast,
                cast_reference |
                    OpReference{.dtypes = "Any. The result has the dtype `dtype` if x is float32 or half "
                                          "precision; another x passes as it is.",
                                .integers = "Unchanged. To an integer dtype: as Cast.",
                                .source = amp_source},
                {}, {required("dtype", AttrKind::dtype, "The result's dtype.")}),
      amp_multicast_row(),
      pointwise("zeros_like", "Zeros of the shape and dtype of x.", zeros_like,
                constant_like_reference | OpReference{.formula = "0"}),
      pointwise("ones_like", "Ones of the shape and dtype of x.", ones_like,
                constant_like_reference | OpReference{.formula = "1"}),
  };
}

}  // namespace kiln::ops

// F.np(): numpy's operators, with the attributes that MXNet's Python writes for them.
#include "frontend/api/f_call.h"
#include "frontend/call/numpy_scope.h"

#include <kiln/f_numpy.h>

namespace kiln {
namespace {

using ir::AttrValue;
using Where = F::Where;

template <OpName op, class T>
Tensor with_value(const Tensor& x, std::string_view attr, T value, Where where) {
  CallAttributes<1> given;
  given.set(attr, AttrValue(std::move(value)));
  return np_call<op>({&x}, given, where);
}

/// Two tensors, or a tensor and a number on either side.
template <OpName both, OpName right, OpName left>
Tensor binary(const Operand& a, const Operand& b, Where where) {
  if (a.is_tensor() && b.is_tensor()) return np_call<both>({&a.tensor(), &b.tensor()}, where);
  if (!a.is_tensor() && !b.is_tensor())
    throw Error(line_prefix(where) +
                "the operator needs a tensor on one side; an undefined Tensor was given");
  const Operand& number = a.is_tensor() ? b : a;
  // The dtype of a float array does not depend on the number's kind. MXNet's symbols write False for every
  // number on the left.
  const bool kind_matters = a.is_tensor() || !is_floating(detail::TensorAccess::dtype(b.tensor()));
  CallAttributes<2> given;
  given.set("scalar", AttrValue(number.number()));
  given.set("is_int", AttrValue(number.integral() && kind_matters));
  if (a.is_tensor()) return np_call<right>({&a.tensor()}, given, where);
  return np_call<left>({&b.tensor()}, given, where);
}

/// `axis` in the form of a file: None if not given.
AttrValue written(const Axes& axes) {
  if (!axes.given()) return ir::None{};
  return axes.single() ? AttrValue(axes.shape()[0]) : AttrValue(axes.shape());
}

CallAttributes<4> attributes(const NumpyReduceOptions& o) {
  CallAttributes<4> given;
  given.set("axis", o.axis);
  given.set("dtype", o.dtype);
  given.set("keepdims", o.keepdims);
  given.set("initial", o.initial);
  return given;
}
CallAttributes<3> attributes(const NumpyExtremeOptions& o) {
  CallAttributes<3> given;
  given.set("axis", o.axis);
  given.set("keepdims", o.keepdims);
  given.set("initial", o.initial);
  return given;
}
CallAttributes<4> attributes(const NumpyMomentOptions& o) {
  CallAttributes<4> given;
  given.set("axis", written(o.axis));
  given.set("dtype", o.dtype);
  given.set("ddof", AttrValue(o.ddof));
  given.set("keepdims", AttrValue(o.keepdims));
  return given;
}
CallAttributes<2> numpy_attributes(const ArgReduceOptions& o) {
  CallAttributes<2> given;
  given.set("axis", o.axis ? AttrValue(*o.axis) : AttrValue(ir::None{}));
  given.set("keepdims", AttrValue(o.keepdims.value_or(false)));
  return given;
}

void set_context(auto& given) { given.set("ctx", AttrValue(std::string("cpu(0)"))); }

}  // namespace

using Numpy = struct F::numpy;

Tensor Numpy::clip(const Tensor& a, Number a_min, Number a_max, Where where) {
  const NumpyScope scope;
  return F::clip(a, a_min, a_max, where);
}

Tensor Numpy::add(const Operand& a, const Operand& b, Where where) {
  return binary<"_npi_add", "_npi_add_scalar", "_npi_add_scalar">(a, b, where);
}
Tensor Numpy::subtract(const Operand& a, const Operand& b, Where where) {
  return binary<"_npi_subtract", "_npi_subtract_scalar", "_npi_rsubtract_scalar">(a, b, where);
}
Tensor Numpy::multiply(const Operand& a, const Operand& b, Where where) {
  return binary<"_npi_multiply", "_npi_multiply_scalar", "_npi_multiply_scalar">(a, b, where);
}
Tensor Numpy::true_divide(const Operand& a, const Operand& b, Where where) {
  return binary<"_npi_true_divide", "_npi_true_divide_scalar", "_npi_rtrue_divide_scalar">(a, b, where);
}
Tensor Numpy::divide(const Operand& a, const Operand& b, Where where) { return true_divide(a, b, where); }
Tensor Numpy::mod(const Operand& a, const Operand& b, Where where) {
  return binary<"_npi_mod", "_npi_mod_scalar", "_npi_rmod_scalar">(a, b, where);
}
Tensor Numpy::power(const Operand& a, const Operand& b, Where where) {
  return binary<"_npi_power", "_npi_power_scalar", "_npi_rpower_scalar">(a, b, where);
}
Tensor Numpy::maximum(const Operand& a, const Operand& b, Where where) {
  return binary<"_npi_maximum", "_npi_maximum_scalar", "_npi_maximum_scalar">(a, b, where);
}
Tensor Numpy::minimum(const Operand& a, const Operand& b, Where where) {
  return binary<"_npi_minimum", "_npi_minimum_scalar", "_npi_minimum_scalar">(a, b, where);
}
Tensor Numpy::equal(const Operand& a, const Operand& b, Where where) {
  return binary<"_npi_equal", "_npi_equal_scalar", "_npi_equal_scalar">(a, b, where);
}
Tensor Numpy::not_equal(const Operand& a, const Operand& b, Where where) {
  return binary<"_npi_not_equal", "_npi_not_equal_scalar", "_npi_not_equal_scalar">(a, b, where);
}
Tensor Numpy::greater(const Operand& a, const Operand& b, Where where) {
  return binary<"_npi_greater", "_npi_greater_scalar", "_npi_less_scalar">(a, b, where);
}
Tensor Numpy::greater_equal(const Operand& a, const Operand& b, Where where) {
  return binary<"_npi_greater_equal", "_npi_greater_equal_scalar", "_npi_less_equal_scalar">(a, b, where);
}
Tensor Numpy::less(const Operand& a, const Operand& b, Where where) {
  return binary<"_npi_less", "_npi_less_scalar", "_npi_greater_scalar">(a, b, where);
}
Tensor Numpy::less_equal(const Operand& a, const Operand& b, Where where) {
  return binary<"_npi_less_equal", "_npi_less_equal_scalar", "_npi_greater_equal_scalar">(a, b, where);
}
Tensor Numpy::where(const Tensor& condition, const Operand& x, const Operand& y, Where where) {
  const Tensor& like = x.is_tensor() ? x.tensor() : y.is_tensor() ? y.tensor() : condition;
  const auto dtype_beside = [&](const Operand& number) {
    const DType dtype = detail::TensorAccess::dtype(like);
    if (!x.is_tensor() && !y.is_tensor()) return x.integral() && y.integral() ? DType::i64 : DType::f32;
    if (number.integral()) return dtype == DType::boolean ? DType::i64 : dtype;
    return is_floating(dtype) ? dtype : DType::f64;
  };
  const auto filled = [&](const Operand& number) {
    CallAttributes<3> given;
    given.set("fill_value", AttrValue(number.number()));
    set_context(given);
    given.set("dtype", dtype_beside(number));
    return np_call<"_npi_full_like">({&like}, given, where);
  };
  Tensor of_x, of_y;
  if (!x.is_tensor()) of_x = filled(x);
  if (!y.is_tensor()) of_y = filled(y);
  return np_call<"_npi_where">(
      {&condition, x.is_tensor() ? &x.tensor() : &of_x, y.is_tensor() ? &y.tensor() : &of_y}, where);
}

Tensor Numpy::sum(const Tensor& a, const NumpyReduceOptions& o, Where where) {
  return np_call<"_np_sum">({&a}, attributes(o), where, o.name);
}
Tensor Numpy::prod(const Tensor& a, const NumpyReduceOptions& o, Where where) {
  return np_call<"_np_prod">({&a}, attributes(o), where, o.name);
}
Tensor Numpy::mean(const Tensor& a, const NumpyReduceOptions& o, Where where) {
  CallAttributes<4> given;
  given.set("axis", written(o.axis));
  given.set("dtype", o.dtype);
  given.set("keepdims", AttrValue(o.keepdims.value_or(false)));
  given.set("initial", o.initial);
  return np_call<"_npi_mean">({&a}, given, where, o.name);
}
Tensor Numpy::max(const Tensor& a, const NumpyExtremeOptions& o, Where where) {
  return np_call<"_np_max">({&a}, attributes(o), where, o.name);
}
Tensor Numpy::min(const Tensor& a, const NumpyExtremeOptions& o, Where where) {
  return np_call<"_np_min">({&a}, attributes(o), where, o.name);
}
Tensor Numpy::var(const Tensor& a, const NumpyMomentOptions& o, Where where) {
  return np_call<"_npi_var">({&a}, attributes(o), where, o.name);
}
Tensor Numpy::std(const Tensor& a, const NumpyMomentOptions& o, Where where) {
  return np_call<"_npi_std">({&a}, attributes(o), where, o.name);
}
Tensor Numpy::argmax(const Tensor& a, const ArgReduceOptions& o, Where where) {
  return np_call<"_npi_argmax">({&a}, numpy_attributes(o), where, o.name);
}
Tensor Numpy::argmin(const Tensor& a, const ArgReduceOptions& o, Where where) {
  return np_call<"_npi_argmin">({&a}, numpy_attributes(o), where, o.name);
}

Tensor Numpy::tensordot(const Tensor& a, const Tensor& b, int axes, Where where) {
  CallAttributes<1> given;
  given.set("axes", AttrValue(::std::int64_t{axes}));
  return np_call<"_npi_tensordot_int_axes">({&a, &b}, given, where);
}
Tensor Numpy::tensordot(const Tensor& a, const Tensor& b, const Shape& a_axes, const Shape& b_axes,
                        Where where) {
  CallAttributes<2> given;
  given.set("a_axes_summed", AttrValue(a_axes));
  given.set("b_axes_summed", AttrValue(b_axes));
  return np_call<"_npi_tensordot">({&a, &b}, given, where);
}
Tensor Numpy::einsum(const ::std::string& subscripts, const Tensors& operands, Where where) {
  const NumpyScope scope;
  CallAttributes<2> given;
  given.set("subscripts", AttrValue(subscripts));
  given.set("optimize", AttrValue(::std::int64_t{0}));
  return call_list<"_npi_einsum">(operands, given, where);
}

Tensor Numpy::reshape(const Tensor& a, const Shape& newshape, Where where) {
  return with_value<"_np_reshape">(a, "newshape", newshape, where);
}
Tensor Numpy::transpose(const Tensor& a, Where where) { return np_call<"_np_transpose">({&a}, where); }
Tensor Numpy::transpose(const Tensor& a, const Shape& axes, Where where) {
  return with_value<"_np_transpose">(a, "axes", axes, where);
}
Tensor Numpy::swapaxes(const Tensor& a, int axis1, int axis2, Where where) {
  const NumpyScope scope;
  return F::swapaxes(a, {.dim1 = axis1, .dim2 = axis2}, where);
}
Tensor Numpy::moveaxis(const Tensor& a, const Axes& source, const Axes& destination, Where where) {
  CallAttributes<2> given;
  given.set("source", source);
  given.set("destination", destination);
  return np_call<"_np_moveaxis">({&a}, given, where);
}
Tensor Numpy::expand_dims(const Tensor& a, int axis, Where where) {
  const NumpyScope scope;
  return F::expand_dims(a, axis, where);
}
Tensor Numpy::squeeze(const Tensor& a, const Axes& axis, Where where) {
  CallAttributes<1> given;
  given.set("axis", axis);
  return np_call<"_np_squeeze">({&a}, given, where);
}
Tensor Numpy::broadcast_to(const Tensor& array, const Shape& shape, Where where) {
  return with_value<"_npi_broadcast_to">(array, "shape", shape, where);
}
Tensor Numpy::tile(const Tensor& a, const Shape& reps, Where where) {
  const NumpyScope scope;
  return F::tile(a, reps, where);
}
Tensor Numpy::repeat(const Tensor& a, int repeats, ::std::optional<int> axis, Where where) {
  const NumpyScope scope;
  return F::repeat(a, {.repeats = repeats, .axis = axis}, where);
}
Tensor Numpy::concatenate(const Tensors& arrays, int axis, Where where) {
  const NumpyScope scope;
  CallAttributes<1> given;
  given.set("axis", AttrValue(::std::int64_t{axis}));
  return call_list<"_npi_concatenate">(arrays, given, where);
}
Tensor Numpy::stack(const Tensors& arrays, int axis, Where where) {
  const NumpyScope scope;
  CallAttributes<1> given;
  given.set("axis", AttrValue(::std::int64_t{axis}));
  return call_list<"_npi_stack">(arrays, given, where);
}
F::Tensors Numpy::split(const Tensor& a, int sections, int axis, Where where) {
  const NumpyScope scope;
  CallAttributes<4> given;
  given.set("indices", AttrValue(::std::string("[]")));
  given.set("axis", AttrValue(::std::int64_t{axis}));
  given.set("squeeze_axis", AttrValue(false));
  given.set("sections", AttrValue(::std::int64_t{sections}));
  const Tensor* inputs[] = {&a};
  return invoke_all({.op = find_op_or_throw("_split_v2"),
                     .inputs = inputs,
                     .given = given.items(),
                     .where = where,
                     .hint = "split"});
}
Tensor Numpy::take(const Tensor& a, const Tensor& indices, ::std::optional<int> axis, Where where) {
  if (!axis) return take(reshape(a, {-1}, where), indices, 0, where);
  const NumpyScope scope;
  return F::take(a, indices, {.axis = axis, .mode = "raise"}, where);
}

Tensor Numpy::zeros(const Shape& shape, DType dtype, Where where) {
  CallAttributes<3> given;
  given.set("shape", AttrValue(shape));
  set_context(given);
  given.set("dtype", dtype);
  return np_call<"_npi_zeros">({}, given, where);
}
Tensor Numpy::ones(const Shape& shape, DType dtype, Where where) {
  CallAttributes<3> given;
  given.set("shape", AttrValue(shape));
  set_context(given);
  given.set("dtype", dtype);
  return np_call<"_npi_ones">({}, given, where);
}
Tensor Numpy::array(double value, DType dtype, Where where) {
  const NumpyScope scope;
  return F::full({}, value, dtype, where);
}
Tensor Numpy::arange(Number stop, Where where) { return arange(0, stop, 1, DType::f32, where); }
Tensor Numpy::arange(Number start, Number stop, Number step, DType dtype, Where where) {
  CallAttributes<5> given;
  given.set("start", start);
  given.set("stop", stop);
  given.set("step", step);
  set_context(given);
  given.set("dtype", dtype);
  return np_call<"_npi_arange">({}, given, where);
}

namespace {

Tensor filled_like(const Tensor& a, Number fill_value, std::optional<DType> dtype, Where where) {
  CallAttributes<3> given;
  given.set("fill_value", fill_value);
  set_context(given);
  given.set("dtype", dtype);
  return np_call<"_npi_full_like">({&a}, given, where);
}

}  // namespace

Tensor Numpy::full_like(const Tensor& a, Number fill_value, Where where) {
  return filled_like(a, fill_value, {}, where);
}
Tensor Numpy::full_like(const Tensor& a, Number fill_value, DType dtype, Where where) {
  return filled_like(a, fill_value, dtype, where);
}
Tensor Numpy::zeros_like(const Tensor& a, Where where) { return full_like(a, 0, where); }
Tensor Numpy::zeros_like(const Tensor& a, DType dtype, Where where) { return full_like(a, 0, dtype, where); }
Tensor Numpy::ones_like(const Tensor& a, Where where) { return full_like(a, 1, where); }
Tensor Numpy::ones_like(const Tensor& a, DType dtype, Where where) { return full_like(a, 1, dtype, where); }

namespace {

// The attributes that MXNet's Python writes after the parameters of a distribution.
template <std::size_t N>
void set_result(CallAttributes<N>& given, std::string_view size_name, const Shape& size, DType dtype) {
  given.set(size_name, size.empty() ? ir::AttrValue(ir::None{}) : ir::AttrValue(size));
  given.set("ctx", ir::AttrValue(std::string("cpu(0)")));
  given.set("dtype", dtype);
}

}  // namespace

using Random = struct F::numpy::random;

Tensor Random::uniform(Number low, Number high, const Shape& size, DType dtype, Where where) {
  const NumpyScope scope;
  CallAttributes<5> given;
  given.set("low", low);
  given.set("high", high);
  set_result(given, "size", size, dtype);
  return call<"_npi_uniform">({}, given, where);
}
Tensor Random::normal(Number loc, Number scale, const Shape& size, DType dtype, Where where) {
  const NumpyScope scope;
  CallAttributes<5> given;
  given.set("loc", loc);
  given.set("scale", scale);
  set_result(given, "size", size, dtype);
  return call<"_npi_normal">({}, given, where);
}
Tensor Random::randint(std::int64_t low, std::int64_t high, const Shape& size, DType dtype, Where where) {
  const NumpyScope scope;
  CallAttributes<5> given;
  given.set("low", ir::AttrValue(low));
  given.set("high", ir::AttrValue(high));
  set_result(given, "shape", size, dtype);
  return call<"_npi_random_randint">({}, given, where);
}

}  // namespace kiln

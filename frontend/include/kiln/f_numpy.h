// The operators of MXNet's numpy mode: F.np(), F.npx().
#pragma once
#include <kiln/f.h>

#include <initializer_list>
#include <optional>
#include <string>

namespace kiln {

/// Arguments of np::sum, np::prod and np::mean.
struct NumpyReduceOptions {
  /// The reduced axes; negative: from the end. None: all; (): none.
  Axes axis = {};
  /// The result's dtype; None: that of a, int64 for bool.
  std::optional<DType> dtype = {};
  /// Whether reduced axes are kept, with extent 1. Default: False.
  std::optional<bool> keepdims = {};
  /// A number that is reduced too; None: none. If integers are reduced, it is truncated and wrapped to their
  /// dtype.
  std::optional<Number> initial = {};
  std::string name = {};  ///< of the node
};

/// Arguments of np::max and np::min.
struct NumpyExtremeOptions {
  /// The reduced axes; negative: from the end. None: all; (): none.
  Axes axis = {};
  /// Whether reduced axes are kept, with extent 1. Default: False.
  std::optional<bool> keepdims = {};
  /// A number that is reduced too; None: none. If integers are reduced, it is truncated and wrapped to their
  /// dtype.
  std::optional<Number> initial = {};
  std::string name = {};  ///< of the node
};

/// Arguments of np::var and np::std.
struct NumpyMomentOptions {
  /// The reduced axes; negative: from the end. None: all; (): none.
  Axes axis = {};
  /// The result's dtype; None: the input's.
  std::optional<DType> dtype = {};
  /// The number subtracted from the count of elements in the divisor. Default: 0.
  std::int64_t ddof = 0;
  /// Whether reduced axes are kept, with extent 1. Default: False.
  bool keepdims = false;
  std::string name = {};  ///< of the node
};

/// MXNet's numpy operators: `F.np().sum(x)`. Unlike F's own they follow numpy. A full reduction has rank 0.
/// Binary operators broadcast; a float and an integer give a float, integers divide as float32, comparisons
/// give bool. They record nodes of MXNet's numpy mode; a graph with one of them is exported in that mode.
/// Otherwise as F, with the rules that its comments leave out.
struct KILN_API F::numpy {
  // functions of np: written by tools/reference, from the definitions.
  /// The absolute value of x. `kiln ops _npi_absolute` has the rest.
  static Tensor abs(const Tensor& x, Where where = Where::current());
  /// The absolute value of x. `kiln ops _npi_absolute` has the rest.
  static Tensor absolute(const Tensor& x, Where where = Where::current());
  /// The inverse of the cosine, in radians. `kiln ops _npi_arccos` has the rest.
  static Tensor arccos(const Tensor& x, Where where = Where::current());
  /// The inverse of the hyperbolic cosine. `kiln ops _npi_arccosh` has the rest.
  static Tensor arccosh(const Tensor& x, Where where = Where::current());
  /// The inverse of the sine, in radians. `kiln ops _npi_arcsin` has the rest.
  static Tensor arcsin(const Tensor& x, Where where = Where::current());
  /// The inverse of the hyperbolic sine. `kiln ops _npi_arcsinh` has the rest.
  static Tensor arcsinh(const Tensor& x, Where where = Where::current());
  /// The inverse of the tangent, in radians. `kiln ops _npi_arctan` has the rest.
  static Tensor arctan(const Tensor& x, Where where = Where::current());
  /// The inverse of the hyperbolic tangent. `kiln ops _npi_arctanh` has the rest.
  static Tensor arctanh(const Tensor& x, Where where = Where::current());
  /// The cube root of x. `kiln ops _npi_cbrt` has the rest.
  static Tensor cbrt(const Tensor& x, Where where = Where::current());
  /// Rounds x up to an integer. No gradient: zeros. `kiln ops _npi_ceil` has the rest.
  static Tensor ceil(const Tensor& x, Where where = Where::current());
  /// The cosine of x radians. `kiln ops _npi_cos` has the rest.
  static Tensor cos(const Tensor& x, Where where = Where::current());
  /// The hyperbolic cosine of x. `kiln ops _npi_cosh` has the rest.
  static Tensor cosh(const Tensor& x, Where where = Where::current());
  /// Converts an angle from radians to degrees. `kiln ops _npi_degrees` has the rest.
  static Tensor degrees(const Tensor& x, Where where = Where::current());
  /// NumPy's dot: contracts the last axis of a with the last but one axis of b. Shapes: a (..., K), b (...,
  /// K, N) -> the axes of a without K, the leading axes of b, N. A NaN in a makes the results of its row NaN,
  /// one in b the results of its column. `kiln ops _np_dot` has the rest.
  static Tensor dot(const Tensor& a, const Tensor& b, Where where = Where::current());
  /// The exponential function of x. `kiln ops _npi_exp` has the rest.
  static Tensor exp(const Tensor& x, Where where = Where::current());
  /// The exponential function of x minus 1, accurate near zero. `kiln ops _npi_expm1` has the rest.
  static Tensor expm1(const Tensor& x, Where where = Where::current());
  /// Rounds x towards zero to an integer; the same function as trunc. No gradient: zeros. `kiln ops _npi_fix`
  /// has the rest.
  static Tensor fix(const Tensor& x, Where where = Where::current());
  /// Rounds x down to an integer. No gradient: zeros. `kiln ops _npi_floor` has the rest.
  static Tensor floor(const Tensor& x, Where where = Where::current());
  /// The natural logarithm of x. `kiln ops _npi_log` has the rest.
  static Tensor log(const Tensor& x, Where where = Where::current());
  /// The logarithm of x to the base 10. `kiln ops _npi_log10` has the rest.
  static Tensor log10(const Tensor& x, Where where = Where::current());
  /// The natural logarithm of 1 + x, accurate near zero. `kiln ops _npi_log1p` has the rest.
  static Tensor log1p(const Tensor& x, Where where = Where::current());
  /// The logarithm of x to the base 2. `kiln ops _npi_log2` has the rest.
  static Tensor log2(const Tensor& x, Where where = Where::current());
  /// NumPy's matmul: the matrix product in the last two axes of a and b. Shapes: a (..., M, K), b (..., K, N)
  /// -> (..., M, N). A NaN in a makes its row of its matrices NaN, one in b its column.
  /// `kiln ops _npi_matmul` has the rest.
  static Tensor matmul(const Tensor& a, const Tensor& b, Where where = Where::current());
  /// The negation of x. `kiln ops _npi_negative` has the rest.
  static Tensor negative(const Tensor& x, Where where = Where::current());
  /// Converts an angle from degrees to radians. `kiln ops _npi_radians` has the rest.
  static Tensor radians(const Tensor& x, Where where = Where::current());
  /// One divided by x. `kiln ops _npi_reciprocal` has the rest.
  static Tensor reciprocal(const Tensor& x, Where where = Where::current());
  /// Rounds x to the nearest integer; halves go down. No gradient: zeros. `kiln ops _npi_rint` has the rest.
  static Tensor rint(const Tensor& x, Where where = Where::current());
  /// The sign of x: -1, 0 or 1. Of NaN: +0. No gradient: zeros. `kiln ops _npi_sign` has the rest.
  static Tensor sign(const Tensor& x, Where where = Where::current());
  /// The sine of x radians. `kiln ops _npi_sin` has the rest.
  static Tensor sin(const Tensor& x, Where where = Where::current());
  /// The hyperbolic sine of x. `kiln ops _npi_sinh` has the rest.
  static Tensor sinh(const Tensor& x, Where where = Where::current());
  /// The square root of x. `kiln ops _npi_sqrt` has the rest.
  static Tensor sqrt(const Tensor& x, Where where = Where::current());
  /// The square of x. `kiln ops _npi_square` has the rest.
  static Tensor square(const Tensor& x, Where where = Where::current());
  /// The tangent of x radians. `kiln ops _npi_tan` has the rest.
  static Tensor tan(const Tensor& x, Where where = Where::current());
  /// The hyperbolic tangent of x. `kiln ops _npi_tanh` has the rest.
  static Tensor tanh(const Tensor& x, Where where = Where::current());
  /// Rounds x towards zero to an integer. No gradient: zeros. `kiln ops _npi_trunc` has the rest.
  static Tensor trunc(const Tensor& x, Where where = Where::current());
  // end of what tools/reference writes.

  // Pointwise.
  /// Clips x to the interval from a_min to a_max. `kiln ops clip` has the rest.
  static Tensor clip(const Tensor& a, Number a_min, Number a_max, Where where = Where::current());

  // Tensors or numbers, at least one tensor; broadcasting.
  /// The sum of lhs and rhs. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each other.
  /// `kiln ops _npi_add` has the rest.
  static Tensor add(const Operand& x1, const Operand& x2, Where where = Where::current());
  /// The difference of lhs and rhs. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each other.
  /// Dtypes: not bool for both, which throws; else the result has the common dtype, as of _npi_add.
  /// `kiln ops _npi_subtract` has the rest.
  static Tensor subtract(const Operand& x1, const Operand& x2, Where where = Where::current());
  /// The product of lhs and rhs. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each other.
  /// `kiln ops _npi_multiply` has the rest.
  static Tensor multiply(const Operand& x1, const Operand& x2, Where where = Where::current());
  /// The quotient of lhs and rhs. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each other.
  /// `kiln ops _npi_true_divide` has the rest.
  static Tensor true_divide(const Operand& x1, const Operand& x2, Where where = Where::current());
  /// The quotient of lhs and rhs. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each other.
  /// `kiln ops _npi_true_divide` has the rest.
  static Tensor divide(const Operand& x1, const Operand& x2, Where where = Where::current());
  /// The remainder of lhs / rhs, with the sign of rhs. Shapes: lhs (L), rhs (R) -> (B); B is L and R
  /// broadcast to each other. Dtypes: not bool for both, which throws; else the result has the common dtype,
  /// as of _npi_add. Of NaN: 0 where rhs is 0, of NaN too; else NaN if lhs or rhs is, and if lhs is infinite.
  /// `kiln ops _npi_mod` has the rest.
  static Tensor mod(const Operand& x1, const Operand& x2, Where where = Where::current());
  /// lhs to the power of rhs. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each other.
  /// `kiln ops _npi_power` has the rest.
  static Tensor power(const Operand& x1, const Operand& x2, Where where = Where::current());
  /// The greater one of lhs and rhs. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each other.
  /// `kiln ops broadcast_maximum` has the rest.
  static Tensor maximum(const Operand& x1, const Operand& x2, Where where = Where::current());
  /// The lesser one of lhs and rhs. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each other.
  /// `kiln ops broadcast_minimum` has the rest.
  static Tensor minimum(const Operand& x1, const Operand& x2, Where where = Where::current());
  /// Whether lhs == rhs. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each other. Of NaN: false
  /// if lhs or rhs is NaN. No gradient: zeros. `kiln ops _npi_equal` has the rest.
  static Tensor equal(const Operand& x1, const Operand& x2, Where where = Where::current());
  /// Whether lhs != rhs. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each other. Of NaN: true
  /// if lhs or rhs is NaN. No gradient: zeros. `kiln ops _npi_not_equal` has the rest.
  static Tensor not_equal(const Operand& x1, const Operand& x2, Where where = Where::current());
  /// Whether lhs > rhs. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each other. Of NaN: false
  /// if lhs or rhs is NaN. No gradient: zeros. `kiln ops _npi_greater` has the rest.
  static Tensor greater(const Operand& x1, const Operand& x2, Where where = Where::current());
  /// Whether lhs >= rhs. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each other. Of NaN: false
  /// if lhs or rhs is NaN. No gradient: zeros. `kiln ops _npi_greater_equal` has the rest.
  static Tensor greater_equal(const Operand& x1, const Operand& x2, Where where = Where::current());
  /// Whether lhs < rhs. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each other. Of NaN: false
  /// if lhs or rhs is NaN. No gradient: zeros. `kiln ops _npi_less` has the rest.
  static Tensor less(const Operand& x1, const Operand& x2, Where where = Where::current());
  /// Whether lhs <= rhs. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each other. Of NaN: false
  /// if lhs or rhs is NaN. No gradient: zeros. `kiln ops _npi_less_equal` has the rest.
  static Tensor less_equal(const Operand& x1, const Operand& x2, Where where = Where::current());
  /// Takes elements of x where the condition is not 0, else of y. Shapes: condition (C), x (X), y (Y) -> (B);
  /// B is C, X and Y broadcast to each other. A NaN in the condition counts as not 0. `kiln ops _npi_where`
  /// has the rest.
  ///
  /// A number beside an array has its dtype, except 1.5 beside integers (float64) and 1 beside bool (int64).
  /// Two numbers have int64, or float32 if one of them is not an integer.
  static Tensor where(const Tensor& condition, const Operand& x, const Operand& y,
                      Where where = Where::current());

  // Reductions over axes; without `axis`, over all.
  /// Sums the elements over axes. Shapes: a (...) -> (...) without the reduced axes, () if none is left; with
  /// keepdims they have extent 1. `kiln ops _np_sum` has the rest.
  static Tensor sum(const Tensor& a, const NumpyReduceOptions& options = {}, Where where = Where::current());
  static Tensor sum(const Tensor& a, Integer auto axis, Where where = Where::current()) {
    return sum(a, with_axis<NumpyReduceOptions>(axis), where);
  }
  /// Multiplies the elements over axes. Shapes: a (...) -> (...) without the reduced axes, () if none is
  /// left; with keepdims they have extent 1. `kiln ops _np_prod` has the rest.
  static Tensor prod(const Tensor& a, const NumpyReduceOptions& options = {}, Where where = Where::current());
  static Tensor prod(const Tensor& a, Integer auto axis, Where where = Where::current()) {
    return prod(a, with_axis<NumpyReduceOptions>(axis), where);
  }
  /// Averages the elements over axes, integers to float32. Shapes: a (...) -> (...) without the reduced axes,
  /// () if none is left; with keepdims they have extent 1. `kiln ops _npi_mean` has the rest.
  static Tensor mean(const Tensor& a, const NumpyReduceOptions& options = {}, Where where = Where::current());
  static Tensor mean(const Tensor& a, Integer auto axis, Where where = Where::current()) {
    return mean(a, with_axis<NumpyReduceOptions>(axis), where);
  }
  /// Gives the maximum over axes. Shapes: a (...) -> (...) without the reduced axes, () if none is left; with
  /// keepdims they have extent 1. `kiln ops _np_max` has the rest.
  ///
  /// Throws for an array without elements.
  static Tensor max(const Tensor& a, const NumpyExtremeOptions& options = {}, Where where = Where::current());
  static Tensor max(const Tensor& a, Integer auto axis, Where where = Where::current()) {
    return max(a, with_axis<NumpyExtremeOptions>(axis), where);
  }
  /// Gives the minimum over axes. Shapes: a (...) -> (...) without the reduced axes, () if none is left; with
  /// keepdims they have extent 1. `kiln ops _np_min` has the rest.
  static Tensor min(const Tensor& a, const NumpyExtremeOptions& options = {}, Where where = Where::current());
  static Tensor min(const Tensor& a, Integer auto axis, Where where = Where::current()) {
    return min(a, with_axis<NumpyExtremeOptions>(axis), where);
  }
  /// Gives the variance over axes. Shapes: a (...) -> (...) without the reduced axes, () if none is left;
  /// with keepdims they have extent 1. Dtypes: not bool; the result has the dtype of a, or the attribute
  /// dtype. `kiln ops _npi_var` has the rest.
  static Tensor var(const Tensor& a, const NumpyMomentOptions& options = {}, Where where = Where::current());
  static Tensor var(const Tensor& a, Integer auto axis, Where where = Where::current()) {
    return var(a, with_axis<NumpyMomentOptions>(axis), where);
  }
  /// Gives the standard deviation over axes. Shapes: a (...) -> (...) without the reduced axes, () if none is
  /// left; with keepdims they have extent 1. Dtypes: not bool; the result has the dtype of a, or the
  /// attribute dtype. `kiln ops _npi_std` has the rest.
  static Tensor std(const Tensor& a, const NumpyMomentOptions& options = {}, Where where = Where::current());
  static Tensor std(const Tensor& a, Integer auto axis, Where where = Where::current()) {
    return std(a, with_axis<NumpyMomentOptions>(axis), where);
  }
  /// Gives the index of the maximum, in int64. Shapes: data (...) -> (...) without the axis, () for axis
  /// None; with keepdims extents 1 instead. Of NaN: the index of the first NaN. No gradient: zeros.
  /// `kiln ops _npi_argmax` has the rest.
  static Tensor argmax(const Tensor& a, const ArgReduceOptions& options = {}, Where where = Where::current());
  static Tensor argmax(const Tensor& a, Integer auto axis, Where where = Where::current()) {
    return argmax(a, with_axis<ArgReduceOptions>(axis), where);
  }
  /// Gives the index of the minimum, in int64. Shapes: data (...) -> (...) without the axis, () for axis
  /// None; with keepdims extents 1 instead. Of NaN: the index of the first NaN. No gradient: zeros.
  /// `kiln ops _npi_argmin` has the rest.
  static Tensor argmin(const Tensor& a, const ArgReduceOptions& options = {}, Where where = Where::current());
  static Tensor argmin(const Tensor& a, Integer auto axis, Where where = Where::current()) {
    return argmin(a, with_axis<ArgReduceOptions>(axis), where);
  }

  // Contractions.
  /// NumPy's tensordot: contracts pairs of axes of a and b. Shapes: a, b -> the other axes of a, then the
  /// other axes of b. Axes that are paired have equal extents. Without any () is the outer product. A NaN
  /// makes all results that have it as a factor NaN. `kiln ops _npi_tensordot` has the rest.
  ///
  /// Contracts the last `axes` axes of a with the first of b.
  static Tensor tensordot(const Tensor& a, const Tensor& b, int axes = 2, Where where = Where::current());
  /// Contracts pairs of axes.
  static Tensor tensordot(const Tensor& a, const Tensor& b, const Shape& a_axes, const Shape& b_axes,
                          Where where = Where::current());
  /// Einstein's sum convention: multiplies the inputs and sums over the labels that the result lacks. Shapes:
  /// data: an array for each term of subscripts, with an axis for each label -> the axes of the result's
  /// labels. A NaN makes all results that have it as a factor or term NaN. `kiln ops _npi_einsum` has the
  /// rest.
  static Tensor einsum(const ::std::string& subscripts, const Tensors& operands,
                       Where where = Where::current());

  // Shapes.
  /// Gives the elements another shape, in C order; -1 in the shape is inferred. Shapes: a (...) -> newshape,
  /// as many elements. `kiln ops _np_reshape` has the rest.
  static Tensor reshape(const Tensor& a, const Shape& newshape, Where where = Where::current());
  /// Permutes the axes, by default reverses their order. Shapes: a (d0, ..., dn) -> (d[axes[0]], ...,
  /// d[axes[n]]). `kiln ops _np_transpose` has the rest.
  static Tensor transpose(const Tensor& a, Where where = Where::current());
  static Tensor transpose(const Tensor& a, const Shape& axes, Where where = Where::current());
  /// Swaps two axes. Shapes: data (a..., D1, b..., D2, c...) -> (a..., D2, b..., D1, c...).
  /// `kiln ops swapaxes` has the rest.
  static Tensor swapaxes(const Tensor& a, int axis1, int axis2, Where where = Where::current());
  /// Moves axes to other positions; the others keep their order. Shapes: a (...) -> (...), the extents moved
  /// with their axes. `kiln ops _np_moveaxis` has the rest.
  static Tensor moveaxis(const Tensor& a, const Axes& source, const Axes& destination,
                         Where where = Where::current());
  /// Inserts an axis of extent 1. Shapes: data (a..., b...) -> (a..., 1, b...). `kiln ops expand_dims` has
  /// the rest.
  static Tensor expand_dims(const Tensor& a, int axis, Where where = Where::current());
  /// Removes axes of extent 1. Shapes: a (...) -> (...) without the removed axes, () if none is left.
  /// `kiln ops _np_squeeze` has the rest.
  static Tensor squeeze(const Tensor& a, const Axes& axis = {}, Where where = Where::current());
  /// Repeats an array along new axes and axes of extent 1 to a shape. Shapes: array (...) -> shape.
  /// `kiln ops _npi_broadcast_to` has the rest.
  static Tensor broadcast_to(const Tensor& array, const Shape& shape, Where where = Where::current());
  /// Repeats the whole array along each axis. Shapes: data (a, b, ...) -> (r a, s b, ...); reps (r, s, ...).
  /// The shorter one of shape and reps gets leading ones. `kiln ops tile` has the rest.
  static Tensor tile(const Tensor& a, const Shape& reps, Where where = Where::current());
  /// Repeats each element, or each slice along an axis. Shapes: data (..., a, ...) -> (..., a repeats, ...);
  /// without an axis: data (n elements) -> (n repeats). `kiln ops repeat` has the rest.
  static Tensor repeat(const Tensor& a, int repeats, ::std::optional<int> axis = {},
                       Where where = Where::current());
  /// Concatenates arrays along an axis, or their elements in C order as one vector. Shapes: n arrays (p...,
  /// Di, q...), Di along axis -> (p..., D1 + ... + Dn, q...); with axis None any shapes -> (N), N the number
  /// of all elements. `kiln ops _npi_concatenate` has the rest.
  static Tensor concatenate(const Tensors& arrays, int axis = 0, Where where = Where::current());
  /// Stacks arrays of one shape along a new axis. Shapes: n arrays (a..., b...) -> (a..., n, b...).
  /// `kiln ops _npi_stack` has the rest.
  static Tensor stack(const Tensors& arrays, int axis = 0, Where where = Where::current());
  /// Splits an array along an axis, into equal parts or at given positions. Shapes: data (a..., D, b...) ->
  /// for each part (a..., L, b...). `kiln ops _split_v2` has the rest.
  ///
  /// Splits into equal parts.
  static Tensors split(const Tensor& a, int sections, int axis = 0, Where where = Where::current());
  /// Gathers slices along an axis at indices. Shapes: a (p..., D, q...), D along axis, indices (i...) ->
  /// (p..., i..., q...). Of NaN: in a: copied. `kiln ops take` has the rest.
  ///
  /// Without an axis, of the flattened array. An out-of-range or negative index throws; in a hybridized call
  /// only if the result is used. F::take has modes that accept any index.
  static Tensor take(const Tensor& a, const Tensor& indices, ::std::optional<int> axis = {},
                     Where where = Where::current());

  // Creation.
  /// An array of one value. Shapes: -> shape. `kiln ops _full` has the rest.
  ///
  /// An array of rank 0.
  static Tensor array(double value, DType dtype = DType::f32, Where where = Where::current());
  static Tensor array(::std::initializer_list<double> values, DType dtype = DType::f32) {
    return F::array(values, dtype);
  }
  static Tensor array(::std::initializer_list<::std::initializer_list<double>> values,
                      DType dtype = DType::f32) {
    return F::array(values, dtype);
  }
  template <class V>
  static Tensor array(const ::std::vector<V>& values, const Shape& shape) {
    return F::array(values, shape);
  }
  /// An array of zeros. Shapes: -> shape. `kiln ops _npi_zeros` has the rest.
  static Tensor zeros(const Shape& shape, DType dtype = DType::f32, Where where = Where::current());
  /// An array of ones. Shapes: -> shape. `kiln ops _npi_ones` has the rest.
  static Tensor ones(const Shape& shape, DType dtype = DType::f32, Where where = Where::current());
  /// The numbers start, start + step, ... below stop, each `repeat` times. Shapes: -> (n repeat); n =
  /// ceil((stop - start) / step), at least 0. `kiln ops _npi_arange` has the rest.
  static Tensor arange(Number stop, Where where = Where::current());
  static Tensor arange(Number start, Number stop, Number step = 1, DType dtype = DType::f32,
                       Where where = Where::current());
  /// An array of one value, with the shape of another: fill_value, 0 by np::zeros_like, 1 by np::ones_like. A
  /// NaN as fill_value gives NaN; in integers 0, in int64 its least number; in bool true. No gradient: zeros.
  /// `kiln ops _npi_full_like` has the rest.
  static Tensor full_like(const Tensor& a, Number fill_value, Where where = Where::current());
  static Tensor full_like(const Tensor& a, Number fill_value, DType dtype, Where where = Where::current());
  /// An array of one value, with the shape of another: fill_value, 0 by np::zeros_like, 1 by np::ones_like. A
  /// NaN as fill_value gives NaN; in integers 0, in int64 its least number; in bool true. No gradient: zeros.
  /// `kiln ops _npi_full_like` has the rest.
  static Tensor zeros_like(const Tensor& a, Where where = Where::current());
  static Tensor zeros_like(const Tensor& a, DType dtype, Where where = Where::current());
  /// An array of one value, with the shape of another: fill_value, 0 by np::zeros_like, 1 by np::ones_like. A
  /// NaN as fill_value gives NaN; in integers 0, in int64 its least number; in bool true. No gradient: zeros.
  /// `kiln ops _npi_full_like` has the rest.
  static Tensor ones_like(const Tensor& a, Where where = Where::current());
  static Tensor ones_like(const Tensor& a, DType dtype, Where where = Where::current());

  /// Random numbers from the stream of random::seed(). Without a size a scalar of rank 0.
  struct KILN_API random {
    /// Random numbers that are uniform in [low, high). Shapes: -> size. `kiln ops _npi_uniform` has the rest.
    static Tensor uniform(Number low = 0, Number high = 1, const Shape& size = {}, DType dtype = DType::f32,
                          Where where = Where::current());
    /// Random numbers of the normal distribution with mean loc and standard deviation scale. Shapes: -> size.
    /// `kiln ops _npi_normal` has the rest.
    static Tensor normal(Number loc = 0, Number scale = 1, const Shape& size = {}, DType dtype = DType::f32,
                         Where where = Where::current());
    /// Random integers that are uniform in [low, high). Shapes: -> shape. `kiln ops _random_randint` has the
    /// rest.
    static Tensor randint(::std::int64_t low, ::std::int64_t high, const Shape& size = {},
                          DType dtype = DType::i64, Where where = Where::current());
  };

  // As text. A program in numpy mode prints array_str().
  /// `[1. 2.]`, as numpy prints.
  static ::std::string array_str(const Tensor& a);
  /// `array([1., 2.])`, the repr of MXNet's numpy arrays, which omits the dtypes float32 and bool.
  static ::std::string array_repr(const Tensor& a);
};
inline struct F::numpy F::np() { return {}; }

/// MXNet's extension of numpy: `F.npx().relu(x)`. The layers are F's under MXNet's npx names.
struct KILN_API F::npx : F {
  /// Puts the whole program in numpy mode, until reset_np(): a Tensor is then an array of MXNet's numpy.
  ///
  /// * Shapes: full indexing and full reductions give rank 0; extent 0 is an empty array. reshape() accepts
  ///   only -1 as a code.
  ///
  /// * Operators (`x + y`, `x > 1`, `x += 1`) and methods (`x.sum()`) are np's. F's own functions are
  ///   unchanged.
  ///
  /// * Printing is numpy's.
  ///
  /// * Networks record operators of numpy mode and are exported with `is_np_shape`; arrays are saved as
  ///   .params V3. A network compiled earlier records again.
  ///
  /// Files keep the mode that they were written in. Thread rule: call it before other threads compute.
  static void set_np();
  /// Ends set_np(): classic operators and arrays again.
  static void reset_np();
  /// Whether the program is in numpy mode.
  static bool is_np_shape();
  /// The same: this version has one switch for both.
  static bool is_np_array();

  // functions of npx: written by tools/reference, from the definitions.
  /// x where it is positive, else 0. `kiln ops _npx_relu` has the rest.
  static Tensor relu(const Tensor& data, Where where = Where::current());
  /// The logistic function of x. `kiln ops _npx_sigmoid` has the rest.
  static Tensor sigmoid(const Tensor& data, Where where = Where::current());
  // end of what tools/reference writes.

  /// Gives the elements another shape, in C order; -1 to -6 in the shape are codes. Shapes: a (...) ->
  /// (newshape, its codes resolved), as many elements. `kiln ops _npx_reshape` has the rest.
  static Tensor reshape(const Tensor& a, const Shape& newshape, Where where = Where::current());
  /// A dense layer: multiplies each row of data by the transposed weight and adds the bias. Shapes: data (N,
  /// ...), weight (O, K), bias (O) -> (N, O). A NaN in a row of data makes that row NaN.
  /// `kiln ops FullyConnected` has the rest.
  static Tensor fully_connected(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                const FullyConnectedOptions& options, Where where = Where::current());
  static Tensor fully_connected(const Tensor& x, const Tensor& weight, const FullyConnectedOptions& options,
                                Where where = Where::current());
  /// A convolution (cross-correlation) of data with weight, plus a bias, in one to three dimensions. Shapes:
  /// data (N, C, H, W), weight (O, C/g, kH, kW), bias (O) -> (N, O, H', W'), g groups. A NaN in data makes
  /// the results of all windows with it NaN, in every channel of its group. `kiln ops Convolution` has the
  /// rest.
  static Tensor convolution(const Tensor& data, const Tensor& weight, const Tensor& bias,
                            const ConvolutionOptions& options, Where where = Where::current());
  static Tensor convolution(const Tensor& data, const Tensor& weight, const ConvolutionOptions& options,
                            Where where = Where::current());
  /// Reduces each position of a sliding window to its maximum, average, sum or p-norm. Shapes: data (N, C, H,
  /// W) -> (N, C, H', W'). Of NaN: a window with a NaN gives NaN, for every pool_type. `kiln ops Pooling` has
  /// the rest.
  static Tensor pooling(const Tensor& data, const PoolingOptions& options, Where where = Where::current());
  /// Batch normalisation: normalises each channel to the mean beta and the standard deviation gamma. Shapes:
  /// data (N, C, ...), gamma (C), beta (C), moving_mean (C), moving_var (C) -> (N, C, ...); with
  /// output_mean_var also mean (C), var (C). axis names the axis C. Of NaN: in training a NaN or an infinity
  /// makes its channel NaN, and its moving statistics. `kiln ops BatchNorm` has the rest.
  static Tensor batch_norm(const Tensor& data, const Tensor& gamma, const Tensor& beta,
                           const Tensor& moving_mean, const Tensor& moving_var,
                           const BatchNormOptions& options = {}, Where where = Where::current());
  /// Layer normalisation: normalises the elements along one axis, and scales and shifts each by its own gamma
  /// and beta. Shapes: data (..., C), gamma (C), beta (C) -> (..., C); with output_mean_var also mean (...,
  /// 1), std (..., 1). C is the extent of the axis. A NaN or an infinity makes the elements along its axis
  /// NaN. `kiln ops LayerNorm` has the rest.
  static Tensor layer_norm(const Tensor& data, const Tensor& gamma, const Tensor& beta,
                           const LayerNormOptions& options = {}, Where where = Where::current());
  /// Sets elements to zero at random, each with probability p, and scales the others by 1 / (1 - p).
  /// `kiln ops Dropout` has the rest.
  static Tensor dropout(const Tensor& data, const DropoutOptions& options = {},
                        Where where = Where::current());
  /// Applies relu, sigmoid, tanh, softrelu or softsign to each element. `kiln ops Activation` has the rest.
  static Tensor activation(const Tensor& data, const ActivationOptions& options,
                           Where where = Where::current());
  /// Applies a function that is x, or nearly x, for positive x: leaky, prelu, rrelu, elu, selu or gelu.
  /// Shapes: data (...) -> (...); prelu: data (N, C, ...), gamma (C) or (1) -> (N, C, ...); rrelu: data (...)
  /// -> (...) and the slopes (...). `kiln ops LeakyReLU` has the rest.
  static Tensor leaky_relu(const Tensor& data, const LeakyReLUOptions& options,
                           Where where = Where::current());
  /// The softmax of x along an axis. Shapes: data (..., n, ...) -> (..., n, ...); use_length: also length
  /// (...), of the other axes. `kiln ops softmax` has the rest.
  static Tensor softmax(const Tensor& data, const SoftmaxOptions& options = {},
                        Where where = Where::current());
  /// Masked: along the axis the first elements count, `length` of them, and the others give 0.
  static Tensor softmax(const Tensor& data, const ArrayArgument& length, const SoftmaxOptions& options = {},
                        Where where = Where::current());
  static Tensor softmax(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return softmax(data, with_axis<SoftmaxOptions>(axis), where);
  }
  /// The logarithm of the softmax of x along an axis. Shapes: data (..., n, ...) -> (..., n, ...);
  /// use_length: also length (...), of the other axes. `kiln ops log_softmax` has the rest.
  static Tensor log_softmax(const Tensor& data, const SoftmaxOptions& options = {},
                            Where where = Where::current());
  /// Masked: along the axis the first elements count, `length` of them, and the others give 0.
  static Tensor log_softmax(const Tensor& data, const ArrayArgument& length,
                            const SoftmaxOptions& options = {}, Where where = Where::current());
  static Tensor log_softmax(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return log_softmax(data, with_axis<SoftmaxOptions>(axis), where);
  }
  /// Looks up the rows of weight that the indices in data name. Shapes: data (...), weight (V, D) -> (...,
  /// D). A NaN in weight stays in its row. `kiln ops Embedding` has the rest.
  static Tensor embedding(const Tensor& data, const Tensor& weight, const EmbeddingOptions& options,
                          Where where = Where::current());
  /// Encodes indices as vectors: on_value at the index, off_value elsewhere. Shapes: indices (...) -> (...,
  /// depth). Of NaN: a vector of off_value. No gradient: zeros. `kiln ops one_hot` has the rest.
  static Tensor one_hot(const Tensor& indices, int depth, Where where = Where::current());
  /// Picks one element along an axis for each index. Shapes: data (p..., D, q...), D along axis, index (p...,
  /// q...) or (p..., 1, q...) -> (p..., q...), (1) instead of (), in numpy mode too. Of NaN: in data: copied.
  /// `kiln ops pick` has the rest.
  static Tensor pick(const Tensor& data, const Tensor& index, const PickOptions& options = {},
                     Where where = Where::current());
  static Tensor pick(const Tensor& data, const Tensor& index, Integer auto axis,
                     Where where = Where::current()) {
    return pick(data, index, with_axis<PickOptions>(axis), where);
  }
  /// The matrix product of each pair of matrices in two batches. Shapes: lhs (..., M, K), rhs (..., K, N) ->
  /// (..., M, N), with equal batch axes. A NaN in lhs makes its row of its matrix NaN, one in rhs its column.
  /// `kiln ops batch_dot` has the rest.
  static Tensor batch_dot(const Tensor& lhs, const Tensor& rhs, const DotOptions& options = {},
                          Where where = Where::current());
  /// Merges all axes except the first into one. Shapes: data (N, ...) -> (N, M); M is the product of the
  /// other extents, 1 if there are none. Rank 0 throws. `kiln ops Flatten` has the rest.
  static Tensor batch_flatten(const Tensor& data, Where where = Where::current());
  /// A range with as many elements as data, or as one axis of data. Shapes: data (...) -> (...); with axis:
  /// data (..., n, ...) -> (n). A NaN as start or step gives NaN, in integers 0, in int64 its least number.
  /// No gradient: zeros. `kiln ops _contrib_arange_like` has the rest.
  static Tensor arange_like(const Tensor& data, ::std::optional<int> axis = {},
                            Where where = Where::current());
};
inline struct F::npx F::npx() { return {}; }

/// Outside of networks, as MXNet's modules: `npx::set_np(); np::arange(12).reshape({3, 4});`
using np = struct F::numpy;
using npx = struct F::npx;

}  // namespace kiln

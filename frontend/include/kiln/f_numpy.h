// The operators of MXNet's numpy mode: F.np(), F.npx().
#pragma once
#include <kiln/f.h>

#include <initializer_list>
#include <optional>
#include <string>

namespace kiln {

/// Arguments of np::sum, np::prod and np::mean.
struct NumpyReduceOptions {
  Axes axis = {};
  std::optional<DType> dtype = {};
  std::optional<bool> keepdims = {};
  std::string name = {};
};

/// Arguments of np::max and np::min.
struct NumpyExtremeOptions {
  Axes axis = {};
  std::optional<bool> keepdims = {};
  std::string name = {};
};

/// Arguments of np::var and np::std.
struct NumpyMomentOptions {
  Axes axis = {};
  std::optional<DType> dtype = {};
  std::int64_t ddof = 0;
  bool keepdims = false;
  std::string name = {};
};

/// MXNet's numpy operators: `F.np().sum(x)`. Unlike F's own they follow numpy: a full reduction has rank 0,
/// comparisons give bool, integers promote to floats and divide as float32, binary operators broadcast. They
/// record nodes of MXNet's numpy mode; a graph with one of them is exported in that mode. Otherwise as F.
struct KILN_API F::numpy {
  // functions of np: written by tools/reference, from the definitions.
  /// |x|. `kiln ops _npi_absolute` has the rest.
  static Tensor abs(const Tensor& x, Where where = Where::current());
  /// |x|. `kiln ops _npi_absolute` has the rest.
  static Tensor absolute(const Tensor& x, Where where = Where::current());
  /// The inverse of cos. `kiln ops _npi_arccos` has the rest.
  static Tensor arccos(const Tensor& x, Where where = Where::current());
  /// The inverse of cosh. `kiln ops _npi_arccosh` has the rest.
  static Tensor arccosh(const Tensor& x, Where where = Where::current());
  /// The inverse of sin. `kiln ops _npi_arcsin` has the rest.
  static Tensor arcsin(const Tensor& x, Where where = Where::current());
  /// The inverse of sinh. `kiln ops _npi_arcsinh` has the rest.
  static Tensor arcsinh(const Tensor& x, Where where = Where::current());
  /// The inverse of tan. `kiln ops _npi_arctan` has the rest.
  static Tensor arctan(const Tensor& x, Where where = Where::current());
  /// The inverse of tanh. `kiln ops _npi_arctanh` has the rest.
  static Tensor arctanh(const Tensor& x, Where where = Where::current());
  /// The cube root. `kiln ops _npi_cbrt` has the rest.
  static Tensor cbrt(const Tensor& x, Where where = Where::current());
  /// The least integer not below x. `kiln ops _npi_ceil` has the rest.
  static Tensor ceil(const Tensor& x, Where where = Where::current());
  /// The cosine. `kiln ops _npi_cos` has the rest.
  static Tensor cos(const Tensor& x, Where where = Where::current());
  /// The hyperbolic cosine. `kiln ops _npi_cosh` has the rest.
  static Tensor cosh(const Tensor& x, Where where = Where::current());
  /// Converts radians to degrees. `kiln ops _npi_degrees` has the rest.
  static Tensor degrees(const Tensor& x, Where where = Where::current());
  /// Contracts the last axis of a with the last but one of b. `kiln ops _np_dot` has the rest.
  static Tensor dot(const Tensor& a, const Tensor& b, Where where = Where::current());
  /// e to the x. `kiln ops _npi_exp` has the rest.
  static Tensor exp(const Tensor& x, Where where = Where::current());
  /// exp(x) - 1. `kiln ops _npi_expm1` has the rest.
  static Tensor expm1(const Tensor& x, Where where = Where::current());
  /// The nearest integer towards zero. `kiln ops _npi_fix` has the rest.
  static Tensor fix(const Tensor& x, Where where = Where::current());
  /// The greatest integer not above x. `kiln ops _npi_floor` has the rest.
  static Tensor floor(const Tensor& x, Where where = Where::current());
  /// The natural logarithm. `kiln ops _npi_log` has the rest.
  static Tensor log(const Tensor& x, Where where = Where::current());
  /// The logarithm to base 10. `kiln ops _npi_log10` has the rest.
  static Tensor log10(const Tensor& x, Where where = Where::current());
  /// log(1 + x). `kiln ops _npi_log1p` has the rest.
  static Tensor log1p(const Tensor& x, Where where = Where::current());
  /// The logarithm to base 2. `kiln ops _npi_log2` has the rest.
  static Tensor log2(const Tensor& x, Where where = Where::current());
  /// Matrix product; the axes before the last two are broadcast. `kiln ops _npi_matmul` has the rest.
  static Tensor matmul(const Tensor& a, const Tensor& b, Where where = Where::current());
  /// -x. `kiln ops _npi_negative` has the rest.
  static Tensor negative(const Tensor& x, Where where = Where::current());
  /// Converts degrees to radians. `kiln ops _npi_radians` has the rest.
  static Tensor radians(const Tensor& x, Where where = Where::current());
  /// 1 / x. `kiln ops _npi_reciprocal` has the rest.
  static Tensor reciprocal(const Tensor& x, Where where = Where::current());
  /// The nearest integer, halves down. `kiln ops _npi_rint` has the rest.
  static Tensor rint(const Tensor& x, Where where = Where::current());
  /// -1, 0 or 1. `kiln ops _npi_sign` has the rest.
  static Tensor sign(const Tensor& x, Where where = Where::current());
  /// The sine. `kiln ops _npi_sin` has the rest.
  static Tensor sin(const Tensor& x, Where where = Where::current());
  /// The hyperbolic sine. `kiln ops _npi_sinh` has the rest.
  static Tensor sinh(const Tensor& x, Where where = Where::current());
  /// The square root. `kiln ops _npi_sqrt` has the rest.
  static Tensor sqrt(const Tensor& x, Where where = Where::current());
  /// x * x. `kiln ops _npi_square` has the rest.
  static Tensor square(const Tensor& x, Where where = Where::current());
  /// The tangent. `kiln ops _npi_tan` has the rest.
  static Tensor tan(const Tensor& x, Where where = Where::current());
  /// The hyperbolic tangent. `kiln ops _npi_tanh` has the rest.
  static Tensor tanh(const Tensor& x, Where where = Where::current());
  /// Truncates x towards zero. `kiln ops _npi_trunc` has the rest.
  static Tensor trunc(const Tensor& x, Where where = Where::current());
  /// x where the condition is not 0, else y; broadcasting. `kiln ops _npi_where` has the rest.
  static Tensor where(const Tensor& condition, const Tensor& x, const Tensor& y,
                      Where where = Where::current());
  // end of what tools/reference writes.

  // Pointwise.
  /// Clips x to [a_min, a_max]. `kiln ops clip` has the rest.
  static Tensor clip(const Tensor& a, Number a_min, Number a_max, Where where = Where::current());

  // Tensors or numbers, at least one tensor; broadcasting.
  /// lhs + rhs. `kiln ops _npi_add` has the rest.
  static Tensor add(const Operand& x1, const Operand& x2, Where where = Where::current());
  /// lhs - rhs. `kiln ops _npi_subtract` has the rest.
  static Tensor subtract(const Operand& x1, const Operand& x2, Where where = Where::current());
  /// lhs * rhs. `kiln ops _npi_multiply` has the rest.
  static Tensor multiply(const Operand& x1, const Operand& x2, Where where = Where::current());
  /// lhs / rhs; of integers in float32. `kiln ops _npi_true_divide` has the rest.
  static Tensor true_divide(const Operand& x1, const Operand& x2, Where where = Where::current());
  /// lhs / rhs; of integers in float32. `kiln ops _npi_true_divide` has the rest.
  static Tensor divide(const Operand& x1, const Operand& x2, Where where = Where::current());
  /// The remainder of lhs / rhs, with the divisor's sign. `kiln ops _npi_mod` has the rest.
  static Tensor mod(const Operand& x1, const Operand& x2, Where where = Where::current());
  /// lhs to the power of rhs. `kiln ops _npi_power` has the rest.
  static Tensor power(const Operand& x1, const Operand& x2, Where where = Where::current());
  /// The greater of both. `kiln ops broadcast_maximum` has the rest.
  static Tensor maximum(const Operand& x1, const Operand& x2, Where where = Where::current());
  /// The lesser of both. `kiln ops broadcast_minimum` has the rest.
  static Tensor minimum(const Operand& x1, const Operand& x2, Where where = Where::current());
  /// Whether lhs == rhs. `kiln ops _npi_equal` has the rest.
  static Tensor equal(const Operand& x1, const Operand& x2, Where where = Where::current());
  /// Whether lhs != rhs. `kiln ops _npi_not_equal` has the rest.
  static Tensor not_equal(const Operand& x1, const Operand& x2, Where where = Where::current());
  /// Whether lhs > rhs. `kiln ops _npi_greater` has the rest.
  static Tensor greater(const Operand& x1, const Operand& x2, Where where = Where::current());
  /// Whether lhs >= rhs. `kiln ops _npi_greater_equal` has the rest.
  static Tensor greater_equal(const Operand& x1, const Operand& x2, Where where = Where::current());
  /// Whether lhs < rhs. `kiln ops _npi_less` has the rest.
  static Tensor less(const Operand& x1, const Operand& x2, Where where = Where::current());
  /// Whether lhs <= rhs. `kiln ops _npi_less_equal` has the rest.
  static Tensor less_equal(const Operand& x1, const Operand& x2, Where where = Where::current());

  // Reductions over axes; without `axis`, over all.
  /// The sum over axes. `kiln ops _np_sum` has the rest.
  static Tensor sum(const Tensor& a, const NumpyReduceOptions& options = {}, Where where = Where::current());
  static Tensor sum(const Tensor& a, Integer auto axis, Where where = Where::current()) {
    return sum(a, with_axis<NumpyReduceOptions>(axis), where);
  }
  /// The product over axes. `kiln ops _np_prod` has the rest.
  static Tensor prod(const Tensor& a, const NumpyReduceOptions& options = {}, Where where = Where::current());
  static Tensor prod(const Tensor& a, Integer auto axis, Where where = Where::current()) {
    return prod(a, with_axis<NumpyReduceOptions>(axis), where);
  }
  /// The mean over axes; of integers in float32. `kiln ops _npi_mean` has the rest.
  static Tensor mean(const Tensor& a, const NumpyReduceOptions& options = {}, Where where = Where::current());
  static Tensor mean(const Tensor& a, Integer auto axis, Where where = Where::current()) {
    return mean(a, with_axis<NumpyReduceOptions>(axis), where);
  }
  /// The maximum over axes. `kiln ops _np_max` has the rest.
  ///
  /// Throws for an array without elements.
  static Tensor max(const Tensor& a, const NumpyExtremeOptions& options = {}, Where where = Where::current());
  static Tensor max(const Tensor& a, Integer auto axis, Where where = Where::current()) {
    return max(a, with_axis<NumpyExtremeOptions>(axis), where);
  }
  /// The minimum over axes. `kiln ops _np_min` has the rest.
  static Tensor min(const Tensor& a, const NumpyExtremeOptions& options = {}, Where where = Where::current());
  static Tensor min(const Tensor& a, Integer auto axis, Where where = Where::current()) {
    return min(a, with_axis<NumpyExtremeOptions>(axis), where);
  }
  /// The variance over axes. `kiln ops _npi_var` has the rest.
  static Tensor var(const Tensor& a, const NumpyMomentOptions& options = {}, Where where = Where::current());
  static Tensor var(const Tensor& a, Integer auto axis, Where where = Where::current()) {
    return var(a, with_axis<NumpyMomentOptions>(axis), where);
  }
  /// The standard deviation over axes. `kiln ops _npi_std` has the rest.
  static Tensor std(const Tensor& a, const NumpyMomentOptions& options = {}, Where where = Where::current());
  static Tensor std(const Tensor& a, Integer auto axis, Where where = Where::current()) {
    return std(a, with_axis<NumpyMomentOptions>(axis), where);
  }
  /// The index of the maximum, int64. `kiln ops _npi_argmax` has the rest.
  ///
  /// int64.
  static Tensor argmax(const Tensor& a, const ArgReduceOptions& options = {}, Where where = Where::current());
  static Tensor argmax(const Tensor& a, Integer auto axis, Where where = Where::current()) {
    return argmax(a, with_axis<ArgReduceOptions>(axis), where);
  }
  /// The index of the minimum, int64. `kiln ops _npi_argmin` has the rest.
  static Tensor argmin(const Tensor& a, const ArgReduceOptions& options = {}, Where where = Where::current());
  static Tensor argmin(const Tensor& a, Integer auto axis, Where where = Where::current()) {
    return argmin(a, with_axis<ArgReduceOptions>(axis), where);
  }

  // Contractions.
  /// Contracts the last axes of a with the first of b. `kiln ops _npi_tensordot_int_axes` has the rest.
  ///
  /// Contracts the last `axes` axes of a with the first of b.
  static Tensor tensordot(const Tensor& a, const Tensor& b, int axes = 2, Where where = Where::current());
  /// Contracts pairs of axes.
  static Tensor tensordot(const Tensor& a, const Tensor& b, const Shape& a_axes, const Shape& b_axes,
                          Where where = Where::current());
  /// Einstein summation: products summed over the labels that the result lacks. `kiln ops _npi_einsum` has
  /// the rest.
  static Tensor einsum(const ::std::string& subscripts, const Tensors& operands,
                       Where where = Where::current());

  // Shapes.
  /// Reshapes in C order; -1 is inferred. `kiln ops _np_reshape` has the rest.
  static Tensor reshape(const Tensor& a, const Shape& newshape, Where where = Where::current());
  /// Permutes the axes, by default reverses them. `kiln ops _np_transpose` has the rest.
  static Tensor transpose(const Tensor& a, Where where = Where::current());
  static Tensor transpose(const Tensor& a, const Shape& axes, Where where = Where::current());
  /// Swaps two axes. `kiln ops swapaxes` has the rest.
  static Tensor swapaxes(const Tensor& a, int axis1, int axis2, Where where = Where::current());
  /// Moves axes to other positions; the others keep their order. `kiln ops _np_moveaxis` has the rest.
  static Tensor moveaxis(const Tensor& a, const Axes& source, const Axes& destination,
                         Where where = Where::current());
  /// Inserts an axis of extent 1. `kiln ops expand_dims` has the rest.
  static Tensor expand_dims(const Tensor& a, int axis, Where where = Where::current());
  /// Removes axes of extent 1. `kiln ops _np_squeeze` has the rest.
  static Tensor squeeze(const Tensor& a, const Axes& axis = {}, Where where = Where::current());
  /// Broadcasts to a shape. `kiln ops _npi_broadcast_to` has the rest.
  static Tensor broadcast_to(const Tensor& array, const Shape& shape, Where where = Where::current());
  /// Tiles the array along each axis. `kiln ops tile` has the rest.
  static Tensor tile(const Tensor& a, const Shape& reps, Where where = Where::current());
  /// Repeats each element. `kiln ops repeat` has the rest.
  static Tensor repeat(const Tensor& a, int repeats, ::std::optional<int> axis = {},
                       Where where = Where::current());
  /// Concatenates arrays along an axis; without one, their elements. `kiln ops _npi_concatenate` has the
  /// rest.
  static Tensor concatenate(const Tensors& arrays, int axis = 0, Where where = Where::current());
  /// Stacks arrays along a new axis. `kiln ops _npi_stack` has the rest.
  static Tensor stack(const Tensors& arrays, int axis = 0, Where where = Where::current());
  /// Splits along an axis, into equal parts or at given positions. `kiln ops _split_v2` has the rest.
  ///
  /// Splits into equal parts.
  static Tensors split(const Tensor& a, int sections, int axis = 0, Where where = Where::current());
  /// Gathers slices along an axis by indices. `kiln ops take` has the rest.
  ///
  /// Without an axis, of the flattened array. An out-of-range or negative index throws; in a hybridized call
  /// only if the result is used. F::take has modes that accept any index.
  static Tensor take(const Tensor& a, const Tensor& indices, ::std::optional<int> axis = {},
                     Where where = Where::current());

  // Creation.
  /// An array of one value. `kiln ops _full` has the rest.
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
  /// An array of zeros. `kiln ops _npi_zeros` has the rest.
  static Tensor zeros(const Shape& shape, DType dtype = DType::f32, Where where = Where::current());
  /// An array of ones. `kiln ops _npi_ones` has the rest.
  static Tensor ones(const Shape& shape, DType dtype = DType::f32, Where where = Where::current());
  /// start, start + step, ... below stop, each `repeat` times. `kiln ops _npi_arange` has the rest.
  static Tensor arange(Number stop, Where where = Where::current());
  static Tensor arange(Number start, Number stop, Number step = 1, DType dtype = DType::f32,
                       Where where = Where::current());
  /// An array of one value, with the shape of another. `kiln ops _npi_full_like` has the rest.
  static Tensor full_like(const Tensor& a, Number fill_value, Where where = Where::current());
  /// An array of one value, with the shape of another. `kiln ops _npi_full_like` has the rest.
  static Tensor zeros_like(const Tensor& a, Where where = Where::current());
  /// An array of one value, with the shape of another. `kiln ops _npi_full_like` has the rest.
  static Tensor ones_like(const Tensor& a, Where where = Where::current());

  /// Random numbers from the stream of random::seed(). Without a size a scalar of rank 0.
  struct KILN_API random {
    /// Uniform in [low, high). `kiln ops _npi_uniform` has the rest.
    ///
    /// In [low, high).
    static Tensor uniform(Number low = 0, Number high = 1, const Shape& size = {}, DType dtype = DType::f32,
                          Where where = Where::current());
    /// Normal with mean loc and deviation scale. `kiln ops _npi_normal` has the rest.
    static Tensor normal(Number loc = 0, Number scale = 1, const Shape& size = {}, DType dtype = DType::f32,
                         Where where = Where::current());
    /// Integers in [low, high). `kiln ops _random_randint` has the rest.
    ///
    /// Integers in [low, high).
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
  static void reset_np();
  static bool is_np_shape();
  /// The same: this version has one switch for both.
  static bool is_np_array();

  // functions of npx: written by tools/reference, from the definitions.
  /// max(x, 0). `kiln ops _npx_relu` has the rest.
  static Tensor relu(const Tensor& data, Where where = Where::current());
  /// 1 / (1 + exp(-x)). `kiln ops _npx_sigmoid` has the rest.
  static Tensor sigmoid(const Tensor& data, Where where = Where::current());
  // end of what tools/reference writes.

  /// Reshapes in C order; -1 to -6 are codes. `kiln ops _npx_reshape` has the rest.
  ///
  /// -1: inferred, -2: copy this extent, -3: drop an extent of 1, -4: copy all remaining extents, -5: merge
  /// two, -6: split one into the next two.
  static Tensor reshape(const Tensor& a, const Shape& newshape, Where where = Where::current());
  /// data . weight^T + bias. `kiln ops FullyConnected` has the rest.
  static Tensor fully_connected(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                const FullyConnectedOptions& options, Where where = Where::current());
  static Tensor fully_connected(const Tensor& x, const Tensor& weight, const FullyConnectedOptions& options,
                                Where where = Where::current());
  /// Cross-correlation with a bias, in one to three dimensions. `kiln ops Convolution` has the rest.
  static Tensor convolution(const Tensor& data, const Tensor& weight, const Tensor& bias,
                            const ConvolutionOptions& options, Where where = Where::current());
  static Tensor convolution(const Tensor& data, const Tensor& weight, const ConvolutionOptions& options,
                            Where where = Where::current());
  /// Maximum, average, sum or p-norm over sliding windows. `kiln ops Pooling` has the rest.
  static Tensor pooling(const Tensor& data, const PoolingOptions& options, Where where = Where::current());
  /// Batch normalisation: each channel normalised to mean beta and standard deviation gamma.
  /// `kiln ops BatchNorm` has the rest.
  static Tensor batch_norm(const Tensor& data, const Tensor& gamma, const Tensor& beta,
                           const Tensor& moving_mean, const Tensor& moving_var,
                           const BatchNormOptions& options = {}, Where where = Where::current());
  /// Layer normalisation over one axis. `kiln ops LayerNorm` has the rest.
  static Tensor layer_norm(const Tensor& data, const Tensor& gamma, const Tensor& beta,
                           const LayerNormOptions& options = {}, Where where = Where::current());
  /// In training zero with probability p, else x / (1 - p). `kiln ops Dropout` has the rest.
  static Tensor dropout(const Tensor& data, const DropoutOptions& options = {},
                        Where where = Where::current());
  /// relu, sigmoid, tanh, softrelu or softsign. `kiln ops Activation` has the rest.
  static Tensor activation(const Tensor& data, const ActivationOptions& options,
                           Where where = Where::current());
  /// Activations that differ from x for negative x: leaky, prelu, rrelu, elu, selu, gelu.
  /// `kiln ops LeakyReLU` has the rest.
  static Tensor leaky_relu(const Tensor& data, const LeakyReLUOptions& options,
                           Where where = Where::current());
  /// exp(x) / sum(exp(x)) over an axis. `kiln ops softmax` has the rest.
  static Tensor softmax(const Tensor& data, const SoftmaxOptions& options = {},
                        Where where = Where::current());
  static Tensor softmax(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return softmax(data, with_axis<SoftmaxOptions>(axis), where);
  }
  /// The logarithm of softmax. `kiln ops log_softmax` has the rest.
  static Tensor log_softmax(const Tensor& data, const SoftmaxOptions& options = {},
                            Where where = Where::current());
  static Tensor log_softmax(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return log_softmax(data, with_axis<SoftmaxOptions>(axis), where);
  }
  /// Gathers rows of the weight by indices. `kiln ops Embedding` has the rest.
  static Tensor embedding(const Tensor& data, const Tensor& weight, const EmbeddingOptions& options,
                          Where where = Where::current());
  /// One-hot encoding: on_value at each index, off_value elsewhere. `kiln ops one_hot` has the rest.
  static Tensor one_hot(const Tensor& indices, int depth, Where where = Where::current());
  /// Picks one element along an axis for each index. `kiln ops pick` has the rest.
  static Tensor pick(const Tensor& data, const Tensor& index, const PickOptions& options = {},
                     Where where = Where::current());
  static Tensor pick(const Tensor& data, const Tensor& index, Integer auto axis,
                     Where where = Where::current()) {
    return pick(data, index, with_axis<PickOptions>(axis), where);
  }
  /// Batched matrix product. `kiln ops batch_dot` has the rest.
  static Tensor batch_dot(const Tensor& lhs, const Tensor& rhs, const DotOptions& options = {},
                          Where where = Where::current());
  /// Merges all axes but the first. `kiln ops Flatten` has the rest.
  static Tensor batch_flatten(const Tensor& data, Where where = Where::current());
  /// A range with as many elements as data, or as one axis of data. `kiln ops _contrib_arange_like` has the
  /// rest.
  ///
  /// 0, 1, ... in the shape of data, or along one axis.
  static Tensor arange_like(const Tensor& data, ::std::optional<int> axis = {},
                            Where where = Where::current());
};
inline struct F::npx F::npx() { return {}; }

/// Outside of networks, as MXNet's modules: `npx::set_np(); np::arange(12).reshape({3, 4});`
using np = struct F::numpy;
using npx = struct F::npx;

}  // namespace kiln

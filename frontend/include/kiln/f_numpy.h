// The operators of MXNet's numpy mode: F.np(), F.npx().
#pragma once
#include <kiln/f.h>

#include <initializer_list>
#include <optional>
#include <string>

namespace kiln {

struct NumpyReduceOptions {
  Axes axis = {};
  std::optional<DType> dtype = {};
  std::optional<bool> keepdims = {};
  std::string name = {};
};

struct NumpyExtremeOptions {
  Axes axis = {};
  std::optional<bool> keepdims = {};
  std::string name = {};
};

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
  // Pointwise.
  static Tensor negative(const Tensor& x, Where where = Where::current());
  static Tensor reciprocal(const Tensor& x, Where where = Where::current());
  static Tensor abs(const Tensor& x, Where where = Where::current());
  static Tensor absolute(const Tensor& x, Where where = Where::current());
  static Tensor sign(const Tensor& x, Where where = Where::current());
  static Tensor rint(const Tensor& x, Where where = Where::current());
  static Tensor ceil(const Tensor& x, Where where = Where::current());
  static Tensor floor(const Tensor& x, Where where = Where::current());
  static Tensor trunc(const Tensor& x, Where where = Where::current());
  static Tensor fix(const Tensor& x, Where where = Where::current());
  static Tensor square(const Tensor& x, Where where = Where::current());
  static Tensor sqrt(const Tensor& x, Where where = Where::current());
  static Tensor cbrt(const Tensor& x, Where where = Where::current());
  static Tensor exp(const Tensor& x, Where where = Where::current());
  static Tensor expm1(const Tensor& x, Where where = Where::current());
  static Tensor log(const Tensor& x, Where where = Where::current());
  static Tensor log10(const Tensor& x, Where where = Where::current());
  static Tensor log2(const Tensor& x, Where where = Where::current());
  static Tensor log1p(const Tensor& x, Where where = Where::current());
  static Tensor sin(const Tensor& x, Where where = Where::current());
  static Tensor cos(const Tensor& x, Where where = Where::current());
  static Tensor tan(const Tensor& x, Where where = Where::current());
  static Tensor arcsin(const Tensor& x, Where where = Where::current());
  static Tensor arccos(const Tensor& x, Where where = Where::current());
  static Tensor arctan(const Tensor& x, Where where = Where::current());
  static Tensor sinh(const Tensor& x, Where where = Where::current());
  static Tensor cosh(const Tensor& x, Where where = Where::current());
  static Tensor tanh(const Tensor& x, Where where = Where::current());
  static Tensor arcsinh(const Tensor& x, Where where = Where::current());
  static Tensor arccosh(const Tensor& x, Where where = Where::current());
  static Tensor arctanh(const Tensor& x, Where where = Where::current());
  static Tensor degrees(const Tensor& x, Where where = Where::current());
  static Tensor radians(const Tensor& x, Where where = Where::current());
  static Tensor clip(const Tensor& a, Number a_min, Number a_max, Where where = Where::current());

  // Tensors or numbers, at least one tensor; broadcasting.
  static Tensor add(const Operand& x1, const Operand& x2, Where where = Where::current());
  static Tensor subtract(const Operand& x1, const Operand& x2, Where where = Where::current());
  static Tensor multiply(const Operand& x1, const Operand& x2, Where where = Where::current());
  static Tensor true_divide(const Operand& x1, const Operand& x2, Where where = Where::current());
  static Tensor divide(const Operand& x1, const Operand& x2, Where where = Where::current());
  static Tensor mod(const Operand& x1, const Operand& x2, Where where = Where::current());
  static Tensor power(const Operand& x1, const Operand& x2, Where where = Where::current());
  static Tensor maximum(const Operand& x1, const Operand& x2, Where where = Where::current());
  static Tensor minimum(const Operand& x1, const Operand& x2, Where where = Where::current());
  static Tensor equal(const Operand& x1, const Operand& x2, Where where = Where::current());
  static Tensor not_equal(const Operand& x1, const Operand& x2, Where where = Where::current());
  static Tensor greater(const Operand& x1, const Operand& x2, Where where = Where::current());
  static Tensor greater_equal(const Operand& x1, const Operand& x2, Where where = Where::current());
  static Tensor less(const Operand& x1, const Operand& x2, Where where = Where::current());
  static Tensor less_equal(const Operand& x1, const Operand& x2, Where where = Where::current());
  /// Selects elements of x where condition is not zero, else of y; broadcasting. A number beside an array has
  /// its dtype, except 1.5 beside integers (float64) and 1 beside bool (int64). Two numbers have int64, or
  /// float32 if one of them is not an integer.
  static Tensor where(const Tensor& condition, const Operand& x, const Operand& y,
                      Where where = Where::current());

  // Reductions over axes; without `axis`, over all.
  static Tensor sum(const Tensor& a, const NumpyReduceOptions& options = {}, Where where = Where::current());
  static Tensor sum(const Tensor& a, Integer auto axis, Where where = Where::current()) {
    return sum(a, with_axis<NumpyReduceOptions>(axis), where);
  }
  static Tensor prod(const Tensor& a, const NumpyReduceOptions& options = {}, Where where = Where::current());
  static Tensor prod(const Tensor& a, Integer auto axis, Where where = Where::current()) {
    return prod(a, with_axis<NumpyReduceOptions>(axis), where);
  }
  static Tensor mean(const Tensor& a, const NumpyReduceOptions& options = {}, Where where = Where::current());
  static Tensor mean(const Tensor& a, Integer auto axis, Where where = Where::current()) {
    return mean(a, with_axis<NumpyReduceOptions>(axis), where);
  }
  /// Throws for an array without elements.
  static Tensor max(const Tensor& a, const NumpyExtremeOptions& options = {}, Where where = Where::current());
  static Tensor max(const Tensor& a, Integer auto axis, Where where = Where::current()) {
    return max(a, with_axis<NumpyExtremeOptions>(axis), where);
  }
  static Tensor min(const Tensor& a, const NumpyExtremeOptions& options = {}, Where where = Where::current());
  static Tensor min(const Tensor& a, Integer auto axis, Where where = Where::current()) {
    return min(a, with_axis<NumpyExtremeOptions>(axis), where);
  }
  static Tensor var(const Tensor& a, const NumpyMomentOptions& options = {}, Where where = Where::current());
  static Tensor var(const Tensor& a, Integer auto axis, Where where = Where::current()) {
    return var(a, with_axis<NumpyMomentOptions>(axis), where);
  }
  static Tensor std(const Tensor& a, const NumpyMomentOptions& options = {}, Where where = Where::current());
  static Tensor std(const Tensor& a, Integer auto axis, Where where = Where::current()) {
    return std(a, with_axis<NumpyMomentOptions>(axis), where);
  }
  /// int64.
  static Tensor argmax(const Tensor& a, const ArgReduceOptions& options = {}, Where where = Where::current());
  static Tensor argmax(const Tensor& a, Integer auto axis, Where where = Where::current()) {
    return argmax(a, with_axis<ArgReduceOptions>(axis), where);
  }
  static Tensor argmin(const Tensor& a, const ArgReduceOptions& options = {}, Where where = Where::current());
  static Tensor argmin(const Tensor& a, Integer auto axis, Where where = Where::current()) {
    return argmin(a, with_axis<ArgReduceOptions>(axis), where);
  }

  // Contractions.
  static Tensor dot(const Tensor& a, const Tensor& b, Where where = Where::current());
  static Tensor matmul(const Tensor& a, const Tensor& b, Where where = Where::current());
  /// Contracts the last `axes` axes of a with the first of b.
  static Tensor tensordot(const Tensor& a, const Tensor& b, int axes = 2, Where where = Where::current());
  /// Contracts pairs of axes.
  static Tensor tensordot(const Tensor& a, const Tensor& b, const Shape& a_axes, const Shape& b_axes,
                          Where where = Where::current());
  static Tensor einsum(const ::std::string& subscripts, const Tensors& operands,
                       Where where = Where::current());

  // Shapes.
  static Tensor reshape(const Tensor& a, const Shape& newshape, Where where = Where::current());
  static Tensor transpose(const Tensor& a, Where where = Where::current());
  static Tensor transpose(const Tensor& a, const Shape& axes, Where where = Where::current());
  static Tensor swapaxes(const Tensor& a, int axis1, int axis2, Where where = Where::current());
  static Tensor moveaxis(const Tensor& a, const Axes& source, const Axes& destination,
                         Where where = Where::current());
  static Tensor expand_dims(const Tensor& a, int axis, Where where = Where::current());
  static Tensor squeeze(const Tensor& a, const Axes& axis = {}, Where where = Where::current());
  static Tensor broadcast_to(const Tensor& array, const Shape& shape, Where where = Where::current());
  static Tensor tile(const Tensor& a, const Shape& reps, Where where = Where::current());
  static Tensor repeat(const Tensor& a, int repeats, ::std::optional<int> axis = {},
                       Where where = Where::current());
  static Tensor concatenate(const Tensors& arrays, int axis = 0, Where where = Where::current());
  static Tensor stack(const Tensors& arrays, int axis = 0, Where where = Where::current());
  /// Splits into equal parts.
  static Tensors split(const Tensor& a, int sections, int axis = 0, Where where = Where::current());
  /// Without an axis, of the flattened array. An out-of-range or negative index throws; in a hybridized call
  /// only if the result is used. F::take has modes that accept any index.
  static Tensor take(const Tensor& a, const Tensor& indices, ::std::optional<int> axis = {},
                     Where where = Where::current());

  // Creation.
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
  static Tensor zeros(const Shape& shape, DType dtype = DType::f32, Where where = Where::current());
  static Tensor ones(const Shape& shape, DType dtype = DType::f32, Where where = Where::current());
  static Tensor arange(Number stop, Where where = Where::current());
  static Tensor arange(Number start, Number stop, Number step = 1, DType dtype = DType::f32,
                       Where where = Where::current());
  static Tensor full_like(const Tensor& a, Number fill_value, Where where = Where::current());
  static Tensor zeros_like(const Tensor& a, Where where = Where::current());
  static Tensor ones_like(const Tensor& a, Where where = Where::current());

  /// Random numbers from the stream of random::seed(). Without a size a scalar of rank 0.
  struct KILN_API random {
    /// In [low, high).
    static Tensor uniform(Number low = 0, Number high = 1, const Shape& size = {}, DType dtype = DType::f32,
                          Where where = Where::current());
    static Tensor normal(Number loc = 0, Number scale = 1, const Shape& size = {}, DType dtype = DType::f32,
                         Where where = Where::current());
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

  static Tensor relu(const Tensor& data, Where where = Where::current());
  static Tensor sigmoid(const Tensor& data, Where where = Where::current());
  /// -1: inferred, -2: copy this extent, -3: drop an extent of 1, -4: copy all remaining extents, -5: merge
  /// two, -6: split one into the next two.
  static Tensor reshape(const Tensor& a, const Shape& newshape, Where where = Where::current());
  static Tensor fully_connected(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                const FullyConnectedOptions& options, Where where = Where::current());
  static Tensor fully_connected(const Tensor& x, const Tensor& weight, const FullyConnectedOptions& options,
                                Where where = Where::current());
  static Tensor convolution(const Tensor& data, const Tensor& weight, const Tensor& bias,
                            const ConvolutionOptions& options, Where where = Where::current());
  static Tensor convolution(const Tensor& data, const Tensor& weight, const ConvolutionOptions& options,
                            Where where = Where::current());
  static Tensor pooling(const Tensor& data, const PoolingOptions& options, Where where = Where::current());
  static Tensor batch_norm(const Tensor& data, const Tensor& gamma, const Tensor& beta,
                           const Tensor& moving_mean, const Tensor& moving_var,
                           const BatchNormOptions& options = {}, Where where = Where::current());
  static Tensor layer_norm(const Tensor& data, const Tensor& gamma, const Tensor& beta,
                           const LayerNormOptions& options = {}, Where where = Where::current());
  static Tensor dropout(const Tensor& data, const DropoutOptions& options = {},
                        Where where = Where::current());
  static Tensor activation(const Tensor& data, const ActivationOptions& options,
                           Where where = Where::current());
  static Tensor leaky_relu(const Tensor& data, const LeakyReLUOptions& options,
                           Where where = Where::current());
  static Tensor softmax(const Tensor& data, const SoftmaxOptions& options = {},
                        Where where = Where::current());
  static Tensor softmax(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return softmax(data, with_axis<SoftmaxOptions>(axis), where);
  }
  static Tensor log_softmax(const Tensor& data, const SoftmaxOptions& options = {},
                            Where where = Where::current());
  static Tensor log_softmax(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return log_softmax(data, with_axis<SoftmaxOptions>(axis), where);
  }
  static Tensor embedding(const Tensor& data, const Tensor& weight, const EmbeddingOptions& options,
                          Where where = Where::current());
  static Tensor one_hot(const Tensor& indices, int depth, Where where = Where::current());
  static Tensor pick(const Tensor& data, const Tensor& index, const PickOptions& options = {},
                     Where where = Where::current());
  static Tensor pick(const Tensor& data, const Tensor& index, Integer auto axis,
                     Where where = Where::current()) {
    return pick(data, index, with_axis<PickOptions>(axis), where);
  }
  static Tensor batch_dot(const Tensor& lhs, const Tensor& rhs, const DotOptions& options = {},
                          Where where = Where::current());
  static Tensor batch_flatten(const Tensor& data, Where where = Where::current());
  /// 0, 1, ... in the shape of data, or along one axis.
  static Tensor arange_like(const Tensor& data, ::std::optional<int> axis = {},
                            Where where = Where::current());
};
inline struct F::npx F::npx() { return {}; }

/// Outside of networks, as MXNet's modules: `npx::set_np(); np::arange(12).reshape({3, 4});`
using np = struct F::numpy;
using npx = struct F::npx;

}  // namespace kiln

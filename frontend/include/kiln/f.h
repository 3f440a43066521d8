// F: the operators, spelled as in Gluon code.
#pragma once
#include <kiln/f_plain.h>

#include <iosfwd>
#include <string_view>
#include <vector>

namespace kiln {

/// An array where options may stand too: no braced list and no number is one, so that `{}` means options.
class ArrayArgument {
 public:
  template <class T>
  requires(std::convertible_to<const T&, Tensor> && !std::is_arithmetic_v<T>) ArrayArgument(const T& array)
      : array_(array) {}
  operator const Tensor&() const { return array_; }  ///< valid as long as this

 private:
  Tensor array_;
};

/// The operators, spelled as in Gluon code. In `hybrid_forward(F& F, ...)`, `F.relu(x)` computes at once if
/// the network runs eagerly, and records a node while it is traced. Outside of networks: `nd::relu(x)`. An F
/// has no state.
///
/// The last argument of every function is the caller's source location for errors, dumps and profiles. All
/// throw kiln::Error for mismatched shapes or dtypes, with operator, shapes and line. Results are new arrays.
/// All inputs of one call have one dtype unless stated otherwise. Thread rule: as Tensor.
///
/// The comment of a function says where its operator differs from these rules. A function of one array has
/// its shape. Any dtype is taken, and the result has it. A NaN gives NaN, or is copied with the
/// other elements. A gradient passes. `kiln ops NAME`
/// and docs/operators.md have the rest: broadcasting, ties, empty arrays, integers, the gradient's formula.
class KILN_API F : public PlainFunctions {
 public:
  using Where = std::source_location;
  using Tensors = std::vector<Tensor>;  ///< lists of inputs, and several results

  /// "ndarray" in eager mode, "symbol" while recording.
  static std::string_view name();
  /// "mxnet.ndarray" or "mxnet.symbol", as the tutorials print it.
  static std::string module_name();

  /// Clips x to the interval from a_min to a_max. `kiln ops clip` has the rest.
  static Tensor clip(const Tensor& data, Number a_min, Number a_max, Where where = Where::current());
  static Tensor clip(const Tensor& data, const ClipOptions& options, Where where = Where::current());
  /// Converts x to a dtype. `kiln ops cast` has the rest.
  static Tensor cast(const Tensor& data, DType dtype, Where where = Where::current());
  /// Converts x to a dtype. `kiln ops Cast` has the rest.
  static Tensor Cast(const Tensor& data, DType dtype, Where where = Where::current());

  // Tensors or numbers, at least one tensor; broadcasting. Comparisons give 1 and 0 in the tensors' dtype.
  /// The sum of lhs and rhs. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each other.
  /// `kiln ops broadcast_add` has the rest.
  static Tensor add(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  /// The difference of lhs and rhs. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each other.
  /// `kiln ops broadcast_sub` has the rest.
  static Tensor subtract(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  /// The product of lhs and rhs. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each other.
  /// `kiln ops broadcast_mul` has the rest.
  static Tensor multiply(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  /// The quotient of lhs and rhs. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each other.
  /// `kiln ops broadcast_div` has the rest.
  static Tensor divide(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  /// The remainder of lhs / rhs, with the sign of rhs. Shapes: lhs (L), rhs (R) -> (B); B is L and R
  /// broadcast to each other. Of NaN: 0 where rhs is 0, of NaN too; else NaN if lhs or rhs is, and if lhs is
  /// infinite. `kiln ops broadcast_mod` has the rest.
  static Tensor modulo(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  /// lhs to the power of rhs. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each other.
  /// `kiln ops broadcast_power` has the rest.
  static Tensor power(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  /// The greater one of lhs and rhs. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each other.
  /// `kiln ops broadcast_maximum` has the rest.
  static Tensor maximum(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  /// The lesser one of lhs and rhs. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each other.
  /// `kiln ops broadcast_minimum` has the rest.
  static Tensor minimum(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  /// The length of the vector (lhs, rhs). Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each
  /// other. `kiln ops broadcast_hypot` has the rest.
  static Tensor hypot(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  /// 1 where lhs == rhs, else 0. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each other. Of
  /// NaN: 0 if lhs or rhs is NaN. No gradient: zeros. `kiln ops broadcast_equal` has the rest.
  static Tensor equal(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  /// 1 where lhs != rhs, else 0. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each other. Of
  /// NaN: 1 if lhs or rhs is NaN. No gradient: zeros. `kiln ops broadcast_not_equal` has the rest.
  static Tensor not_equal(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  /// 1 where lhs > rhs, else 0. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each other. Of
  /// NaN: 0 if lhs or rhs is NaN. No gradient: zeros. `kiln ops broadcast_greater` has the rest.
  static Tensor greater(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  /// 1 where lhs >= rhs, else 0. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each other. Of
  /// NaN: 0 if lhs or rhs is NaN. No gradient: zeros. `kiln ops broadcast_greater_equal` has the rest.
  static Tensor greater_equal(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  /// 1 where lhs < rhs, else 0. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each other. Of
  /// NaN: 0 if lhs or rhs is NaN. No gradient: zeros. `kiln ops broadcast_lesser` has the rest.
  static Tensor lesser(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  /// 1 where lhs <= rhs, else 0. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each other. Of
  /// NaN: 0 if lhs or rhs is NaN. No gradient: zeros. `kiln ops broadcast_lesser_equal` has the rest.
  static Tensor lesser_equal(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  /// 1 where both lhs and rhs are not 0, else 0. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to
  /// each other. NaN is not 0, so that it counts as true. No gradient: zeros.
  /// `kiln ops broadcast_logical_and` has the rest.
  static Tensor logical_and(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  /// 1 where lhs or rhs is not 0, else 0. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each
  /// other. NaN is not 0, so that it counts as true. No gradient: zeros. `kiln ops broadcast_logical_or` has
  /// the rest.
  static Tensor logical_or(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  /// 1 where exactly one of lhs and rhs is not 0, else 0. Shapes: lhs (L), rhs (R) -> (B); B is L and R
  /// broadcast to each other. NaN is not 0, so that it counts as true. No gradient: zeros.
  /// `kiln ops broadcast_logical_xor` has the rest.
  static Tensor logical_xor(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  /// Takes elements of x where the condition is not 0, else of y. Shapes: condition (...), x (...), y (...)
  /// -> (...); or condition (N), one for each row of x (N, ...). A NaN in the condition counts as not 0.
  /// `kiln ops where` has the rest.
  ///
  /// A number stands for an array of the other's shape and dtype; two numbers have condition's.
  static Tensor where(const Tensor& condition, const Operand& x, const Operand& y,
                      Where where = Where::current());

  // Layers.
  /// A dense layer: multiplies each row of data by the transposed weight and adds the bias. Shapes: data (N,
  /// ...), weight (O, K), bias (O) -> (N, O). A NaN in a row of data makes that row NaN.
  /// `kiln ops FullyConnected` has the rest.
  static Tensor FullyConnected(const Tensor& data, const Tensor& weight, const Tensor& bias,
                               const FullyConnectedOptions& options, Where where = Where::current());
  static Tensor FullyConnected(const Tensor& data, const Tensor& weight, const FullyConnectedOptions& options,
                               Where where = Where::current());
  /// A convolution (cross-correlation) of data with weight, plus a bias, in one to three dimensions. Shapes:
  /// data (N, C, H, W), weight (O, C/g, kH, kW), bias (O) -> (N, O, H', W'), g groups. A NaN in data makes
  /// the results of all windows with it NaN, in every channel of its group. `kiln ops Convolution` has the
  /// rest.
  static Tensor Convolution(const Tensor& data, const Tensor& weight, const Tensor& bias,
                            const ConvolutionOptions& options, Where where = Where::current());
  static Tensor Convolution(const Tensor& data, const Tensor& weight, const ConvolutionOptions& options,
                            Where where = Where::current());
  /// A transposed convolution of data with weight, plus a bias, in one to three dimensions. Shapes: data (N,
  /// C, H, W), weight (C, O/g, kH, kW), bias (O) -> (N, O, H', W'), g groups. A NaN in data makes all results
  /// that it reaches NaN, in every channel of its group; one in weight or bias does the same.
  /// `kiln ops Deconvolution` has the rest.
  ///
  /// No bias unless no_bias is false.
  static Tensor Deconvolution(const Tensor& data, const Tensor& weight, const Tensor& bias,
                              const DeconvolutionOptions& options, Where where = Where::current());
  static Tensor Deconvolution(const Tensor& data, const Tensor& weight, const DeconvolutionOptions& options,
                              Where where = Where::current());
  /// Reduces each position of a sliding window to its maximum, average, sum or p-norm. Shapes: data (N, C, H,
  /// W) -> (N, C, H', W'). Of NaN: a window with a NaN gives NaN, for every pool_type. `kiln ops Pooling` has
  /// the rest.
  static Tensor Pooling(const Tensor& data, const PoolingOptions& options, Where where = Where::current());
  /// Enlarges images by an integer factor, by repetition or with a weight, and joins or adds several. Shapes:
  /// nearest: arg (N, C, H, W) each -> (N, C', scale H, scale W). Of NaN: nearest: NaN in the repeated
  /// elements. bilinear: NaN in all elements that it reaches. `kiln ops UpSampling` has the rest.
  static Tensor UpSampling(const Tensors& args, const UpSamplingOptions& options,
                           Where where = Where::current());
  /// Batch normalisation: normalises each channel to the mean beta and the standard deviation gamma. Shapes:
  /// data (N, C, ...), gamma (C), beta (C), moving_mean (C), moving_var (C) -> (N, C, ...); with
  /// output_mean_var also mean (C), var (C). axis names the axis C. Of NaN: in training a NaN or an infinity
  /// makes its channel NaN, and its moving statistics. `kiln ops BatchNorm` has the rest.
  ///
  /// In training mode normalises by the batch's statistics and updates moving_mean and moving_var in place.
  static Tensor BatchNorm(const Tensor& data, const Tensor& gamma, const Tensor& beta,
                          const Tensor& moving_mean, const Tensor& moving_var,
                          const BatchNormOptions& options = {}, Where where = Where::current());
  /// Layer normalisation: normalises the elements along one axis, and scales and shifts each by its own gamma
  /// and beta. Shapes: data (..., C), gamma (C), beta (C) -> (..., C); with output_mean_var also mean (...,
  /// 1), std (..., 1). C is the extent of the axis. A NaN or an infinity makes the elements along its axis
  /// NaN. `kiln ops LayerNorm` has the rest.
  static Tensor LayerNorm(const Tensor& data, const Tensor& gamma, const Tensor& beta,
                          const LayerNormOptions& options = {}, Where where = Where::current());
  /// Group normalisation: normalises each group of channels of each sample. Shapes: data (N, C, ...), gamma
  /// (G), beta (G) -> (N, C, ...); with output_mean_var also mean (N, G), std (N, G). G is num_groups and
  /// divides C. A NaN or an infinity makes its group of its sample NaN. `kiln ops GroupNorm` has the rest.
  static Tensor GroupNorm(const Tensor& data, const Tensor& gamma, const Tensor& beta,
                          const GroupNormOptions& options = {}, Where where = Where::current());
  /// Instance normalisation: normalises each channel of each sample. Shapes: data (N, C, ...), gamma (C),
  /// beta (C) -> (N, C, ...). A NaN or an infinity makes its channel of its sample NaN.
  /// `kiln ops InstanceNorm` has the rest.
  static Tensor InstanceNorm(const Tensor& data, const Tensor& gamma, const Tensor& beta,
                             const InstanceNormOptions& options = {}, Where where = Where::current());
  /// Applies a function that is x, or nearly x, for positive x: leaky, prelu, rrelu, elu, selu or gelu.
  /// Shapes: data (...) -> (...); prelu: data (N, C, ...), gamma (C) or (1) -> (N, C, ...); rrelu: data (...)
  /// -> (...) and the slopes (...). `kiln ops LeakyReLU` has the rest.
  static Tensor LeakyReLU(const Tensor& data, const LeakyReLUOptions& options = {},
                          Where where = Where::current());
  static Tensor LeakyReLU(const Tensor& data, const Tensor& gamma, const LeakyReLUOptions& options,
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
  /// The softmax of -x along an axis. Shapes: data (..., n, ...) -> (..., n, ...); use_length: also length
  /// (...), of the other axes. `kiln ops softmin` has the rest.
  static Tensor softmin(const Tensor& data, const SoftmaxOptions& options = {},
                        Where where = Where::current());
  /// Masked: along the axis the first elements count, `length` of them, and the others give 0.
  static Tensor softmin(const Tensor& data, const ArrayArgument& length, const SoftmaxOptions& options = {},
                        Where where = Where::current());
  static Tensor softmin(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return softmin(data, with_axis<SoftmaxOptions>(axis), where);
  }

  // Output layers: the label affects only the gradient.
  /// Returns data; its gradient is the gradient of half the squared error to label. Shapes: data (N, ...),
  /// label (N, ...) -> (N, ...). `kiln ops LinearRegressionOutput` has the rest.
  static Tensor LinearRegressionOutput(const Tensor& data, const Tensor& label,
                                       const RegressionOutputOptions& options = {},
                                       Where where = Where::current());
  /// Returns data; its gradient is the gradient of the absolute error to label. Shapes: data (N, ...), label
  /// (N, ...) -> (N, ...). `kiln ops MAERegressionOutput` has the rest.
  static Tensor MAERegressionOutput(const Tensor& data, const Tensor& label,
                                    const RegressionOutputOptions& options = {},
                                    Where where = Where::current());
  /// The sigmoid of data; its gradient is the gradient of the logistic loss with label. Shapes: data (N,
  /// ...), label (N, ...) -> (N, ...). `kiln ops LogisticRegressionOutput` has the rest.
  static Tensor LogisticRegressionOutput(const Tensor& data, const Tensor& label,
                                         const RegressionOutputOptions& options = {},
                                         Where where = Where::current());
  /// The smooth L1 loss of x: quadratic near zero, linear beyond. `kiln ops smooth_l1` has the rest.
  static Tensor smooth_l1(const Tensor& data, const SmoothL1Options& options = {},
                          Where where = Where::current());

  // Images (N, C, H, W).
  /// Moves channels into square blocks of pixels. Shapes: data (N, C b b, H, W) -> (N, C, H b, W b); b =
  /// block_size. `kiln ops depth_to_space` has the rest.
  static Tensor depth_to_space(const Tensor& data, std::int64_t block_size, Where where = Where::current());
  /// Moves square blocks of pixels into channels. Shapes: data (N, C, H b, W b) -> (N, C b b, H, W); b =
  /// block_size. `kiln ops space_to_depth` has the rest.
  static Tensor space_to_depth(const Tensor& data, std::int64_t block_size, Where where = Where::current());

  // Contractions.
  /// The matrix product of each pair of matrices in two batches. Shapes: lhs (..., M, K), rhs (..., K, N) ->
  /// (..., M, N), with equal batch axes. A NaN in lhs makes its row of its matrix NaN, one in rhs its column.
  /// `kiln ops batch_dot` has the rest.
  static Tensor batch_dot(const Tensor& lhs, const Tensor& rhs, const DotOptions& options = {},
                          Where where = Where::current());

  // Reductions; without axes over all of them, with shape (1,).
  /// Sums the elements over axes. Shapes: data (...) -> (...) without the reduced axes, (1) if none is left,
  /// in numpy mode too; with keepdims they have extent 1. `kiln ops sum` has the rest.
  static Tensor sum(const Tensor& data, const ReduceOptions& options = {}, Where where = Where::current());
  static Tensor sum(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return sum(data, with_axis<ReduceOptions>(axis), where);
  }
  /// Averages the elements over axes. Shapes: data (...) -> (...) without the reduced axes, (1) if none is
  /// left, in numpy mode too; with keepdims they have extent 1. `kiln ops mean` has the rest.
  static Tensor mean(const Tensor& data, const ReduceOptions& options = {}, Where where = Where::current());
  static Tensor mean(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return mean(data, with_axis<ReduceOptions>(axis), where);
  }
  /// Multiplies the elements over axes. Shapes: data (...) -> (...) without the reduced axes, (1) if none is
  /// left, in numpy mode too; with keepdims they have extent 1. `kiln ops prod` has the rest.
  static Tensor prod(const Tensor& data, const ReduceOptions& options = {}, Where where = Where::current());
  static Tensor prod(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return prod(data, with_axis<ReduceOptions>(axis), where);
  }
  /// Gives the maximum over axes. Shapes: data (...) -> (...) without the reduced axes, (1) if none is left,
  /// in numpy mode too; with keepdims they have extent 1. `kiln ops max` has the rest.
  static Tensor max(const Tensor& data, const ReduceOptions& options = {}, Where where = Where::current());
  static Tensor max(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return max(data, with_axis<ReduceOptions>(axis), where);
  }
  /// Gives the minimum over axes. Shapes: data (...) -> (...) without the reduced axes, (1) if none is left,
  /// in numpy mode too; with keepdims they have extent 1. `kiln ops min` has the rest.
  static Tensor min(const Tensor& data, const ReduceOptions& options = {}, Where where = Where::current());
  static Tensor min(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return min(data, with_axis<ReduceOptions>(axis), where);
  }
  /// Sums the elements over axes, NaN as 0. Shapes: data (...) -> (...) without the reduced axes, (1) if none
  /// is left, in numpy mode too; with keepdims they have extent 1. Of NaN: counts as 0. `kiln ops nansum` has
  /// the rest.
  static Tensor nansum(const Tensor& data, const ReduceOptions& options = {}, Where where = Where::current());
  static Tensor nansum(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return nansum(data, with_axis<ReduceOptions>(axis), where);
  }
  /// Multiplies the elements over axes, NaN as 1. Shapes: data (...) -> (...) without the reduced axes, (1)
  /// if none is left, in numpy mode too; with keepdims they have extent 1. Of NaN: counts as 1.
  /// `kiln ops nanprod` has the rest.
  static Tensor nanprod(const Tensor& data, const ReduceOptions& options = {},
                        Where where = Where::current());
  static Tensor nanprod(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return nanprod(data, with_axis<ReduceOptions>(axis), where);
  }
  /// Gives the 1-norm or the 2-norm over axes. Shapes: data (...) -> (...) without the reduced axes, (1) if
  /// none is left, in numpy mode too; with keepdims they have extent 1. `kiln ops norm` has the rest.
  static Tensor norm(const Tensor& data, const NormOptions& options = {}, Where where = Where::current());
  static Tensor norm(const Tensor& data, Integer auto ord, Where where = Where::current()) {
    return norm(data, NormOptions{.ord = static_cast<std::int64_t>(ord)}, where);
  }
  /// Gives the index of the maximum, in the dtype of data. Shapes: data (...) -> (...) without the axis, (1)
  /// if none is left or axis is None, in numpy mode too; with keepdims extents 1 instead. Of NaN: the index
  /// of the first NaN. No gradient: zeros. `kiln ops argmax` has the rest.
  static Tensor argmax(const Tensor& data, const ArgReduceOptions& options = {},
                       Where where = Where::current());
  static Tensor argmax(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return argmax(data, with_axis<ArgReduceOptions>(axis), where);
  }
  /// Gives the index of the minimum, in the dtype of data. Shapes: data (...) -> (...) without the axis, (1)
  /// if none is left or axis is None, in numpy mode too; with keepdims extents 1 instead. Of NaN: the index
  /// of the first NaN. No gradient: zeros. `kiln ops argmin` has the rest.
  static Tensor argmin(const Tensor& data, const ArgReduceOptions& options = {},
                       Where where = Where::current());
  static Tensor argmin(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return argmin(data, with_axis<ArgReduceOptions>(axis), where);
  }
  /// Gives the mean and the biased variance over axes. Shapes: data (...) -> mean (...), variance (...):
  /// without the reduced axes, (1) if none is left, in numpy mode too; with keepdims they have extent 1.
  /// `kiln ops moments` has the rest.
  static Tensors moments(const Tensor& data, const MomentsOptions& options = {},
                         Where where = Where::current());

  // Shapes.
  /// Gives the elements another shape, in C order; 0 and -1 to -4 in the shape are codes. Shapes: data (...)
  /// -> (shape, its codes resolved), as many elements. `kiln ops reshape` has the rest.
  template <class = void>  // makes {.shape = ...} prefer the options
  static Tensor reshape(const Tensor& data, const Shape& shape, Where where = Where::current()) {
    return reshape(data, ReshapeOptions{.shape = shape}, where);
  }
  static Tensor reshape(const Tensor& data, const ReshapeOptions& options, Where where = Where::current());
  /// Gives the elements another shape, in C order; 0 and -1 to -4 in the shape are codes. Shapes: data (...)
  /// -> (shape, its codes resolved), as many elements. `kiln ops Reshape` has the rest.
  static Tensor Reshape(const Tensor& data, const ReshapeOptions& options, Where where = Where::current());
  /// Permutes the axes, by default reverses their order. Shapes: data (d0, ..., dn) -> (d[axes[0]], ...,
  /// d[axes[n]]). `kiln ops transpose` has the rest.
  static Tensor transpose(const Tensor& data, Where where = Where::current());
  template <class = void>  // makes {.axes = ...} prefer the options
  static Tensor transpose(const Tensor& data, const Shape& axes, Where where = Where::current()) {
    return transpose(data, TransposeOptions{.axes = axes}, where);
  }
  static Tensor transpose(const Tensor& data, const TransposeOptions& options,
                          Where where = Where::current());
  /// Swaps two axes. Shapes: data (a..., D1, b..., D2, c...) -> (a..., D2, b..., D1, c...).
  /// `kiln ops swapaxes` has the rest.
  static Tensor swapaxes(const Tensor& data, const SwapAxesOptions& options, Where where = Where::current());
  static Tensor swapaxes(const Tensor& data, int dim1, int dim2, Where where = Where::current()) {
    return swapaxes(data, SwapAxesOptions{.dim1 = dim1, .dim2 = dim2}, where);
  }
  /// Swaps two axes. Shapes: data (a..., D1, b..., D2, c...) -> (a..., D2, b..., D1, c...).
  /// `kiln ops SwapAxis` has the rest.
  static Tensor SwapAxis(const Tensor& data, const SwapAxesOptions& options, Where where = Where::current());
  static Tensor SwapAxis(const Tensor& data, int dim1, int dim2, Where where = Where::current()) {
    return SwapAxis(data, SwapAxesOptions{.dim1 = dim1, .dim2 = dim2}, where);
  }
  /// Inserts an axis of extent 1. Shapes: data (a..., b...) -> (a..., 1, b...). `kiln ops expand_dims` has
  /// the rest.
  static Tensor expand_dims(const Tensor& data, int axis, Where where = Where::current());
  static Tensor expand_dims(const Tensor& data, const AxisOptions& options, Where where = Where::current());
  /// Removes axes of extent 1. Shapes: data (...) -> (... without the removed axes); (1) if none is left, in
  /// numpy mode too. `kiln ops squeeze` has the rest.
  static Tensor squeeze(const Tensor& data, const SqueezeOptions& options = {},
                        Where where = Where::current());
  static Tensor squeeze(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return squeeze(data, with_axis<SqueezeOptions>(axis), where);
  }
  /// Repeats axes of extent 1 to a shape of the same rank. Shapes: data (a, b, ...) -> shape (A, B, ...); A =
  /// a, or any A if a is 1; 0 in `shape` keeps an extent. `kiln ops broadcast_to` has the rest.
  static Tensor broadcast_to(const Tensor& data, const Shape& shape, Where where = Where::current());
  /// Repeats the named axes, which have extent 1. Shapes: data (..., 1, ...) -> (..., size, ...).
  /// `kiln ops broadcast_axis` has the rest.
  static Tensor broadcast_axis(const Tensor& data, const BroadcastAxisOptions& options,
                               Where where = Where::current());
  static Tensor broadcast_axis(const Tensor& data, const Axes& axis, const Axes& size,
                               Where where = Where::current()) {
    return broadcast_axis(data, BroadcastAxisOptions{.axis = axis, .size = size}, where);
  }
  /// Repeats the whole array along each axis. Shapes: data (a, b, ...) -> (r a, s b, ...); reps (r, s, ...).
  /// The shorter one of shape and reps gets leading ones. `kiln ops tile` has the rest.
  static Tensor tile(const Tensor& data, const Shape& reps, Where where = Where::current());
  /// Repeats each element, or each slice along an axis. Shapes: data (..., a, ...) -> (..., a repeats, ...);
  /// without an axis: data (n elements) -> (n repeats). `kiln ops repeat` has the rest.
  static Tensor repeat(const Tensor& data, const RepeatOptions& options, Where where = Where::current());
  static Tensor repeat(const Tensor& data, Integer auto repeats, Where where = Where::current()) {
    return repeat(data, RepeatOptions{.repeats = static_cast<std::int64_t>(repeats)}, where);
  }
  static Tensor repeat(const Tensor& data, std::int64_t repeats, std::int64_t axis,
                       Where where = Where::current()) {
    return repeat(data, RepeatOptions{.repeats = repeats, .axis = axis}, where);
  }
  /// Reverses the order of the elements along axes. `kiln ops flip` has the rest.
  static Tensor flip(const Tensor& data, const Shape& axis, Where where = Where::current());
  static Tensor flip(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return flip(data, Shape{static_cast<std::int64_t>(axis)}, where);
  }
  /// Reverses the order of the elements along axes. `kiln ops reverse` has the rest.
  static Tensor reverse(const Tensor& data, const Shape& axis, Where where = Where::current());
  static Tensor reverse(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return reverse(data, Shape{static_cast<std::int64_t>(axis)}, where);
  }
  /// Pads an array with a constant, with its edge elements, or with its reflection. Shapes: data (D0, D1,
  /// ...) -> (b0 + D0 + a0, b1 + D1 + a1, ...); b and a are the widths before and after each axis.
  /// `kiln ops pad` has the rest.
  static Tensor pad(const Tensor& data, const PadOptions& options, Where where = Where::current());
  /// Pads an array with a constant, with its edge elements, or with its reflection. Shapes: data (D0, D1,
  /// ...) -> (b0 + D0 + a0, b1 + D1 + a1, ...); b and a are the widths before and after each axis.
  /// `kiln ops Pad` has the rest.
  static Tensor Pad(const Tensor& data, const PadOptions& options, Where where = Where::current());
  /// Concatenates arrays along an axis. Shapes: n arrays (a..., Di, b...), Di along the joined axis -> (a...,
  /// D1 + ... + Dn, b...). Rank 0 throws. `kiln ops concat` has the rest.
  static Tensor concat(const Tensors& data, const ConcatOptions& options = {},
                       Where where = Where::current());
  static Tensor concat(const Tensors& data, Integer auto dim, Where where = Where::current()) {
    return concat(data, ConcatOptions{.dim = static_cast<std::int64_t>(dim)}, where);
  }
  /// Concatenates arrays along an axis. Shapes: n arrays (a..., Di, b...), Di along the joined axis -> (a...,
  /// D1 + ... + Dn, b...). Rank 0 throws. `kiln ops Concat` has the rest.
  static Tensor Concat(const Tensors& data, const ConcatOptions& options = {},
                       Where where = Where::current());
  static Tensor Concat(const Tensors& data, Integer auto dim, Where where = Where::current()) {
    return Concat(data, ConcatOptions{.dim = static_cast<std::int64_t>(dim)}, where);
  }
  /// Stacks arrays of one shape along a new axis. Shapes: n arrays (a..., b...) -> (a..., n, b...).
  /// `kiln ops stack` has the rest.
  static Tensor stack(const Tensors& data, const StackOptions& options = {}, Where where = Where::current());
  static Tensor stack(const Tensors& data, Integer auto axis, Where where = Where::current()) {
    return stack(data, with_axis<StackOptions>(axis), where);
  }
  /// Splits an array into equal parts along an axis. Shapes: data (a..., D, b...) -> num_outputs times (a...,
  /// D / num_outputs, b...); with squeeze_axis (a..., b...), and (1) for a vector, in numpy mode too.
  /// `kiln ops split` has the rest.
  static Tensors split(const Tensor& data, const SplitOptions& options, Where where = Where::current());
  static Tensors split(const Tensor& data, Integer auto num_outputs, Where where = Where::current()) {
    return split(data, SplitOptions{.num_outputs = static_cast<std::int64_t>(num_outputs)}, where);
  }
  static Tensors split(const Tensor& data, std::int64_t num_outputs, std::int64_t axis,
                       Where where = Where::current()) {
    return split(data, SplitOptions{.num_outputs = num_outputs, .axis = axis}, where);
  }
  /// Splits an array into equal parts along an axis. Shapes: data (a..., D, b...) -> num_outputs times (a...,
  /// D / num_outputs, b...); with squeeze_axis (a..., b...), and (1) for a vector, in numpy mode too.
  /// `kiln ops SliceChannel` has the rest.
  static Tensors SliceChannel(const Tensor& data, const SplitOptions& options,
                              Where where = Where::current());
  static Tensors SliceChannel(const Tensor& data, Integer auto num_outputs, Where where = Where::current()) {
    return SliceChannel(data, SplitOptions{.num_outputs = static_cast<std::int64_t>(num_outputs)}, where);
  }
  static Tensors SliceChannel(const Tensor& data, std::int64_t num_outputs, std::int64_t axis,
                              Where where = Where::current()) {
    return SliceChannel(data, SplitOptions{.num_outputs = num_outputs, .axis = axis}, where);
  }
  /// Splits an array along an axis, into equal parts or at given positions. Shapes: data (a..., D, b...) ->
  /// for each part (a..., L, b...). `kiln ops _split_v2` has the rest.
  static Tensors split_v2(const Tensor& data, const SplitV2Options& options, Where where = Where::current());
  /// Takes the elements begin to end - 1 of one axis. Shapes: data (a..., D, b...) -> (a..., end - begin,
  /// b...), D along axis. `kiln ops slice_axis` has the rest.
  static Tensor slice_axis(const Tensor& data, const SliceAxisOptions& options,
                           Where where = Where::current());
  static Tensor slice_axis(const Tensor& data, int axis, std::int64_t begin, std::optional<std::int64_t> end,
                           Where where = Where::current()) {
    return slice_axis(data, SliceAxisOptions{.axis = axis, .begin = begin, .end = end}, where);
  }
  /// Slices data from the first element of each axis to the extents of another array. Shapes: data (D0, ...,
  /// Dn), shape_like (L0, ..., Ln) -> (L0, ..., Ln); with axes, data keeps the extents of the others, and
  /// shape_like may have any rank. `kiln ops slice_like` has the rest.
  static Tensor slice_like(const Tensor& data, const Tensor& shape_like, const Shape& axes = {},
                           Where where = Where::current());

  // Sequences: data (T, N, ...), or (N, T, ...) with axis 1. Lengths (N,) are used if use_sequence_length is
  // true.
  /// Sets the steps after the end of each sequence to a value. Shapes: data (T, N, ...), sequence_length (N)
  /// -> (T, N, ...). With axis=1 data (N, T, ...) -> (N, T, ...). A NaN of data stays NaN within its sequence
  /// and is replaced after its end. `kiln ops SequenceMask` has the rest.
  static Tensor SequenceMask(const Tensor& data, const Tensor& sequence_length,
                             const SequenceOptions& options, Where where = Where::current());
  static Tensor SequenceMask(const Tensor& data, const SequenceOptions& options = {},
                             Where where = Where::current());
  /// Selects the last step of each sequence. Shapes: data (T, N, ...), sequence_length (N) -> (N, ...). With
  /// axis=1 data (N, T, ...) -> (N, ...). A NaN of data stays NaN. `kiln ops SequenceLast` has the rest.
  static Tensor SequenceLast(const Tensor& data, const Tensor& sequence_length,
                             const SequenceOptions& options, Where where = Where::current());
  static Tensor SequenceLast(const Tensor& data, const SequenceOptions& options = {},
                             Where where = Where::current());
  /// Reverses the steps of each sequence; steps after its end stay in their places. Shapes: data (T, N, ...),
  /// sequence_length (N) -> (T, N, ...). A NaN of data stays NaN. `kiln ops SequenceReverse` has the rest.
  static Tensor SequenceReverse(const Tensor& data, const Tensor& sequence_length,
                                const SequenceOptions& options, Where where = Where::current());
  static Tensor SequenceReverse(const Tensor& data, const SequenceOptions& options = {},
                                Where where = Where::current());

  // Indexing; indices may have any dtype.
  /// Scatters slices into zeros at index vectors; of equal vectors the last wins. Shapes: data (i..., q...),
  /// indices (M, i...) -> shape = (d1, ..., dM, q...). Of NaN: in data: copied. `kiln ops scatter_nd` has the
  /// rest.
  static Tensor scatter_nd(const Tensor& data, const Tensor& indices, const Shape& shape,
                           Where where = Where::current());
  /// Gives the linear index of index vectors, the columns of data, into an array of a shape. Shapes: data (M,
  /// N) -> (N); M is the rank of shape. Of NaN: as the least int64; so is an infinity. No gradient: zeros.
  /// `kiln ops ravel_multi_index` has the rest.
  static Tensor ravel_multi_index(const Tensor& data, const Shape& shape, Where where = Where::current());
  /// Gives the index vectors, as columns, of linear indices into an array of a shape. Shapes: data (...) ->
  /// (M, ...); M is the rank of shape. Of NaN: as the least int64; so is an infinity. No gradient: zeros.
  /// `kiln ops unravel_index` has the rest.
  static Tensor unravel_index(const Tensor& data, const Shape& shape, Where where = Where::current());
  /// Gathers slices along an axis at indices. Shapes: a (p..., D, q...), D along axis, indices (i...) ->
  /// (p..., i..., q...). Of NaN: in a: copied. `kiln ops take` has the rest.
  static Tensor take(const Tensor& a, const Tensor& indices, const TakeOptions& options = {},
                     Where where = Where::current());
  static Tensor take(const Tensor& a, const Tensor& indices, Integer auto axis,
                     Where where = Where::current()) {
    return take(a, indices, with_axis<TakeOptions>(axis), where);
  }
  /// Picks one element along an axis for each index. Shapes: data (p..., D, q...), D along axis, index (p...,
  /// q...) or (p..., 1, q...) -> (p..., q...), (1) instead of (), in numpy mode too. Of NaN: in data: copied.
  /// `kiln ops pick` has the rest.
  static Tensor pick(const Tensor& data, const Tensor& index, const PickOptions& options = {},
                     Where where = Where::current());
  static Tensor pick(const Tensor& data, const Tensor& index, Integer auto axis,
                     Where where = Where::current()) {
    return pick(data, index, with_axis<PickOptions>(axis), where);
  }
  /// Encodes indices as vectors: on_value at the index, off_value elsewhere. Shapes: indices (...) -> (...,
  /// depth). Of NaN: a vector of off_value. No gradient: zeros. `kiln ops one_hot` has the rest.
  static Tensor one_hot(const Tensor& indices, int depth, Where where = Where::current());
  static Tensor one_hot(const Tensor& indices, const OneHotOptions& options, Where where = Where::current());

  // Sorting along an axis. Stable; NaNs are last in both directions.
  /// Sorts the elements along an axis. Shapes: data (...) -> (...); with axis None (N), N the number of
  /// elements. Rank 0 throws for another axis. Of NaN: last in both directions, after the infinities.
  /// `kiln ops sort` has the rest.
  static Tensor sort(const Tensor& data, const SortOptions& options = {}, Where where = Where::current());
  static Tensor sort(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return sort(data, with_axis<SortOptions>(axis), where);
  }
  /// Gives the indices that sort an axis; the sort is stable, NaN last. Shapes: data (...) -> (...); with
  /// axis None (N), N the number of elements. Rank 0 throws for another axis. Of NaN: last in both
  /// directions, after the infinities. No gradient: zeros. `kiln ops argsort` has the rest.
  static Tensor argsort(const Tensor& data, const ArgsortOptions& options = {},
                        Where where = Where::current());
  static Tensor argsort(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return argsort(data, with_axis<ArgsortOptions>(axis), where);
  }
  /// Gives the k largest or smallest elements along an axis: their indices, values, both, or a mask. Shapes:
  /// data (a..., D, b...), D along axis -> (a..., k, b...); both: values, then indices. With axis None (k). A
  /// mask has the shape of data. Of NaN: last in both directions, after the infinities. `kiln ops topk` has
  /// the rest.
  static Tensor topk(const Tensor& data, const TopkOptions& options = {}, Where where = Where::current());
  static Tensor topk(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return topk(data, with_axis<TopkOptions>(axis), where);
  }
  /// Gives the k largest or smallest elements along an axis: their indices, values, both, or a mask. Shapes:
  /// data (a..., D, b...), D along axis -> (a..., k, b...); both: values, then indices. With axis None (k). A
  /// mask has the shape of data. Of NaN: last in both directions, after the infinities. `kiln ops topk` has
  /// the rest.
  ///
  /// ret_typ "both": values and indices.
  static Tensors topk_both(const Tensor& data, const TopkOptions& options = {},
                           Where where = Where::current());
  /// Gives the cumulative sum along an axis, added in the order of the axis. Shapes: a (...) -> (...); with
  /// axis None (N), N the number of elements. `kiln ops cumsum` has the rest.
  static Tensor cumsum(const Tensor& data, const CumsumOptions& options = {}, Where where = Where::current());
  static Tensor cumsum(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return cumsum(data, with_axis<CumsumOptions>(axis), where);
  }

  // Creation.
  /// An array of zeros. Shapes: -> shape. `kiln ops _zeros` has the rest.
  static Tensor zeros(const Shape& shape, DType dtype = DType::f32, Where where = Where::current());
  /// An array of ones. Shapes: -> shape. `kiln ops _ones` has the rest.
  static Tensor ones(const Shape& shape, DType dtype = DType::f32, Where where = Where::current());
  /// An array of one value. Shapes: -> shape. `kiln ops _full` has the rest.
  static Tensor full(const Shape& shape, Number value, DType dtype = DType::f32,
                     Where where = Where::current());
  /// The numbers start, start + step, ... below stop, each `repeat` times. Shapes: -> (n repeat); n =
  /// ceil((stop - start) / step), at least 0. `kiln ops _arange` has the rest.
  static Tensor arange(Number stop, Where where = Where::current());
  static Tensor arange(Number start, Number stop, Number step = 1, int repeat = 1, DType dtype = DType::f32,
                       Where where = Where::current());
  /// A matrix with ones on a diagonal and zeros elsewhere. Shapes: -> (N, M). `kiln ops _eye` has the rest.
  static Tensor eye(std::int64_t N, const EyeOptions& options = {}, Where where = Where::current());
  /// Evenly spaced numbers from start to stop. Shapes: -> (num). `kiln ops _linspace` has the rest.
  static Tensor linspace(Number start, Number stop, std::int64_t num, const LinspaceOptions& options = {},
                         Where where = Where::current());
  /// An array of the values, of rank 1, of rows, of this shape, or nested as deep as the vectors: as the
  /// constructors of Tensor.
  template <class = void>
  static Tensor array(std::initializer_list<double> values, DType dtype = DType::f32) {
    return Tensor(values, dtype);
  }
  static Tensor array(std::initializer_list<std::initializer_list<double>> values, DType dtype = DType::f32) {
    return Tensor(values, dtype);
  }
  template <class V>
  static Tensor array(const std::vector<V>& values, const Shape& shape) {
    return Tensor(values, shape);
  }
  template <detail::NestedValues V>
  static Tensor array(const V& values, Where where = Where::current()) {
    return Tensor(values, where);
  }
  /// Random numbers that are uniform in [low, high). Shapes: -> shape. `kiln ops random_uniform` has the
  /// rest.
  static Tensor random_uniform(Number low, Number high, const Shape& shape, DType dtype = DType::f32,
                               Where where = Where::current());
  static Tensor random_uniform(const RandomUniformOptions& options, Where where = Where::current());
  /// Random numbers of the normal distribution with mean loc and standard deviation scale. Shapes: -> shape.
  /// `kiln ops random_normal` has the rest.
  static Tensor random_normal(Number loc, Number scale, const Shape& shape, DType dtype = DType::f32,
                              Where where = Where::current());
  static Tensor random_normal(const RandomNormalOptions& options, Where where = Where::current());
  /// Random numbers of the exponential distribution with rate lam. Shapes: -> shape.
  /// `kiln ops random_exponential` has the rest.
  ///
  /// Mean `scale`.
  static Tensor random_exponential(Number scale, const Shape& shape, DType dtype = DType::f32,
                                   Where where = Where::current());
  /// Random numbers of the gamma distribution with shape parameter alpha and scale beta. Shapes: -> shape.
  /// `kiln ops random_gamma` has the rest.
  ///
  /// Shape parameter alpha, scale beta.
  static Tensor random_gamma(Number alpha, Number beta, const Shape& shape, DType dtype = DType::f32,
                             Where where = Where::current());
  /// Random numbers of the Poisson distribution with mean lam. Shapes: -> shape. `kiln ops random_poisson`
  /// has the rest.
  static Tensor random_poisson(Number lam, const Shape& shape, DType dtype = DType::f32,
                               Where where = Where::current());
  /// Random integers that are uniform in [low, high). Shapes: -> shape. `kiln ops random_randint` has the
  /// rest.
  static Tensor random_randint(std::int64_t low, std::int64_t high, const Shape& shape,
                               DType dtype = DType::i32, Where where = Where::current());
  /// Waits for all work of all GPUs.
  static void waitall() { kiln::waitall(); }

  /// `F.random().uniform(...)`, `nd::random::uniform(...)`, and the families of `F.contrib()` and
  /// `F.linalg()`: see kiln/f_families.h. Loops and branches, `F.contrib().foreach(...)`:
  /// kiln/control_flow.h.
  struct random;
  struct contrib_operators;
  struct contrib;
  struct linalg;
  /// An object with the functions of its type, for Python's spelling. All are static, so that
  /// `F::linalg::gemm2(a, b)` is the same.
  /// @{
  static struct random random();
  static struct contrib contrib();
  static struct linalg linalg();
  /// @}

  /// MXNet's numpy operators and its extension of them, `F.npx().relu(F.np().exp(x))`: see kiln/f_numpy.h.
  struct numpy;
  struct npx;
  /// As random().
  /// @{
  static struct numpy np();
  static struct npx npx();
  /// @}
};

/// The operators outside of networks, as MXNet's module: `nd::zeros({2, 3})`, `nd::random::normal(0, 1,
/// {3})`.
using nd = F;

/// F::module_name(): "mxnet.ndarray", or "mxnet.symbol" while operators are recorded.
KILN_API std::ostream& operator<<(std::ostream& os, const F& F);

}  // namespace kiln

#include <kiln/f_families.h>
#include <kiln/f_numpy.h>

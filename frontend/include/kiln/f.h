// F: the operators, spelled as in Gluon code.
#pragma once
#include <kiln/f_options.h>
#include <kiln/tensor.h>

#include <iosfwd>
#include <string_view>
#include <vector>

namespace kiln {

/// The operators, spelled as in Gluon code. In `hybrid_forward(F& F, ...)`, `F.relu(x)` computes at once if
/// the network runs eagerly, and records a node while it is traced. Outside of networks: `nd::relu(x)`. An F
/// has no state.
///
/// The last argument of every function is the caller's source location for errors, dumps and profiles. All
/// throw kiln::Error for mismatched shapes or dtypes, with operator, shapes and line. Results are new arrays.
/// All inputs of one call have one dtype unless stated otherwise. Thread rule: as Tensor.
class KILN_API F {
 public:
  using Where = std::source_location;
  using Tensors = std::vector<Tensor>;

  /// "ndarray" in eager mode, "symbol" while recording.
  static std::string_view name();
  /// "mxnet.ndarray" or "mxnet.symbol", as the tutorials print it.
  static std::string module_name();

  // Pointwise: the result has the operand's shape and dtype.
  static Tensor relu(const Tensor& data, Where where = Where::current());
  static Tensor sigmoid(const Tensor& data, Where where = Where::current());
  static Tensor tanh(const Tensor& data, Where where = Where::current());
  static Tensor softsign(const Tensor& data, Where where = Where::current());
  static Tensor exp(const Tensor& data, Where where = Where::current());
  static Tensor log(const Tensor& data, Where where = Where::current());
  static Tensor log2(const Tensor& data, Where where = Where::current());
  static Tensor log10(const Tensor& data, Where where = Where::current());
  static Tensor log1p(const Tensor& data, Where where = Where::current());
  static Tensor expm1(const Tensor& data, Where where = Where::current());
  static Tensor sqrt(const Tensor& data, Where where = Where::current());
  static Tensor rsqrt(const Tensor& data, Where where = Where::current());
  static Tensor cbrt(const Tensor& data, Where where = Where::current());
  static Tensor rcbrt(const Tensor& data, Where where = Where::current());
  static Tensor square(const Tensor& data, Where where = Where::current());
  static Tensor reciprocal(const Tensor& data, Where where = Where::current());
  static Tensor abs(const Tensor& data, Where where = Where::current());
  static Tensor sign(const Tensor& data, Where where = Where::current());
  static Tensor negative(const Tensor& data, Where where = Where::current());
  static Tensor floor(const Tensor& data, Where where = Where::current());
  static Tensor ceil(const Tensor& data, Where where = Where::current());
  static Tensor round(const Tensor& data, Where where = Where::current());
  static Tensor rint(const Tensor& data, Where where = Where::current());
  static Tensor trunc(const Tensor& data, Where where = Where::current());
  static Tensor fix(const Tensor& data, Where where = Where::current());
  static Tensor sin(const Tensor& data, Where where = Where::current());
  static Tensor cos(const Tensor& data, Where where = Where::current());
  static Tensor tan(const Tensor& data, Where where = Where::current());
  static Tensor arcsin(const Tensor& data, Where where = Where::current());
  static Tensor arccos(const Tensor& data, Where where = Where::current());
  static Tensor arctan(const Tensor& data, Where where = Where::current());
  static Tensor sinh(const Tensor& data, Where where = Where::current());
  static Tensor cosh(const Tensor& data, Where where = Where::current());
  static Tensor arcsinh(const Tensor& data, Where where = Where::current());
  static Tensor arccosh(const Tensor& data, Where where = Where::current());
  static Tensor arctanh(const Tensor& data, Where where = Where::current());
  static Tensor erf(const Tensor& data, Where where = Where::current());
  static Tensor erfinv(const Tensor& data, Where where = Where::current());
  static Tensor gamma(const Tensor& data, Where where = Where::current());
  static Tensor gammaln(const Tensor& data, Where where = Where::current());
  static Tensor degrees(const Tensor& data, Where where = Where::current());
  static Tensor radians(const Tensor& data, Where where = Where::current());
  static Tensor logical_not(const Tensor& data, Where where = Where::current());
  static Tensor zeros_like(const Tensor& data, Where where = Where::current());
  static Tensor ones_like(const Tensor& data, Where where = Where::current());
  static Tensor identity(const Tensor& data, Where where = Where::current());
  static Tensor BlockGrad(const Tensor& data, Where where = Where::current());
  static Tensor stop_gradient(const Tensor& data, Where where = Where::current());
  static Tensor MakeLoss(const Tensor& data, Where where = Where::current());
  static Tensor make_loss(const Tensor& data, Where where = Where::current());
  static Tensor flatten(const Tensor& data, Where where = Where::current());
  static Tensor Flatten(const Tensor& data, Where where = Where::current());
  static Tensor shape_array(const Tensor& data, Where where = Where::current());
  static Tensor size_array(const Tensor& data, Where where = Where::current());
  static Tensor clip(const Tensor& data, Number a_min, Number a_max, Where where = Where::current());
  static Tensor clip(const Tensor& data, const ClipOptions& options, Where where = Where::current());
  /// Converts the elements.
  static Tensor cast(const Tensor& data, DType dtype, Where where = Where::current());
  static Tensor Cast(const Tensor& data, DType dtype, Where where = Where::current());

  // Two tensors. elemwise_*: equal shapes; broadcast_*: axes aligned from the right, extent 1
  // broadcasts.
  static Tensor elemwise_add(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  static Tensor elemwise_sub(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  static Tensor elemwise_mul(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  static Tensor elemwise_div(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  static Tensor broadcast_add(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  static Tensor broadcast_plus(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  static Tensor broadcast_sub(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  static Tensor broadcast_minus(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  static Tensor broadcast_mul(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  static Tensor broadcast_div(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  static Tensor broadcast_mod(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  static Tensor broadcast_power(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  static Tensor broadcast_maximum(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  static Tensor broadcast_minimum(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  static Tensor broadcast_hypot(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  static Tensor broadcast_equal(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  static Tensor broadcast_not_equal(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  static Tensor broadcast_greater(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  static Tensor broadcast_greater_equal(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  static Tensor broadcast_lesser(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  static Tensor broadcast_lesser_equal(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  static Tensor broadcast_logical_and(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  static Tensor broadcast_logical_or(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  static Tensor broadcast_logical_xor(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  static Tensor broadcast_like(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  static Tensor reshape_like(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  // Tensors or numbers, at least one tensor; broadcasting. Comparisons give 1 and 0 in the tensors' dtype.
  static Tensor add(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  static Tensor subtract(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  static Tensor multiply(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  static Tensor divide(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  static Tensor modulo(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  static Tensor power(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  static Tensor maximum(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  static Tensor minimum(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  static Tensor hypot(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  static Tensor equal(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  static Tensor not_equal(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  static Tensor greater(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  static Tensor greater_equal(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  static Tensor lesser(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  static Tensor lesser_equal(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  static Tensor logical_and(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  static Tensor logical_or(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  static Tensor logical_xor(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  /// The sum of arrays of equal shape.
  static Tensor add_n(const Tensors& args, Where where = Where::current());
  /// Selects elements of x where condition is not zero, else of y: arrays of one shape, which condition has
  /// too, or it has one element for each row. A number stands for an array of the other's shape and dtype;
  /// two numbers have condition's.
  static Tensor where(const Tensor& condition, const Operand& x, const Operand& y,
                      Where where = Where::current());

  // Layers.
  /// data (N, ...) . weight (num_hidden, K) transposed + bias (num_hidden).
  static Tensor FullyConnected(const Tensor& data, const Tensor& weight, const Tensor& bias,
                               const FullyConnectedOptions& options, Where where = Where::current());
  static Tensor FullyConnected(const Tensor& data, const Tensor& weight, const FullyConnectedOptions& options,
                               Where where = Where::current());
  /// data (N, C, spatial...), weight (num_filter, C / num_group, kernel...), bias (num_filter).
  static Tensor Convolution(const Tensor& data, const Tensor& weight, const Tensor& bias,
                            const ConvolutionOptions& options, Where where = Where::current());
  static Tensor Convolution(const Tensor& data, const Tensor& weight, const ConvolutionOptions& options,
                            Where where = Where::current());
  /// data (N, C, spatial...), weight (C, num_filter / num_group, kernel...), bias (num_filter). No
  /// bias unless no_bias is false.
  static Tensor Deconvolution(const Tensor& data, const Tensor& weight, const Tensor& bias,
                              const DeconvolutionOptions& options, Where where = Where::current());
  static Tensor Deconvolution(const Tensor& data, const Tensor& weight, const DeconvolutionOptions& options,
                              Where where = Where::current());
  static Tensor Pooling(const Tensor& data, const PoolingOptions& options, Where where = Where::current());
  /// Upsamples images (N, C, H, W) by `scale`; sample_type: nearest, or bilinear with a weight as second
  /// input.
  static Tensor UpSampling(const Tensors& args, const UpSamplingOptions& options,
                           Where where = Where::current());
  /// In training mode normalises by the batch's statistics and updates moving_mean and moving_var in place.
  static Tensor BatchNorm(const Tensor& data, const Tensor& gamma, const Tensor& beta,
                          const Tensor& moving_mean, const Tensor& moving_var,
                          const BatchNormOptions& options = {}, Where where = Where::current());
  static Tensor LayerNorm(const Tensor& data, const Tensor& gamma, const Tensor& beta,
                          const LayerNormOptions& options = {}, Where where = Where::current());
  static Tensor GroupNorm(const Tensor& data, const Tensor& gamma, const Tensor& beta,
                          const GroupNormOptions& options = {}, Where where = Where::current());
  static Tensor InstanceNorm(const Tensor& data, const Tensor& gamma, const Tensor& beta,
                             const InstanceNormOptions& options = {}, Where where = Where::current());
  /// mode: instance, channel, spatial.
  static Tensor L2Normalization(const Tensor& data, const L2NormalizationOptions& options = {},
                                Where where = Where::current());
  static Tensor LRN(const Tensor& data, const LRNOptions& options, Where where = Where::current());
  /// The identity outside of training mode.
  static Tensor Dropout(const Tensor& data, const DropoutOptions& options = {},
                        Where where = Where::current());
  /// act_type: relu, sigmoid, tanh, softrelu, softsign.
  static Tensor Activation(const Tensor& data, const ActivationOptions& options,
                           Where where = Where::current());
  /// act_type: leaky, elu, selu, gelu; prelu with gamma.
  static Tensor LeakyReLU(const Tensor& data, const LeakyReLUOptions& options = {},
                          Where where = Where::current());
  static Tensor LeakyReLU(const Tensor& data, const Tensor& gamma, const LeakyReLUOptions& options,
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
  static Tensor softmin(const Tensor& data, const SoftmaxOptions& options = {},
                        Where where = Where::current());
  static Tensor softmin(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return softmin(data, with_axis<SoftmaxOptions>(axis), where);
  }
  static Tensor SoftmaxActivation(const Tensor& data, const SoftmaxActivationOptions& options = {},
                                  Where where = Where::current());
  /// clip(alpha * data + beta, 0, 1)
  static Tensor hard_sigmoid(const Tensor& data, const HardSigmoidOptions& options = {},
                             Where where = Where::current());

  // Output layers: the label affects only the gradient.
  static Tensor SoftmaxOutput(const Tensor& data, const Tensor& label,
                              const SoftmaxOutputOptions& options = {}, Where where = Where::current());
  static Tensor LinearRegressionOutput(const Tensor& data, const Tensor& label,
                                       const RegressionOutputOptions& options = {},
                                       Where where = Where::current());
  static Tensor MAERegressionOutput(const Tensor& data, const Tensor& label,
                                    const RegressionOutputOptions& options = {},
                                    Where where = Where::current());
  static Tensor LogisticRegressionOutput(const Tensor& data, const Tensor& label,
                                         const RegressionOutputOptions& options = {},
                                         Where where = Where::current());
  /// The sum over the batch, (1,).
  static Tensor softmax_cross_entropy(const Tensor& data, const Tensor& label,
                                      Where where = Where::current());
  static Tensor smooth_l1(const Tensor& data, const SmoothL1Options& options = {},
                          Where where = Where::current());

  // Images (N, C, H, W).
  static Tensor depth_to_space(const Tensor& data, std::int64_t block_size, Where where = Where::current());
  static Tensor space_to_depth(const Tensor& data, std::int64_t block_size, Where where = Where::current());
  /// (N, C * kernel, positions).
  static Tensor im2col(const Tensor& data, const Im2colOptions& options, Where where = Where::current());
  /// One image, or two; the second gives the size.
  static Tensor Crop(const Tensors& data, const CropOptions& options = {}, Where where = Where::current());

  /// data: integers (any dtype); weight (input_dim, output_dim).
  static Tensor Embedding(const Tensor& data, const Tensor& weight, const EmbeddingOptions& options,
                          Where where = Where::current());

  // Contractions.
  static Tensor dot(const Tensor& lhs, const Tensor& rhs, const DotOptions& options = {},
                    Where where = Where::current());
  /// (B, n, k) . (B, k, m).
  static Tensor batch_dot(const Tensor& lhs, const Tensor& rhs, const DotOptions& options = {},
                          Where where = Where::current());

  /// Column-wise Kronecker product of matrices.
  static Tensor khatri_rao(const Tensors& args, Where where = Where::current());

  // Reductions; without axes over all of them, with shape (1,).
  static Tensor sum(const Tensor& data, const ReduceOptions& options = {}, Where where = Where::current());
  static Tensor sum(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return sum(data, with_axis<ReduceOptions>(axis), where);
  }
  static Tensor mean(const Tensor& data, const ReduceOptions& options = {}, Where where = Where::current());
  static Tensor mean(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return mean(data, with_axis<ReduceOptions>(axis), where);
  }
  static Tensor prod(const Tensor& data, const ReduceOptions& options = {}, Where where = Where::current());
  static Tensor prod(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return prod(data, with_axis<ReduceOptions>(axis), where);
  }
  static Tensor max(const Tensor& data, const ReduceOptions& options = {}, Where where = Where::current());
  static Tensor max(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return max(data, with_axis<ReduceOptions>(axis), where);
  }
  static Tensor min(const Tensor& data, const ReduceOptions& options = {}, Where where = Where::current());
  static Tensor min(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return min(data, with_axis<ReduceOptions>(axis), where);
  }
  static Tensor nansum(const Tensor& data, const ReduceOptions& options = {}, Where where = Where::current());
  static Tensor nansum(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return nansum(data, with_axis<ReduceOptions>(axis), where);
  }
  static Tensor nanprod(const Tensor& data, const ReduceOptions& options = {},
                        Where where = Where::current());
  static Tensor nanprod(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return nanprod(data, with_axis<ReduceOptions>(axis), where);
  }
  static Tensor norm(const Tensor& data, const NormOptions& options = {}, Where where = Where::current());
  static Tensor norm(const Tensor& data, Integer auto ord, Where where = Where::current()) {
    return norm(data, NormOptions{.ord = static_cast<std::int64_t>(ord)}, where);
  }
  static Tensor argmax(const Tensor& data, const ArgReduceOptions& options = {},
                       Where where = Where::current());
  static Tensor argmax(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return argmax(data, with_axis<ArgReduceOptions>(axis), where);
  }
  static Tensor argmin(const Tensor& data, const ArgReduceOptions& options = {},
                       Where where = Where::current());
  static Tensor argmin(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return argmin(data, with_axis<ArgReduceOptions>(axis), where);
  }
  /// argmax over axis 1.
  static Tensor argmax_channel(const Tensor& data, Where where = Where::current());
  /// Mean and variance.
  static Tensors moments(const Tensor& data, const MomentsOptions& options = {},
                         Where where = Where::current());

  // Shapes.
  /// 0 keeps an extent, -1 is inferred; -2, -3, -4 as Tensor::reshape.
  template <class = void>  // makes {.shape = ...} prefer the options
  static Tensor reshape(const Tensor& data, const Shape& shape, Where where = Where::current()) {
    return reshape(data, ReshapeOptions{.shape = shape}, where);
  }
  static Tensor reshape(const Tensor& data, const ReshapeOptions& options, Where where = Where::current());
  static Tensor Reshape(const Tensor& data, const ReshapeOptions& options, Where where = Where::current());
  /// Without axes reverses their order.
  static Tensor transpose(const Tensor& data, Where where = Where::current());
  template <class = void>  // makes {.axes = ...} prefer the options
  static Tensor transpose(const Tensor& data, const Shape& axes, Where where = Where::current()) {
    return transpose(data, TransposeOptions{.axes = axes}, where);
  }
  static Tensor transpose(const Tensor& data, const TransposeOptions& options,
                          Where where = Where::current());
  static Tensor swapaxes(const Tensor& data, const SwapAxesOptions& options, Where where = Where::current());
  static Tensor swapaxes(const Tensor& data, int dim1, int dim2, Where where = Where::current()) {
    return swapaxes(data, SwapAxesOptions{.dim1 = dim1, .dim2 = dim2}, where);
  }
  static Tensor SwapAxis(const Tensor& data, const SwapAxesOptions& options, Where where = Where::current());
  static Tensor SwapAxis(const Tensor& data, int dim1, int dim2, Where where = Where::current()) {
    return SwapAxis(data, SwapAxesOptions{.dim1 = dim1, .dim2 = dim2}, where);
  }
  static Tensor expand_dims(const Tensor& data, int axis, Where where = Where::current());
  static Tensor expand_dims(const Tensor& data, const AxisOptions& options, Where where = Where::current());
  static Tensor squeeze(const Tensor& data, const SqueezeOptions& options = {},
                        Where where = Where::current());
  static Tensor squeeze(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return squeeze(data, with_axis<SqueezeOptions>(axis), where);
  }
  static Tensor broadcast_to(const Tensor& data, const Shape& shape, Where where = Where::current());
  static Tensor broadcast_axis(const Tensor& data, const BroadcastAxisOptions& options,
                               Where where = Where::current());
  static Tensor broadcast_axis(const Tensor& data, const Axes& axis, const Axes& size,
                               Where where = Where::current()) {
    return broadcast_axis(data, BroadcastAxisOptions{.axis = axis, .size = size}, where);
  }
  static Tensor tile(const Tensor& data, const Shape& reps, Where where = Where::current());
  static Tensor repeat(const Tensor& data, const RepeatOptions& options, Where where = Where::current());
  static Tensor repeat(const Tensor& data, Integer auto repeats, Where where = Where::current()) {
    return repeat(data, RepeatOptions{.repeats = static_cast<std::int64_t>(repeats)}, where);
  }
  static Tensor repeat(const Tensor& data, std::int64_t repeats, std::int64_t axis,
                       Where where = Where::current()) {
    return repeat(data, RepeatOptions{.repeats = repeats, .axis = axis}, where);
  }
  static Tensor flip(const Tensor& data, const Shape& axis, Where where = Where::current());
  static Tensor flip(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return flip(data, Shape{static_cast<std::int64_t>(axis)}, where);
  }
  static Tensor reverse(const Tensor& data, const Shape& axis, Where where = Where::current());
  static Tensor reverse(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return reverse(data, Shape{static_cast<std::int64_t>(axis)}, where);
  }
  static Tensor pad(const Tensor& data, const PadOptions& options, Where where = Where::current());
  static Tensor Pad(const Tensor& data, const PadOptions& options, Where where = Where::current());
  static Tensor concat(const Tensors& data, const ConcatOptions& options = {},
                       Where where = Where::current());
  static Tensor concat(const Tensors& data, Integer auto dim, Where where = Where::current()) {
    return concat(data, ConcatOptions{.dim = static_cast<std::int64_t>(dim)}, where);
  }
  static Tensor Concat(const Tensors& data, const ConcatOptions& options = {},
                       Where where = Where::current());
  static Tensor Concat(const Tensors& data, Integer auto dim, Where where = Where::current()) {
    return Concat(data, ConcatOptions{.dim = static_cast<std::int64_t>(dim)}, where);
  }
  static Tensor stack(const Tensors& data, const StackOptions& options = {}, Where where = Where::current());
  static Tensor stack(const Tensors& data, Integer auto axis, Where where = Where::current()) {
    return stack(data, with_axis<StackOptions>(axis), where);
  }
  static Tensors split(const Tensor& data, const SplitOptions& options, Where where = Where::current());
  static Tensors split(const Tensor& data, Integer auto num_outputs, Where where = Where::current()) {
    return split(data, SplitOptions{.num_outputs = static_cast<std::int64_t>(num_outputs)}, where);
  }
  static Tensors split(const Tensor& data, std::int64_t num_outputs, std::int64_t axis,
                       Where where = Where::current()) {
    return split(data, SplitOptions{.num_outputs = num_outputs, .axis = axis}, where);
  }
  static Tensors SliceChannel(const Tensor& data, const SplitOptions& options,
                              Where where = Where::current());
  static Tensors SliceChannel(const Tensor& data, Integer auto num_outputs, Where where = Where::current()) {
    return SliceChannel(data, SplitOptions{.num_outputs = static_cast<std::int64_t>(num_outputs)}, where);
  }
  static Tensors SliceChannel(const Tensor& data, std::int64_t num_outputs, std::int64_t axis,
                              Where where = Where::current()) {
    return SliceChannel(data, SplitOptions{.num_outputs = num_outputs, .axis = axis}, where);
  }
  static Tensors split_v2(const Tensor& data, const SplitV2Options& options, Where where = Where::current());
  static Tensor slice(const Tensor& data, const SliceOptions& options, Where where = Where::current());
  static Tensor slice_axis(const Tensor& data, const SliceAxisOptions& options,
                           Where where = Where::current());
  static Tensor slice_axis(const Tensor& data, int axis, std::int64_t begin, std::optional<std::int64_t> end,
                           Where where = Where::current()) {
    return slice_axis(data, SliceAxisOptions{.axis = axis, .begin = begin, .end = end}, where);
  }
  static Tensor slice_like(const Tensor& data, const Tensor& shape_like, const Shape& axes = {},
                           Where where = Where::current());

  /// A diagonal matrix from a vector, or the diagonal of matrices.
  static Tensor diag(const Tensor& data, const DiagOptions& options = {}, Where where = Where::current());

  // Sequences: data (T, N, ...), or (N, T, ...) with axis 1. Lengths (N,) are used if use_sequence_length is
  // true.
  static Tensor SequenceMask(const Tensor& data, const Tensor& sequence_length,
                             const SequenceOptions& options, Where where = Where::current());
  static Tensor SequenceMask(const Tensor& data, const SequenceOptions& options = {},
                             Where where = Where::current());
  static Tensor SequenceLast(const Tensor& data, const Tensor& sequence_length,
                             const SequenceOptions& options, Where where = Where::current());
  static Tensor SequenceLast(const Tensor& data, const SequenceOptions& options = {},
                             Where where = Where::current());
  static Tensor SequenceReverse(const Tensor& data, const Tensor& sequence_length,
                                const SequenceOptions& options, Where where = Where::current());
  static Tensor SequenceReverse(const Tensor& data, const SequenceOptions& options = {},
                                Where where = Where::current());

  // Indexing; indices may have any dtype.
  /// indices (M, ...): data[indices[0], ..., indices[M - 1]] of shape indices.shape[1:] + data.shape[M:].
  static Tensor gather_nd(const Tensor& data, const Tensor& indices, Where where = Where::current());
  /// The inverse: zeros of `shape` with `data` at the index vectors; the last duplicate wins.
  static Tensor scatter_nd(const Tensor& data, const Tensor& indices, const Shape& shape,
                           Where where = Where::current());
  /// a (N, M), indices (N,): a[i, indices[i]].
  static Tensor batch_take(const Tensor& a, const Tensor& indices, Where where = Where::current());
  /// Converts between index vectors (M, N), one per column, into an array of that shape, and linear indices
  /// (N,).
  static Tensor ravel_multi_index(const Tensor& data, const Shape& shape, Where where = Where::current());
  static Tensor unravel_index(const Tensor& data, const Shape& shape, Where where = Where::current());
  static Tensor take(const Tensor& a, const Tensor& indices, const TakeOptions& options = {},
                     Where where = Where::current());
  static Tensor take(const Tensor& a, const Tensor& indices, Integer auto axis,
                     Where where = Where::current()) {
    return take(a, indices, with_axis<TakeOptions>(axis), where);
  }
  static Tensor pick(const Tensor& data, const Tensor& index, const PickOptions& options = {},
                     Where where = Where::current());
  static Tensor pick(const Tensor& data, const Tensor& index, Integer auto axis,
                     Where where = Where::current()) {
    return pick(data, index, with_axis<PickOptions>(axis), where);
  }
  static Tensor one_hot(const Tensor& indices, int depth, Where where = Where::current());
  static Tensor one_hot(const Tensor& indices, const OneHotOptions& options, Where where = Where::current());

  // Sorting along an axis. Stable; NaNs are last in both directions.
  static Tensor sort(const Tensor& data, const SortOptions& options = {}, Where where = Where::current());
  static Tensor sort(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return sort(data, with_axis<SortOptions>(axis), where);
  }
  /// Indices, by default as float32.
  static Tensor argsort(const Tensor& data, const ArgsortOptions& options = {},
                        Where where = Where::current());
  static Tensor argsort(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return argsort(data, with_axis<ArgsortOptions>(axis), where);
  }
  /// The k greatest (or least) elements. ret_typ: "indices", "value", or "mask" (1 and 0 in data's shape).
  static Tensor topk(const Tensor& data, const TopkOptions& options = {}, Where where = Where::current());
  static Tensor topk(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return topk(data, with_axis<TopkOptions>(axis), where);
  }
  /// ret_typ "both": values and indices.
  static Tensors topk_both(const Tensor& data, const TopkOptions& options = {},
                           Where where = Where::current());
  /// Cumulative sums, in order; without an axis over the flattened array.
  static Tensor cumsum(const Tensor& data, const CumsumOptions& options = {}, Where where = Where::current());
  static Tensor cumsum(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return cumsum(data, with_axis<CumsumOptions>(axis), where);
  }
  /// A random permutation along the first axis.
  static Tensor shuffle(const Tensor& data, Where where = Where::current());

  // Creation.
  static Tensor zeros(const Shape& shape, DType dtype = DType::f32, Where where = Where::current());
  static Tensor ones(const Shape& shape, DType dtype = DType::f32, Where where = Where::current());
  static Tensor full(const Shape& shape, Number value, DType dtype = DType::f32,
                     Where where = Where::current());
  static Tensor arange(Number stop, Where where = Where::current());
  static Tensor arange(Number start, Number stop, Number step = 1, int repeat = 1, DType dtype = DType::f32,
                       Where where = Where::current());
  /// N rows with ones on a diagonal.
  static Tensor eye(std::int64_t N, const EyeOptions& options = {}, Where where = Where::current());
  static Tensor linspace(Number start, Number stop, std::int64_t num, const LinspaceOptions& options = {},
                         Where where = Where::current());
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
  static Tensor random_uniform(Number low, Number high, const Shape& shape, DType dtype = DType::f32,
                               Where where = Where::current());
  static Tensor random_uniform(const RandomUniformOptions& options, Where where = Where::current());
  static Tensor random_normal(Number loc, Number scale, const Shape& shape, DType dtype = DType::f32,
                              Where where = Where::current());
  static Tensor random_normal(const RandomNormalOptions& options, Where where = Where::current());
  /// Mean `scale`.
  static Tensor random_exponential(Number scale, const Shape& shape, DType dtype = DType::f32,
                                   Where where = Where::current());
  /// Shape parameter alpha, scale beta.
  static Tensor random_gamma(Number alpha, Number beta, const Shape& shape, DType dtype = DType::f32,
                             Where where = Where::current());
  static Tensor random_poisson(Number lam, const Shape& shape, DType dtype = DType::f32,
                               Where where = Where::current());
  /// low <= x < high.
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
  static struct random random();
  static struct contrib contrib();
  static struct linalg linalg();

  /// MXNet's numpy operators and its extension of them, `F.npx().relu(F.np().exp(x))`: see kiln/f_numpy.h.
  struct numpy;
  struct npx;
  static struct numpy np();
  static struct npx npx();
};

/// The operators outside of networks, as MXNet's module: `nd::zeros({2, 3})`, `nd::random::normal(0, 1,
/// {3})`.
using nd = F;

/// F::module_name(): "mxnet.ndarray", or "mxnet.symbol" while operators are recorded.
KILN_API std::ostream& operator<<(std::ostream& os, const F& F);

}  // namespace kiln

#include <kiln/f_families.h>
#include <kiln/f_numpy.h>

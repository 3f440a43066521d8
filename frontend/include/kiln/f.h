// F: the operators, spelled as in Gluon code.
#pragma once
#include <kiln/f_plain.h>

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
///
/// The comment of a function says where its operator differs from these rules. A function of one array has
/// its shape. Any dtype is taken, and the result has it. A NaN gives NaN. A gradient passes. `kiln ops NAME`
/// and docs/operators.md have the rest: broadcasting, ties, empty arrays, integers, the gradient's formula.
class KILN_API F : public PlainFunctions {
 public:
  using Where = std::source_location;
  using Tensors = std::vector<Tensor>;

  /// "ndarray" in eager mode, "symbol" while recording.
  static std::string_view name();
  /// "mxnet.ndarray" or "mxnet.symbol", as the tutorials print it.
  static std::string module_name();

  /// x; its gradient is grad_scale. `kiln ops MakeLoss` has the rest.
  static Tensor MakeLoss(const Tensor& data, Where where = Where::current());
  /// Clips x to [a_min, a_max]. `kiln ops clip` has the rest.
  static Tensor clip(const Tensor& data, Number a_min, Number a_max, Where where = Where::current());
  static Tensor clip(const Tensor& data, const ClipOptions& options, Where where = Where::current());
  /// Casts x. `kiln ops cast` has the rest.
  static Tensor cast(const Tensor& data, DType dtype, Where where = Where::current());
  /// Casts x. `kiln ops Cast` has the rest.
  static Tensor Cast(const Tensor& data, DType dtype, Where where = Where::current());

  /// Broadcasts to the shape of rhs. `kiln ops broadcast_like` has the rest.
  static Tensor broadcast_like(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// Reshapes lhs to the shape of rhs, or axes of it. `kiln ops reshape_like` has the rest.
  static Tensor reshape_like(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  // Tensors or numbers, at least one tensor; broadcasting. Comparisons give 1 and 0 in the tensors' dtype.
  /// lhs + rhs. `kiln ops broadcast_add` has the rest.
  static Tensor add(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  /// lhs - rhs. `kiln ops broadcast_sub` has the rest.
  static Tensor subtract(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  /// lhs * rhs. `kiln ops broadcast_mul` has the rest.
  static Tensor multiply(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  /// lhs / rhs; integers are truncated. `kiln ops broadcast_div` has the rest.
  static Tensor divide(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  /// The remainder of lhs / rhs, with the divisor's sign. `kiln ops broadcast_mod` has the rest.
  static Tensor modulo(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  /// lhs to the power of rhs. `kiln ops broadcast_power` has the rest.
  static Tensor power(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  /// The greater of both. `kiln ops broadcast_maximum` has the rest.
  static Tensor maximum(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  /// The lesser of both. `kiln ops broadcast_minimum` has the rest.
  static Tensor minimum(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  /// sqrt(lhs^2 + rhs^2). `kiln ops broadcast_hypot` has the rest.
  static Tensor hypot(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  /// 1 where lhs == rhs, else 0. `kiln ops broadcast_equal` has the rest.
  static Tensor equal(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  /// 1 where lhs != rhs, else 0. `kiln ops broadcast_not_equal` has the rest.
  static Tensor not_equal(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  /// 1 where lhs > rhs, else 0. `kiln ops broadcast_greater` has the rest.
  static Tensor greater(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  /// 1 where lhs >= rhs, else 0. `kiln ops broadcast_greater_equal` has the rest.
  static Tensor greater_equal(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  /// 1 where lhs < rhs, else 0. `kiln ops broadcast_lesser` has the rest.
  static Tensor lesser(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  /// 1 where lhs <= rhs, else 0. `kiln ops broadcast_lesser_equal` has the rest.
  static Tensor lesser_equal(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  /// 1 where both are not 0. `kiln ops broadcast_logical_and` has the rest.
  static Tensor logical_and(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  /// 1 where one is not 0. `kiln ops broadcast_logical_or` has the rest.
  static Tensor logical_or(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  /// 1 where just one is not 0. `kiln ops broadcast_logical_xor` has the rest.
  static Tensor logical_xor(const Operand& lhs, const Operand& rhs, Where where = Where::current());
  /// x where the condition is not 0, else y. `kiln ops where` has the rest.
  ///
  /// A number stands for an array of the other's shape and dtype; two numbers have condition's.
  static Tensor where(const Tensor& condition, const Operand& x, const Operand& y,
                      Where where = Where::current());

  // Layers.
  /// data . weight^T + bias. `kiln ops FullyConnected` has the rest.
  static Tensor FullyConnected(const Tensor& data, const Tensor& weight, const Tensor& bias,
                               const FullyConnectedOptions& options, Where where = Where::current());
  static Tensor FullyConnected(const Tensor& data, const Tensor& weight, const FullyConnectedOptions& options,
                               Where where = Where::current());
  /// Cross-correlation with a bias, in one to three dimensions. `kiln ops Convolution` has the rest.
  static Tensor Convolution(const Tensor& data, const Tensor& weight, const Tensor& bias,
                            const ConvolutionOptions& options, Where where = Where::current());
  static Tensor Convolution(const Tensor& data, const Tensor& weight, const ConvolutionOptions& options,
                            Where where = Where::current());
  /// The transposed convolution, with a bias, in one to three dimensions. `kiln ops Deconvolution` has the
  /// rest.
  ///
  /// No bias unless no_bias is false.
  static Tensor Deconvolution(const Tensor& data, const Tensor& weight, const Tensor& bias,
                              const DeconvolutionOptions& options, Where where = Where::current());
  static Tensor Deconvolution(const Tensor& data, const Tensor& weight, const DeconvolutionOptions& options,
                              Where where = Where::current());
  /// Maximum, average, sum or p-norm over sliding windows. `kiln ops Pooling` has the rest.
  static Tensor Pooling(const Tensor& data, const PoolingOptions& options, Where where = Where::current());
  /// Upsamples images by an integer factor. `kiln ops UpSampling` has the rest.
  static Tensor UpSampling(const Tensors& args, const UpSamplingOptions& options,
                           Where where = Where::current());
  /// Batch normalisation: each channel normalised to mean beta and standard deviation gamma.
  /// `kiln ops BatchNorm` has the rest.
  ///
  /// In training mode normalises by the batch's statistics and updates moving_mean and moving_var in place.
  static Tensor BatchNorm(const Tensor& data, const Tensor& gamma, const Tensor& beta,
                          const Tensor& moving_mean, const Tensor& moving_var,
                          const BatchNormOptions& options = {}, Where where = Where::current());
  /// Layer normalisation over one axis. `kiln ops LayerNorm` has the rest.
  static Tensor LayerNorm(const Tensor& data, const Tensor& gamma, const Tensor& beta,
                          const LayerNormOptions& options = {}, Where where = Where::current());
  /// Group normalisation: groups of channels of each sample normalised. `kiln ops GroupNorm` has the rest.
  static Tensor GroupNorm(const Tensor& data, const Tensor& gamma, const Tensor& beta,
                          const GroupNormOptions& options = {}, Where where = Where::current());
  /// Instance normalisation: each channel of each sample normalised. `kiln ops InstanceNorm` has the rest.
  static Tensor InstanceNorm(const Tensor& data, const Tensor& gamma, const Tensor& beta,
                             const InstanceNormOptions& options = {}, Where where = Where::current());
  /// Activations that differ from x for negative x: leaky, prelu, rrelu, elu, selu, gelu.
  /// `kiln ops LeakyReLU` has the rest.
  static Tensor LeakyReLU(const Tensor& data, const LeakyReLUOptions& options = {},
                          Where where = Where::current());
  static Tensor LeakyReLU(const Tensor& data, const Tensor& gamma, const LeakyReLUOptions& options,
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
  /// Softmax of -x. `kiln ops softmin` has the rest.
  static Tensor softmin(const Tensor& data, const SoftmaxOptions& options = {},
                        Where where = Where::current());
  static Tensor softmin(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return softmin(data, with_axis<SoftmaxOptions>(axis), where);
  }

  // Output layers: the label affects only the gradient.
  /// data; its gradient is that of the squared error. `kiln ops LinearRegressionOutput` has the rest.
  static Tensor LinearRegressionOutput(const Tensor& data, const Tensor& label,
                                       const RegressionOutputOptions& options = {},
                                       Where where = Where::current());
  /// data; its gradient is that of the absolute error. `kiln ops MAERegressionOutput` has the rest.
  static Tensor MAERegressionOutput(const Tensor& data, const Tensor& label,
                                    const RegressionOutputOptions& options = {},
                                    Where where = Where::current());
  /// sigmoid(data); its gradient is that of the logistic loss. `kiln ops LogisticRegressionOutput` has the
  /// rest.
  static Tensor LogisticRegressionOutput(const Tensor& data, const Tensor& label,
                                         const RegressionOutputOptions& options = {},
                                         Where where = Where::current());
  /// Quadratic near zero, linear beyond. `kiln ops smooth_l1` has the rest.
  static Tensor smooth_l1(const Tensor& data, const SmoothL1Options& options = {},
                          Where where = Where::current());

  // Images (N, C, H, W).
  /// Moves channels into blocks of pixels. `kiln ops depth_to_space` has the rest.
  static Tensor depth_to_space(const Tensor& data, std::int64_t block_size, Where where = Where::current());
  /// Moves blocks of pixels into channels. `kiln ops space_to_depth` has the rest.
  static Tensor space_to_depth(const Tensor& data, std::int64_t block_size, Where where = Where::current());

  // Contractions.
  /// Batched matrix product. `kiln ops batch_dot` has the rest.
  ///
  /// (B, n, k) . (B, k, m).
  static Tensor batch_dot(const Tensor& lhs, const Tensor& rhs, const DotOptions& options = {},
                          Where where = Where::current());

  // Reductions; without axes over all of them, with shape (1,).
  /// The sum over axes. `kiln ops sum` has the rest.
  static Tensor sum(const Tensor& data, const ReduceOptions& options = {}, Where where = Where::current());
  static Tensor sum(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return sum(data, with_axis<ReduceOptions>(axis), where);
  }
  /// The mean over axes. `kiln ops mean` has the rest.
  static Tensor mean(const Tensor& data, const ReduceOptions& options = {}, Where where = Where::current());
  static Tensor mean(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return mean(data, with_axis<ReduceOptions>(axis), where);
  }
  /// The product over axes. `kiln ops prod` has the rest.
  static Tensor prod(const Tensor& data, const ReduceOptions& options = {}, Where where = Where::current());
  static Tensor prod(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return prod(data, with_axis<ReduceOptions>(axis), where);
  }
  /// The maximum over axes. `kiln ops max` has the rest.
  static Tensor max(const Tensor& data, const ReduceOptions& options = {}, Where where = Where::current());
  static Tensor max(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return max(data, with_axis<ReduceOptions>(axis), where);
  }
  /// The minimum over axes. `kiln ops min` has the rest.
  static Tensor min(const Tensor& data, const ReduceOptions& options = {}, Where where = Where::current());
  static Tensor min(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return min(data, with_axis<ReduceOptions>(axis), where);
  }
  /// The sum over axes, NaN as 0. `kiln ops nansum` has the rest.
  static Tensor nansum(const Tensor& data, const ReduceOptions& options = {}, Where where = Where::current());
  static Tensor nansum(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return nansum(data, with_axis<ReduceOptions>(axis), where);
  }
  /// The product over axes, NaN as 1. `kiln ops nanprod` has the rest.
  static Tensor nanprod(const Tensor& data, const ReduceOptions& options = {},
                        Where where = Where::current());
  static Tensor nanprod(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return nanprod(data, with_axis<ReduceOptions>(axis), where);
  }
  /// The 1-norm or 2-norm over axes. `kiln ops norm` has the rest.
  static Tensor norm(const Tensor& data, const NormOptions& options = {}, Where where = Where::current());
  static Tensor norm(const Tensor& data, Integer auto ord, Where where = Where::current()) {
    return norm(data, NormOptions{.ord = static_cast<std::int64_t>(ord)}, where);
  }
  /// The index of the maximum, in the dtype of data. `kiln ops argmax` has the rest.
  static Tensor argmax(const Tensor& data, const ArgReduceOptions& options = {},
                       Where where = Where::current());
  static Tensor argmax(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return argmax(data, with_axis<ArgReduceOptions>(axis), where);
  }
  /// The index of the minimum, in the dtype of data. `kiln ops argmin` has the rest.
  static Tensor argmin(const Tensor& data, const ArgReduceOptions& options = {},
                       Where where = Where::current());
  static Tensor argmin(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return argmin(data, with_axis<ArgReduceOptions>(axis), where);
  }
  /// Mean and variance over axes. `kiln ops moments` has the rest.
  static Tensors moments(const Tensor& data, const MomentsOptions& options = {},
                         Where where = Where::current());

  // Shapes.
  /// Reshapes in C order; 0 and -1 to -4 are codes. `kiln ops reshape` has the rest.
  ///
  /// 0 keeps an extent, -1 is inferred; -2, -3, -4 as Tensor::reshape.
  template <class = void>  // makes {.shape = ...} prefer the options
  static Tensor reshape(const Tensor& data, const Shape& shape, Where where = Where::current()) {
    return reshape(data, ReshapeOptions{.shape = shape}, where);
  }
  static Tensor reshape(const Tensor& data, const ReshapeOptions& options, Where where = Where::current());
  /// Reshapes in C order; 0 and -1 to -4 are codes. `kiln ops Reshape` has the rest.
  static Tensor Reshape(const Tensor& data, const ReshapeOptions& options, Where where = Where::current());
  /// Permutes the axes, by default reverses them. `kiln ops transpose` has the rest.
  static Tensor transpose(const Tensor& data, Where where = Where::current());
  template <class = void>  // makes {.axes = ...} prefer the options
  static Tensor transpose(const Tensor& data, const Shape& axes, Where where = Where::current()) {
    return transpose(data, TransposeOptions{.axes = axes}, where);
  }
  static Tensor transpose(const Tensor& data, const TransposeOptions& options,
                          Where where = Where::current());
  /// Swaps two axes. `kiln ops swapaxes` has the rest.
  static Tensor swapaxes(const Tensor& data, const SwapAxesOptions& options, Where where = Where::current());
  static Tensor swapaxes(const Tensor& data, int dim1, int dim2, Where where = Where::current()) {
    return swapaxes(data, SwapAxesOptions{.dim1 = dim1, .dim2 = dim2}, where);
  }
  /// Swaps two axes. `kiln ops SwapAxis` has the rest.
  static Tensor SwapAxis(const Tensor& data, const SwapAxesOptions& options, Where where = Where::current());
  static Tensor SwapAxis(const Tensor& data, int dim1, int dim2, Where where = Where::current()) {
    return SwapAxis(data, SwapAxesOptions{.dim1 = dim1, .dim2 = dim2}, where);
  }
  /// Inserts an axis of extent 1. `kiln ops expand_dims` has the rest.
  static Tensor expand_dims(const Tensor& data, int axis, Where where = Where::current());
  static Tensor expand_dims(const Tensor& data, const AxisOptions& options, Where where = Where::current());
  /// Removes axes of extent 1. `kiln ops squeeze` has the rest.
  static Tensor squeeze(const Tensor& data, const SqueezeOptions& options = {},
                        Where where = Where::current());
  static Tensor squeeze(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return squeeze(data, with_axis<SqueezeOptions>(axis), where);
  }
  /// Broadcasts to a shape; 0 keeps an extent. `kiln ops broadcast_to` has the rest.
  static Tensor broadcast_to(const Tensor& data, const Shape& shape, Where where = Where::current());
  /// Broadcasts axes of extent 1. `kiln ops broadcast_axis` has the rest.
  static Tensor broadcast_axis(const Tensor& data, const BroadcastAxisOptions& options,
                               Where where = Where::current());
  static Tensor broadcast_axis(const Tensor& data, const Axes& axis, const Axes& size,
                               Where where = Where::current()) {
    return broadcast_axis(data, BroadcastAxisOptions{.axis = axis, .size = size}, where);
  }
  /// Tiles the array along each axis. `kiln ops tile` has the rest.
  static Tensor tile(const Tensor& data, const Shape& reps, Where where = Where::current());
  /// Repeats each element. `kiln ops repeat` has the rest.
  static Tensor repeat(const Tensor& data, const RepeatOptions& options, Where where = Where::current());
  static Tensor repeat(const Tensor& data, Integer auto repeats, Where where = Where::current()) {
    return repeat(data, RepeatOptions{.repeats = static_cast<std::int64_t>(repeats)}, where);
  }
  static Tensor repeat(const Tensor& data, std::int64_t repeats, std::int64_t axis,
                       Where where = Where::current()) {
    return repeat(data, RepeatOptions{.repeats = repeats, .axis = axis}, where);
  }
  /// Reverses the elements along axes. `kiln ops flip` has the rest.
  static Tensor flip(const Tensor& data, const Shape& axis, Where where = Where::current());
  static Tensor flip(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return flip(data, Shape{static_cast<std::int64_t>(axis)}, where);
  }
  /// Reverses the elements along axes. `kiln ops reverse` has the rest.
  static Tensor reverse(const Tensor& data, const Shape& axis, Where where = Where::current());
  static Tensor reverse(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return reverse(data, Shape{static_cast<std::int64_t>(axis)}, where);
  }
  /// Pads with a constant, the edge or the reflection. `kiln ops pad` has the rest.
  static Tensor pad(const Tensor& data, const PadOptions& options, Where where = Where::current());
  /// Pads with a constant, the edge or the reflection. `kiln ops Pad` has the rest.
  static Tensor Pad(const Tensor& data, const PadOptions& options, Where where = Where::current());
  /// Concatenates arrays along an axis. `kiln ops concat` has the rest.
  static Tensor concat(const Tensors& data, const ConcatOptions& options = {},
                       Where where = Where::current());
  static Tensor concat(const Tensors& data, Integer auto dim, Where where = Where::current()) {
    return concat(data, ConcatOptions{.dim = static_cast<std::int64_t>(dim)}, where);
  }
  /// Concatenates arrays along an axis. `kiln ops Concat` has the rest.
  static Tensor Concat(const Tensors& data, const ConcatOptions& options = {},
                       Where where = Where::current());
  static Tensor Concat(const Tensors& data, Integer auto dim, Where where = Where::current()) {
    return Concat(data, ConcatOptions{.dim = static_cast<std::int64_t>(dim)}, where);
  }
  /// Stacks arrays along a new axis. `kiln ops stack` has the rest.
  static Tensor stack(const Tensors& data, const StackOptions& options = {}, Where where = Where::current());
  static Tensor stack(const Tensors& data, Integer auto axis, Where where = Where::current()) {
    return stack(data, with_axis<StackOptions>(axis), where);
  }
  /// Splits into equal parts along an axis. `kiln ops split` has the rest.
  static Tensors split(const Tensor& data, const SplitOptions& options, Where where = Where::current());
  static Tensors split(const Tensor& data, Integer auto num_outputs, Where where = Where::current()) {
    return split(data, SplitOptions{.num_outputs = static_cast<std::int64_t>(num_outputs)}, where);
  }
  static Tensors split(const Tensor& data, std::int64_t num_outputs, std::int64_t axis,
                       Where where = Where::current()) {
    return split(data, SplitOptions{.num_outputs = num_outputs, .axis = axis}, where);
  }
  /// Splits into equal parts along an axis. `kiln ops SliceChannel` has the rest.
  static Tensors SliceChannel(const Tensor& data, const SplitOptions& options,
                              Where where = Where::current());
  static Tensors SliceChannel(const Tensor& data, Integer auto num_outputs, Where where = Where::current()) {
    return SliceChannel(data, SplitOptions{.num_outputs = static_cast<std::int64_t>(num_outputs)}, where);
  }
  static Tensors SliceChannel(const Tensor& data, std::int64_t num_outputs, std::int64_t axis,
                              Where where = Where::current()) {
    return SliceChannel(data, SplitOptions{.num_outputs = num_outputs, .axis = axis}, where);
  }
  /// Splits along an axis, into equal parts or at given positions. `kiln ops _split_v2` has the rest.
  static Tensors split_v2(const Tensor& data, const SplitV2Options& options, Where where = Where::current());
  /// begin:end of one axis. `kiln ops slice_axis` has the rest.
  static Tensor slice_axis(const Tensor& data, const SliceAxisOptions& options,
                           Where where = Where::current());
  static Tensor slice_axis(const Tensor& data, int axis, std::int64_t begin, std::optional<std::int64_t> end,
                           Where where = Where::current()) {
    return slice_axis(data, SliceAxisOptions{.axis = axis, .begin = begin, .end = end}, where);
  }
  /// Slices data to the extents of another array. `kiln ops slice_like` has the rest.
  static Tensor slice_like(const Tensor& data, const Tensor& shape_like, const Shape& axes = {},
                           Where where = Where::current());

  // Sequences: data (T, N, ...), or (N, T, ...) with axis 1. Lengths (N,) are used if use_sequence_length is
  // true.
  /// Sets the steps after each sequence's end to a value. `kiln ops SequenceMask` has the rest.
  static Tensor SequenceMask(const Tensor& data, const Tensor& sequence_length,
                             const SequenceOptions& options, Where where = Where::current());
  static Tensor SequenceMask(const Tensor& data, const SequenceOptions& options = {},
                             Where where = Where::current());
  /// The last step of each sequence. `kiln ops SequenceLast` has the rest.
  static Tensor SequenceLast(const Tensor& data, const Tensor& sequence_length,
                             const SequenceOptions& options, Where where = Where::current());
  static Tensor SequenceLast(const Tensor& data, const SequenceOptions& options = {},
                             Where where = Where::current());
  /// Reverses the steps of each sequence; steps after its end are unchanged. `kiln ops SequenceReverse` has
  /// the rest.
  static Tensor SequenceReverse(const Tensor& data, const Tensor& sequence_length,
                                const SequenceOptions& options, Where where = Where::current());
  static Tensor SequenceReverse(const Tensor& data, const SequenceOptions& options = {},
                                Where where = Where::current());

  // Indexing; indices may have any dtype.
  /// Scatters slices into zeros by index vectors; of equal vectors the last wins. `kiln ops scatter_nd` has
  /// the rest.
  static Tensor scatter_nd(const Tensor& data, const Tensor& indices, const Shape& shape,
                           Where where = Where::current());
  /// The linear index of index vectors, given by column, into an array of a shape.
  /// `kiln ops ravel_multi_index` has the rest.
  static Tensor ravel_multi_index(const Tensor& data, const Shape& shape, Where where = Where::current());
  /// The index vectors, by column, of linear indices into an array of a shape. `kiln ops unravel_index` has
  /// the rest.
  static Tensor unravel_index(const Tensor& data, const Shape& shape, Where where = Where::current());
  /// Gathers slices along an axis by indices. `kiln ops take` has the rest.
  static Tensor take(const Tensor& a, const Tensor& indices, const TakeOptions& options = {},
                     Where where = Where::current());
  static Tensor take(const Tensor& a, const Tensor& indices, Integer auto axis,
                     Where where = Where::current()) {
    return take(a, indices, with_axis<TakeOptions>(axis), where);
  }
  /// Picks one element along an axis for each index. `kiln ops pick` has the rest.
  static Tensor pick(const Tensor& data, const Tensor& index, const PickOptions& options = {},
                     Where where = Where::current());
  static Tensor pick(const Tensor& data, const Tensor& index, Integer auto axis,
                     Where where = Where::current()) {
    return pick(data, index, with_axis<PickOptions>(axis), where);
  }
  /// One-hot encoding: on_value at each index, off_value elsewhere. `kiln ops one_hot` has the rest.
  static Tensor one_hot(const Tensor& indices, int depth, Where where = Where::current());
  static Tensor one_hot(const Tensor& indices, const OneHotOptions& options, Where where = Where::current());

  // Sorting along an axis. Stable; NaNs are last in both directions.
  /// Sorts along an axis. `kiln ops sort` has the rest.
  static Tensor sort(const Tensor& data, const SortOptions& options = {}, Where where = Where::current());
  static Tensor sort(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return sort(data, with_axis<SortOptions>(axis), where);
  }
  /// The indices that sort an axis; stable, NaN last. `kiln ops argsort` has the rest.
  ///
  /// Indices, by default as float32.
  static Tensor argsort(const Tensor& data, const ArgsortOptions& options = {},
                        Where where = Where::current());
  static Tensor argsort(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return argsort(data, with_axis<ArgsortOptions>(axis), where);
  }
  /// The k largest or smallest along an axis: their indices, values, both, or a mask. `kiln ops topk` has the
  /// rest.
  ///
  /// The k greatest (or least) elements. ret_typ: "indices", "value", or "mask" (1 and 0 in data's shape).
  static Tensor topk(const Tensor& data, const TopkOptions& options = {}, Where where = Where::current());
  static Tensor topk(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return topk(data, with_axis<TopkOptions>(axis), where);
  }
  /// The k largest or smallest along an axis: their indices, values, both, or a mask. `kiln ops topk` has the
  /// rest.
  ///
  /// ret_typ "both": values and indices.
  static Tensors topk_both(const Tensor& data, const TopkOptions& options = {},
                           Where where = Where::current());
  /// The cumulative sum along an axis, in the order of the axis. `kiln ops cumsum` has the rest.
  ///
  /// Cumulative sums, in order; without an axis over the flattened array.
  static Tensor cumsum(const Tensor& data, const CumsumOptions& options = {}, Where where = Where::current());
  static Tensor cumsum(const Tensor& data, Integer auto axis, Where where = Where::current()) {
    return cumsum(data, with_axis<CumsumOptions>(axis), where);
  }

  // Creation.
  /// An array of zeros. `kiln ops _zeros` has the rest.
  static Tensor zeros(const Shape& shape, DType dtype = DType::f32, Where where = Where::current());
  /// An array of ones. `kiln ops _ones` has the rest.
  static Tensor ones(const Shape& shape, DType dtype = DType::f32, Where where = Where::current());
  /// An array of one value. `kiln ops _full` has the rest.
  static Tensor full(const Shape& shape, Number value, DType dtype = DType::f32,
                     Where where = Where::current());
  /// start, start + step, ... below stop, each `repeat` times. `kiln ops _arange` has the rest.
  static Tensor arange(Number stop, Where where = Where::current());
  static Tensor arange(Number start, Number stop, Number step = 1, int repeat = 1, DType dtype = DType::f32,
                       Where where = Where::current());
  /// Ones on a diagonal, else zeros. `kiln ops _eye` has the rest.
  ///
  /// N rows with ones on a diagonal.
  static Tensor eye(std::int64_t N, const EyeOptions& options = {}, Where where = Where::current());
  /// Evenly spaced numbers, both ends included. `kiln ops _linspace` has the rest.
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
  /// Uniform in [low, high). `kiln ops random_uniform` has the rest.
  static Tensor random_uniform(Number low, Number high, const Shape& shape, DType dtype = DType::f32,
                               Where where = Where::current());
  static Tensor random_uniform(const RandomUniformOptions& options, Where where = Where::current());
  /// Normal with mean loc and deviation scale. `kiln ops random_normal` has the rest.
  static Tensor random_normal(Number loc, Number scale, const Shape& shape, DType dtype = DType::f32,
                              Where where = Where::current());
  static Tensor random_normal(const RandomNormalOptions& options, Where where = Where::current());
  /// Exponential with rate lam. `kiln ops random_exponential` has the rest.
  ///
  /// Mean `scale`.
  static Tensor random_exponential(Number scale, const Shape& shape, DType dtype = DType::f32,
                                   Where where = Where::current());
  /// Gamma with shape parameter alpha and scale beta. `kiln ops random_gamma` has the rest.
  ///
  /// Shape parameter alpha, scale beta.
  static Tensor random_gamma(Number alpha, Number beta, const Shape& shape, DType dtype = DType::f32,
                             Where where = Where::current());
  /// Poisson with mean lam. `kiln ops random_poisson` has the rest.
  static Tensor random_poisson(Number lam, const Shape& shape, DType dtype = DType::f32,
                               Where where = Where::current());
  /// Integers in [low, high). `kiln ops random_randint` has the rest.
  ///
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

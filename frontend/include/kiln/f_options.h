// The named arguments of operators.
#pragma once
#include <kiln/dtype.h>
#include <kiln/shape.h>

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// The named arguments of operators, with MXNet's names and order. Use designated initialisers, in the order
/// of the members: C++ rejects another order ("designator order for field"), as in
/// `F.Convolution(x, w, b, {.kernel = {3, 3}, .num_filter = 8})`. The graph and exported files record only
/// the given arguments; others have the operator's default. `name` names the node, prefixed by the current
/// name scope.
namespace kiln {

/// A number that keeps whether it was given as an integer: "1" or "1.0" in files.
class Number {
 public:
  /// From a number of C++.
  Number(double v) : value_(v) {}
  Number(float v) : value_(v) {}
  template <std::integral I>
  Number(I v) : value_(static_cast<double>(v)), integral_(true) {}
  /// The number, rounded to double.
  double value() const { return value_; }
  /// Whether it was given as an integer.
  bool integral() const { return integral_; }

 private:
  double value_;
  bool integral_ = false;
};

/// One axis, several, or none given (the default).
class Axes {
 public:
  Axes() = default;
  /// One axis, or a list of axes; negative: from the end.
  Axes(std::int64_t axis) : shape_{axis}, given_(true), single_(true) {}
  Axes(std::initializer_list<std::int64_t> axes) : shape_(axes), given_(true) {}
  Axes(const Shape& axes) : shape_(axes), given_(true) {}
  /// Whether axes are given, maybe an empty list.
  bool given() const { return given_; }
  /// Whether it is one axis, not a list: 1 instead of (1,) in files.
  bool single() const { return single_; }
  /// The axes in the order of the list; empty if none are given.
  const Shape& shape() const { return shape_; }

 private:
  Shape shape_;
  bool given_ = false;
  bool single_ = false;
};

/// A positional argument of Gluon, often an axis: F.sum(x, 1) is F.sum(x, {.axis = 1}). A template parameter,
/// so that a braced argument always means options.
template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;

/// Options with this axis, and the defaults of all others.
template <class Options>
Options with_axis(Integer auto axis) {
  Options options;
  options.axis = static_cast<std::int64_t>(axis);
  return options;
}

/// Bounds of a slice, one per axis; std::nullopt is Python's None.
using Bounds = std::vector<std::optional<std::int64_t>>;

// options: written by tools/reference, from the definitions.
/// Arguments of F::Activation and npx::activation.
struct ActivationOptions {
  /// The function. Required.
  std::string act_type = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::amp_cast.
struct AmpCastOptions {
  /// The result's dtype. Required.
  DType dtype = DType::f32;
  std::string name = {};  ///< of the node
};

/// Arguments of F::amp_multicast.
struct AmpMulticastOptions {
  /// The number of arrays, 1 or more. Required.
  std::int64_t num_outputs = 0;
  /// Whether the common dtype is the narrowest one. Default: False.
  std::optional<bool> cast_narrow = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::broadcast_like.
struct BroadcastLikeOptions {
  /// The axes of lhs to repeat; None, of either one: all.
  Shape lhs_axes = {};
  /// The axes of rhs with the new extents, one for each of lhs_axes.
  Shape rhs_axes = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::Crop.
struct CropOptions {
  /// The first row and column that are kept. (): 0. Default: ().
  Shape offset = {};
  /// The size of the result, with one input. (): 0. Default: ().
  Shape h_w = {};
  /// Whether the middle is kept; offset is unused then. Default: False.
  std::optional<bool> center_crop = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::diag.
struct DiagOptions {
  /// The diagonal: 0 is the main one, positive numbers are above it, negative ones below; at most 2^30 away.
  /// Default: 0.
  std::optional<std::int64_t> k = {};
  /// The axis of the rows of the matrices; not read for a vector. Default: 0.
  std::optional<std::int64_t> axis1 = {};
  /// The axis of the columns of the matrices; not read for a vector. Default: 1.
  std::optional<std::int64_t> axis2 = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::batch_dot, F::dot and npx::batch_dot.
struct DotOptions {
  /// Whether the first input is transposed. Default: False.
  std::optional<bool> transpose_a = {};
  /// Whether the second input is transposed. Default: False.
  std::optional<bool> transpose_b = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::Dropout and npx::dropout.
struct DropoutOptions {
  /// The probability that an element is dropped, from 0 to 1. Default: 0.5.
  std::optional<Number> p = {};
  /// always: elements are dropped outside of training too. Default: training.
  std::optional<std::string> mode = {};
  /// Axes along which all elements are kept or dropped together. Default: ().
  Shape axes = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::Embedding and npx::embedding.
struct EmbeddingOptions {
  /// V, the number of rows of weight, 1 or more. Required.
  std::int64_t input_dim = 0;
  /// D, the number of elements of a row, 1 or more. Required.
  std::int64_t output_dim = 0;
  /// The dtype of weight where the network does not declare one. Default: float32.
  std::optional<DType> dtype = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::hard_sigmoid.
struct HardSigmoidOptions {
  /// The slope. Default: 0.2.
  std::optional<Number> alpha = {};
  /// The value at 0. Default: 0.5.
  std::optional<Number> beta = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::im2col.
struct Im2colOptions {
  /// The extents of the window, one for each spatial axis. Required.
  Shape kernel = {};
  /// The distance of windows, one number for each spatial axis, 1 or more. (): 1. Default: ().
  Shape stride = {};
  /// The distance of elements within a window, one number for each spatial axis, 1 or more. (): 1. Default:
  /// ().
  Shape dilate = {};
  /// Zeros on both sides of each spatial axis, 0 or more. (): 0. Default: ().
  Shape pad = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::L2Normalization.
struct L2NormalizationOptions {
  /// Added to the sum of squares. Default: 1e-10.
  std::optional<Number> eps = {};
  /// The axes of a norm. instance: all except the first; channel: axis 1; spatial: all except the first two.
  /// Default: instance.
  std::optional<std::string> mode = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::LRN.
struct LRNOptions {
  /// The factor of the mean of squares. Default: 0.0001.
  std::optional<Number> alpha = {};
  /// The exponent. Default: 0.75.
  std::optional<Number> beta = {};
  /// The constant that is added. Default: 2.0.
  std::optional<Number> knorm = {};
  /// The number of channels of a window, odd. Required.
  std::int64_t nsize = 0;
  std::string name = {};  ///< of the node
};

/// Arguments of F::MakeLoss.
struct MakeLossOptions {
  /// The gradient of each element. Default: 1.0.
  std::optional<Number> grad_scale = {};
  /// With normalization valid: elements above it are counted. Default: 0.0.
  std::optional<Number> valid_thresh = {};
  /// The divisor of the gradient: the first extent, 1, or the number of valid elements. Default: null.
  std::optional<std::string> normalization = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::reshape_like.
struct ReshapeLikeOptions {
  /// The first replaced axis of lhs; None: 0.
  std::optional<std::int64_t> lhs_begin = {};
  /// The axis of lhs after the last replaced one; None: the rank of lhs.
  std::optional<std::int64_t> lhs_end = {};
  /// The first axis of rhs to take; None: 0.
  std::optional<std::int64_t> rhs_begin = {};
  /// The axis of rhs after the last one to take; None: the rank of rhs.
  std::optional<std::int64_t> rhs_end = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::slice.
struct SliceOptions {
  /// The first position on each leading axis; negative: from the end. None: the first of the axis, or the
  /// last if step is negative. Required.
  Bounds begin = {};
  /// The position after the last one, for each axis of begin; negative: from the end. None: the end of the
  /// axis, or its beginning if step is negative. Required.
  Bounds end = {};
  /// The distance of neighbours on each axis of begin; not 0. Negative: backwards. None: 1. (): 1 for all.
  /// Default: ().
  Bounds step = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::SoftmaxActivation.
struct SoftmaxActivationOptions {
  /// instance: over all axes but the first; channel: over axis 1. Default: instance.
  std::optional<std::string> mode = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::SoftmaxOutput.
struct SoftmaxOutputOptions {
  /// The factor of the gradient of data. Default: 1.0.
  std::optional<Number> grad_scale = {};
  /// The label, truncated to an integer, that use_ignore means. Default: -1.0.
  std::optional<Number> ignore_label = {};
  /// Whether axis 1 has the classes, and later axes are places. Default: False.
  std::optional<bool> multi_output = {};
  /// Whether places of ignore_label have the gradient 0. Default: False.
  std::optional<bool> use_ignore = {};
  /// Whether the last axis has the classes. Default: False.
  std::optional<bool> preserve_shape = {};
  /// n, the divisor of the gradient. With null it is 1, with batch the number of samples; both times the
  /// number of places with multi_output. With valid it is the number of labels that are not ignore_label, at
  /// least 1. Default: null.
  std::optional<std::string> normalization = {};
  /// Whether the gradient is multiplied by g. Default: False.
  std::optional<bool> out_grad = {};
  /// The part of the target that the other classes share. Default: 0.0.
  std::optional<Number> smooth_alpha = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::contrib::arange_like.
struct ContribArangeLikeOptions {
  /// The first number. Default: 0.0.
  std::optional<Number> start = {};
  /// The distance of neighbours. Default: 1.0.
  std::optional<Number> step = {};
  /// How often each number stands in the result. Default: 1.
  std::optional<std::int64_t> repeat = {};
  /// The axis whose extent is the length; None: all elements, in data's shape.
  std::optional<std::int64_t> axis = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::contrib::calibrate_entropy.
struct ContribCalibrateEntropyOptions {
  /// The number of integers of the range, 1 to N. Default: 255.
  std::optional<std::int64_t> num_quantized_bins = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::contrib::quadratic.
struct ContribQuadraticOptions {
  /// The coefficient of x^2. Default: 0.0.
  std::optional<Number> a = {};
  /// The coefficient of x. Default: 0.0.
  std::optional<Number> b = {};
  /// The constant term. Default: 0.0.
  std::optional<Number> c = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::contrib::quantize.
struct ContribQuantizeOptions {
  /// The dtype of the integers. Default: uint8.
  std::optional<std::string> out_type = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::contrib::quantize_v2.
struct ContribQuantizeV2Options {
  /// The dtype of the integers; auto: uint8 if min_calib_range is 0 or more, else int8. Default: int8.
  std::optional<std::string> out_type = {};
  /// The least number of the result's range, from calibration, or None.
  std::optional<Number> min_calib_range = {};
  /// The greatest number of the result's range, from calibration, or None.
  std::optional<Number> max_calib_range = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::contrib::quantized_act.
struct ContribQuantizedActOptions {
  /// The function. Only relu is supported; others throw. Required.
  std::string act_type = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::contrib::quantized_concat.
struct ContribQuantizedConcatOptions {
  /// The joined axis; negative: from the end. Default: 1.
  std::optional<std::int64_t> dim = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::contrib::quantized_elemwise_add.
struct ContribQuantizedElemwiseAddOptions {
  /// The least number of the result's range, from calibration, or None.
  std::optional<Number> min_calib_range = {};
  /// The greatest number of the result's range, from calibration, or None.
  std::optional<Number> max_calib_range = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::contrib::quantized_elemwise_mul.
struct ContribQuantizedElemwiseMulOptions {
  /// Whether the result is numbers, without a range. Default: False.
  std::optional<bool> enable_float_output = {};
  /// The least number of the result's range, from calibration, or None.
  std::optional<Number> min_calib_range = {};
  /// The greatest number of the result's range, from calibration, or None.
  std::optional<Number> max_calib_range = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::contrib::quantized_embedding.
struct ContribQuantizedEmbeddingOptions {
  /// V, the number of rows of weight, 1 or more. Required.
  std::int64_t input_dim = 0;
  /// D, the number of elements of a row, 1 or more. Required.
  std::int64_t output_dim = 0;
  std::string name = {};  ///< of the node
};

/// Arguments of F::contrib::quantized_pooling.
struct ContribQuantizedPoolingOptions {
  /// The extents of the window, one for each spatial axis. Unused with global_pool. Default: ().
  Shape kernel = {};
  /// The reduction. Default: max.
  std::optional<std::string> pool_type = {};
  /// Whether the window is the whole image, without padding. Default: False.
  std::optional<bool> global_pool = {};
  /// valid: only windows within the padded image. full: also a last window that reaches beyond it. same
  /// throws. Default: valid.
  std::optional<std::string> pooling_convention = {};
  /// The distance of windows, one number for each spatial axis, 1 or more. (): 1. Default: ().
  Shape stride = {};
  /// Padding on both sides of each spatial axis, 0 or more. (): 0. Default: ().
  Shape pad = {};
  /// Whether an average counts the padding in its window. None: it does.
  std::optional<bool> count_include_pad = {};
  /// The order of the axes of data and result. None and orders that begin with NC are supported; others
  /// throw.
  std::optional<std::string> layout = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::contrib::requantize.
struct ContribRequantizeOptions {
  /// The dtype of the integers; auto: uint8 if min_calib_range is 0 or more, else int8. Default: int8.
  std::optional<std::string> out_type = {};
  /// The least number of the result's range, from calibration, or None.
  std::optional<Number> min_calib_range = {};
  /// The greatest number of the result's range, from calibration, or None.
  std::optional<Number> max_calib_range = {};
  std::string name = {};  ///< of the node
};
// end of what tools/reference writes.

/// Arguments of F::FullyConnected, F::contrib::quantized_fully_connected and npx::fully_connected.
struct FullyConnectedOptions {
  /// O, the number of units, 1 or more. Required.
  std::int64_t num_hidden = 0;
  /// Whether there is no bias: the inputs are data and weight. Default: False.
  std::optional<bool> no_bias = {};
  /// Whether all axes of data except the first are the features of a row. False: the last axis alone.
  /// Default: True.
  std::optional<bool> flatten = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::Convolution, F::contrib::quantized_conv and npx::convolution.
struct ConvolutionOptions {
  /// The extents of the window, one for each spatial axis. Required.
  Shape kernel = {};
  /// The distance of windows, one number for each spatial axis, 1 or more. (): 1. Default: ().
  Shape stride = {};
  /// The distance of elements within a window, one number for each spatial axis, 1 or more. (): 1. Default:
  /// ().
  Shape dilate = {};
  /// Zeros on both sides of each spatial axis, 0 or more. (): 0. Default: ().
  Shape pad = {};
  /// O, the number of channels of the result. Required.
  std::int64_t num_filter = 0;
  /// g, the number of groups of channels. It divides C and O; each group of results reads its own group of
  /// data. Default: 1.
  std::optional<std::int64_t> num_group = {};
  /// The limit of MXNet's temporary memory, in MB. Default: 1024. Ignored: it selects an algorithm in MXNet's
  /// libraries.
  std::optional<std::int64_t> workspace = {};
  /// Whether there is no bias: the inputs are data and weight. Default: False.
  std::optional<bool> no_bias = {};
  /// The order of the axes of data and result. None and orders that begin with NC are supported; others
  /// throw.
  std::optional<std::string> layout = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::Deconvolution.
struct DeconvolutionOptions {
  /// The extents of the window, one for each spatial axis. Required.
  Shape kernel = {};
  /// The distance of windows, one number for each spatial axis, 1 or more. (): 1. Default: ().
  Shape stride = {};
  /// The distance of elements within a window, one number for each spatial axis, 1 or more. (): 1. Default:
  /// ().
  Shape dilate = {};
  /// Elements cut off on both sides of each spatial axis, 0 or more. (): 0. Default: ().
  Shape pad = {};
  /// Elements added after the end of each spatial axis, 0 or more. (): 0. Default: ().
  Shape adj = {};
  /// The spatial extents of the result, which determine pad and adj. (): pad and adj determine them. Default:
  /// ().
  Shape target_shape = {};
  /// O, the number of channels of the result. Required.
  std::int64_t num_filter = 0;
  /// g, the number of groups of channels. It divides C and O; each group of results reads its own group of
  /// data. Default: 1.
  std::optional<std::int64_t> num_group = {};
  /// The limit of MXNet's temporary memory, in MB. Default: 512. Ignored: it selects an algorithm in MXNet's
  /// libraries.
  std::optional<std::int64_t> workspace = {};
  /// Whether there is no bias: the inputs are data and weight. Default: True.
  std::optional<bool> no_bias = {};
  /// The order of the axes of data and result. None and orders that begin with NC are supported; others
  /// throw.
  std::optional<std::string> layout = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::UpSampling.
struct UpSamplingOptions {
  /// The factor of height and width, from 1 to 2^15. Required.
  std::int64_t scale = 1;
  /// nearest repeats elements; bilinear is a transposed convolution with the weight. Required.
  std::string sample_type = {};
  /// bilinear: the number of channels C, or 0. Default: 0.
  std::optional<std::int64_t> num_filter = {};
  /// nearest: whether several images are joined along the channels or added. Default: concat.
  std::optional<std::string> multi_input_mode = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::SequenceMask, F::SequenceLast and F::SequenceReverse.
///
/// SequenceLast, SequenceMask and SequenceReverse.
struct SequenceOptions {
  /// Whether the input sequence_length is given. False: every sequence has T steps. Default: False.
  std::optional<bool> use_sequence_length = {};
  std::optional<Number> value = {};  ///< SequenceMask only
  /// The axis of the steps: 0, or 1 for data (N, T, ...). Default: 0.
  std::optional<std::int64_t> axis = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::Pooling and npx::pooling.
struct PoolingOptions {
  /// The extents of the window, one for each spatial axis. Unused with global_pool. Default: ().
  Shape kernel = {};
  /// The reduction; lp is the p-norm. Default: max.
  std::optional<std::string> pool_type = {};
  /// Whether the window is the whole image, without padding. Default: False.
  std::optional<bool> global_pool = {};
  /// valid: only windows within the padded image. full: also a last window that reaches beyond it. same
  /// throws. Default: valid.
  std::optional<std::string> pooling_convention = {};
  /// The distance of windows, one number for each spatial axis, 1 or more. (): 1. Default: ().
  Shape stride = {};
  /// Padding on both sides of each spatial axis, 0 or more. (): 0. Default: ().
  Shape pad = {};
  /// p of lp: 1, 2 or 3. None: 2.
  std::optional<std::int64_t> p_value = {};
  /// Whether an average counts the padding in its window. None: it does.
  std::optional<bool> count_include_pad = {};
  /// The order of the axes of data and result. None and orders that begin with NC are supported; others
  /// throw.
  std::optional<std::string> layout = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::BatchNorm and npx::batch_norm.
struct BatchNormOptions {
  /// Added to the variance. Default: 0.001.
  std::optional<Number> eps = {};
  /// The part of the moving statistics that a call in training keeps. Default: 0.9.
  std::optional<Number> momentum = {};
  /// Whether gamma counts as 1, and has the gradient 0. Default: True.
  std::optional<bool> fix_gamma = {};
  /// Whether the moving statistics normalise in training too, and stay. Default: False.
  std::optional<bool> use_global_stats = {};
  /// The axis of the channels; negative from the end. Default: 1.
  std::optional<std::int64_t> axis = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::contrib::quantized_batch_norm.
struct QuantizedBatchNormOptions {
  /// Added to the variance. Default: 0.001.
  std::optional<Number> eps = {};
  /// Whether gamma counts as 1, and has the gradient 0. Default: True.
  std::optional<bool> fix_gamma = {};
  /// The axis of the channels; negative from the end. Default: 1.
  std::optional<std::int64_t> axis = {};
  /// The least number of the result's range, from calibration, or None.
  double min_calib_range = 0;
  /// The greatest number of the result's range, from calibration, or None.
  double max_calib_range = 0;
  std::string name = {};  ///< of the node
};

/// Arguments of F::LayerNorm and npx::layer_norm.
struct LayerNormOptions {
  /// The axis; negative from the end. Default: -1.
  std::optional<std::int64_t> axis = {};
  /// Added to the variance. Default: 1e-05.
  std::optional<Number> eps = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::LeakyReLU and npx::leaky_relu.
struct LeakyReLUOptions {
  /// The function; prelu alone has the input gamma. Default: leaky.
  std::optional<std::string> act_type = {};
  /// leaky and elu: the factor for x <= 0. Default: 0.25.
  std::optional<Number> slope = {};
  /// rrelu: the least slope. Default: 0.125.
  std::optional<Number> lower_bound = {};
  /// rrelu: the bound of slopes. In training each element has its own, uniform between both; in prediction
  /// their mean. Default: 0.334.
  std::optional<Number> upper_bound = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::softmax, F::log_softmax, F::softmin, npx::softmax and npx::log_softmax.
struct SoftmaxOptions {
  /// The axis of the sums; negative: from the last. Default: -1.
  std::optional<std::int64_t> axis = {};
  /// x is divided by it; None: 1.
  std::optional<Number> temperature = {};
  /// The result's dtype; None: the input's.
  std::optional<DType> dtype = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::sum, F::mean, F::prod, F::max, F::min, F::nansum and F::nanprod.
struct ReduceOptions {
  /// The reduced axes; negative: from the end. None or (): all.
  Axes axis = {};
  /// Whether reduced axes are kept, with extent 1. Default: False.
  std::optional<bool> keepdims = {};
  /// Whether axis lists the kept axes instead; None and () then reduce nothing. Default: False.
  std::optional<bool> exclude = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::norm.
struct NormOptions {
  /// The order of the norm, 1 or 2. Default: 2.
  std::optional<std::int64_t> ord = {};
  /// The reduced axes; negative: from the end. None or (): all.
  Axes axis = {};
  /// Whether reduced axes are kept, with extent 1. Default: False.
  std::optional<bool> keepdims = {};
  /// The dtype of the result; None: that of data. The norm is computed before it is converted.
  std::optional<DType> out_dtype = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::argmax, F::argmin, np::argmax and np::argmin.
struct ArgReduceOptions {
  /// The axis; negative: from the end. None: all elements, as a vector in C order.
  std::optional<std::int64_t> axis = {};
  /// Whether reduced axes are kept, with extent 1. Default: False.
  std::optional<bool> keepdims = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::sort.
///
/// Axis std::nullopt: the flattened array.
struct SortOptions {
  /// The axis; negative: from the end. None: the elements in C order, as a vector. Default: -1.
  std::optional<std::int64_t> axis = -1;
  /// Whether the least element is first, else the greatest. Default: True.
  std::optional<bool> is_ascend = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::argsort.
struct ArgsortOptions {
  /// The axis; negative: from the end. None: the elements in C order, as a vector. Default: -1.
  std::optional<std::int64_t> axis = -1;
  /// Whether the least element is first, else the greatest. Default: True.
  std::optional<bool> is_ascend = {};
  /// The dtype of the indices, which are converted as by Cast: float32 holds all up to 2^24. Default:
  /// float32.
  std::optional<DType> dtype = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::topk and F::topk_both.
struct TopkOptions {
  /// The axis; negative: from the end. None: the elements in C order, as a vector. Default: -1.
  std::optional<std::int64_t> axis = -1;
  /// The number of elements, at most the extent; below 1: all. Default: 1.
  std::optional<std::int64_t> k = {};
  /// The results: values and indices, indices, a mask, or values. Default: indices.
  std::optional<std::string> ret_typ = {};
  /// Whether the least element is first, else the greatest. Default: False.
  std::optional<bool> is_ascend = {};
  /// The dtype of the indices, which are converted as by Cast: float32 holds all up to 2^24. Default:
  /// float32.
  std::optional<DType> dtype = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::cumsum.
struct CumsumOptions {
  /// The axis; negative: from the end. None: the elements in C order, as a vector.
  std::optional<std::int64_t> axis = {};
  /// The result's dtype; None: that of a, int64 for bool.
  std::optional<DType> dtype = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::reshape and F::Reshape.
struct ReshapeOptions {
  /// The extents of the result; each steps to the next axis of data. Code 0 is the extent of data, and -1 is
  /// inferred, once. Code -2 stands for all extents that are left, -3 for the product of two. Codes -4, a, b
  /// split an extent into a and b; one of them may be -1. Default: ().
  Shape shape = {};
  /// Whether data and shape are read from their ends; -4 then follows its two extents. Default: False.
  std::optional<bool> reverse = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::transpose.
struct TransposeOptions {
  /// The permutation: each axis of data once; negative: from the end. (): the axes in reverse order. Default:
  /// ().
  Shape axes = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::expand_dims.
struct AxisOptions {
  /// The position of the new axis in the result; negative: from the end. Required.
  std::int64_t axis = 0;
  std::string name = {};  ///< of the node
};

/// Arguments of F::squeeze.
struct SqueezeOptions {
  /// The axes to remove; negative: from the end. None: all of extent 1. An axis of another extent throws.
  Axes axis = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::concat and F::Concat.
struct ConcatOptions {
  /// The joined axis; negative: from the end. Default: 1.
  std::optional<std::int64_t> dim = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::stack.
struct StackOptions {
  /// The position of the new axis in the result; negative: from the end. Default: 0.
  std::optional<std::int64_t> axis = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::split and F::SliceChannel.
struct SplitOptions {
  /// The number of parts, which divides the extent; at most 2^20. Required.
  std::int64_t num_outputs = 1;
  /// The split axis; negative: from the end. Default: 1.
  std::optional<std::int64_t> axis = {};
  /// Whether the axis is removed from parts of one element. Default: False.
  std::optional<bool> squeeze_axis = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::slice_axis.
struct SliceAxisOptions {
  /// The sliced axis; negative: from the end. Required.
  std::int64_t axis = 0;
  /// The first position; negative: from the end of the axis. Required.
  std::int64_t begin = 0;
  std::optional<std::int64_t> end = {};  ///< not given: to the end of the axis
  std::string name = {};                 ///< of the node
};

/// Arguments of F::clip.
struct ClipOptions {
  /// The lower bound. Required.
  Number a_min = 0;
  /// The upper bound. Required.
  Number a_max = 0;
  std::string name = {};  ///< of the node
};

/// Arguments of F::one_hot.
struct OneHotOptions {
  /// The length of the vectors, 0 or more. Required.
  std::int64_t depth = 0;
  /// The number at the index. Default: 1.0.
  std::optional<Number> on_value = {};
  /// The number elsewhere. Default: 0.0.
  std::optional<Number> off_value = {};
  /// The result's dtype. Default: float32.
  std::optional<DType> dtype = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::take.
struct TakeOptions {
  /// The axis of a; negative: from the end. Default: 0.
  std::optional<std::int64_t> axis = {};
  /// An index outside of [0, D): clip takes the nearest, or throws under Check::indices; wrap takes it modulo
  /// D; raise throws, for a negative one too. Default: clip.
  std::optional<std::string> mode = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::pick and npx::pick.
struct PickOptions {
  /// The axis; negative: from the end. In symbol files None: data is a vector in C order, with one index.
  /// Default: -1.
  std::optional<std::int64_t> axis = {};
  /// Whether the axis is kept, with extent 1. Default: False.
  std::optional<bool> keepdims = {};
  /// An index outside of [0, D): clip takes the nearest, or throws under Check::indices; wrap takes it modulo
  /// D. Default: clip.
  std::optional<std::string> mode = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::pad and F::Pad.
struct PadOptions {
  /// The border: one number, the nearest element, or the elements beside the edge in reverse order, without
  /// the edge. Required.
  std::string mode = {};
  std::vector<std::int64_t> pad_width = {};  ///< before and after, for each axis
  /// The number of the border in the mode constant. Default: 0.0.
  std::optional<Number> constant_value = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::repeat.
struct RepeatOptions {
  /// The number of copies of each element, 0 or more. Required.
  std::int64_t repeats = 1;
  /// The axis; negative: from the last. None: the elements in C order.
  std::optional<std::int64_t> axis = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::swapaxes and F::SwapAxis.
struct SwapAxesOptions {
  /// The first axis; negative: from the end. Default: 0.
  std::int64_t dim1 = 0;
  /// The second axis; negative: from the end. Default: 0.
  std::int64_t dim2 = 0;
  std::string name = {};  ///< of the node
};

/// Arguments of F::random_uniform.
struct RandomUniformOptions {
  /// The lower bound. Default: 0.0.
  std::optional<Number> low = {};
  /// The upper bound, not below low. Default: 1.0.
  std::optional<Number> high = {};
  /// The shape; None and () are a scalar, (1,) outside of numpy mode.
  Shape shape = {};
  /// The result's dtype; None: float32.
  std::optional<DType> dtype = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::random_normal.
struct RandomNormalOptions {
  /// The mean. Default: 0.0.
  std::optional<Number> loc = {};
  /// The standard deviation, not below 0. Default: 1.0.
  std::optional<Number> scale = {};
  /// The shape; None and () are a scalar, (1,) outside of numpy mode.
  Shape shape = {};
  /// The result's dtype; None: float32.
  std::optional<DType> dtype = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::GroupNorm.
struct GroupNormOptions {
  /// G, the number of groups, 1 or more. Default: 1.
  std::optional<std::int64_t> num_groups = {};
  /// Added to the variance. Default: 1e-05.
  std::optional<Number> eps = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::InstanceNorm.
struct InstanceNormOptions {
  /// Added to the variance. Default: 0.001.
  std::optional<Number> eps = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::moments.
struct MomentsOptions {
  /// The reduced axes; negative: from the end. None or (): all.
  Axes axes = {};
  /// Whether reduced axes are kept, with extent 1. Default: False.
  std::optional<bool> keepdims = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::LinearRegressionOutput, F::MAERegressionOutput and F::LogisticRegressionOutput.
///
/// LinearRegressionOutput, MAERegressionOutput and LogisticRegressionOutput.
struct RegressionOutputOptions {
  /// The factor of the gradient of data. Default: 1.0.
  std::optional<Number> grad_scale = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::smooth_l1.
struct SmoothL1Options {
  /// The pieces meet at |x| = 1 / scalar^2. Default: 1.0.
  std::optional<Number> scalar = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::contrib::BilinearResize2D.
struct BilinearResize2DOptions {
  /// H', if mode is size and there is no scale_height. Default: 1.
  std::optional<std::int64_t> height = {};
  /// W', if mode is size and there is no scale_width. Default: 1.
  std::optional<std::int64_t> width = {};
  /// The factor of H: H' = floor(H scale_height). odd_scale: H even: the same, H odd: floor((H - 1)
  /// scale_height) + 1.
  std::optional<Number> scale_height = {};
  /// The factor of W, likewise.
  std::optional<Number> scale_width = {};
  /// The source of H' and W'. With size: height, width or the scales. With odd_scale: the scales. With like:
  /// the image like. With the others, as to_odd_up: the next odd or even number that is not below or above H.
  /// Default: size.
  std::optional<std::string> mode = {};
  /// Whether the corners of data are the corners of the result. False: the borders are. Default: True.
  std::optional<bool> align_corners = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::broadcast_axis.
struct BroadcastAxisOptions {
  /// The axes to repeat; negative ones count from the last. Default: ().
  Axes axis = {};
  /// The new extent of each of them. Default: ().
  Axes size = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::split_v2.
struct SplitV2Options {
  Shape indices = {};         ///< start of each part; the first is 0
  std::int64_t sections = 0;  ///< or: number of equal parts
  /// The split axis; negative: from the end. Default: 1.
  std::int64_t axis = 0;
  /// Whether the axis is removed from parts of one element. Default: False.
  bool squeeze_axis = false;
  std::string name = {};  ///< of the node
};

/// Arguments of F::eye.
struct EyeOptions {
  std::optional<std::int64_t> M = {};  ///< columns; default: the number of rows
  /// The diagonal: positive above the main one, negative below. Default: 0.
  std::optional<std::int64_t> k = {};
  /// The result's dtype. Default: float32.
  std::optional<DType> dtype = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::linspace.
struct LinspaceOptions {
  /// Whether stop is the last point. Default: True.
  std::optional<bool> endpoint = {};
  /// The result's dtype. Default: float32.
  std::optional<DType> dtype = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::linalg::gemm and F::linalg::gemm2.
struct GemmOptions {
  /// Whether the first input is transposed. Default: False.
  std::optional<bool> transpose_a = {};
  /// Whether the second input is transposed. Default: False.
  std::optional<bool> transpose_b = {};
  /// The factor of the product. Default: 1.0.
  std::optional<Number> alpha = {};
  std::optional<Number> beta = {};  ///< gemm only
  /// The axis of the rows of all matrices; the columns are along the last axis. Default: -2.
  std::optional<std::int64_t> axis = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::linalg::syrk.
struct SyrkOptions {
  /// Whether the result is A^T A, and not A A^T. Default: False.
  std::optional<bool> transpose = {};
  /// The factor of the product. Default: 1.0.
  std::optional<Number> alpha = {};
  std::string name = {};  ///< of the node
};

}  // namespace kiln

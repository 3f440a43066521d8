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
  Number(double v) : value_(v) {}
  Number(float v) : value_(v) {}
  template <std::integral I>
  Number(I v) : value_(static_cast<double>(v)), integral_(true) {}
  double value() const { return value_; }
  bool integral() const { return integral_; }

 private:
  double value_;
  bool integral_ = false;
};

/// One axis, several, or none given (the default).
class Axes {
 public:
  Axes() = default;
  Axes(std::int64_t axis) : shape_{axis}, given_(true), single_(true) {}
  Axes(std::initializer_list<std::int64_t> axes) : shape_(axes), given_(true) {}
  Axes(const Shape& axes) : shape_(axes), given_(true) {}
  bool given() const { return given_; }
  bool single() const { return single_; }
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
  std::string act_type = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::amp_cast.
struct AmpCastOptions {
  DType dtype = DType::f32;
  std::string name = {};  ///< of the node
};

/// Arguments of F::Crop.
struct CropOptions {
  Shape offset = {};
  Shape h_w = {};
  std::optional<bool> center_crop = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::diag.
struct DiagOptions {
  std::optional<std::int64_t> k = {};
  std::optional<std::int64_t> axis1 = {};
  std::optional<std::int64_t> axis2 = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::batch_dot, F::dot and npx::batch_dot.
struct DotOptions {
  std::optional<bool> transpose_a = {};
  std::optional<bool> transpose_b = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::Dropout and npx::dropout.
struct DropoutOptions {
  std::optional<Number> p = {};
  std::optional<std::string> mode = {};
  Shape axes = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::Embedding and npx::embedding.
struct EmbeddingOptions {
  std::int64_t input_dim = 0;
  std::int64_t output_dim = 0;
  std::optional<DType> dtype = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::hard_sigmoid.
struct HardSigmoidOptions {
  std::optional<Number> alpha = {};
  std::optional<Number> beta = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::im2col.
struct Im2colOptions {
  Shape kernel = {};
  Shape stride = {};
  Shape dilate = {};
  Shape pad = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::L2Normalization.
struct L2NormalizationOptions {
  std::optional<Number> eps = {};
  std::optional<std::string> mode = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::LRN.
struct LRNOptions {
  std::optional<Number> alpha = {};
  std::optional<Number> beta = {};
  std::optional<Number> knorm = {};
  std::int64_t nsize = 0;
  std::string name = {};  ///< of the node
};

/// Arguments of F::slice.
struct SliceOptions {
  Bounds begin = {};
  Bounds end = {};
  Bounds step = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::SoftmaxActivation.
struct SoftmaxActivationOptions {
  std::optional<std::string> mode = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::SoftmaxOutput.
struct SoftmaxOutputOptions {
  std::optional<Number> grad_scale = {};
  std::optional<Number> ignore_label = {};
  std::optional<bool> multi_output = {};
  std::optional<bool> use_ignore = {};
  std::optional<bool> preserve_shape = {};
  std::optional<std::string> normalization = {};
  std::optional<bool> out_grad = {};
  std::optional<Number> smooth_alpha = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::contrib::arange_like.
struct ArangeLikeOptions {
  std::optional<Number> start = {};
  std::optional<Number> step = {};
  std::optional<std::int64_t> repeat = {};
  std::optional<std::int64_t> axis = {};
  std::string name = {};  ///< of the node
};

/// Arguments of F::contrib::quadratic.
struct QuadraticOptions {
  std::optional<Number> a = {};
  std::optional<Number> b = {};
  std::optional<Number> c = {};
  std::string name = {};  ///< of the node
};
// end of what tools/reference writes.

/// Arguments of F::FullyConnected and npx::fully_connected.
struct FullyConnectedOptions {
  std::int64_t num_hidden = 0;
  std::optional<bool> no_bias = {};
  std::optional<bool> flatten = {};
  std::string name = {};
};

/// Arguments of F::Convolution and npx::convolution.
struct ConvolutionOptions {
  Shape kernel = {};
  Shape stride = {};
  Shape dilate = {};
  Shape pad = {};
  std::int64_t num_filter = 0;
  std::optional<std::int64_t> num_group = {};
  std::optional<std::int64_t> workspace = {};
  std::optional<bool> no_bias = {};
  std::optional<std::string> layout = {};
  std::string name = {};
};

/// Arguments of F::Deconvolution.
struct DeconvolutionOptions {
  Shape kernel = {};
  Shape stride = {};
  Shape dilate = {};
  Shape pad = {};
  Shape adj = {};
  Shape target_shape = {};
  std::int64_t num_filter = 0;
  std::optional<std::int64_t> num_group = {};
  std::optional<std::int64_t> workspace = {};
  std::optional<bool> no_bias = {};
  std::optional<std::string> layout = {};
  std::string name = {};
};

/// Arguments of F::UpSampling.
struct UpSamplingOptions {
  std::int64_t scale = 1;
  std::string sample_type = {};
  std::optional<std::int64_t> num_filter = {};
  std::optional<std::string> multi_input_mode = {};
  std::string name = {};
};

/// Arguments of F::SequenceMask, F::SequenceLast and F::SequenceReverse.
///
/// SequenceLast, SequenceMask and SequenceReverse.
struct SequenceOptions {
  std::optional<bool> use_sequence_length = {};
  std::optional<Number> value = {};  ///< SequenceMask only
  std::optional<std::int64_t> axis = {};
  std::string name = {};
};

/// Arguments of F::Pooling and npx::pooling.
struct PoolingOptions {
  Shape kernel = {};
  std::optional<std::string> pool_type = {};
  std::optional<bool> global_pool = {};
  std::optional<std::string> pooling_convention = {};
  Shape stride = {};
  Shape pad = {};
  std::optional<std::int64_t> p_value = {};
  std::optional<bool> count_include_pad = {};
  std::optional<std::string> layout = {};
  std::string name = {};
};

/// Arguments of F::BatchNorm and npx::batch_norm.
struct BatchNormOptions {
  std::optional<Number> eps = {};
  std::optional<Number> momentum = {};
  std::optional<bool> fix_gamma = {};
  std::optional<bool> use_global_stats = {};
  std::optional<std::int64_t> axis = {};
  std::string name = {};
};

/// Arguments of F::LayerNorm and npx::layer_norm.
struct LayerNormOptions {
  std::optional<std::int64_t> axis = {};
  std::optional<Number> eps = {};
  std::string name = {};
};

/// Arguments of F::LeakyReLU and npx::leaky_relu.
struct LeakyReLUOptions {
  std::optional<std::string> act_type = {};
  std::optional<Number> slope = {};
  std::optional<Number> lower_bound = {};
  std::optional<Number> upper_bound = {};
  std::string name = {};
};

/// Arguments of F::softmax, F::log_softmax, F::softmin, npx::softmax and npx::log_softmax.
struct SoftmaxOptions {
  std::optional<std::int64_t> axis = {};
  std::optional<Number> temperature = {};
  std::optional<DType> dtype = {};
  std::string name = {};
};

/// Arguments of F::sum, F::mean, F::prod, F::max, F::min, F::nansum and F::nanprod.
struct ReduceOptions {
  Axes axis = {};
  std::optional<bool> keepdims = {};
  std::optional<bool> exclude = {};
  std::string name = {};
};

/// Arguments of F::norm.
struct NormOptions {
  std::optional<std::int64_t> ord = {};
  Axes axis = {};
  std::optional<bool> keepdims = {};
  std::string name = {};
};

/// Arguments of F::argmax, F::argmin, np::argmax and np::argmin.
struct ArgReduceOptions {
  std::optional<std::int64_t> axis = {};
  std::optional<bool> keepdims = {};
  std::string name = {};
};

/// Arguments of F::sort.
///
/// Axis std::nullopt: the flattened array.
struct SortOptions {
  std::optional<std::int64_t> axis = -1;
  std::optional<bool> is_ascend = {};
  std::string name = {};
};

/// Arguments of F::argsort.
struct ArgsortOptions {
  std::optional<std::int64_t> axis = -1;
  std::optional<bool> is_ascend = {};
  std::optional<DType> dtype = {};
  std::string name = {};
};

/// Arguments of F::topk and F::topk_both.
struct TopkOptions {
  std::optional<std::int64_t> axis = -1;
  std::optional<std::int64_t> k = {};
  std::optional<std::string> ret_typ = {};
  std::optional<bool> is_ascend = {};
  std::optional<DType> dtype = {};
  std::string name = {};
};

/// Arguments of F::cumsum.
struct CumsumOptions {
  std::optional<std::int64_t> axis = {};
  std::optional<DType> dtype = {};
  std::string name = {};
};

/// Arguments of F::reshape and F::Reshape.
struct ReshapeOptions {
  Shape shape = {};
  std::optional<bool> reverse = {};
  std::string name = {};
};

/// Arguments of F::transpose.
struct TransposeOptions {
  Shape axes = {};
  std::string name = {};
};

/// Arguments of F::expand_dims.
struct AxisOptions {
  std::int64_t axis = 0;
  std::string name = {};
};

/// Arguments of F::squeeze.
struct SqueezeOptions {
  Axes axis = {};
  std::string name = {};
};

/// Arguments of F::concat and F::Concat.
struct ConcatOptions {
  std::optional<std::int64_t> dim = {};
  std::string name = {};
};

/// Arguments of F::stack.
struct StackOptions {
  std::optional<std::int64_t> axis = {};
  std::string name = {};
};

/// Arguments of F::split and F::SliceChannel.
struct SplitOptions {
  std::int64_t num_outputs = 1;
  std::optional<std::int64_t> axis = {};
  std::optional<bool> squeeze_axis = {};
  std::string name = {};
};

/// Arguments of F::slice_axis.
struct SliceAxisOptions {
  std::int64_t axis = 0;
  std::int64_t begin = 0;
  std::optional<std::int64_t> end = {};  ///< not given: to the end of the axis
  std::string name = {};
};

/// Arguments of F::clip.
struct ClipOptions {
  Number a_min = 0;
  Number a_max = 0;
  std::string name = {};
};

/// Arguments of F::one_hot.
struct OneHotOptions {
  std::int64_t depth = 0;
  std::optional<Number> on_value = {};
  std::optional<Number> off_value = {};
  std::optional<DType> dtype = {};
  std::string name = {};
};

/// Arguments of F::take.
struct TakeOptions {
  std::optional<std::int64_t> axis = {};
  std::optional<std::string> mode = {};
  std::string name = {};
};

/// Arguments of F::pick and npx::pick.
struct PickOptions {
  std::optional<std::int64_t> axis = {};
  std::optional<bool> keepdims = {};
  std::optional<std::string> mode = {};
  std::string name = {};
};

/// Arguments of F::pad and F::Pad.
struct PadOptions {
  std::string mode = {};
  std::vector<std::int64_t> pad_width = {};  ///< before and after, for each axis
  std::optional<Number> constant_value = {};
  std::string name = {};
};

/// Arguments of F::repeat.
struct RepeatOptions {
  std::int64_t repeats = 1;
  std::optional<std::int64_t> axis = {};
  std::string name = {};
};

/// Arguments of F::swapaxes and F::SwapAxis.
struct SwapAxesOptions {
  std::int64_t dim1 = 0;
  std::int64_t dim2 = 0;
  std::string name = {};
};

/// Arguments of F::random_uniform.
struct RandomUniformOptions {
  std::optional<Number> low = {};
  std::optional<Number> high = {};
  Shape shape = {};
  std::optional<DType> dtype = {};
  std::string name = {};
};

/// Arguments of F::random_normal.
struct RandomNormalOptions {
  std::optional<Number> loc = {};
  std::optional<Number> scale = {};
  Shape shape = {};
  std::optional<DType> dtype = {};
  std::string name = {};
};

/// Arguments of F::GroupNorm.
struct GroupNormOptions {
  std::optional<std::int64_t> num_groups = {};
  std::optional<Number> eps = {};
  std::string name = {};
};

/// Arguments of F::InstanceNorm.
struct InstanceNormOptions {
  std::optional<Number> eps = {};
  std::string name = {};
};

/// Arguments of F::moments.
struct MomentsOptions {
  Axes axes = {};
  std::optional<bool> keepdims = {};
  std::string name = {};
};

/// Arguments of F::LinearRegressionOutput, F::MAERegressionOutput and F::LogisticRegressionOutput.
///
/// LinearRegressionOutput, MAERegressionOutput and LogisticRegressionOutput.
struct RegressionOutputOptions {
  std::optional<Number> grad_scale = {};
  std::string name = {};
};

/// Arguments of F::smooth_l1.
struct SmoothL1Options {
  std::optional<Number> scalar = {};
  std::string name = {};
};

/// Arguments of F::contrib::BilinearResize2D.
struct BilinearResize2DOptions {
  std::optional<std::int64_t> height = {};
  std::optional<std::int64_t> width = {};
  std::optional<Number> scale_height = {};
  std::optional<Number> scale_width = {};
  std::optional<std::string> mode = {};
  std::optional<bool> align_corners = {};
  std::string name = {};
};

/// Arguments of F::broadcast_axis.
struct BroadcastAxisOptions {
  Axes axis = {};
  Axes size = {};
  std::string name = {};
};

/// Arguments of F::split_v2.
struct SplitV2Options {
  Shape indices = {};         ///< start of each part; the first is 0
  std::int64_t sections = 0;  ///< or: number of equal parts
  std::int64_t axis = 0;
  bool squeeze_axis = false;
  std::string name = {};
};

/// Arguments of F::eye.
struct EyeOptions {
  std::optional<std::int64_t> M = {};  ///< columns; default: the number of rows
  std::optional<std::int64_t> k = {};
  std::optional<DType> dtype = {};
  std::string name = {};
};

/// Arguments of F::linspace.
struct LinspaceOptions {
  std::optional<bool> endpoint = {};
  std::optional<DType> dtype = {};
  std::string name = {};
};

/// Arguments of F::linalg::gemm and F::linalg::gemm2.
struct GemmOptions {
  std::optional<bool> transpose_a = {};
  std::optional<bool> transpose_b = {};
  std::optional<Number> alpha = {};
  std::optional<Number> beta = {};  ///< gemm only
  std::optional<std::int64_t> axis = {};
  std::string name = {};
};

/// Arguments of F::linalg::syrk.
struct SyrkOptions {
  std::optional<bool> transpose = {};
  std::optional<Number> alpha = {};
  std::string name = {};
};

}  // namespace kiln

// Layers.
#pragma once
#include <kiln/containers.h>

namespace kiln {

namespace detail {
struct LayerConfig;  // the operator and its attributes; frontend/gluon/nn/nn_layer.h
}

/// Layers with MXNet's names, defaults and printed forms. Inputs are (batch, ...). Extents that are not given
/// are inferred by the first call. The main arguments of a layer come first, then its options in a struct:
/// `Dense(10, {.use_bias = false})`. Its members are named in the order in which they are declared, as
/// MXNet's arguments are: C++ rejects {.padding = 1, .strides = 2} ("designator order").
namespace nn {

/// One number for all axes of a window, or one per axis.
class Extents {
 public:
  /// One extent for all axes, or one for each.
  /// @{
  Extents(int all) : all_(all) {}
  Extents(std::initializer_list<std::int64_t> each) : each_(each) {}
  Extents(const Shape& each) : each_(each) {}
  /// @}
  /// The extents for `rank` axes. Throws for another number of extents; `what` names them in the message.
  KILN_API Shape of_rank(int rank, const char* what) const;

 private:
  std::optional<int> all_;
  Shape each_;
};

/// The base of layers: one operator with its attributes.
class KILN_API Layer : public HybridBlock {
 public:
  std::string class_name() const override;

 protected:
  Layer(const BlockOptions& options, std::string_view kind, std::shared_ptr<const detail::LayerConfig> config)
      : HybridBlock(options, kind), config_(std::move(config)) {}
  /// Applies the operator, as the node "fwd" of this block.
  Tensor apply_op(std::initializer_list<Tensor> inputs) const;
  std::shared_ptr<const detail::LayerConfig> config_;
};

/// activation(x): "relu", "sigmoid", "tanh", "softrelu" or "softsign".
///
/// Calls Activation. Result: relu: max(x, 0); sigmoid: 1 / (1 + e^-x); tanh: tanh(x); softrelu: log(1 + e^x),
/// x where x > 20; softsign: x / (1 + |x|). `kiln ops Activation` has the rest.
class KILN_API Activation : public Layer {
 public:
  explicit Activation(const std::string& act_type, const BlockOptions& options = {},
                      Where where = Where::current());
  std::string str() const override;

 protected:
  Tensor hybrid_forward(F& F, const Tensor& x) override;

 private:
  std::string act_type_;
};

/// Options of Dense. Options of the same name mean the same in all layers.
struct DenseOptions {
  std::string activation = {};             ///< of the result; empty for none
  bool use_bias = true;                    ///< whether a learnt bias is added
  bool flatten = true;                     ///< flattens all axes but the first; else contracts only the last
  DType dtype = DType::f32;                ///< of the parameters
  Initializer weight_initializer = {};     ///< of the weight; undefined: the network's
  Initializer bias_initializer = "zeros";  ///< of the bias
  std::int64_t in_units = 0;               ///< features of the input; 0: from the first one
  std::optional<std::string> prefix = {};  ///< of the block's name; nothing: made from its class
  const ParameterDict* params = nullptr;   ///< parameters to share; null: own ones
};
/// x weight^T + bias: (batch, in) -> (batch, units). weight is (units, in), bias (units).
///
/// Calls FullyConnected. Shapes: data (N, ...), weight (O, K), bias (O) -> (N, O). Result: y[n, o] = sum over
/// k of data[n, k] weight[o, k] + bias[o]. `kiln ops FullyConnected` has the rest.
class KILN_API Dense : public Layer {
 public:
  /// A layer of `units` outputs.
  explicit Dense(std::int64_t units, const DenseOptions& options = {}, Where where = Where::current());
  /// `Dense(10, "relu", {.use_bias = false})`: `activation` instead of the options' own.
  template <std::convertible_to<std::string> S>
  Dense(std::int64_t units, const S& activation, const DenseOptions& options = {},
        Where where = Where::current())
      : Dense(units, with_activation(options, activation), where) {}
  std::string str() const override;
  Parameter weight, bias;  ///< (units, in) and (units,); bias is undefined without `use_bias`

 protected:
  Tensor hybrid_forward(F& F, const Tensor& x) override;

 private:
  static DenseOptions with_activation(DenseOptions options, std::string activation) {
    options.activation = std::move(activation);
    return options;
  }
  std::shared_ptr<Activation> act_;
};

/// Options of convolutions, transposed ones included.
struct ConvOptions {
  Extents kernel_size = 1;     ///< of the window
  Extents strides = 1;         ///< from one window to the next
  Extents padding = 0;         ///< zeros before and after each axis
  Extents output_padding = 0;  ///< transposed convolutions: extra extents at the end of each axis
  Extents dilation = 1;        ///< from one element of a window to the next
  std::int64_t groups = 1;     ///< parts of the channels that do not mix
  std::string activation = {};
  bool use_bias = true;
  Initializer weight_initializer = {};
  Initializer bias_initializer = "zeros";
  std::int64_t in_channels = 0;  ///< channels of the input; 0: from the first one
  std::optional<std::string> prefix = {};
  const ParameterDict* params = nullptr;
};
/// Convolution (cross-correlation) of (batch, in_channels, window...). weight is (channels,
/// in_channels/groups, kernel...); of a transposed convolution (in_channels, channels/groups, kernel...).
///
/// Calls Convolution. Shapes: data (N, C, H, W), weight (O, C/g, kH, kW), bias (O) -> (N, O, H', W'), g
/// groups. `kiln ops Convolution` has the rest. Calls Deconvolution. Shapes: data (N, C, H, W), weight (C,
/// O/g, kH, kW), bias (O) -> (N, O, H', W'), g groups. `kiln ops Deconvolution` has the rest.
class KILN_API Conv : public Layer {
 public:
  std::string str() const override;
  Parameter weight, bias;  ///< bias is (channels,), and undefined without `use_bias`

 protected:
  Conv(int rank, std::int64_t channels, const ConvOptions& options, bool transposed, Where where);
  static ConvOptions with_kernel(ConvOptions options, const Extents& kernel_size) {
    options.kernel_size = kernel_size;
    return options;
  }
  Tensor hybrid_forward(F& F, const Tensor& x) override;

 private:
  Shape kernel_, stride_, pad_, dilate_;
  std::int64_t groups_;
  std::shared_ptr<Activation> act_;
};
#define KILN_CONV(NAME, RANK, TRANSPOSED)                                                   \
  struct KILN_API NAME : Conv {                                                             \
    NAME(std::int64_t channels, const ConvOptions& options, Where where = Where::current()) \
        : Conv(RANK, channels, options, TRANSPOSED, where) {}                               \
    NAME(std::int64_t channels, int kernel_size, const ConvOptions& options = {},           \
         Where where = Where::current())                                                    \
        : Conv(RANK, channels, with_kernel(options, kernel_size), TRANSPOSED, where) {}     \
    NAME(std::int64_t channels, const Extents& kernel_size, const ConvOptions& options,     \
         Where where = Where::current())                                                    \
        : Conv(RANK, channels, with_kernel(options, kernel_size), TRANSPOSED, where) {}     \
    std::string class_name() const override;                                                \
  }
/// `Conv2D(8, 3)`, `Conv2D(8, 3, {.padding = 1})`, `Conv2D(8, {3, 5}, {.strides = 2})`: a kernel size beside
/// the options instead of theirs.
KILN_CONV(Conv1D, 1, false);
KILN_CONV(Conv2D, 2, false);
KILN_CONV(Conv3D, 3, false);
/// Transposed convolution; the extent along each axis of the window is
/// (in - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1.
KILN_CONV(Conv1DTranspose, 1, true);
KILN_CONV(Conv2DTranspose, 2, true);
KILN_CONV(Conv3DTranspose, 3, true);
#undef KILN_CONV

/// Options of poolings.
struct PoolOptions {
  Extents pool_size = 2;                ///< of the window
  std::optional<Extents> strides = {};  ///< default: pool_size
  Extents padding = 0;
  bool ceil_mode = false;         ///< the last window may exceed the padded input
  bool count_include_pad = true;  ///< average pooling: padding counts as zeros; else it is excluded
  std::optional<std::string> prefix = {};
};
/// The maximum or mean of each window.
///
/// Calls Pooling. Shapes: data (N, C, H, W) -> (N, C, H', W'). `kiln ops Pooling` has the rest.
class KILN_API Pool : public Layer {
 public:
  std::string str() const override;

 protected:
  Pool(int rank, const char* type, bool global, const PoolOptions& options, Where where);
  Tensor hybrid_forward(F& F, const Tensor& x) override;

 private:
  Shape size_, stride_, pad_;
  bool ceil_, global_;
  const char* type_;
};
#define KILN_POOL(NAME, RANK, TYPE)                                                                   \
  struct KILN_API NAME : Pool {                                                                       \
    explicit NAME(const PoolOptions& options = {}, Where where = Where::current())                    \
        : Pool(RANK, TYPE, false, options, where) {}                                                  \
    explicit NAME(int pool_size, Where where = Where::current())                                      \
        : NAME(PoolOptions{.pool_size = pool_size}, where) {}                                         \
    NAME(int pool_size, int strides, int padding = 0, Where where = Where::current())                 \
        : NAME(PoolOptions{.pool_size = pool_size, .strides = strides, .padding = padding}, where) {} \
    std::string class_name() const override;                                                          \
  }
/// The maximum of each window, or its mean, over one to three axes after batch and channels.
KILN_POOL(MaxPool1D, 1, "max");
KILN_POOL(MaxPool2D, 2, "max");
KILN_POOL(MaxPool3D, 3, "max");
KILN_POOL(AvgPool1D, 1, "avg");
KILN_POOL(AvgPool2D, 2, "avg");
KILN_POOL(AvgPool3D, 3, "avg");
#undef KILN_POOL
/// One value per channel: (batch, channels, ...) -> (batch, channels, 1, ...).
#define KILN_GLOBAL_POOL(NAME, RANK, TYPE)                                                             \
  struct KILN_API NAME : Pool {                                                                        \
    explicit NAME(const BlockOptions& options = {})                                                    \
        : Pool(RANK, TYPE, true, {.pool_size = 1, .ceil_mode = true, .prefix = options.prefix}, {}) {} \
    std::string class_name() const override;                                                           \
  }
KILN_GLOBAL_POOL(GlobalMaxPool1D, 1, "max");
KILN_GLOBAL_POOL(GlobalMaxPool2D, 2, "max");
KILN_GLOBAL_POOL(GlobalMaxPool3D, 3, "max");
KILN_GLOBAL_POOL(GlobalAvgPool1D, 1, "avg");
KILN_GLOBAL_POOL(GlobalAvgPool2D, 2, "avg");
KILN_GLOBAL_POOL(GlobalAvgPool3D, 3, "avg");
#undef KILN_GLOBAL_POOL

/// Reflection padding of images (batch, channels, height, width).
///
/// Calls Pad. Shapes: data (D0, D1, ...) -> (b0 + D0 + a0, b1 + D1 + a1, ...); b and a are the widths before
/// and after each axis. `kiln ops Pad` has the rest.
class KILN_API ReflectionPad2D : public HybridBlock {
 public:
  /// One number for all four sides, or MXNet's eight (low and high per axis), the first four 0.
  explicit ReflectionPad2D(const Shape& padding, const BlockOptions& options = {},
                           Where where = Where::current());
  explicit ReflectionPad2D(int padding = 0, const BlockOptions& options = {}, Where where = Where::current())
      : ReflectionPad2D(Shape{padding}, options, where) {}

 protected:
  Tensor hybrid_forward(F& F, const Tensor& x) override;

 private:
  Shape padding_;
};

/// Options of BatchNorm.
struct BatchNormOptions {
  int axis = 1;                   ///< the axis of the channels; LayerNorm: the axis that is normalised
  double momentum = 0.9;          ///< share of the old statistics that stays
  double epsilon = 1e-5;          ///< added to the variance
  bool center = true;             ///< false: beta is 0
  bool scale = true;              ///< false: gamma is 1
  bool use_global_stats = false;  ///< running statistics in training mode too
  Initializer beta_initializer = "zeros";             ///< of beta, which is added
  Initializer gamma_initializer = "ones";             ///< of gamma, the factor
  Initializer running_mean_initializer = "zeros";     ///< of the statistic
  Initializer running_variance_initializer = "ones";  ///< of the statistic
  std::int64_t in_channels = 0;
  std::optional<std::string> prefix = {};
  const ParameterDict* params = nullptr;
};
/// Normalises per channel to mean 0 and variance 1, then applies gamma and beta. Training mode uses the
/// batch's statistics and updates the running ones.
///
/// Calls BatchNorm. Shapes: data (N, C, ...), gamma (C), beta (C), moving_mean (C), moving_var (C) -> (N, C,
/// ...); with output_mean_var also mean (C), var (C). axis names the axis C. `kiln ops BatchNorm` has the
/// rest.
class KILN_API BatchNorm : public Layer {
 public:
  /// Throws for a momentum outside of [0, 1] and a negative epsilon.
  explicit BatchNorm(const BatchNormOptions& options = {}, Where where = Where::current());
  std::string str() const override;
  /// Its parameters are float32 under half precision, as in MXNet.
  void cast(DType dtype) override;
  Parameter gamma, beta, running_mean, running_var;  ///< (channels,) each

 protected:
  BatchNorm(const BatchNormOptions& options, std::string_view kind,
            std::shared_ptr<const detail::LayerConfig> config, Where where);
  Tensor hybrid_forward(F& F, const Tensor& x) override;

 private:
  int axis_;
};
/// BatchNorm, then relu.
///
/// Calls _contrib_BatchNormWithReLU. Shapes: data (N, C, ...), gamma (C), beta (C), moving_mean (C),
/// moving_var (C) -> (N, C, ...); with output_mean_var also mean (C), var (C). axis names the axis C. Result:
/// y = max((data - mean) gamma / sqrt(variance + eps) + beta, 0), with the statistics of BatchNorm.
/// `kiln ops _contrib_BatchNormWithReLU` has the rest.
class KILN_API BatchNormReLU : public BatchNorm {
 public:
  explicit BatchNormReLU(const BatchNormOptions& options = {}, Where where = Where::current());
  std::string class_name() const override;
};

/// Options of LayerNorm.
struct NormOptions {
  int axis = -1;
  double epsilon = 1e-5;
  bool center = true;
  bool scale = true;
  Initializer beta_initializer = "zeros";
  Initializer gamma_initializer = "ones";
  std::int64_t in_channels = 0;
  std::optional<std::string> prefix = {};
  const ParameterDict* params = nullptr;
};
/// Normalises along one axis of each sample, then applies gamma and beta.
///
/// Calls LayerNorm. Shapes: data (..., C), gamma (C), beta (C) -> (..., C); with output_mean_var also mean
/// (..., 1), std (..., 1). C is the extent of the axis. Result: y = (data - mean) gamma / std + beta, std =
/// sqrt(variance + eps), with mean and variance (divided by C) along the axis. `kiln ops LayerNorm` has the
/// rest.
class KILN_API LayerNorm : public Layer {
 public:
  /// Throws for a negative epsilon, as the other normalizations do.
  explicit LayerNorm(const NormOptions& options = {}, Where where = Where::current());
  std::string str() const override;
  Parameter gamma, beta;  ///< of the extent of `axis`

 protected:
  Tensor hybrid_forward(F& F, const Tensor& x) override;

 private:
  NormOptions options_;
};
/// Options of InstanceNorm.
struct InstanceNormOptions {
  int axis = 1;
  double epsilon = 1e-5;
  bool center = true;
  bool scale = false;  ///< whether gamma is learnt
  Initializer beta_initializer = "zeros";
  Initializer gamma_initializer = "ones";
  std::int64_t in_channels = 0;
  std::optional<std::string> prefix = {};
  const ParameterDict* params = nullptr;
};
/// Normalises per sample and channel, over all other axes. `axis` is the axis of channels.
///
/// Calls InstanceNorm. Shapes: data (N, C, ...), gamma (C), beta (C) -> (N, C, ...). Result: y = (data -
/// mean) gamma / sqrt(variance + eps) + beta, with mean and variance (divided by the number of elements) over
/// all axes except the first two. `kiln ops InstanceNorm` has the rest.
class KILN_API InstanceNorm : public Layer {
 public:
  explicit InstanceNorm(const InstanceNormOptions& options = {}, Where where = Where::current());
  std::string str() const override;
  Parameter gamma, beta;  ///< (channels,)

 protected:
  Tensor hybrid_forward(F& F, const Tensor& x) override;

 private:
  InstanceNormOptions options_;
};

/// Options of GroupNorm.
struct GroupNormOptions {
  std::int64_t num_groups = 1;  ///< parts of the channels that are normalised together
  double epsilon = 1e-5;
  bool center = true;
  bool scale = true;
  Initializer beta_initializer = "zeros";
  Initializer gamma_initializer = "ones";
  std::optional<std::string> prefix = {};
  const ParameterDict* params = nullptr;
};
/// Normalises per sample and group of channels. gamma and beta are (num_groups,).
///
/// Calls GroupNorm. Shapes: data (N, C, ...), gamma (G), beta (G) -> (N, C, ...); with output_mean_var also
/// mean (N, G), std (N, G). G is num_groups and divides C. Result: y = (data - mean) gamma[group] / std +
/// beta[group], std = sqrt(variance + eps), with mean and variance (divided by the number of elements) of
/// each group. `kiln ops GroupNorm` has the rest.
class KILN_API GroupNorm : public Layer {
 public:
  explicit GroupNorm(const GroupNormOptions& options = {}, Where where = Where::current());
  std::string str() const override;
  Parameter gamma, beta;  ///< (num_groups,)

 protected:
  Tensor hybrid_forward(F& F, const Tensor& x) override;

 private:
  GroupNormOptions options_;
};

/// Options of Dropout.
struct DropoutOptions {
  Shape axes = {};  ///< axes that share one mask
  std::optional<std::string> prefix = {};
};
/// In training mode zeroes each element with probability `rate` and scales the others by 1 / (1 - rate); else
/// the identity.
///
/// Calls Dropout. `kiln ops Dropout` has the rest.
class KILN_API Dropout : public Layer {
 public:
  explicit Dropout(double rate, const DropoutOptions& options = {}, Where where = Where::current());
  std::string str() const override;

 protected:
  Tensor hybrid_forward(F& F, const Tensor& x) override;

 private:
  double rate_;
  Shape axes_;
};

/// (batch, a, b, ...) -> (batch, a*b*...).
///
/// Calls Flatten. Shapes: data (N, ...) -> (N, M); M is the product of the other extents, 1 if there are
/// none. Rank 0 throws. Result: Element i of the result is element i of data, both counted in C order.
/// `kiln ops Flatten` has the rest.
class KILN_API Flatten : public Layer {
 public:
  explicit Flatten(const BlockOptions& options = {});
  std::string str() const override;

 protected:
  Tensor hybrid_forward(F& F, const Tensor& x) override;
};

/// Options of Embedding.
struct EmbeddingOptions {
  DType dtype = DType::f32;
  Initializer weight_initializer = {};
  bool sparse_grad = false;  ///< no effect: gradients are dense
  std::optional<std::string> prefix = {};
  const ParameterDict* params = nullptr;
};
/// Embedding look-up: indices (...) -> (..., output_dim). weight is (input_dim, output_dim).
///
/// Calls Embedding. Shapes: data (...), weight (V, D) -> (..., D). Result: y[..., d] =
/// weight[clip(trunc(data[...]), 0, V - 1), d]. `kiln ops Embedding` has the rest.
class KILN_API Embedding : public Layer {
 public:
  Embedding(std::int64_t input_dim, std::int64_t output_dim, const EmbeddingOptions& options = {},
            Where where = Where::current());
  std::string str() const override;
  Parameter weight;  ///< (input_dim, output_dim)

 protected:
  Tensor hybrid_forward(F& F, const Tensor& x) override;

 private:
  std::int64_t input_dim_, output_dim_;
};

/// x if x > 0, else alpha * x.
///
/// Calls LeakyReLU. Shapes: data (...) -> (...); prelu: data (N, C, ...), gamma (C) or (1) -> (N, C, ...);
/// rrelu: data (...) -> (...) and the slopes (...). `kiln ops LeakyReLU` has the rest.
class KILN_API LeakyReLU : public Layer {
 public:
  explicit LeakyReLU(double alpha, const BlockOptions& options = {}, Where where = Where::current());
  std::string str() const override;

 protected:
  Tensor hybrid_forward(F& F, const Tensor& x) override;

 private:
  double alpha_;
};
/// LeakyReLU with a learned slope.
///
/// Calls LeakyReLU. Shapes: data (...) -> (...); prelu: data (N, C, ...), gamma (C) or (1) -> (N, C, ...);
/// rrelu: data (...) -> (...) and the slopes (...). `kiln ops LeakyReLU` has the rest.
class KILN_API PReLU : public Layer {
 public:
  explicit PReLU(const Initializer& alpha_initializer = init::Constant(0.25), std::int64_t in_channels = 1,
                 const BlockOptions& options = {});
  Parameter alpha;  ///< the slope below 0, (in_channels,)

 protected:
  Tensor hybrid_forward(F& F, const Tensor& x) override;
};
/// x if x > 0, else alpha * (exp(x) - 1).
///
/// Calls LeakyReLU. Shapes: data (...) -> (...); prelu: data (N, C, ...), gamma (C) or (1) -> (N, C, ...);
/// rrelu: data (...) -> (...) and the slopes (...). `kiln ops LeakyReLU` has the rest.
class KILN_API ELU : public Layer {
 public:
  explicit ELU(double alpha = 1, const BlockOptions& options = {});

 protected:
  Tensor hybrid_forward(F& F, const Tensor& x) override;
};
/// Calls LeakyReLU. Shapes: data (...) -> (...); prelu: data (N, C, ...), gamma (C) or (1) -> (N, C, ...);
/// rrelu: data (...) -> (...) and the slopes (...). `kiln ops LeakyReLU` has the rest.
class KILN_API SELU : public Layer {
 public:
  explicit SELU(const BlockOptions& options = {});

 protected:
  Tensor hybrid_forward(F& F, const Tensor& x) override;
};
/// x * Phi(x), with the cumulative normal distribution Phi.
///
/// Calls LeakyReLU. Shapes: data (...) -> (...); prelu: data (N, C, ...), gamma (C) or (1) -> (N, C, ...);
/// rrelu: data (...) -> (...) and the slopes (...). `kiln ops LeakyReLU` has the rest.
class KILN_API GELU : public Layer {
 public:
  explicit GELU(const BlockOptions& options = {});

 protected:
  Tensor hybrid_forward(F& F, const Tensor& x) override;
};
/// x * sigmoid(beta * x).
///
/// Calls sigmoid. Result: 1 / (1 + e^-x), by e^-|x|. `kiln ops sigmoid` has the rest.
class KILN_API Swish : public HybridBlock {
 public:
  explicit Swish(double beta = 1, const BlockOptions& options = {})
      : HybridBlock(options, "swish"), beta_(beta) {}

 protected:
  Tensor hybrid_forward(F& F, const Tensor& x) override;

 private:
  double beta_;
};

}  // namespace nn
}  // namespace kiln

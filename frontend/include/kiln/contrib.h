// Layers and cells of MXNet's gluon.contrib.
#pragma once
#include <kiln/nn.h>
#include <kiln/rnn.h>

/// Layers and cells of MXNet's gluon.contrib.
namespace kiln::contrib {

namespace nn {

using kiln::nn::Concurrent;
using kiln::nn::HybridConcurrent;
using kiln::nn::Identity;

/// Options of SyncBatchNorm, with the names of nn::BatchNorm.
struct SyncBatchNormOptions {
  std::int64_t in_channels = 0;         ///< the number of channels; 0: from the first input
  std::optional<int> num_devices = {};  ///< must be 1: Kiln uses one device
  double momentum = 0.9;                ///< share of the old moving statistics that stays
  double epsilon = 1e-5;                ///< added to the variance
  bool center = true;                   ///< whether `beta` is learned, else 0
  bool scale = true;                    ///< whether `gamma` is learned, else 1
  bool use_global_stats = false;        ///< whether training normalizes by the moving statistics, too
  /// The initial values of the parameters.
  /// @{
  Initializer beta_initializer = "zeros";
  Initializer gamma_initializer = "ones";
  Initializer running_mean_initializer = "zeros";
  Initializer running_variance_initializer = "ones";
  /// @}
  std::optional<std::string> prefix = {};  ///< of the block's name; nothing: made from its class
  const ParameterDict* params = nullptr;   ///< parameters to share; null: own ones
};
/// BatchNorm over all devices; Kiln uses one, so over the batch.
class KILN_API SyncBatchNorm : public kiln::nn::BatchNorm {
 public:
  explicit SyncBatchNorm(const SyncBatchNormOptions& options = {}, Where where = Where::current());
  std::string str() const override;
};

/// Pixel shuffle: (N, C * factors, window...) -> (N, C, window * factors...).
class KILN_API PixelShuffle : public HybridBlock {
 public:
  std::string str() const override;

 protected:
  PixelShuffle(const kiln::nn::Extents& factor, int rank, std::string_view kind, Where where);
  Shape factors_;
};
/// (N, C f, W) -> (N, C, W f).
class KILN_API PixelShuffle1D : public PixelShuffle {
 public:
  explicit PixelShuffle1D(int factor, Where where = Where::current())
      : PixelShuffle(factor, 1, "pixelshuffle1d", where) {}

 protected:
  Tensor hybrid_forward(F& F, const Tensor& x) override;
};
/// (N, C fh fw, H, W) -> (N, C, H fh, W fw).
class KILN_API PixelShuffle2D : public PixelShuffle {
 public:
  explicit PixelShuffle2D(const kiln::nn::Extents& factor, Where where = Where::current())
      : PixelShuffle(factor, 2, "pixelshuffle2d", where) {}

 protected:
  Tensor hybrid_forward(F& F, const Tensor& x) override;
};
/// (N, C fd fh fw, D, H, W) -> (N, C, D fd, H fh, W fw).
class KILN_API PixelShuffle3D : public PixelShuffle {
 public:
  explicit PixelShuffle3D(const kiln::nn::Extents& factor, Where where = Where::current())
      : PixelShuffle(factor, 3, "pixelshuffle3d", where) {}

 protected:
  Tensor hybrid_forward(F& F, const Tensor& x) override;
};

}  // namespace nn

namespace rnn {

using kiln::rnn::HybridRecurrentCell;
using kiln::rnn::Sequence;
using kiln::rnn::StateInfo;
using kiln::rnn::StepOutput;
using kiln::rnn::UnrollOptions;
using kiln::rnn::UnrollOutput;

/// Options of VariationalDropoutCell: rates from 0 to 1, 0 for no dropout.
struct VariationalDropoutOptions {
  double drop_inputs = 0;   ///< of the inputs
  double drop_states = 0;   ///< of the first state only
  double drop_outputs = 0;  ///< of the outputs
};
/// Dropout with the same masks for all steps until reset(). Training mode only.
class KILN_API VariationalDropoutCell : public kiln::rnn::ModifierCell {
 public:
  /// The cell `base` with masks. A cell given by value is copied: a handle of the same parameters.
  template <std::derived_from<HybridRecurrentCell> C>
  requires(!std::same_as<C, VariationalDropoutCell>) explicit VariationalDropoutCell(
      const C& base, const VariationalDropoutOptions& options = {}, Where where = Where::current())
      : VariationalDropoutCell(std::make_shared<C>(base), options, where) {}
  explicit VariationalDropoutCell(std::shared_ptr<HybridRecurrentCell> base,
                                  const VariationalDropoutOptions& options = {},
                                  Where where = Where::current());
  std::string str() const override;

 protected:
  StepOutput hybrid_forward(F& F, const Tensor& x, const Tensors& states) override;
  UnrollOutput unroll_steps(std::int64_t length, const Sequence& inputs,
                            const UnrollOptions& options) override;
  bool keeps_tensors() const override;

 private:
  Tensor masked(std::size_t place, const Tensor& x, double p);
  double inputs_, states_, outputs_;
};

/// Options of LSTMPCell.
struct LSTMPCellOptions {
  /// The initial values of the parameters: i2h from input, h2h from state, h2r of the projection.
  /// @{
  Initializer i2h_weight_initializer = {};
  Initializer h2h_weight_initializer = {};
  Initializer h2r_weight_initializer = {};
  Initializer i2h_bias_initializer = "zeros";
  Initializer h2h_bias_initializer = "zeros";
  /// @}
  std::int64_t input_size = 0;  ///< features of the input; 0: from the first one
  std::optional<std::string> prefix = {};
  const ParameterDict* params = nullptr;
};
/// LSTM with a projected output: h' = h2r_weight (o * tanh(c')). States (batch, projection) and
/// (batch, hidden).
class KILN_API LSTMPCell : public kiln::rnn::DenseCell {
 public:
  LSTMPCell(std::int64_t hidden_size, std::int64_t projection_size, const LSTMPCellOptions& options = {},
            Where where = Where::current());
  std::vector<StateInfo> state_info(std::int64_t batch_size = 0) const override;
  std::string str() const override;
  Parameter h2r_weight;  ///< the projection, (projection, hidden)

 protected:
  StepOutput hybrid_forward(F& F, const Tensor& x, const Tensors& states) override;

 private:
  std::int64_t projection_size_;
};

}  // namespace rnn
}  // namespace kiln::contrib

#pragma once
#include <kiln/block.h>

/// Losses, with MXNet's names, defaults and printed forms. Each takes a prediction and a label, gives one
/// value per sample, (batch,), unless said otherwise, and takes as third tensor `sample_weight`, which
/// broadcasts against the loss before it is averaged. Labels are reshaped to the prediction's shape. Throws
/// where the elements do not match.
namespace kiln::loss {

/// Base of all losses, for a program's own too.
class KILN_API Loss : public HybridBlock {
 public:
  /// weight: a factor of the loss; remembers whether it was written as an integer, for printing.
  Loss(std::optional<Number> weight, int batch_axis, const BlockOptions& options = {})
      : HybridBlock(options), weight_(weight), batch_axis_(batch_axis) {}
  std::string str() const override;

 protected:
  Loss(std::optional<Number> weight, int batch_axis, const BlockOptions& options, std::string_view kind)
      : HybridBlock(options, kind), weight_(weight), batch_axis_(batch_axis) {}
  /// loss * sample_weight * weight(), each if given.
  Tensor weighted(const Tensor& loss, const Tensor& sample_weight) const;
  Tensor weighted(const Tensor& loss, const Tensor& sample_weight, std::optional<Number> weight) const;
  /// The mean over all axes but the batch.
  Tensor mean(const Tensor& loss) const;
  /// `label` with the shape of `pred`.
  Tensor like(const Tensor& label, const Tensor& pred) const;
  /// The tensors of a call; throws, naming them, for fewer than `needed` or more than names.
  void check_inputs(const Tensors& inputs, std::initializer_list<const char*> names,
                    std::size_t needed) const;

  std::optional<Number> weight_;
  int batch_axis_;
};

struct LossOptions {
  std::optional<Number> weight = {};
  int batch_axis = 0;
  std::optional<std::string> prefix = {};
};

struct L2LossOptions {
  std::optional<Number> weight = Number(1.0);
  int batch_axis = 0;
  std::optional<std::string> prefix = {};
};
/// weight / 2 * (label - pred)^2, averaged.
class KILN_API L2Loss : public Loss {
 public:
  explicit L2Loss(const L2LossOptions& options = {});

 protected:
  Tensors hybrid_forward(F& F, const Tensors& inputs) override;
};

/// |label - pred|, averaged.
class KILN_API L1Loss : public Loss {
 public:
  explicit L1Loss(const LossOptions& options = {});

 protected:
  Tensors hybrid_forward(F& F, const Tensors& inputs) override;
};

struct SigmoidBCEOptions {
  bool from_sigmoid = false;  ///< the prediction is a probability already
  std::optional<Number> weight = {};
  int batch_axis = 0;
  std::optional<std::string> prefix = {};
};
/// Binary cross-entropy of sigmoid(pred) and labels in [0, 1], averaged. A fourth tensor is `pos_weight`,
/// factors of the positive samples' loss; with_pos_weight() takes it without weights of samples.
class KILN_API SigmoidBinaryCrossEntropyLoss : public Loss {
 public:
  explicit SigmoidBinaryCrossEntropyLoss(const SigmoidBCEOptions& options = {});
  Tensor with_pos_weight(const Tensor& pred, const Tensor& label, const Tensor& pos_weight,
                         Where where = Where::current()) const {
    return (*pos_weighted_)(pred, label, pos_weight, where);
  }

 protected:
  Tensors hybrid_forward(F& F, const Tensors& inputs) override;
  void set_active(const HybridizeOptions& options) const override;

 private:
  SigmoidBinaryCrossEntropyLoss(const SigmoidBCEOptions& options, bool third_is_pos_weight);
  bool from_sigmoid_, third_is_pos_weight_;
  std::shared_ptr<SigmoidBinaryCrossEntropyLoss> pos_weighted_;  // the same loss of (pred, label, pos_weight)
};
using SigmoidBCELoss = SigmoidBinaryCrossEntropyLoss;

struct SoftmaxCEOptions {
  int axis = -1;             ///< of the classes
  bool sparse_label = true;  ///< labels are numbers of classes; else a probability for each class
  bool from_logits = false;  ///< the prediction is log_softmax already
  std::optional<Number> weight = {};
  int batch_axis = 0;
  std::optional<std::string> prefix = {};
};
/// Cross-entropy of softmax(pred) and labels, averaged over what remains.
class KILN_API SoftmaxCrossEntropyLoss : public Loss {
 public:
  explicit SoftmaxCrossEntropyLoss(const SoftmaxCEOptions& options = {});

 protected:
  Tensors hybrid_forward(F& F, const Tensors& inputs) override;

 private:
  int axis_;
  bool sparse_label_, from_logits_;
};
using SoftmaxCELoss = SoftmaxCrossEntropyLoss;

struct KLDivOptions {
  bool from_logits = true;  ///< the prediction is log-probabilities; else softmax is applied
  int axis = -1;
  std::optional<Number> weight = {};
  int batch_axis = 0;
  std::optional<std::string> prefix = {};
};
/// label * (log(label + 1e-12) - pred), summed.
class KILN_API KLDivLoss : public Loss {
 public:
  explicit KLDivLoss(const KLDivOptions& options = {});

 protected:
  Tensors hybrid_forward(F& F, const Tensors& inputs) override;

 private:
  bool from_logits_;
  int axis_;
};

struct HuberOptions {
  Number rho = 1;  ///< below it the error counts squared, above linearly
  std::optional<Number> weight = {};
  int batch_axis = 0;
  std::optional<std::string> prefix = {};
};
class KILN_API HuberLoss : public Loss {
 public:
  explicit HuberLoss(const HuberOptions& options = {});

 protected:
  Tensors hybrid_forward(F& F, const Tensors& inputs) override;

 private:
  Number rho_;
};

struct MarginOptions {
  Number margin = 1;
  std::optional<Number> weight = {};
  int batch_axis = 0;
  std::optional<std::string> prefix = {};
};
/// max(0, margin - pred * label), labels -1 and 1, averaged.
class KILN_API HingeLoss : public Loss {
 public:
  explicit HingeLoss(const MarginOptions& options = {});

 protected:
  Tensors hybrid_forward(F& F, const Tensors& inputs) override;

 private:
  Number margin_;
};
/// Its square.
class KILN_API SquaredHingeLoss : public Loss {
 public:
  explicit SquaredHingeLoss(const MarginOptions& options = {});

 protected:
  Tensors hybrid_forward(F& F, const Tensors& inputs) override;

 private:
  Number margin_;
};

struct LogisticOptions {
  std::optional<Number> weight = {};
  int batch_axis = 0;
  std::string label_format = "signed";  ///< labels -1 and 1; "binary": 0 and 1
  std::optional<std::string> prefix = {};
};
/// log(1 + exp(-pred * label)), averaged.
class KILN_API LogisticLoss : public Loss {
 public:
  explicit LogisticLoss(const LogisticOptions& options = {});

 protected:
  Tensors hybrid_forward(F& F, const Tensors& inputs) override;

 private:
  bool signed_;
};

/// max(0, margin + |positive - pred|^2 - |negative - pred|^2) of three tensors; no weights of samples.
class KILN_API TripletLoss : public Loss {
 public:
  explicit TripletLoss(const MarginOptions& options = {});

 protected:
  Tensors hybrid_forward(F& F, const Tensors& inputs) override;

 private:
  Number margin_;
};

struct PoissonOptions {
  std::optional<Number> weight = {};
  bool from_logits = true;  ///< the prediction is the logarithm of the rate
  int batch_axis = 0;
  bool compute_full = false;  ///< with Stirling's approximation of log(target!)
  double epsilon = 1e-8;      ///< added below the logarithm when not from_logits
  std::optional<std::string> prefix = {};
};
/// Negative log-likelihood of counts, averaged over everything: shape (1,).
class KILN_API PoissonNLLLoss : public Loss {
 public:
  explicit PoissonNLLLoss(const PoissonOptions& options = {});

 protected:
  Tensors hybrid_forward(F& F, const Tensors& inputs) override;

 private:
  bool from_logits_, compute_full_;
  double epsilon_;
};

struct CosineEmbeddingOptions {
  std::optional<Number> weight = {};
  int batch_axis = 0;
  Number margin = 0;
  std::optional<std::string> prefix = {};
};
/// Of two vectors and a label: 1 - cos for label 1, max(0, cos - margin) for -1. Gives (batch, 1). The
/// weights of samples are a fourth tensor.
class KILN_API CosineEmbeddingLoss : public Loss {
 public:
  explicit CosineEmbeddingLoss(const CosineEmbeddingOptions& options = {});

 protected:
  Tensors hybrid_forward(F& F, const Tensors& inputs) override;

 private:
  Number margin_;
};

struct SDMLOptions {
  double smoothing_parameter = 0.3;  ///< probability mass that wrong pairs share
  std::optional<Number> weight = Number(1.0);
  int batch_axis = 0;
  std::optional<std::string> prefix = {};
};
/// Smoothed deep metric learning: x1 and x2 (batch, channels), whose rows i belong together. Needs a batch of
/// two or more.
class KILN_API SDMLLoss : public Loss {
 public:
  explicit SDMLLoss(const SDMLOptions& options = {});

 protected:
  Tensors hybrid_forward(F& F, const Tensors& inputs) override;

 private:
  double smoothing_;
  std::shared_ptr<KLDivLoss> kl_loss_;
};

struct CTCOptions {
  std::string layout = "NTC";       ///< of the prediction: batch, steps, classes in some order
  std::string label_layout = "NT";  ///< or "TN"
  std::optional<Number> weight = {};
  std::optional<std::string> prefix = {};
};
/// Connectionist temporal classification of a prediction before softmax, whose last class is the blank.
/// Labels are padded with -1, or their lengths are given. A call takes pred, label, then, as far as they are
/// given, pred_lengths (batch,) and label_lengths (batch,), and sample_weight; `with` makes a loss that takes
/// label_lengths or sample_weight alone.
class KILN_API CTCLoss : public Loss {
 public:
  explicit CTCLoss(const CTCOptions& options = {});
  /// A loss whose calls take, behind pred and label, just these.
  static CTCLoss with(bool pred_lengths, bool label_lengths, const CTCOptions& options = {});

 protected:
  Tensors hybrid_forward(F& F, const Tensors& inputs) override;

 private:
  std::string layout_, label_layout_;
  std::optional<bool> pred_lengths_, label_lengths_;
};

}  // namespace kiln::loss

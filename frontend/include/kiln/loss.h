// Losses.
#pragma once
#include <kiln/block.h>

/// Losses with MXNet's names, defaults and printed forms. Unless stated otherwise a call takes a prediction,
/// a label and optionally `sample_weight`, broadcast to the loss before averaging, and returns one value per
/// sample, (batch,). Labels are reshaped to the prediction's shape; throws for another number of elements.
namespace kiln::loss {

/// The base of all losses, also of custom ones.
class KILN_API Loss : public HybridBlock {
 public:
  /// weight: a factor of the loss; keeps whether it was given as an integer, for printing.
  Loss(std::optional<Number> weight, int batch_axis, const BlockOptions& options = {})
      : HybridBlock(options), weight_(weight), batch_axis_(batch_axis) {}
  std::string str() const override;
  int batch_axis() const { return batch_axis_; }  ///< the axis of the samples

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
  /// The tensors of a call. Throws for fewer than `needed` or more than names, listing these.
  void check_inputs(const Tensors& inputs, std::initializer_list<const char*> names,
                    std::size_t needed) const;

  std::optional<Number> weight_;
  int batch_axis_;
};

/// Options of L1Loss; all losses have them.
struct LossOptions {
  std::optional<Number> weight = {};       ///< a factor of the loss; nothing: 1
  int batch_axis = 0;                      ///< the axis of the samples, which is not averaged
  std::optional<std::string> prefix = {};  ///< of the block's name; nothing: made from its class
};

/// Options of L2Loss.
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

/// Options of SigmoidBinaryCrossEntropyLoss.
struct SigmoidBCEOptions {
  bool from_sigmoid = false;  ///< the prediction is a probability
  std::optional<Number> weight = {};
  int batch_axis = 0;
  std::optional<std::string> prefix = {};
};
/// Binary cross-entropy of sigmoid(pred) and labels in [0, 1], averaged. The fourth tensor is `pos_weight`,
/// a factor of the loss of positive samples; with_pos_weight() takes it without sample_weight.
class KILN_API SigmoidBinaryCrossEntropyLoss : public Loss {
 public:
  explicit SigmoidBinaryCrossEntropyLoss(const SigmoidBCEOptions& options = {});
  /// The loss of three tensors: the factor of positive samples is the third.
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
using SigmoidBCELoss = SigmoidBinaryCrossEntropyLoss;  ///< MXNet's short name

/// Options of SoftmaxCrossEntropyLoss.
struct SoftmaxCEOptions {
  int axis = -1;             ///< of the classes
  bool sparse_label = true;  ///< labels are class indices; else one probability per class
  bool from_logits = false;  ///< the prediction is log_softmax
  std::optional<Number> weight = {};
  int batch_axis = 0;
  std::optional<std::string> prefix = {};
};
/// Cross-entropy of softmax(pred) and labels, averaged over the remaining axes. As in MXNet, a class index
/// that is out of range counts as the nearest class.
class KILN_API SoftmaxCrossEntropyLoss : public Loss {
 public:
  explicit SoftmaxCrossEntropyLoss(const SoftmaxCEOptions& options = {});

 protected:
  Tensors hybrid_forward(F& F, const Tensors& inputs) override;

 private:
  int axis_;
  bool sparse_label_, from_logits_;
};
using SoftmaxCELoss = SoftmaxCrossEntropyLoss;  ///< MXNet's short name

/// Options of KLDivLoss.
struct KLDivOptions {
  bool from_logits = true;  ///< the prediction is log-probabilities; else softmax is applied
  int axis = -1;            ///< of the softmax, where one is applied
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

/// Options of HuberLoss.
struct HuberOptions {
  Number rho = 1;  ///< limit between quadratic and linear error
  std::optional<Number> weight = {};
  int batch_axis = 0;
  std::optional<std::string> prefix = {};
};
/// |label - pred| - rho / 2 where it is above rho, else (label - pred)^2 / (2 rho), averaged.
class KILN_API HuberLoss : public Loss {
 public:
  explicit HuberLoss(const HuberOptions& options = {}, Where where = Where::current());

 protected:
  Tensors hybrid_forward(F& F, const Tensors& inputs) override;

 private:
  Number rho_;
};

/// Options of HingeLoss, SquaredHingeLoss and TripletLoss.
struct MarginOptions {
  Number margin = 1;  ///< the distance from which on a sample has no loss
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
/// The square of HingeLoss.
class KILN_API SquaredHingeLoss : public Loss {
 public:
  explicit SquaredHingeLoss(const MarginOptions& options = {});

 protected:
  Tensors hybrid_forward(F& F, const Tensors& inputs) override;

 private:
  Number margin_;
};

/// Options of LogisticLoss.
struct LogisticOptions {
  std::optional<Number> weight = {};
  int batch_axis = 0;
  std::string label_format = "signed";  ///< labels -1 and 1; "binary": 0 and 1
  std::optional<std::string> prefix = {};
};
/// log(1 + exp(-pred * label)), averaged.
class KILN_API LogisticLoss : public Loss {
 public:
  explicit LogisticLoss(const LogisticOptions& options = {}, Where where = Where::current());

 protected:
  Tensors hybrid_forward(F& F, const Tensors& inputs) override;

 private:
  bool signed_;
};

/// max(0, margin + |positive - pred|^2 - |negative - pred|^2) of three tensors; no sample_weight.
class KILN_API TripletLoss : public Loss {
 public:
  explicit TripletLoss(const MarginOptions& options = {});

 protected:
  Tensors hybrid_forward(F& F, const Tensors& inputs) override;

 private:
  Number margin_;
};

/// Options of PoissonNLLLoss.
struct PoissonOptions {
  std::optional<Number> weight = {};
  bool from_logits = true;  ///< the prediction is the logarithm of the rate
  int batch_axis = 0;
  bool compute_full = false;  ///< with Stirling's approximation of log(target!)
  double epsilon = 1e-8;      ///< added to the argument of the logarithm if not from_logits
  std::optional<std::string> prefix = {};
};
/// Negative log-likelihood of counts, averaged over all elements: (1,).
class KILN_API PoissonNLLLoss : public Loss {
 public:
  explicit PoissonNLLLoss(const PoissonOptions& options = {}, Where where = Where::current());

 protected:
  Tensors hybrid_forward(F& F, const Tensors& inputs) override;

 private:
  bool from_logits_, compute_full_;
  double epsilon_;
};

/// Options of CosineEmbeddingLoss; `margin` is the cosine from which on unlike vectors have a loss.
struct CosineEmbeddingOptions {
  std::optional<Number> weight = {};
  int batch_axis = 0;
  Number margin = 0;
  std::optional<std::string> prefix = {};
};
/// Two vectors and a label: 1 - cos for label 1, max(0, cos - margin) for -1. Returns (batch, 1). The fourth
/// tensor is sample_weight.
class KILN_API CosineEmbeddingLoss : public Loss {
 public:
  explicit CosineEmbeddingLoss(const CosineEmbeddingOptions& options = {});

 protected:
  Tensors hybrid_forward(F& F, const Tensors& inputs) override;

 private:
  Number margin_;
};

/// Options of SDMLLoss.
struct SDMLOptions {
  double smoothing_parameter = 0.3;  ///< probability mass of all wrong pairs
  std::optional<Number> weight = Number(1.0);
  int batch_axis = 0;
  std::optional<std::string> prefix = {};
};
/// Smoothed deep metric learning: x1 and x2 (batch, channels), with pairs in equal rows. Needs a
/// batch of two or more.
class KILN_API SDMLLoss : public Loss {
 public:
  explicit SDMLLoss(const SDMLOptions& options = {}, Where where = Where::current());

 protected:
  Tensors hybrid_forward(F& F, const Tensors& inputs) override;

 private:
  double smoothing_;
  std::shared_ptr<KLDivLoss> kl_loss_;
};

/// Options of CTCLoss.
struct CTCOptions {
  std::string layout = "NTC";       ///< of the prediction: a permutation of batch, steps, classes
  std::string label_layout = "NT";  ///< or "TN"
  std::optional<Number> weight = {};
  std::optional<std::string> prefix = {};
};
/// Connectionist temporal classification of a prediction before softmax; the last class is the blank. Labels
/// are padded with -1, or have label_lengths. A call takes pred, label and optionally pred_lengths (batch,),
/// label_lengths (batch,) and sample_weight, in this order; `with` fixes which lengths
/// are given.
class KILN_API CTCLoss : public Loss {
 public:
  explicit CTCLoss(const CTCOptions& options = {}, Where where = Where::current());
  /// A loss whose calls take exactly these lengths.
  static CTCLoss with(bool pred_lengths, bool label_lengths, const CTCOptions& options = {},
                      Where where = Where::current());

 protected:
  Tensors hybrid_forward(F& F, const Tensors& inputs) override;

 private:
  std::string layout_, label_layout_;
  std::optional<bool> pred_lengths_, label_lengths_;
};

}  // namespace kiln::loss

// Losses of a prediction and a label, with MXNet's operators in MXNet's order, so that exported files are
// equal.
#include "frontend/call/line.h"
#include "frontend/tensor/array.h"
#include "ir/attrs.h"
#include "runtime/fail.h"

#include <kiln/loss.h>

namespace kiln::loss {

using kiln::detail::TensorAccess;

namespace {

bool shape_known(const Tensor& t) { return TensorAccess::array(t)->shape_known; }

/// The shape of one value per sample, for classes along `axis`.
Shape without_axis(const Shape& shape, int axis) {
  Shape out;
  for (int i = 0; i < shape.rank(); ++i)
    if (i != axis && i != axis + shape.rank()) out.push_back(shape[i]);
  return out;
}

/// The optional third tensor of a call.
Tensor third(const Tensors& inputs) { return inputs.size() > 2 ? inputs[2] : Tensor(); }

BlockOptions named(const std::optional<std::string>& prefix) { return {.prefix = prefix}; }

}  // namespace

std::string Loss::str() const {
  std::string w = "None";
  if (weight_)
    w = weight_->integral() ? fmt::format("{:.0f}", weight_->value()) : ir::python_float(weight_->value());
  return fmt::format("{}(batch_axis={}, w={})", class_name(), batch_axis_, w);
}

Tensor Loss::weighted(const Tensor& loss, const Tensor& sample_weight) const {
  return weighted(loss, sample_weight, weight_);
}
Tensor Loss::weighted(const Tensor& loss, const Tensor& sample_weight, std::optional<Number> weight) const {
  Tensor out = sample_weight.defined() ? F::broadcast_mul(loss, sample_weight) : loss;
  if (!weight) return out;
  return weight->integral() ? out * static_cast<std::int64_t>(weight->value()) : out * weight->value();
}

Tensor Loss::mean(const Tensor& loss) const { return F::mean(loss, {.axis = batch_axis_, .exclude = true}); }

Tensor Loss::like(const Tensor& label, const Tensor& pred) const {
  if (shape_known(label) && shape_known(pred) && label.size() != pred.size())
    fail("{} needs a label with as many elements as the prediction: the label is {}, the prediction {}",
         class_name(), label.shape().str(), pred.shape().str());
  return F::reshape_like(label, pred);
}

void Loss::check_inputs(const Tensors& inputs, std::initializer_list<const char*> names,
                        std::size_t needed) const {
  if (inputs.size() >= needed && inputs.size() <= names.size()) return;
  std::string list;
  std::size_t i = 0;
  for (const char* name : names) {
    list += (list.empty() ? "" : ", ") + std::string(name) + (i >= needed ? " (optional)" : "");
    ++i;
  }
  fail("{} takes {}; it got {} tensor{}", class_name(), list, inputs.size(), inputs.size() == 1 ? "" : "s");
}

namespace {

constexpr std::initializer_list<const char*> usual = {"pred", "label", "sample_weight"};

/// log(1 + exp(-|x|))
Tensor log_sum(const Tensor& x) { return F::Activation(-F::abs(x), {.act_type = "softrelu"}); }

/// For a logit x and a label z in [0, 1]: max(x, 0) - x z + log(1 + exp(-|x|)), which cannot overflow.
Tensor binary_cross_entropy(const Tensor& x, const Tensor& z) {
  const Tensor positive = F::relu(x);
  const Tensor rest = positive - x * z;
  return rest + log_sum(x);
}

}  // namespace

L2Loss::L2Loss(const L2LossOptions& o) : Loss(o.weight, o.batch_axis, named(o.prefix), "l2loss") {}
Tensors L2Loss::hybrid_forward(F& F, const Tensors& in) {
  check_inputs(in, usual, 2);
  const Tensor error = F.square(like(in[1], in[0]) - in[0]);
  const std::optional<Number> half = weight_ ? std::optional<Number>(weight_->value() / 2) : std::nullopt;
  return {mean(weighted(error, third(in), half))};
}

L1Loss::L1Loss(const LossOptions& o) : Loss(o.weight, o.batch_axis, named(o.prefix), "l1loss") {}
Tensors L1Loss::hybrid_forward(F& F, const Tensors& in) {
  check_inputs(in, usual, 2);
  return {mean(weighted(F.abs(like(in[1], in[0]) - in[0]), third(in)))};
}

SigmoidBinaryCrossEntropyLoss::SigmoidBinaryCrossEntropyLoss(const SigmoidBCEOptions& o)
    : SigmoidBinaryCrossEntropyLoss(o, false) {
  SigmoidBCEOptions twin = o;
  twin.prefix = prefix();
  pos_weighted_.reset(new SigmoidBinaryCrossEntropyLoss(twin, true));
}
SigmoidBinaryCrossEntropyLoss::SigmoidBinaryCrossEntropyLoss(const SigmoidBCEOptions& o,
                                                             bool third_is_pos_weight)
    : Loss(o.weight, o.batch_axis, named(o.prefix), "sigmoidbinarycrossentropyloss"),
      from_sigmoid_(o.from_sigmoid),
      third_is_pos_weight_(third_is_pos_weight) {}
void SigmoidBinaryCrossEntropyLoss::set_active(const HybridizeOptions& options) const {
  Loss::set_active(options);
  if (pos_weighted_) pos_weighted_->hybridize(options);
}
Tensors SigmoidBinaryCrossEntropyLoss::hybrid_forward(F& F, const Tensors& in) {
  if (!third_is_pos_weight_) check_inputs(in, {"pred", "label", "sample_weight", "pos_weight"}, 2);
  const Tensor sample_weight = third_is_pos_weight_ ? Tensor() : third(in);
  const Tensor pos_weight = third_is_pos_weight_ ? in.at(2) : in.size() > 3 ? in[3] : Tensor();
  const Tensor& pred = in[0];
  const Tensor label = like(in[1], pred);
  Tensor loss;
  if (!from_sigmoid_ && !pos_weight.defined()) {
    loss = binary_cross_entropy(pred, label);
  } else if (!from_sigmoid_) {
    // x - x z + (1 + (w - 1) z) (log(1 + exp(-|x|)) + max(-x, 0))
    const Tensor log_weight = 1 + F.broadcast_mul(pos_weight - 1, label);
    const Tensor rest = pred - pred * label;
    const Tensor sum = log_sum(pred);
    loss = rest + log_weight * (sum + F.relu(-pred));
  } else {
    constexpr double eps = 1e-12;
    Tensor positive = F.log(pred + eps) * label;
    if (pos_weight.defined()) positive = F.broadcast_mul(positive, pos_weight);
    const Tensor negative = F.log(1.0 - pred + eps);
    loss = -(positive + negative * (1.0 - label));
  }
  return {mean(weighted(loss, sample_weight))};
}

SoftmaxCrossEntropyLoss::SoftmaxCrossEntropyLoss(const SoftmaxCEOptions& o)
    : Loss(o.weight, o.batch_axis, named(o.prefix), "softmaxcrossentropyloss"),
      axis_(o.axis),
      sparse_label_(o.sparse_label),
      from_logits_(o.from_logits) {}
Tensors SoftmaxCrossEntropyLoss::hybrid_forward(F& F, const Tensors& in) {
  check_inputs(in, usual, 2);
  const Tensor pred = from_logits_ ? in[0] : F.log_softmax(in[0], {.axis = axis_});
  Tensor loss;
  if (sparse_label_) {
    if (shape_known(in[0]) && shape_known(in[1]) && in[0].shape() == in[1].shape() &&
        in[0].size() > in[0].shape()[0])
      fail(
          "{} takes numbers of classes as labels, and these have the prediction's shape {}: for a "
          "probability of each "
          "class make it with sparse_label = false",
          class_name(), in[1].shape().str());
    if (shape_known(in[0]) && shape_known(in[1])) {
      const std::int64_t samples = without_axis(in[0].shape(), axis_).elements();
      if (in[1].size() != samples)
        fail(
            "{} needs a label, the number of a class, for each of {} samples: the label is {}, the "
            "prediction {}",
            class_name(), samples, in[1].shape().str(), in[0].shape().str());
    }
    loss = -F.pick(pred, in[1], {.axis = axis_, .keepdims = true});
  } else {
    if (shape_known(in[0]) && shape_known(in[1]) && in[0].size() != in[1].size())
      fail(
          "{} with sparse_label = false takes a probability of each class: the label is {}, the prediction "
          "{}. For "
          "numbers of classes make it with sparse_label = true",
          class_name(), in[1].shape().str(), in[0].shape().str());
    loss = -F.sum(pred * F.reshape_like(in[1], pred), {.axis = axis_, .keepdims = true});
  }
  return {mean(weighted(loss, third(in)))};
}

KLDivLoss::KLDivLoss(const KLDivOptions& o)
    : Loss(o.weight, o.batch_axis, named(o.prefix), "kldivloss"),
      from_logits_(o.from_logits),
      axis_(o.axis) {}
Tensors KLDivLoss::hybrid_forward(F& F, const Tensors& in) {
  check_inputs(in, usual, 2);
  const Tensor pred = from_logits_ ? in[0] : F.log_softmax(in[0], {.axis = axis_});
  const Tensor& label = in[1];
  const Tensor loss = label * (F.log(label + 1e-12) - pred);
  return {F.sum(weighted(loss, third(in)), {.axis = batch_axis_, .exclude = true})};
}

HuberLoss::HuberLoss(const HuberOptions& o, Where where)
    : Loss(o.weight, o.batch_axis, named(o.prefix), "huberloss"), rho_(o.rho) {
  if (!(rho_.value() > 0)) fail("{}HuberLoss needs a positive rho, not {}", line_prefix(where), rho_.value());
}
Tensors HuberLoss::hybrid_forward(F& F, const Tensors& in) {
  check_inputs(in, usual, 2);
  const Tensor error = F.abs(like(in[1], in[0]) - in[0]);
  const double rho = rho_.value();
  const Tensor far = rho_.integral() ? error > static_cast<std::int64_t>(rho) : error > rho;
  const Tensor linear = error - 0.5 * rho;
  const Tensor squared = 0.5 / rho * F.square(error);
  return {mean(weighted(F.where(far, linear, squared), third(in)))};
}

namespace {

/// max(0, margin - pred * label)
Tensor hinge(const Tensor& pred, const Tensor& label, const Number& margin) {
  const Tensor product = pred * label;
  return F::relu(margin.integral() ? static_cast<std::int64_t>(margin.value()) - product
                                   : margin.value() - product);
}

}  // namespace

HingeLoss::HingeLoss(const MarginOptions& o)
    : Loss(o.weight, o.batch_axis, named(o.prefix), "hingeloss"), margin_(o.margin) {}
Tensors HingeLoss::hybrid_forward(F&, const Tensors& in) {
  check_inputs(in, usual, 2);
  return {mean(weighted(hinge(in[0], like(in[1], in[0]), margin_), third(in)))};
}

SquaredHingeLoss::SquaredHingeLoss(const MarginOptions& o)
    : Loss(o.weight, o.batch_axis, named(o.prefix), "squaredhingeloss"), margin_(o.margin) {}
Tensors SquaredHingeLoss::hybrid_forward(F& F, const Tensors& in) {
  check_inputs(in, usual, 2);
  return {mean(weighted(F.square(hinge(in[0], like(in[1], in[0]), margin_)), third(in)))};
}

LogisticLoss::LogisticLoss(const LogisticOptions& o, Where where)
    : Loss(o.weight, o.batch_axis, named(o.prefix), "logisticloss"), signed_(o.label_format == "signed") {
  if (!signed_ && o.label_format != "binary")
    fail("{}label_format can only be signed or binary, received {}.", line_prefix(where), o.label_format);
}
Tensors LogisticLoss::hybrid_forward(F& F, const Tensors& in) {
  check_inputs(in, usual, 2);
  const Tensor& pred = in[0];
  Tensor label = like(in[1], pred);
  if (signed_) label = (label + 1.0) / 2.0;  // to 0 and 1
  return {mean(weighted(binary_cross_entropy(pred, label), third(in)))};
}

PoissonNLLLoss::PoissonNLLLoss(const PoissonOptions& o, Where where)
    : Loss(o.weight, o.batch_axis, named(o.prefix), "poissonnllloss"),
      from_logits_(o.from_logits),
      compute_full_(o.compute_full),
      epsilon_(o.epsilon) {
  if (!(epsilon_ >= 0))
    fail("{}PoissonNLLLoss: epsilon is {}; it is added to the argument of a logarithm, and 0 or more",
         line_prefix(where), epsilon_);
}
Tensors PoissonNLLLoss::hybrid_forward(F& F, const Tensors& in) {
  check_inputs(in, {"pred", "target", "sample_weight"}, 2);
  const Tensor& pred = in[0];
  const Tensor target = like(in[1], pred);
  Tensor loss;
  if (from_logits_) {
    const Tensor rate = F.exp(pred);
    loss = rate - target * pred;
  } else {
    loss = pred - target * F.log(pred + epsilon_);
  }
  if (compute_full_) {
    constexpr double pi = 3.141592653589793;
    // Stirling: log(n!) is about n log(n) - n + log(2 pi n) / 2
    const Tensor product = target * F.log(target);
    const Tensor near = product - target;
    const Tensor stirling = near + 0.5 * F.log(2 * target * pi);
    loss = loss + F.where(target > 1, stirling, F.zeros_like(stirling));
  }
  return {F.mean(weighted(loss, third(in)))};
}

}  // namespace kiln::loss

// Losses that compare vectors with each other.
#include "frontend/call/line.h"
#include "frontend/tensor/array.h"
#include "runtime/fail.h"

#include <kiln/loss.h>

namespace kiln::loss {

using kiln::detail::TensorAccess;

namespace {

Tensor column(const Tensor& x) { return F::reshape(x, {-1, 1}); }

/// x . y / max(|x| |y|, 1e-12) per row
Tensor cosine(const Tensor& x, const Tensor& y) {
  const Tensor x_norm = column(F::norm(x, {.axis = -1}));
  const Tensor y_norm = column(F::norm(y, {.axis = -1}));
  const Tensor product = column(F::sum(x * y, {.axis = -1}));
  const Tensor smallest = F::full({1, 1}, 1e-12, TensorAccess::dtype(x));
  return product / F::broadcast_maximum(x_norm * y_norm, smallest);
}

}  // namespace

TripletLoss::TripletLoss(const MarginOptions& o)
    : Loss(o.weight, o.batch_axis, {.prefix = o.prefix}, "tripletloss"), margin_(o.margin) {}
Tensors TripletLoss::hybrid_forward(F& F, const Tensors& in) {
  check_inputs(in, {"pred", "positive", "negative"}, 3);
  const Tensor& pred = in[0];
  const Tensor positive = like(in[1], pred), negative = like(in[2], pred);
  const Tensor near = F.square(positive - pred);
  const Tensor distance = F.sum(near - F.square(negative - pred), {.axis = batch_axis_, .exclude = true});
  const Tensor sum =
      margin_.integral() ? distance + static_cast<std::int64_t>(margin_.value()) : distance + margin_.value();
  return {weighted(F.relu(sum), Tensor())};
}

CosineEmbeddingLoss::CosineEmbeddingLoss(const CosineEmbeddingOptions& o)
    : Loss(o.weight, o.batch_axis, {.prefix = o.prefix}, "cosineembeddingloss"), margin_(o.margin) {}
Tensors CosineEmbeddingLoss::hybrid_forward(F& F, const Tensors& in) {
  check_inputs(in, {"input1", "input2", "label", "sample_weight"}, 3);
  const Tensor input1 = like(in[0], in[1]);
  const Tensor label = column(in[2]);
  const Tensor similarity = cosine(input1, in[1]);
  const Tensor same = label == 1, different = label == -1;
  const Tensor near = (1 - similarity) * same;
  const Tensor zero = F.zeros({1, 1}, TensorAccess::dtype(similarity));
  const Tensor beyond = margin_.integral() ? similarity - static_cast<std::int64_t>(margin_.value())
                                           : similarity - margin_.value();
  const Tensor far = F.broadcast_maximum(zero, different * beyond);
  // MXNet's layer writes this attribute; its operator ignores it.
  if (const ir::NodePtr& node = TensorAccess::array(far)->value.node) node->attr_text["axis"] = "1";
  return {weighted(near + far, in.size() > 3 ? in[3] : Tensor())};
}

SDMLLoss::SDMLLoss(const SDMLOptions& o, Where where)
    : Loss(o.weight, o.batch_axis, {.prefix = o.prefix}, "sdmlloss"), smoothing_(o.smoothing_parameter) {
  if (!(smoothing_ >= 0 && smoothing_ <= 1))
    fail("{}SDMLLoss: smoothing_parameter is {}; it is a probability, from 0 to 1", line_prefix(where),
         smoothing_);
  kl_loss_ = std::make_shared<KLDivLoss>();
  register_child(kl_loss_, "kl_loss");
}
Tensors SDMLLoss::hybrid_forward(F& F, const Tensors& in) {
  check_inputs(in, {"x1", "x2"}, 2);
  const Shape shape = in[0].shape();
  if (shape.rank() != 2 || !(in[1].shape() == shape))
    fail("SDMLLoss takes two tensors of one shape (batch, channels), not {} and {}", shape.str(),
         in[1].shape().str());
  const std::int64_t batch = shape[0];
  if (batch < 2) fail("SDMLLoss tells pairs of a batch apart: it needs a batch of at least 2, not {}", batch);
  const DType dtype = in[0].dtype();
  const Shape all{batch, batch, shape[1]};
  const Tensor gold = F.eye(batch, {.dtype = dtype});
  const Tensor labels = gold * (1 - smoothing_) + (1 - gold) * smoothing_ / static_cast<double>(batch - 1);
  const Tensor x1 = F.broadcast_to(F.expand_dims(in[0], 1), all);
  const Tensor x2 = F.broadcast_to(F.expand_dims(in[1], 0), all);
  const Tensor distances = F.sum(F.square(x1 - x2), {.axis = 2});
  const Tensor log_probabilities = F.log_softmax(-distances, {.axis = 1});
  return {(*kl_loss_)(log_probabilities, labels)};
}

}  // namespace kiln::loss

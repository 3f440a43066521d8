// One step of stochastic gradient descent on a batch of 64, with gradients written out as operators: the
// reference for the rows of trainer.cpp, which differentiate.
#include "bench/training_step.h"

using namespace kiln;

namespace bench {
namespace {

constexpr int batch = 64;
constexpr double rate = 0.01;

/// A classifier whose call is a training step: takes a batch and its labels, updates its parameters and
/// returns the loss.
class Step : public HybridBlock {
 protected:
  Parameter parameter(const std::string& name, const Shape& shape) { return params().get(name, shape); }

  static void descend(Parameter& p, const Tensor& gradient) {
    Tensor value = p.data();
    value -= gradient * rate;
  }

  /// The gradient of the mean cross-entropy of softmax with respect to the scores.
  static Tensor of_scores(F& F, const Tensor& scores, const Tensor& labels) {
    return (F.softmax(scores) - F.one_hot(labels, static_cast<int>(scores.shape()[1]))) * (1.0 / batch);
  }
  static Tensor loss(F& F, const Tensor& scores, const Tensor& labels) {
    return -F.mean(F.pick(F.log_softmax(scores), labels));
  }

  struct Dense {
    Parameter weight, bias;
  };
  Dense dense(const std::string& name, std::int64_t units, std::int64_t inputs) {
    return {parameter(name + "_weight", {units, inputs}), parameter(name + "_bias", {units})};
  }
  static Tensor forward(F& F, const Dense& d, const Tensor& x) {
    return F.FullyConnected(x, d.weight, d.bias, {.num_hidden = static_cast<int>(d.bias.shape()[0])});
  }
  /// Does the step; returns the gradient of the loss with respect to the inputs.
  static Tensor backward(F& F, Dense& d, const Tensor& x, const Tensor& change) {
    const Tensor before = F.dot(change, d.weight);
    descend(d.weight, F.dot(change, x, {.transpose_a = true}));
    descend(d.bias, F.sum(change, {.axis = 0}));
    return before;
  }
  /// Backward through y = relu(x).
  static Tensor through_relu(const Tensor& y, const Tensor& change) { return change * (y > 0); }
};

class TrainMlp : public Step {
 public:
  TrainMlp() : one_(dense("one", 256, 512)), two_(dense("two", 128, 256)), three_(dense("three", 2, 128)) {}

 protected:
  Tensors hybrid_forward(F& F, const Tensors& in) override {
    const Tensor &x = in[0], &labels = in[1];
    const Tensor a = F.relu(forward(F, one_, x)), b = F.relu(forward(F, two_, a)),
                 scores = forward(F, three_, b);
    const Tensor at_b = through_relu(b, backward(F, three_, b, of_scores(F, scores, labels)));
    const Tensor at_a = through_relu(a, backward(F, two_, a, at_b));
    backward(F, one_, x, at_a);
    return {loss(F, scores, labels)};
  }

 private:
  Dense one_, two_, three_;
};

class TrainLeNet : public Step {
 public:
  TrainLeNet()
      : one_(parameter("one_weight", {6, 1, 5, 5})),
        one_bias_(parameter("one_bias", {6})),
        two_(parameter("two_weight", {16, 6, 5, 5})),
        two_bias_(parameter("two_bias", {16})),
        three_(dense("three", 120, 256)),
        four_(dense("four", 84, 120)),
        last_(parameter("last_weight", {10, 84})) {}

 protected:
  Tensors hybrid_forward(F& F, const Tensors& in) override {
    const Tensor &x = in[0], &labels = in[1];
    const Tensor a = F.relu(F.Convolution(x, one_, one_bias_, {.kernel = {5, 5}, .num_filter = 6})),
                 pooled_a = pool(F, a);
    const Tensor b = F.relu(F.Convolution(pooled_a, two_, two_bias_, {.kernel = {5, 5}, .num_filter = 16})),
                 pooled_b = pool(F, b);
    const Tensor flat = F.reshape(pooled_b, {batch, 256}), c = F.relu(forward(F, three_, flat)),
                 d = F.relu(forward(F, four_, c)), scores = F.dot(d, last_, {.transpose_b = true});

    const Tensor at_scores = of_scores(F, scores, labels);
    const Tensor at_d = through_relu(d, F.dot(at_scores, last_));
    descend(last_, F.dot(at_scores, d, {.transpose_a = true}));
    const Tensor at_c = through_relu(c, backward(F, four_, c, at_d));
    const Tensor at_flat = backward(F, three_, flat, at_c);
    const Tensor at_b = through_relu(b, through_pool(F, b, pooled_b, F.reshape(at_flat, {batch, 16, 4, 4})));
    const Tensor at_pooled_a =
        F.Deconvolution(at_b, two_, {.kernel = {5, 5}, .num_filter = 6, .no_bias = true});
    const Tensor at_a = through_relu(a, through_pool(F, a, pooled_a, at_pooled_a));
    descend_convolution(F, two_, two_bias_, pooled_a, at_b);
    descend_convolution(F, one_, one_bias_, x, at_a);
    return {loss(F, scores, labels)};
  }

 private:
  static Tensor pool(F& F, const Tensor& x) {
    return F.Pooling(x, {.kernel = {2, 2}, .pool_type = "max", .stride = {2, 2}});
  }
  static Tensor through_pool(F& F, const Tensor& x, const Tensor& pooled, const Tensor& change) {
    const auto spread = [&](const Tensor& t) {
      return F.repeat(F.repeat(t, {.repeats = 2, .axis = 2}), {.repeats = 2, .axis = 3});
    };
    return spread(change) * (x == spread(pooled));
  }
  /// Each tap sums over the batch and all positions: a convolution with the batch as channels.
  static void descend_convolution(F& F, Parameter& weight, Parameter& bias, const Tensor& x,
                                  const Tensor& change) {
    const auto turned = [&](const Tensor& t) { return F.transpose(t, {1, 0, 2, 3}); };
    const Shape places = change.shape();
    descend(
        weight,
        turned(F.Convolution(
            turned(x), turned(change),
            {.kernel = {places[2], places[3]}, .num_filter = static_cast<int>(places[1]), .no_bias = true})));
    descend(bias, F.sum(change, {.axis = {0, 2, 3}}));
  }

  Parameter one_, one_bias_, two_, two_bias_;
  Dense three_, four_;
  Parameter last_;
};

}  // namespace

void add_training() {
  add("train_mlp_b64_by_hand", [] {
    return Workload{
        std::make_shared<TrainMlp>(), {randn({batch, 512}), class_labels(batch, 2)}, /*many=*/true};
  });
  add("train_lenet_b64_by_hand", [] {
    return Workload{
        std::make_shared<TrainLeNet>(), {randn({batch, 1, 28, 28}), class_labels(batch, 10)}, /*many=*/true};
  });
}

}  // namespace bench

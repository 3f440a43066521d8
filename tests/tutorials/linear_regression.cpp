// "Linear regression from scratch" and "Linear regression with Gluon".
#include <kiln/kiln.h>

#include <cstdio>

using namespace kiln;

constexpr std::int64_t examples = 1000, batch_size = 10;

// Calls fn(X, y) with the rows of each minibatch, in a random order.
template <class Fn>
void for_each_batch(const Tensor& features, const Tensor& labels, Fn fn) {
  Tensor order = random::shuffle(arange(examples));
  for (std::int64_t i = 0; i < examples; i += batch_size) {
    Tensor j = order[slice(i, i + batch_size)];
    fn(F::take(features, j), F::take(labels, j));
  }
}

Tensor linreg(const Tensor& X, const Tensor& w, const Tensor& b) { return F::dot(X, w) + b; }
Tensor squared_loss(const Tensor& y_hat, const Tensor& y) {
  Tensor error = y_hat - y.reshape(y_hat.shape());
  return error * error / 2;
}
void sgd(const std::vector<Tensor>& params, double lr) {
  for (Tensor param : params) param -= lr * param.grad() / batch_size;
}

int main() {
  random::seed(1);
  // y = X w + b + noise
  Tensor true_w{2, -3.4};
  double true_b = 4.2;
  Tensor features = random::normal(0, 1, {examples, 2});
  Tensor labels = F::dot(features, true_w) + true_b;
  labels += random::normal(0, 0.01, labels.shape());

  // From scratch: parameters, model, loss and optimizer are ours.
  Tensor w = random::normal(0, 0.01, {2, 1}), b = zeros({1});
  w.attach_grad();
  b.attach_grad();
  for (int epoch = 1; epoch <= 3; ++epoch) {
    for_each_batch(features, labels, [&](const Tensor& X, const Tensor& y) {
      Tensor l;
      {
        autograd::Record record;
        l = squared_loss(linreg(X, w, b), y);  // the minibatch loss in X and y
      }
      l.backward();  // the gradient of the sum of l
      sgd({w, b}, 0.03);
    });
    Tensor l = squared_loss(linreg(features, w, b), labels);
    std::printf("epoch %d, loss %.6f\n", epoch, l.mean().item<double>());
  }
  std::printf("w: %.2f %.2f, b: %.2f\n\n", w[0].item<double>(), w[1].item<double>(), b.item<double>());

  // With Gluon: a layer, a loss and a Trainer.
  nn::HybridSequential net;
  net.add(nn::Dense(1));
  net.initialize(init::Normal(0.01));
  loss::L2Loss loss;
  Trainer trainer(net.collect_params(), "sgd", {.learning_rate = 0.03});
  for (int epoch = 1; epoch <= 3; ++epoch) {
    for_each_batch(features, labels, [&](const Tensor& X, const Tensor& y) {
      Tensor l = autograd::record([&] { return loss(net(X), y); });
      l.backward();
      trainer.step(batch_size);
    });
    std::printf("epoch %d, loss %.6f\n", epoch, loss(net(features), labels).mean().item<double>());
  }
  auto& dense = net[0].as<nn::Dense>();
  Tensor weight = dense.weight.data()[0];
  std::printf("w: %.2f %.2f, b: %.2f\n", weight[0].item<double>(), weight[1].item<double>(),
              dense.bias.data().item<double>());
}

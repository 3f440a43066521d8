// autograd.Function: a sigmoid with a gradient of the program's own, in a network that learns XOR.
#include <kiln/kiln.h>

#include <cstdio>
#include <iostream>

using namespace kiln;

// The gradient reads the result, which is all that a call keeps.
class Sigmoid : public autograd::Function {
 public:
  Tensors forward(const Tensors& x) override {
    y_ = 1 / (1 + F::exp(-x[0]));
    return {y_};
  }
  Tensors backward(const Tensors& dy) override { return {dy[0] * y_ * (1 - y_)}; }

 private:
  Tensor y_;
};

class Net : public HybridBlock {
 public:
  Net() {
    hidden = nn::Dense(8);
    output = nn::Dense(1);
  }

  Tensor hybrid_forward(F&, const Tensor& x) override {
    return output(autograd::apply<Sigmoid>({hidden(x)})[0]);
  }

 private:
  Child<nn::Dense> hidden{this, "hidden"}, output{this, "output"};
};

int main() {
  // As in MXNet's documentation: forward and backward of one call.
  Tensor x{-1, 0, 2};
  x.attach_grad();
  Tensor m = autograd::record([&] { return autograd::apply<Sigmoid>({x})[0]; });
  m.backward();
  std::cout << m << "\n" << x.grad() << "\n";

  // In a hybridized network both methods are traced and compiled with it.
  Tensor points{{0, 0}, {0, 1}, {1, 0}, {1, 1}}, labels{0, 1, 1, 0};
  random::seed(3);
  Net net;
  net.initialize(init::Xavier());
  net.hybridize();
  loss::SigmoidBCELoss criterion;
  Trainer trainer(net.collect_params(), "adam", {.learning_rate = 0.1});
  for (int step = 1; step <= 200; ++step) {
    Tensor l = autograd::record([&] { return criterion(net(points), labels); });
    l.backward();
    trainer.step(4);
    if (step % 50 == 0) std::printf("step %d: loss %.5f\n", step, l.mean().item<double>());
  }
  std::cout << F::round(F::sigmoid(net(points))).reshape({-1}) << "\n";
}

// Lesson 4: a network is a class derived from HybridBlock. Its layers and parameters are members.
#include <kiln/kiln.h>

#include <iostream>

using namespace kiln;

/// Two dense layers, and a scale of the program's own for each result.
struct Net : HybridBlock {
  Child<nn::Dense> hidden{this, "hidden"}, output{this, "output"};
  Parameter scale;

  Net() : HybridBlock({.prefix = "net_"}) {
    auto scope = name_scope();  // names of parameters begin with the prefix
    hidden = nn::Dense(4, {.activation = "relu"});
    output = nn::Dense(2);
    scale = params().get("scale", {2}, {.init = init::One()});
  }

  // One tensor in, one out. It may use operators, F, loops, branches on shapes, and other blocks.
  Tensor hybrid_forward(F& F, const Tensor& x) override { return F.tanh(output(hidden(x))) * scale; }
};

int main() {
  random::seed(7);
  Net net;
  net.initialize(init::Xavier());
  std::cout << net << "\n";

  // Extents that the program did not give are inferred by the first call, here the inputs of each layer.
  std::cout << "before the first call: " << net.hidden->weight << "\n";
  Tensor y = net(ones({3, 5}));
  std::cout << "after it:              " << net.hidden->weight << "\n" << y << "\n";

  // All parameters of the tree, by name.
  for (const Parameter& p : net.collect_params()) std::cout << p.name() << " " << p.shape() << "\n";

  // data() is the array itself: a write changes the next call. set_data() copies the values.
  net.scale.set_data(Tensor{0, 1});
  std::cout << net(ones({1, 5})) << "\n";

  // Gradients of parameters need no attach_grad().
  autograd::record([&] { return net(ones({3, 5})); }).backward();
  std::cout << "the gradient of the scale" << net.scale.grad() << "\n";

  // A sequence of layers needs no class. Layers are handles: copies share their parameters.
  nn::HybridSequential stack;
  stack.add(nn::Dense(8, {.activation = "tanh"}), nn::Dropout(0.5), nn::Dense(1));
  stack.initialize();
  stack.summary(ones({1, 16}));
}

// Lesson 5: hybridize() compiles a network. The bits of its results stay the same; this lesson compares them.
#include <kiln/kiln.h>

#include <iostream>

using namespace kiln;

/// Fourier features: a chain of pointwise operators between two products.
struct Features : HybridBlock {
  Child<nn::Dense> in{this, "in"}, out{this, "out"};
  Attr<float> gain{this, 2.0f};  // a number that hybridize() tracks

  Features() : HybridBlock({.prefix = "features_"}) {
    auto scope = name_scope();
    in = nn::Dense(32);
    out = nn::Dense(3);
  }

  Tensor hybrid_forward(F& F, const Tensor& x) override {
    ++runs;
    Tensor phase = gain * in(x);
    return out(F.concat({F.sin(phase), F.cos(phase)}, 1));
  }
  int runs = 0;
};

bool same(const Tensor& a, const Tensor& b) { return a.to_vector<float>() == b.to_vector<float>(); }

int main() {
  random::seed(3);
  Features net;
  net.initialize(init::Xavier());
  Tensor x = random::normal(0, 1, {6, 8});

  Tensor eager = net(x);  // one operator after the other, each compiled by itself
  net.hybridize();
  Tensor compiled = net(x);  // recorded, fused, compiled and run as one
  std::cout << "eager and compiled: " << (same(eager, compiled) ? "the same bits\n" : "other bits\n");

  // hybrid_forward runs once for each recording. Later calls run the compiled code alone.
  net.runs = 0;
  for (int i = 0; i < 100; ++i) net(x);
  std::cout << "100 further calls run hybrid_forward " << net.runs << " times\n";

  // The cost: one recording for each signature, the shapes, dtypes and mode of a call.
  net(random::normal(0, 1, {1, 8}));
  autograd::record([&] { return net(x); });  // training mode
  for (const CompiledCall& call : net.compiled_calls())
    std::cout << "recorded for " << call.inputs << (call.train ? ", training\n" : "\n");

  // New values of parameters need no recording, a new value of an Attr does.
  net.runs = 0;
  net.in->weight.set_data(net.in->weight.data() * 0.5);
  net(x);
  std::cout << "new weights: " << net.runs << " recordings\n";
  net.gain = 4.0f;
  compiled = net(x);
  std::cout << "a new gain:  " << net.runs << " recording\n";

  // Gradients have the same bits, too.
  const auto gradient = [&] {
    autograd::record([&] { return net(x); }).backward();
    return net.in->weight.grad().copy();
  };
  Tensor of_compiled = gradient();
  net.hybridize(false);
  std::cout << "after hybridize(false): " << (same(net(x), compiled) ? "the same bits" : "other bits") << ", "
            << (same(gradient(), of_compiled) ? "the same gradients\n" : "other gradients\n");
}

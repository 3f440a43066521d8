// Blocks that compute gradients within hybrid_forward run eagerly when they are hybridized, with their
// children compiled, and say why.
#include "function_net.h"

using namespace kiln;

namespace {

/// A potential of a position, whose call is the force: minus the gradient of the potential.
struct Force : HybridBlock {
  Force() {
    inner.add(nn::Dense(8, {.activation = "tanh", .in_units = 3}), nn::Dense(1, {.in_units = 8}));
    register_child(inner);
  }
  nn::HybridSequential inner;

 protected:
  Tensor hybrid_forward(F& F, const Tensor& position) override {
    Tensor x = position.copy();
    x.attach_grad();
    Tensor energy;
    {
      const autograd::Record record;
      energy = F.sum(inner(x));
    }
    return -autograd::grad({energy}, {x}, {.create_graph = autograd::is_recording()})[0];
  }
};

Force initialized() {
  random::seed(4);
  Force net;
  net.initialize(init::Uniform(1));
  return net;
}

const Tensor positions = Tensor(std::vector<float>{0.5F, -1, 2, 0.25F, 1, -3}, {2, 3});

}  // namespace

TEST_CASE("a hybridized block that computes gradients runs eagerly and tells why") {
  Force eager = initialized(), net = initialized();
  net.hybridize();
  const Tensor expected = eager(positions);
  for (int call = 0; call < 2; ++call) CHECK(same_bits(net(positions), expected));
  REQUIRE(net.compiled_calls().size() == 1);
  CHECK_FALSE(net.compiled_calls()[0].compiled);
  CHECK(net.compiled_calls()[0].eager_because == "it calls attach_grad(), which needs values");
  // Its children do not.
  REQUIRE(net.inner.compiled_calls().size() == 1);
  CHECK(net.inner.compiled_calls()[0].compiled);
}

TEST_CASE("gradients of gradients that a hybridized block computes") {
  const auto of_weights = [](bool hybrid) {
    Force net = initialized();
    if (hybrid) net.hybridize();
    const Tensor loss = autograd::record([&] {
      F f;
      return f.sum(f.square(net(positions)));
    });
    loss.backward();
    Tensors grads;
    for (const Parameter& p : net.collect_params()) grads.push_back(p.grad().copy());
    return grads;
  };
  const Tensors eager = of_weights(false), hybrid = of_weights(true);
  REQUIRE(eager.size() == 4);
  for (std::size_t i = 0; i < eager.size(); ++i) CHECK(same_bits(hybrid[i], eager[i]));
}

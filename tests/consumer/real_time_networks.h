// Networks of each kind for the tests of bound calls in real time.
#pragma once
#include <kiln/kiln.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

/// A network, its inputs, and its temporaries: of at most 32 KiB, which threads keep in lists, or of more.
struct RealTimeCase {
  enum class Temporaries { small, large, any } temporaries;
  std::string name;
  std::shared_ptr<kiln::HybridBlock> net;
  kiln::Tensors inputs;
  /// In training mode it writes running statistics, and takes the locks of the histories of these arrays.
  bool training = false;

  /// Bound in its mode. The thread that runs it is in the same mode.
  kiln::BoundCall bind() const {
    const kiln::autograd::TrainMode mode(training);
    return net->bind(inputs);
  }
};

namespace real_time {

/// A recurrent step as a loop over tensors, whose body has a contraction; then a branch.
struct Loop : kiln::HybridBlock {
  static constexpr std::int64_t units = 96;
  kiln::Parameter weight = params().get("weight", {units, units});

  kiln::Tensors hybrid_forward(kiln::F& F, const kiln::Tensors& in) override {
    const auto step = [&](const kiln::Tensors& x, const kiln::Tensors& state) -> kiln::F::contrib::Results {
      const kiln::Tensor next = F.tanh(F.dot(F.softmax(state[0]), weight) + x[0]);
      return {{F.sum(next, {.axis = 1})}, {next}};
    };
    const auto [sums, states] = F.contrib().foreach (step, {in[0]}, {in[1]});
    const auto choose = [&](double factor) { return kiln::Tensors{states[0] * factor}; };
    const kiln::Tensors chosen = F.contrib().cond(
        F.sum(sums[0]) > 0, [&] { return choose(0.5); }, [&] { return choose(2); });
    return {sums[0], chosen[0]};
  }
};

template <class... Layers>
std::shared_ptr<kiln::HybridBlock> chain(Layers&&... layers) {
  auto net = std::make_shared<kiln::nn::HybridSequential>();
  net->add(std::forward<Layers>(layers)...);
  return net;
}

inline std::shared_ptr<kiln::HybridBlock> dense(std::int64_t units) {
  using namespace kiln::nn;
  return chain(Dense(units, {.activation = "tanh"}), LayerNorm(), Dense(units), LayerNorm(), Dense(1));
}

inline std::shared_ptr<kiln::HybridBlock> convolutions(std::int64_t channels) {
  using namespace kiln::nn;
  return chain(Conv2D(channels, 3, {.padding = 1}), BatchNorm(), Activation("relu"), MaxPool2D(),
               Conv2D(channels, 3, {.padding = 1}), BatchNorm(), GlobalAvgPool2D(), Dense(10), Dropout(0.5));
}

/// Hybridized, with parameters; nothing is recorded and packed yet.
inline std::vector<RealTimeCase> networks() {
  using enum RealTimeCase::Temporaries;
  using kiln::zeros;
  std::vector<RealTimeCase> all{
      {small, "dense", dense(64), {zeros({1, 64})}},
      {large, "dense", dense(512), {zeros({16, 512})}},
      {small, "convolutions", convolutions(4), {zeros({1, 3, 8, 8})}},
      {large, "convolutions", convolutions(16), {zeros({2, 8, 32, 32})}},
      {small, "a recurrent layer", std::make_shared<kiln::rnn::LSTM>(16), {zeros({8, 1, 4})}},
      {large, "a recurrent layer", std::make_shared<kiln::rnn::LSTM>(128), {zeros({32, 4, 64})}},
      {any, "a loop and a branch", std::make_shared<Loop>(), {zeros({8, 64, 96}), zeros({64, 96})}},
      {any,
       "an embedding and dropout",
       chain(kiln::nn::Embedding(100, 16), kiln::nn::Dropout(0.5), kiln::nn::Dense(8)),
       {zeros({2, 5})}},
      {any,
       "running statistics",
       chain(kiln::nn::Dense(8), kiln::nn::BatchNorm()),
       {zeros({16, 4})},
       /*training=*/true},
  };
  for (RealTimeCase& c : all) {
    c.net->initialize(kiln::init::Xavier());
    c.net->hybridize();
  }
  return all;
}

}  // namespace real_time

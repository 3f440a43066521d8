// A training run with a state in every part.
#pragma once
#include <kiln/kiln.h>

#include <string_view>
#include <vector>

namespace training {

using namespace kiln;

/// A run: everything that has a state. The network draws random numbers, and so does the dataset.
struct Run {
  nn::HybridSequential net{{.prefix = "net_"}};
  data::DataLoader batches;
  Trainer trainer;

  explicit Run(int workers = 0, std::string_view optimizer = "adam", std::int64_t units = 6)
      : batches(dataset(), {.batch_size = 4, .shuffle = true, .num_workers = workers}),
        trainer(make(net, units), optimizer, {.learning_rate = 0.01}) {
    net.initialize(init::Xavier());
    net.hybridize();
  }

  static data::Dataset dataset() {
    return data::ArrayDataset(F::arange(0, 22).reshape({22, 1}), F::arange(0, 22))
        .transform_first([](const Tensor& x) { return x * 0.1 + random::normal(0, 0.1, {1}); });
  }
  static ParameterDict make(nn::HybridSequential& net, std::int64_t units) {
    const auto scope = net.name_scope();
    net.add(nn::Dense(units, {.activation = "tanh"}), nn::BatchNorm(), nn::Dropout(0.5), nn::Dense(1));
    return net.collect_params();
  }

  void step(const data::Batch& batch) {
    loss::L2Loss criterion;
    Tensor loss = autograd::record([&] { return criterion(net(batch[0]), batch[1]); });
    loss.backward();
    trainer.step(4);
  }
  /// Steps until the trainer has made `steps` updates; `after` runs after each.
  template <class After>
  void train(std::int64_t steps, After after) {
    while (trainer.num_update() < steps)
      for (const data::Batch& batch : batches) {
        step(batch);
        after();
        if (trainer.num_update() == steps) break;
      }
  }
  void train(std::int64_t steps) {
    train(steps, [] {});
  }
  /// All numbers that the run has come to.
  std::vector<double> numbers() const {
    std::vector<double> all;
    for (const Parameter& p : net.collect_params())
      for (const double v : p.data().to_vector<double>()) all.push_back(v);
    for (const double v : random::normal(0, 1, {2}).to_vector<double>()) all.push_back(v);
    Parameter drawn("drawn", {2});
    drawn.initialize(init::Uniform());
    for (const double v : drawn.data().to_vector<double>()) all.push_back(v);
    return all;
  }
};

}  // namespace training

// 200 steps of training: all losses and parameters have the same bits eagerly and hybridized, on any number
// of threads and every instruction set.
#include "same_bits.h"

#include <kiln/version.h>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <functional>

using namespace kiln;

namespace {

constexpr int steps = 200;

/// What a training leaves: the losses of all steps, then the parameters.
using Outcome = std::vector<Tensor>;

void append_parameters(Outcome& out, const Block& net) {
  for (const Parameter& p : net.collect_params()) out.push_back(p.data().copy());
}

/// Trains on random batches of `data` and integer labels below `classes`.
Outcome train(HybridBlock& net, const Shape& data, std::int64_t classes, std::string_view optimizer,
              const optimizer::Options& options, bool hybrid) {
  net.initialize(init::Xavier());
  loss::SoftmaxCrossEntropyLoss criterion;
  if (hybrid) {
    net.hybridize();
    criterion.hybridize();
  }
  Trainer trainer(net.collect_params(), optimizer, options);
  Outcome out;
  for (int step = 0; step < steps; ++step) {
    const Tensor x = random::uniform(-1, 1, data);
    const Tensor label = random::randint(0, classes, {data[0]});
    Tensor loss;
    {
      const autograd::Record record;
      loss = criterion(net(x), label);
    }
    loss.backward();
    trainer.step(data[0]);
    out.push_back(loss);
  }
  append_parameters(out, net);
  return out;
}

Outcome mlp(bool hybrid) {
  nn::HybridSequential net;
  net.add(nn::Dense(24, {.activation = "relu"}), nn::Dense(24, {.activation = "tanh"}), nn::Dense(5));
  return train(net, {7, 12}, 5, "sgd",
               {.learning_rate = 0.05,
                .momentum = 0.9,
                .wd = 1e-3,
                .lr_scheduler = lr_scheduler::Cosine({.max_update = steps, .warmup_steps = 10})},
               hybrid);
}

Outcome convolutions(bool hybrid) {
  nn::HybridSequential net;
  net.add(nn::Conv2D(6, {.kernel_size = 3, .padding = 1, .use_bias = false}), nn::BatchNorm(),
          nn::Activation("relu"), nn::MaxPool2D(), nn::Conv2D(8, {.kernel_size = 3, .activation = "relu"}),
          nn::Dropout(0.3), nn::Dense(4));
  return train(net, {5, 2, 10, 10}, 4, "nag", {.learning_rate = 0.05, .momentum = 0.9, .clip_gradient = 0.5},
               hybrid);
}

/// The last output of an LSTM, to classes.
struct Recurrent : HybridBlock {
  Child<rnn::LSTM> lstm{this, "lstm"};
  Child<nn::Dense> dense{this, "dense"};

  Recurrent() {
    lstm = rnn::LSTM(10, {.num_layers = 2, .dropout = 0.2});
    dense = nn::Dense(4);
  }
  Tensor hybrid_forward(F& F, const Tensor& x) override { return dense(F.SequenceLast(lstm(x))); }
};

/// A layer of an encoder: attention and a network of two layers, each with dropout, a sum and LayerNorm.
struct Encoder : HybridBlock {
  static constexpr std::int64_t width = 16, heads = 2;
  Child<nn::Dense> queries{this, "queries"}, keys{this, "keys"}, values{this, "values"}, mixed{this, "mixed"},
      wide{this, "wide"}, narrow{this, "narrow"}, classes{this, "classes"};
  Child<nn::LayerNorm> norm1{this, "norm1"}, norm2{this, "norm2"};
  Child<nn::Dropout> dropout{this, "dropout"};

  Encoder() {
    const nn::DenseOptions rows{.flatten = false};
    queries = nn::Dense(width, rows);
    keys = nn::Dense(width, rows);
    values = nn::Dense(width, rows);
    mixed = nn::Dense(width, rows);
    wide = nn::Dense(2 * width, rows);
    narrow = nn::Dense(width, rows);
    classes = nn::Dense(4);
    norm1 = nn::LayerNorm();
    norm2 = nn::LayerNorm();
    dropout = nn::Dropout(0.1);
  }
  Tensor hybrid_forward(F& F, const Tensor& x) override {
    const std::int64_t batch = x.shape()[0], length = x.shape()[1];
    const auto split = [&](const Tensor& t) {
      return F.transpose(t.reshape({batch, length, heads, width / heads}), {0, 2, 1, 3})
          .reshape({batch * heads, length, width / heads});
    };
    const Tensor scores = F.batch_dot(split(queries(x)), split(keys(x)), {.transpose_b = true}) / 2.83;
    Tensor attended = F.batch_dot(dropout(F.softmax(scores)), split(values(x)));
    attended = F.transpose(attended.reshape({batch, heads, length, width / heads}), {0, 2, 1, 3})
                   .reshape({batch, length, width});
    const Tensor first = norm1(x + dropout(mixed(attended)));
    const Tensor second = norm2(first + dropout(narrow(F.LeakyReLU(wide(first), {.act_type = "gelu"}))));
    return classes(second);
  }
};

Outcome lstm(bool hybrid) {
  Recurrent net;
  // Steps, batch, channels: the labels are by batch.
  net.initialize(init::Xavier());
  loss::SoftmaxCrossEntropyLoss criterion;
  if (hybrid) net.hybridize();
  Trainer trainer(net.collect_params(), "adam", {.learning_rate = 0.01});
  Outcome out;
  for (int step = 0; step < steps; ++step) {
    const Tensor x = random::uniform(-1, 1, {6, 3, 5}), label = random::randint(0, 4, {3});
    Tensor loss;
    {
      const autograd::Record record;
      loss = criterion(net(x), label);
    }
    loss.backward();
    trainer.allreduce_grads();
    Tensors gradients;
    for (const Parameter& p : net.collect_params()) gradients.push_back(p.grad());
    clip_global_norm(gradients, 0.5);
    trainer.update(3);
    out.push_back(loss);
  }
  append_parameters(out, net);
  return out;
}

Outcome encoder(bool hybrid) {
  Encoder net;
  return train(net, {3, 6, Encoder::width}, 4, "adamw", {.learning_rate = 0.003, .wd = 0.01}, hybrid);
}

/// Two networks and two trainers: each learns from what the other makes.
Outcome adversaries(bool hybrid) {
  nn::HybridSequential generator, judge;
  generator.add(nn::Dense(12, {.activation = "relu"}), nn::BatchNorm(), nn::Dense(6));
  judge.add(nn::Dense(12), nn::LeakyReLU(0.2), nn::Dropout(0.2), nn::Dense(1));
  loss::SigmoidBCELoss criterion;
  for (nn::HybridSequential* net : {&generator, &judge}) {
    net->initialize(init::Normal(0.2));
    if (hybrid) net->hybridize();
  }
  Trainer making(generator.collect_params(), "adam", {.learning_rate = 0.01, .beta1 = 0.5});
  Trainer judging(judge.collect_params(), "rmsprop", {.learning_rate = 0.01});
  constexpr std::int64_t batch = 8;
  const Tensor yes = ones({batch}), no = zeros({batch});
  Outcome out;
  for (int step = 0; step < steps; ++step) {
    const Tensor real = random::normal(1, 0.5, {batch, 6}), noise = random::normal(0, 1, {batch, 4});
    Tensor fake, judged;
    {
      const autograd::Record record;
      fake = generator(noise);
      judged = criterion(judge(real), yes) + criterion(judge(fake.detach()), no);
    }
    judged.backward();
    judging.step(batch);
    Tensor made;
    {
      const autograd::Record record;
      made = criterion(judge(fake), yes);
    }
    made.backward();
    making.step(batch);
    out.push_back(judged);
    out.push_back(made);
  }
  append_parameters(out, generator);
  append_parameters(out, judge);
  return out;
}

struct Training {
  const char* name;
  Outcome (*run)(bool hybrid);
};
const Training trainings[] = {{"mlp", mlp},
                              {"convolutions", convolutions},
                              {"lstm", lstm},
                              {"encoder", encoder},
                              {"adversaries", adversaries}};

Outcome run(const Training& training, bool hybrid, int threads) {
  const ThreadLimit limit(threads);
  random::seed(5);
  return training.run(hybrid);
}

/// The first array that differs, in words.
std::string difference(const Outcome& a, const Outcome& b) {
  if (a.size() != b.size()) return fmt::format("{} arrays and {}", a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!same_bits(a[i], b[i])) return fmt::format("array {} of {}", i, a.size());
  return {};
}

void check(const Training& training) {
  const Outcome expected = run(training, false, 1);
  for (const double v : expected.back().to_vector<double>()) CHECK(std::isfinite(v));
  CHECK_FALSE(same_bits(expected[0], expected[steps - 1]));
  for (const bool hybrid : {false, true})
    for (const int threads : {1, 2, 5}) {
      if (!hybrid && threads == 1) continue;
      CAPTURE(hybrid, threads);
      CHECK(difference(run(training, hybrid, threads), expected) == "");
    }
  for (const std::string& cpu : target_cpus()) {
    CAPTURE(cpu);
    set_target_cpu(cpu);
    for (const bool hybrid : {false, true}) CHECK(difference(run(training, hybrid, 2), expected) == "");
  }
  set_target_cpu("native");
}

}  // namespace

TEST_CASE("training a multilayer perceptron", "[mlp]") { check(trainings[0]); }
TEST_CASE("training convolutions with BatchNorm and Dropout", "[convolutions]") { check(trainings[1]); }
TEST_CASE("training an LSTM", "[lstm]") { check(trainings[2]); }
TEST_CASE("training a layer of an encoder", "[encoder]") { check(trainings[3]); }
TEST_CASE("training two adversaries with a trainer each", "[adversaries]") { check(trainings[4]); }

// Lesson 7: train_step() makes a step one call, and checkpoints let a run that was killed continue.
#include <kiln/kiln.h>

#include <cstdio>
#include <filesystem>

using namespace kiln;

nn::HybridSequential make() {
  nn::HybridSequential net({.prefix = "net_"});
  auto scope = net.name_scope();
  net.add(nn::Dense(16, {.activation = "tanh"}), nn::Dropout(0.1), nn::Dense(1));
  net.initialize(init::Xavier());
  net.hybridize();
  return net;
}

/// Trains for ten epochs of 20 updates, from the newest checkpoint if there is one. Returns the last loss.
/// The process "is killed" after `killed_after` updates.
double train(const char* name, const data::Dataset& samples, std::int64_t killed_after = 0) {
  nn::HybridSequential net = make();
  loss::L2Loss criterion;
  Trainer trainer(net.collect_params(), "adam", {.learning_rate = 0.01});
  data::DataLoader batches(samples, {.batch_size = 32, .shuffle = true});

  // A checkpoint has all that the run depends on: the parameters, the states of adam, the place in the
  // loader's order, and the stream of random numbers that Dropout takes its own from.
  CheckpointManager checkpoints("checkpoints", net, trainer, batches);
  if (auto found = checkpoints.restore())
    std::printf("%s: continues after %d updates\n", name, static_cast<int>(found->step));

  // Forward, backward and update as one executable, with the bits of the three calls of lesson 6.
  TrainStep step = net.train_step(criterion, trainer);
  double last = 0;
  for (auto epoch = batches.state().epoch; epoch < 10; ++epoch)
    for (const auto& [x, y] : batches) {
      last = step(x, y).mean().item<double>();
      checkpoints.save_every(20);
      if (trainer.num_update() == killed_after) {
        std::printf("%s: killed after %d updates\n", name, static_cast<int>(killed_after));
        return last;
      }
    }
  std::printf("%s: %s, loss %.9f\n", name, step.compiled() ? "one executable" : "three calls", last);
  return last;
}

int main() {
  random::seed(5);
  Tensor x = random::uniform(-3, 3, {640, 1});
  data::ArrayDataset samples(x, F::sin(x));

  std::filesystem::remove_all("checkpoints");
  random::seed(6);
  const double whole = train("whole run", samples);

  // The same run, killed in the middle of an epoch, 13 updates after its last checkpoint.
  std::filesystem::remove_all("checkpoints");
  random::seed(6);
  train("first run", samples, 93);

  // Started again, it makes the 13 updates once more and goes on. The seed is another one on purpose:
  // restore() replaces the stream.
  random::seed(7);
  const double continued = train("second run", samples);
  std::printf("%s\n", whole == continued ? "the same bits" : "other bits");
}

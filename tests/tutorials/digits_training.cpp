// A convolutional network with BatchNorm and Dropout learns handwritten digits, from the files in the folder
// digits. Called with "eager" it is not hybridized, and prints the same. A third argument is a folder for
// checkpoints: a run that was killed continues from there, and prints the epochs that were left.
#include <kiln/kiln.h>

#include <cstdio>
#include <string_view>

using namespace kiln;
namespace vision = data::vision;
namespace transforms = data::vision::transforms;

nn::HybridSequential network() {
  nn::HybridSequential net;
  for (const int channels : {16, 32})
    net.add(nn::Conv2D(channels, {.kernel_size = 3, .padding = 1}), nn::BatchNorm(), nn::Activation("relu"),
            nn::MaxPool2D({.pool_size = 2, .strides = 2}));
  net.add(nn::Flatten(), nn::Dense(64, {.activation = "relu"}), nn::Dropout(0.3), nn::Dense(10));
  return net;
}

double accuracy(nn::HybridSequential& net, const data::DataLoader& batches) {
  metric::Accuracy accuracy;
  for (const auto& [images, labels] : batches) accuracy.update(labels, net(images));
  return accuracy.value();
}

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "digits";
  const bool eager = argc > 2 && std::string_view(argv[2]) == "eager";
  random::seed(7);

  // Pixels are 0 to 16, which ToTensor divides by 255.
  const transforms::Compose to_network({transforms::ToTensor(), transforms::Normalize(0, 16.0 / 255)});
  const data::DataLoader batches(vision::MNIST(folder).transform_first(to_network),
                                 {.batch_size = 32, .shuffle = true, .num_workers = 2});
  const data::DataLoader held_out(vision::MNIST(folder, false).transform_first(to_network),
                                  {.batch_size = 128, .num_workers = 1});

  auto net = network();
  net.initialize(init::Xavier());
  if (!eager) net.hybridize();
  loss::SoftmaxCrossEntropyLoss criterion;
  constexpr int epochs = 8;
  Trainer trainer(
      net.collect_params(), "adam",
      {.learning_rate = 0.01,
       .lr_scheduler = lr_scheduler::Cosine({.max_update = epochs * batches.size(), .final_lr = 1e-4})});

  const bool resume = argc > 3;
  CheckpointManager checkpoints(resume ? argv[3] : "", net, trainer, batches);
  if (resume) checkpoints.restore();
  Progress progress(batches, {.epochs = epochs});  // on stderr

  for (auto epoch = batches.state().epoch; epoch < epochs; ++epoch) {
    metric::Loss mean_loss;
    metric::Accuracy train_accuracy;
    for (const auto& [images, labels] : batches) {
      Tensor scores, loss;
      {
        const autograd::Record record;
        scores = net(images);
        loss = criterion(scores, labels);
      }
      loss.backward();
      trainer.step(images.shape()[0]);
      mean_loss.update(loss);
      train_accuracy.update(labels, scores);
      progress.step(images.shape()[0], {mean_loss.get(), train_accuracy.get()});
    }
    progress.end_epoch({mean_loss.get(), train_accuracy.get()});
    std::printf("epoch %d: loss %.6f, accuracy %.4f, held out %.4f\n", static_cast<int>(epoch) + 1,
                mean_loss.value(), train_accuracy.value(), accuracy(net, held_out));
    if (resume) checkpoints.save();
  }
}

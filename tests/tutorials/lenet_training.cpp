// "Saving and loading Gluon models": a LeNet is trained and saved. Another one continues from the files and
// is exported.
#include "digits.h"

#include <kiln/kiln.h>

#include <cstdio>

using namespace kiln;

nn::HybridSequential lenet() {
  // Trainer states are saved by the names of parameters. A fixed prefix gives two networks the same names.
  nn::HybridSequential net({.prefix = "lenet_"});
  auto scope = net.name_scope();
  net.add(nn::Conv2D(8, {.kernel_size = 3, .padding = 1, .activation = "relu"}),
          nn::MaxPool2D({.pool_size = 2, .strides = 2}),
          nn::Conv2D(16, {.kernel_size = 3, .padding = 1, .activation = "relu"}),
          nn::MaxPool2D({.pool_size = 2, .strides = 2}), nn::Flatten(), nn::Dense(64, {.activation = "relu"}),
          nn::Dense(10));
  return net;
}

Trainer trainer_of(const nn::HybridSequential& net) {
  lr_scheduler::Cosine schedule({.max_update = 240, .final_lr = 1e-4});
  return Trainer(net.collect_params(), "adam", {.learning_rate = 0.01, .lr_scheduler = schedule});
}

// Steps begin to end - 1, on batches of 32 images.
void train(nn::HybridSequential& net, Trainer& trainer, const Tensor& images, const Tensor& labels, int begin,
           int end) {
  loss::SoftmaxCrossEntropyLoss criterion;
  for (int i = begin; i < end; ++i) {
    const auto batch = slice(32 * i, 32 * (i + 1));
    Tensor l = autograd::record([&] { return criterion(net(images[batch]), labels[batch]); });
    l.backward();
    trainer.step(32);
    if (i % 20 == 19) std::printf("step %d: loss %.6f\n", i + 1, l.mean().item<double>());
  }
}

int main() {
  random::seed(1);
  auto [images, labels] = digits(240 * 32);
  auto [test_images, test_labels] = digits(500);

  auto net = lenet();
  net.initialize(init::Xavier());
  net.hybridize();
  Trainer trainer = trainer_of(net);
  train(net, trainer, images, labels, 0, 160);
  net.save_parameters("lenet.params");
  trainer.save_states("lenet-states.params");
  train(net, trainer, images, labels, 160, 240);

  // Another network continues from the files, with the same losses.
  std::printf("from the files:\n");
  auto again = lenet();
  again.load_parameters("lenet.params");
  again.hybridize();
  Trainer continued = trainer_of(again);
  continued.load_states("lenet-states.params");
  std::printf("after %d updates\n", static_cast<int>(continued.num_update()));
  train(again, continued, images, labels, 160, 240);

  Tensor scores = again(test_images);
  std::printf("test accuracy %.3f\n", accuracy(scores, test_labels));

  // MXNet reads the exported files, and so do programs without the code of the network.
  again.export_model("lenet", 1);
  auto imported = SymbolBlock::imports("lenet-symbol.json", {"data"}, "lenet-0001.params");
  std::printf("imported: %.3f\n", accuracy(imported(test_images), test_labels));
}

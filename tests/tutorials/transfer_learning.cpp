// "Transfer learning": a network of the model zoo has learned the digits 0 to 4. Its features serve for 5 to
// 9, with few images of each. First only a new output layer is trained, then all layers.
#include "digits.h"

#include <kiln/kiln.h>

#include <cstdio>

using namespace kiln;
namespace vision = kiln::model_zoo::vision;

// A small ResNet, so that this program is quick. vision::resnet18_v1() has 18 layers.
vision::VisionModel resnet(std::int64_t classes) {
  return vision::ResNetV1(vision::ResNetBlock::basic, {1, 1}, {8, 8, 16},
                          {.classes = classes, .thumbnail = true});
}

// Digits in colour, as networks of the zoo expect images.
std::pair<Tensor, Tensor> colour_digits(std::int64_t count, int first) {
  auto [images, labels] = digits(count, first, 5);
  return {F::repeat(images, {.repeats = 3, .axis = 1}), labels};
}

// Writes the parameters that a program would download.
void pretrain() {
  auto net = resnet(5);
  net.initialize(init::Xavier());
  loss::SoftmaxCrossEntropyLoss criterion;
  Trainer trainer(net.collect_params(), "adam", {.learning_rate = 0.01});
  auto step = net.train_step(criterion, trainer);
  for (int i = 0; i < 100; ++i) {
    auto [images, labels] = colour_digits(32, 0);
    step(images, labels);
  }
  auto [images, labels] = colour_digits(500, 0);
  std::printf("digits 0 to 4: accuracy %.3f\n", accuracy(net(images), labels));
  net.save_parameters("resnet.params");
}

int main() {
  random::seed(1);
  pretrain();

  auto pretrained = resnet(5);
  pretrained.load_parameters("resnet.params");
  auto net = resnet(5);
  net.features = pretrained.features;
  net.output->initialize(init::Xavier());
  net.hybridize();

  // Frozen: no gradients are computed for the features, and the Trainer leaves them alone.
  net.features->collect_params().set_grad_req(GradReq::null);
  Trainer trainer(net.collect_params(), "adam", {.learning_rate = 0.02});
  Parameter stem = net.features->collect_params(".*conv0_weight").items()[0];
  auto before = stem.data().to_vector<float>();

  loss::SoftmaxCrossEntropyLoss criterion;
  auto [images, labels] = colour_digits(200, 5);
  auto [test_images, test_labels] = colour_digits(500, 5);
  const auto train = [&](int epochs) {
    for (int epoch = 1; epoch <= epochs; ++epoch) {
      // In prediction mode, so that BatchNorm keeps its running statistics.
      Tensor l = autograd::record([&] { return criterion(net(images), labels); }, /*train=*/false);
      l.backward();
      trainer.step(images.shape()[0]);
      if (epoch % 10 == 0)
        std::printf("epoch %d: loss %.4f, test accuracy %.3f\n", epoch, l.mean().item<double>(),
                    accuracy(net(test_images), test_labels));
    }
  };
  std::printf("the output layer learns:\n");
  train(60);
  std::printf("the features are %s\n", stem.data().to_vector<float>() == before ? "unchanged" : "changed");

  // Fine-tuning: all layers learn, the features at a tenth of the rate.
  net.features->collect_params().set_grad_req(GradReq::write);
  net.features->collect_params().set_lr_mult(0.1);
  std::printf("all layers learn:\n");
  train(30);
}

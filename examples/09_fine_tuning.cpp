// Lesson 9: fine-tuning. A part of a network from a file gets a new output layer and learns another task.
//
// Usage: 09_fine_tuning MODELS, the folder with tiny_resnet-symbol.json.
#include <kiln/kiln.h>

#include <cstdio>

using namespace kiln;

/// Images (count, 3, 17, 15) of vertical or horizontal stripes in noise, and for each whether they are
/// vertical.
std::pair<Tensor, Tensor> stripes(std::int64_t count) {
  Tensor vertical = random::uniform(0, 1, {count, 1, 1, 1}) < 0.5;
  Tensor phase = random::uniform(0, 6.28, {count, 1, 1, 1});
  Tensor row = arange(17).reshape({1, 1, 17, 1}), column = arange(15).reshape({1, 1, 1, 15});
  Tensor wave = F::sin(phase + vertical * column + (1 - vertical) * row);
  return {wave + random::normal(0, 0.3, {count, 3, 17, 15}), vertical.reshape({-1})};
}

/// The network of the file up to its last pooling, and a new layer for two classes.
struct Classifier : HybridBlock {
  Child<SymbolBlock> features{this, "features"};
  Child<nn::Dense> output{this, "output"};

  explicit Classifier(const std::string& path) {
    // Every node of a symbol has a name; get_internals() makes its output the end of a smaller network.
    Symbol pooled = sym::load(path + "-symbol.json").get_internals()["tres_pool0_fwd_output"];
    features = SymbolBlock(pooled, {sym::var("data")});
    features->collect_params().load(path + "-0000.params", {.ignore_extra = true});
    output = nn::Dense(2);
    output->initialize(init::Xavier());
  }

  Tensor hybrid_forward(F&, const Tensor& x) override { return output(features(x)); }
};

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: 09_fine_tuning MODELS\n"), 2;
  random::seed(9);
  Classifier net(std::string(argv[1]) + "/tiny_resnet");
  net.hybridize();
  loss::SoftmaxCrossEntropyLoss criterion;
  Trainer trainer(net.collect_params(), "adam", {.learning_rate = 0.01});
  auto [test_images, test_labels] = stripes(256);

  const auto train = [&](const char* name) {
    Tensor loss;
    for (int i = 0; i < 60; ++i) {
      auto [images, labels] = stripes(32);
      // Prediction mode: BatchNorm keeps the statistics of the file.
      const auto forward = [&, &x = images, &y = labels] { return criterion(net(x), y); };
      loss = autograd::record(forward, /*train=*/false);
      loss.backward();
      trainer.step(32);
    }
    metric::Accuracy accuracy;
    accuracy.update(test_labels, net(test_images));
    std::printf("%s: loss %.4f, accuracy %.3f\n", name, loss.mean().item<double>(), accuracy.value());
  };

  // First the new layer alone. Parameters without gradients are frozen, and cost no backward pass.
  Tensor stem = net.features->collect_params()["tres_conv0_weight"].data();
  const auto before = stem.to_vector<float>();
  net.features->collect_params().set_grad_req(GradReq::null);
  train("the new layer learns");
  std::printf("the features are %s\n", stem.to_vector<float>() == before ? "unchanged" : "changed");

  // Then all layers, the features at a tenth of the rate.
  net.features->collect_params().set_grad_req(GradReq::write);
  net.features->collect_params().set_lr_mult(0.1);
  train("all layers learn");
  std::printf("the features are %s\n", stem.to_vector<float>() == before ? "unchanged" : "changed");

  // The model-zoo networks are taken apart likewise: net.features stays, net.output is assigned.
  auto zoo = model_zoo::vision::mobilenet_v2_0_25({.classes = 1000});
  zoo.output = nn::Dense(2);
  std::printf("%s: %d parameters\n", zoo.class_name().c_str(), static_cast<int>(zoo.collect_params().size()));
}

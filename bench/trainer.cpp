// One step of training as programs write it: Record, backward() and Trainer::step(); and as one call,
// train_step().
#include "bench/workload.h"

using namespace kiln;

namespace bench {
namespace {

using Net = std::shared_ptr<HybridBlock>;

Net mlp_net() {
  auto net = std::make_shared<nn::HybridSequential>(BlockOptions{.prefix = "mlp_"});
  const auto scope = net->name_scope();
  net->add(nn::Dense(256, {.activation = "relu", .in_units = 512}));
  net->add(nn::Dense(128, {.activation = "relu", .in_units = 256}));
  net->add(nn::Dense(2, {.in_units = 128}));
  return net;
}

Net lenet() {
  auto net = std::make_shared<nn::HybridSequential>(BlockOptions{.prefix = "lenet_"});
  const auto scope = net->name_scope();
  net->add(nn::Conv2D(6, {.kernel_size = 5, .activation = "relu"}));
  net->add(nn::MaxPool2D());
  net->add(nn::Conv2D(16, {.kernel_size = 5, .activation = "relu"}));
  net->add(nn::MaxPool2D());
  net->add(nn::Flatten());
  net->add(nn::Dense(120, {.activation = "relu", .in_units = 256}));
  net->add(nn::Dense(84, {.activation = "relu", .in_units = 120}));
  net->add(nn::Dense(10, {.use_bias = false, .in_units = 84}));
  return net;
}

Tensor labels(std::int64_t count, int classes) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i * 7 % classes));
  return {values, {count}};
}

/// A step of gradient descent on one batch; with `one_call` by train_step().
Workload step(const Net& net, const Tensor& x, int classes, bool one_call,
              const optimizer::Options& options = {.learning_rate = 0.01}) {
  net->initialize();
  const auto loss = std::make_shared<loss::SoftmaxCrossEntropyLoss>();
  loss->hybridize();
  Trainer trainer(net->collect_params(), "sgd", options);
  (*net)(x);  // shapes of parameters
  const Tensor y = labels(x.shape()[0], classes);
  Workload w{net, {x}};
  if (one_call) {
    w.program = [net, loss, x, y, step = net->train_step(*loss, trainer)]() mutable { return step(x, y); };
  } else {
    w.program = [net, loss, x, y, trainer]() mutable {
      Tensor l;
      {
        const autograd::Record record;
        l = (*loss)((*net)(x), y);
      }
      l.backward();
      trainer.step(x.shape()[0]);
      return l;
    };
  }
  return w;
}

}  // namespace

void add_trainer() {
  const auto mlp = [](bool one_call) { return step(mlp_net(), randn({64, 512}), 2, one_call); };
  const auto digits = [](bool one_call) { return step(lenet(), randn({64, 1, 28, 28}), 10, one_call); };
  const auto resnet = [](bool one_call) -> Workload {
    return step(std::make_shared<model_zoo::vision::VisionModel>(model_zoo::vision::get_model("resnet18_v1")),
                randn({8, 3, 224, 224}), 1000, one_call, {.learning_rate = 0.01, .momentum = 0.9});
  };
  add("train_mlp_b64", [=] { return mlp(false); });
  add_compiled("train_mlp_b64_one_call", [=] { return mlp(true); });
  add("train_lenet_b64", [=] { return digits(false); });
  add_compiled("train_lenet_b64_one_call", [=] { return digits(true); });
  add("train_resnet18_b8", [=] { return resnet(false); });
  add_compiled("train_resnet18_b8_one_call", [=] { return resnet(true); });
}

}  // namespace bench

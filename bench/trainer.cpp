// Steps of training of networks for images.
#include "bench/training_step.h"

using namespace kiln;

namespace bench {
namespace {

using Net = std::shared_ptr<HybridBlock>;
constexpr double rate = 0.01;
const optimizer::Options momentum{.learning_rate = rate, .momentum = 0.9}, adam{.learning_rate = 0.001};

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

Net from_zoo(const std::string& name, const model_zoo::vision::ModelOptions& options = {}) {
  return std::make_shared<model_zoo::vision::VisionModel>(model_zoo::vision::get_model(name, options));
}

Training classifier(const Net& net, const Tensor& x, int classes, const optimizer::Options& options) {
  return {net, {x}, class_labels(x.shape()[0], classes), cross_entropy(), "sgd", options};
}

/// 784-400-20-400-784 with normal noise from the generator. The result is the loss of each image: the
/// cross-entropy of its pixels and the divergence of its code from a standard normal one.
class Autoencoder : public HybridBlock {
 public:
  Autoencoder() {
    const auto scope = name_scope();
    hidden = nn::Dense(400, {.activation = "relu", .in_units = 784});
    mean = nn::Dense(20, {.in_units = 400});
    log_variance = nn::Dense(20, {.in_units = 400});
    back = nn::Dense(400, {.activation = "relu", .in_units = 20});
    pixels = nn::Dense(784, {.in_units = 400});
  }

 protected:
  Tensor hybrid_forward(F& F, const Tensor& x) override {
    const Tensor h = hidden(x), m = mean(h), v = log_variance(h);
    const Tensor code = m + F.exp(v * 0.5) * F.random().normal_like(m);
    const Tensor y = pixels(back(code));
    const Tensor of_pixels = F.relu(y) - y * x + F.Activation(-F.abs(y), {.act_type = "softrelu"});
    return F.sum(of_pixels, {.axis = 1}) - F.sum(v - F.square(m) - F.exp(v) + 1, {.axis = 1}) * 0.5;
  }

 private:
  Child<nn::Dense> hidden{this, "hidden"}, mean{this, "mean"}, log_variance{this, "log_variance"},
      back{this, "back"}, pixels{this, "pixels"};
};

/// DCGAN for images of 32x32: 100 numbers to 3 channels, and back to one score.
Net generator() {
  auto net = std::make_shared<nn::HybridSequential>(BlockOptions{.prefix = "generator_"});
  const auto scope = net->name_scope();
  std::int64_t inputs = 100;
  for (const std::int64_t channels : {256, 128, 64, 3}) {
    const bool is_first = inputs == 100, is_last = channels == 3;
    const std::int64_t stride = is_first ? 1 : 2, pad = is_first ? 0 : 1;
    net->add(nn::Conv2DTranspose(
        channels,
        {.kernel_size = 4, .strides = stride, .padding = pad, .use_bias = false, .in_channels = inputs}));
    if (!is_last) net->add(nn::BatchNorm());
    net->add(nn::Activation(is_last ? "tanh" : "relu"));
    inputs = channels;
  }
  return net;
}

Net discriminator() {
  auto net = std::make_shared<nn::HybridSequential>(BlockOptions{.prefix = "discriminator_"});
  const auto scope = net->name_scope();
  for (const std::int64_t channels : {64, 128, 256}) {
    net->add(nn::Conv2D(channels, {.kernel_size = 4, .strides = 2, .padding = 1, .use_bias = false}));
    if (channels > 64) net->add(nn::BatchNorm());
    net->add(nn::LeakyReLU(0.2));
  }
  net->add(nn::Conv2D(1, {.kernel_size = 4, .use_bias = false}));
  net->add(nn::Flatten());
  return net;
}

/// A step of both networks: the discriminator on real and generated images, then the generator.
Workload dcgan() {
  constexpr std::int64_t batch = 32;
  struct Two {
    Net make = generator(), judge = discriminator();
    loss::SigmoidBCELoss loss;
  };
  const auto two = std::make_shared<Two>();
  const Tensor real = randn({batch, 3, 32, 32}), noise = randn({batch, 100, 1, 1});
  for (const Net& net : {two->make, two->judge}) net->initialize();
  (*two->judge)((*two->make)(noise));
  two->loss.hybridize();
  const optimizer::Options options{.learning_rate = 0.0002, .beta1 = 0.5};
  Trainer maker(two->make->collect_params(), "adam", options),
      judge(two->judge->collect_params(), "adam", options);
  auto both = std::make_shared<nn::HybridSequential>(BlockOptions{.prefix = "dcgan_"});  // to hybridize
  both->add(two->make);
  both->add(two->judge);
  Workload w{both, {noise}};
  w.program = [=, yes = ones({batch, 1}), no = zeros({batch, 1})]() mutable {
    Tensor of_judge, of_maker;
    {
      const autograd::Record record;
      const Tensor made = (*two->make)(noise);
      of_judge = two->loss((*two->judge)(real), yes) + two->loss((*two->judge)(made.detach()), no);
    }
    of_judge.backward();
    judge.step(batch);
    {
      const autograd::Record record;
      of_maker = two->loss((*two->judge)((*two->make)(noise)), yes);
    }
    of_maker.backward();
    maker.step(batch);
    return of_maker;
  };
  return w;
}

}  // namespace

void add_trainer() {
  const optimizer::Options plain{.learning_rate = rate};
  add_training_step("train_mlp_b64", [=] { return classifier(mlp_net(), randn({64, 512}), 2, plain); });
  add_training_step("train_lenet_b64", [=] {
    return classifier(lenet(), randn({64, 1, 28, 28}), 10, plain);
  });
  add_training_step("train_resnet18_cifar_b32", [] {
    return classifier(from_zoo("resnet18_v1", {.classes = 10, .thumbnail = true}), randn({32, 3, 32, 32}), 10,
                      momentum);
  });
  add_training_step("train_resnet18_b8", [] {
    return classifier(from_zoo("resnet18_v1"), randn({8, 3, 224, 224}), 1000, momentum);
  });
  add_training_step("train_mobilenet_v2_b8", [] {
    return classifier(from_zoo("mobilenetv2_1.0"), randn({8, 3, 224, 224}), 1000, momentum);
  });
  add_training_step("train_vae_b128", [] {
    const Tensor x = uniform({128, 784}) - 0.5;
    return Training{std::make_shared<Autoencoder>(), {x}, x, computed_loss(), "adam", adam};
  });
  add("train_dcgan_b32", dcgan);
}

}  // namespace bench

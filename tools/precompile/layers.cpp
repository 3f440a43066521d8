// Layers and steps of training whose kernels are installed.
#include "tools/precompile/calls.h"

#include <kiln/kiln.h>
#include <kiln/rnn_layer.h>

#include <cmath>

using namespace kiln;

namespace precompile {
namespace {

/// The plans of these inputs, without a run.
template <class Net>
void bind(Net& net, std::initializer_list<Shape> inputs) {
  net.hybridize();
  for (const Shape& shape : inputs) {
    const BoundCall call = net.bind({ones(shape)});
  }
}

/// Generic kernels are for any numbers of rows and columns: every layer finds them. Batches of one get other
/// kernels.
void call_dense() {
  for (const std::int64_t in : {64, 1024})  // one chunk of products, several
    for (const char* activation : {"", "relu", "tanh", "sigmoid"}) {
      const auto dense = [&](std::int64_t units) {
        nn::Dense layer(units, {.activation = activation, .in_units = in});
        layer.initialize();
        layer.hybridize();
        return layer;
      };
      for (const std::int64_t units :
           {10, 12, 20, 24, 64, 72, 80, 96}) {  // narrow panels, an even and an odd number of wide ones
        nn::Dense layer = dense(units);
        for (const std::int64_t rows : {1, 7}) layer(ones({rows, in}));
      }
      for (const std::int64_t units :
           {1, 2, 3, 5, 10, 16, 20, 32, 50, 64, 84, 100, 120, 128, 256, 500, 1000}) {
        nn::Dense layer = dense(units);
        bind(layer, {{1, in}});
      }
    }
}

/// Attention and a perceptron, with residual connections, as in BERT.
class Encoder : public HybridBlock {
 public:
  static constexpr int width = 768, heads = 12;

  Encoder() {
    const auto scope = name_scope();
    qkv = nn::Dense(3 * width, {.flatten = false, .in_units = width});
    out = nn::Dense(width, {.flatten = false, .in_units = width});
    up = nn::Dense(4 * width, {.flatten = false, .in_units = width});
    down = nn::Dense(width, {.flatten = false, .in_units = 4 * width});
    norm1 = nn::LayerNorm({.in_channels = width});
    norm2 = nn::LayerNorm({.in_channels = width});
  }

 protected:
  Tensor hybrid_forward(F& F, const Tensor& x) override {
    const Tensors parts = F.split(qkv(x), {.num_outputs = 3, .axis = 2});
    const auto split = [&](const Tensor& t) {
      return F.reshape(F.transpose(F.reshape(t, {0, 0, heads, -1}), {.axes = {0, 2, 1, 3}}), {-3, 0, 0});
    };
    const double scale = 1 / std::sqrt(static_cast<double>(width / heads));
    const Tensor weights =
        F.softmax(F.batch_dot(split(parts[0]), split(parts[1]), {.transpose_b = true}) * scale);
    const Tensor mixed = F.batch_dot(weights, split(parts[2]));
    const Tensor joined =
        F.reshape(F.transpose(F.reshape(mixed, {-4, -1, heads, 0, 0}), {.axes = {0, 2, 1, 3}}), {0, 0, -3});
    const Tensor attended = norm1(x + out(joined));
    return norm2(attended + down(F.LeakyReLU(up(attended), {.act_type = "gelu"})));
  }

 private:
  Child<nn::Dense> qkv{this, "qkv"}, out{this, "out"}, up{this, "up"}, down{this, "down"};
  Child<nn::LayerNorm> norm1{this, "norm1"}, norm2{this, "norm2"};
};

void call_sequences() {
  Encoder encoder;
  encoder.initialize();
  bind(encoder, {{1, 128, Encoder::width}, {1, 384, Encoder::width}, {8, 128, Encoder::width}});
  rnn::LSTM lstm(256, {.num_layers = 2, .input_size = 128});
  lstm.initialize();
  bind(lstm, {{32, 1, 128}, {32, 16, 128}});
  rnn::GRU gru(256, {.num_layers = 2, .input_size = 128});
  gru.initialize();
  bind(gru, {{32, 1, 128}, {32, 16, 128}});
}

nn::HybridSequential perceptron() {
  nn::HybridSequential net;
  net.add(nn::Dense(128, {.activation = "relu"}), nn::Dense(64, {.activation = "relu"}), nn::Dense(10));
  return net;
}
nn::HybridSequential lenet(const std::string& activation) {
  nn::HybridSequential net;
  net.add(nn::Conv2D(20, {.kernel_size = 5, .activation = activation}), nn::MaxPool2D(2),
          nn::Conv2D(50, {.kernel_size = 5, .activation = activation}), nn::MaxPool2D(2), nn::Flatten(),
          nn::Dense(500, {.activation = activation}), nn::Dense(10));
  return net;
}

/// Two steps: the first makes the optimizer's states.
void train(nn::HybridSequential net, const Shape& images, const std::string& optimizer) {
  net.initialize();
  net.hybridize();
  Trainer trainer(net.collect_params(), optimizer, {.learning_rate = 0.01});
  loss::SoftmaxCrossEntropyLoss loss;
  loss.hybridize();
  const Tensor x = ones(images), labels = zeros({images[0]});
  for (int step = 0; step < 2; ++step) {
    Tensor error;
    {
      const autograd::Record recording;
      error = loss(net(x), labels);
    }
    error.backward();
    trainer.step(images[0]);
  }
}

void call_small_networks() {
  auto mlp = perceptron();
  mlp.initialize();
  mlp.hybridize();
  for (const std::int64_t batch : {1, 7, 64}) mlp(ones({batch, 784}));
  for (const char* activation : {"relu", "tanh"}) {
    auto net = lenet(activation);
    net.initialize();
    net.hybridize();
    for (const std::int64_t batch : {1, 7, 64}) net(ones({batch, 1, 28, 28}));
  }
  for (const char* optimizer : {"sgd", "adam"}) {
    train(perceptron(), {64, 784}, optimizer);
    train(lenet("relu"), {64, 1, 28, 28}, optimizer);
  }
}

}  // namespace

void call_layers() {
  call_dense();
  call_small_networks();
  call_sequences();
}

void call_networks() {
  // Deeper networks of a family have the same kernels.
  struct Network {
    const char* name;
    std::int64_t picture, batch = 1;
  };
  constexpr Network networks[] = {
      {"alexnet", 224},
      {"densenet121", 224},
      {"densenet161", 224},
      {"inceptionv3", 299},
      {"mobilenet1.0", 224},
      {"mobilenet0.25", 224},
      {"mobilenetv2_1.0", 224},
      {"mobilenetv2_0.5", 224},
      {"resnet18_v1", 224},
      {"resnet18_v2", 224},
      {"resnet50_v1", 224},
      {"resnet50_v2", 224},
      {"squeezenet1.0", 224},
      {"squeezenet1.1", 224},
      {"vgg11", 224},
      {"vgg11_bn", 224},
      {"resnet18_v1", 224, 8},
      {"resnet50_v1", 224, 8},
      {"mobilenetv2_1.0", 224, 8},
  };
  for (const auto& [name, picture, batch] : networks) {
    auto net = model_zoo::vision::get_model(name);
    net.initialize();
    bind(net, {{batch, 3, picture, picture}});
  }
}

}  // namespace precompile

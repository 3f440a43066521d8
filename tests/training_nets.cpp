#include "training_nets.h"

namespace training {

using namespace kiln;

namespace {

Task finish(std::string name, std::shared_ptr<HybridBlock> net, std::shared_ptr<loss::Loss> loss, Tensor x,
            Tensor label) {
  random::seed(5);
  net->initialize(init::Xavier());
  return {std::move(name), std::move(net), std::move(loss), std::move(x), std::move(label)};
}

Tensor numbers(const Shape& shape) {
  random::seed(17);
  return random::normal(0, 1, shape);
}
Tensor classes(std::int64_t count, std::int64_t of) {
  std::vector<float> out;
  for (std::int64_t i = 0; i < count; ++i) out.push_back(static_cast<float>(i * 7 % of));
  return Tensor::from_vector(out, {count});
}

class LastOfLstm : public HybridBlock {
 public:
  LastOfLstm() : HybridBlock({.prefix = "last_"}) {
    const auto scope = name_scope();
    lstm_ = rnn::LSTM(12, {.num_layers = 1, .layout = "NTC", .input_size = 6});
    out_ = nn::Dense(3, {.in_units = 12});
  }

 protected:
  Tensor hybrid_forward(F& F, const Tensor& x) override {
    const Tensor all = lstm_(x);
    return out_(F.slice_axis(all, {.axis = 1, .begin = -1}));
  }

 private:
  Child<rnn::LSTM> lstm_{this, "lstm"};
  Child<nn::Dense> out_{this, "out"};
};

class Encoder : public HybridBlock {
 public:
  Encoder() : HybridBlock({.prefix = "encoder_"}) {
    const auto scope = name_scope();
    qkv_ = nn::Dense(3 * width, {.flatten = false, .in_units = width});
    project_ = nn::Dense(width, {.flatten = false, .in_units = width});
    up_ = nn::Dense(2 * width, {.flatten = false, .in_units = width});
    down_ = nn::Dense(width, {.flatten = false, .in_units = 2 * width});
    first_ = nn::LayerNorm({.in_channels = width});
    second_ = nn::LayerNorm({.in_channels = width});
    out_ = nn::Dense(3, {.in_units = width});
  }

 protected:
  static constexpr int width = 16;
  Tensor hybrid_forward(F& F, const Tensor& x) override {
    const Tensors qkv = F.split(qkv_(x), {.num_outputs = 3, .axis = 2});
    const Tensor scores = F.batch_dot(qkv[0], qkv[1], {.transpose_b = true}) * 0.25;
    const Tensor mixed = project_(F.batch_dot(F.softmax(scores), qkv[2]));
    const Tensor h = first_(x + F.Dropout(mixed, {.p = 0.1}));
    const Tensor y = second_(h + down_(F.LeakyReLU(up_(h), {.act_type = "gelu"})));
    return out_(F.mean(y, {.axis = 1}));
  }

 private:
  Child<nn::Dense> qkv_{this, "qkv"}, project_{this, "project"}, up_{this, "up"}, down_{this, "down"},
      out_{this, "out"};
  Child<nn::LayerNorm> first_{this, "first"}, second_{this, "second"};
};

}  // namespace

Task mlp() {
  auto net = std::make_shared<nn::HybridSequential>(BlockOptions{.prefix = "mlp_"});
  {
    const auto scope = net->name_scope();
    net->add(nn::Dense(24, {.activation = "relu", .in_units = 10}));
    net->add(nn::Dense(24, {.activation = "tanh", .in_units = 24}));
    net->add(nn::Dense(24, {.activation = "sigmoid", .in_units = 24}));
    net->add(nn::Dense(4, {.in_units = 24}));
  }
  return finish("mlp", net, std::make_shared<loss::SoftmaxCrossEntropyLoss>(), numbers({16, 10}),
                classes(16, 4));
}

Task convolutional() {
  auto net = std::make_shared<nn::HybridSequential>(BlockOptions{.prefix = "conv_"});
  {
    const auto scope = net->name_scope();
    net->add(nn::Conv2D(6, {3, 3}, {.padding = {1, 1}, .in_channels = 2}));
    net->add(nn::BatchNorm({.in_channels = 6}));
    net->add(nn::Activation("relu"));
    net->add(nn::MaxPool2D({2, 2}));
    net->add(nn::Conv2D(8, {3, 3}, {.activation = "relu", .in_channels = 6}));
    net->add(nn::Dropout(0.3));
    net->add(nn::Flatten());
    net->add(nn::Dense(4, {.in_units = 72}));
  }
  return finish("convolutional", net, std::make_shared<loss::SoftmaxCrossEntropyLoss>(),
                numbers({8, 2, 10, 10}), classes(8, 4));
}

Task lstm() {
  return finish("lstm", std::make_shared<LastOfLstm>(), std::make_shared<loss::SoftmaxCrossEntropyLoss>(),
                numbers({4, 5, 6}), classes(4, 3));
}

Task encoder() {
  return finish("encoder", std::make_shared<Encoder>(), std::make_shared<loss::SoftmaxCrossEntropyLoss>(),
                numbers({4, 6, 16}), classes(4, 3));
}

std::vector<std::function<Task()>> tasks() { return {mlp, convolutional, lstm, encoder}; }

}  // namespace training

// Networks of the kinds that are trained.
#pragma once
#include <kiln/kiln.h>

#include <cstdint>
#include <memory>

/// Networks of the kinds that are trained.
namespace training {

using namespace kiln;
using Net = std::shared_ptr<HybridBlock>;

/// Three layers on rows of 12.
inline Net mlp() {
  auto net = std::make_shared<nn::HybridSequential>();
  net->add(nn::Dense(24, {.activation = "relu"}), nn::Dense(24, {.activation = "tanh"}), nn::Dense(5));
  return net;
}

/// Convolutions with BatchNorm, pooling and Dropout, on images of 2 x 10 x 10.
inline Net convolutions() {
  auto net = std::make_shared<nn::HybridSequential>();
  net->add(nn::Conv2D(6, {.kernel_size = 3, .padding = 1, .use_bias = false}), nn::BatchNorm(),
           nn::Activation("relu"), nn::MaxPool2D(), nn::Conv2D(8, {.kernel_size = 3, .activation = "relu"}),
           nn::Dropout(0.3), nn::Dense(4));
  return net;
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

}  // namespace training

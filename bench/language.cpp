// Steps of training of networks for text.
#include "bench/training_step.h"

using namespace kiln;

namespace bench {
namespace {

constexpr int width = 768, heads = 12, inner = 3072;
constexpr std::int64_t batch = 4, tokens = 128;

/// A layer of 768 channels, 12 heads and 3,072 inner channels, as in BERT-base (normalized after each part,
/// with dropout) or in GPT-2 (normalized before it, and causal).
class TransformerLayer : public HybridBlock {
 public:
  enum class Kind { bert, gpt };

  explicit TransformerLayer(Kind kind) : kind_(kind) {
    const auto scope = name_scope();
    qkv = nn::Dense(3 * width, {.flatten = false, .in_units = width});
    out = nn::Dense(width, {.flatten = false, .in_units = width});
    up = nn::Dense(inner, {.flatten = false, .in_units = width});
    down = nn::Dense(width, {.flatten = false, .in_units = inner});
    norm1 = nn::LayerNorm({.in_channels = width});
    norm2 = nn::LayerNorm({.in_channels = width});
    dropout = nn::Dropout(kind == Kind::bert ? 0.1 : 0);
    if (kind == Kind::gpt) {
      std::vector<float> values;
      for (std::int64_t i = 0; i < tokens * tokens; ++i)
        values.push_back(i % tokens > i / tokens ? -1e9F : 0.0F);
      mask_ = params().get_constant("mask", Tensor(values, {1, tokens, tokens}));
    }
  }

 protected:
  Tensor hybrid_forward(F& F, const Tensor& x) override {
    if (kind_ == Kind::gpt) {
      const Tensor x1 = x + attention(F, norm1(x));
      return x1 + perceptron(F, norm2(x1));
    }
    const Tensor x1 = norm1(x + attention(F, x));
    return norm2(x1 + perceptron(F, x1));
  }

 private:
  Tensor attention(F& F, const Tensor& x) {
    const auto split = [&](const Tensor& t) { return split_heads(F, t, heads); };
    const Tensors parts = F.split(qkv(x), {.num_outputs = 3, .axis = 2});
    Tensor scores = F.batch_dot(split(parts[0]), split(parts[1]), {.transpose_b = true}) * 0.125;
    if (kind_ == Kind::gpt) scores = F.broadcast_add(scores, mask_);
    const Tensor weights = dropout(F.softmax(scores, {.axis = -1}));
    const Tensor mixed = F.batch_dot(weights, split(parts[2]));
    return dropout(out(join_heads(F, mixed, heads)));
  }
  Tensor perceptron(F& F, const Tensor& x) { return dropout(down(F.LeakyReLU(up(x), {.act_type = "gelu"}))); }

  Kind kind_;
  Parameter mask_;
  Child<nn::Dense> qkv{this, "qkv"}, out{this, "out"}, up{this, "up"}, down{this, "down"};
  Child<nn::LayerNorm> norm1{this, "norm1"}, norm2{this, "norm2"};
  Child<nn::Dropout> dropout{this, "dropout"};
};

Training layer(TransformerLayer::Kind kind) {
  return {std::make_shared<TransformerLayer>(kind),
          {randn({batch, tokens, width})},
          uniform({batch, tokens, width}),
          std::make_shared<loss::L2Loss>(),
          "adamw",
          {.learning_rate = 0.0001, .wd = 0.01}};
}

/// Two layers of LSTM between an embedding and the scores of each word: (steps, batch) -> (steps * batch,
/// words).
class LanguageModel : public HybridBlock {
 public:
  static constexpr int words = 10'000, hidden = 200;

  LanguageModel() {
    const auto scope = name_scope();
    embedding = nn::Embedding(words, hidden);
    lstm = rnn::LSTM(hidden, {.num_layers = 2, .input_size = hidden});
    scores = nn::Dense(words, {.in_units = hidden});
  }

 protected:
  Tensor hybrid_forward(F& F, const Tensor& x) override {
    return scores(F.reshape(lstm(embedding(x)), {-1, hidden}));
  }

 private:
  Child<nn::Embedding> embedding{this, "embedding"};
  Child<rnn::LSTM> lstm{this, "lstm"};
  Child<nn::Dense> scores{this, "scores"};
};

/// Skip-gram with negative sampling: words (batch,) and candidates (batch, 1 + negatives) to scores (batch,
/// 1 + negatives), of two embeddings.
class SkipGram : public HybridBlock {
 public:
  static constexpr int words = 50'000, size = 128;

  SkipGram() {
    const auto scope = name_scope();
    of_words = nn::Embedding(words, size);
    of_contexts = nn::Embedding(words, size);
  }

 protected:
  Tensors hybrid_forward(F& F, const Tensors& in) override {
    const Tensor word = F.expand_dims(of_words(in[0]), {.axis = 2});
    return {F.reshape(F.batch_dot(of_contexts(in[1]), word), {0, -1})};
  }

 private:
  Child<nn::Embedding> of_words{this, "of_words"}, of_contexts{this, "of_contexts"};
};

Training skip_gram() {
  constexpr std::int64_t pairs = 512, candidates = 6;
  std::vector<float> labels;
  for (std::int64_t i = 0; i < pairs * candidates; ++i) labels.push_back(i % candidates == 0 ? 1.0F : 0.0F);
  return {std::make_shared<SkipGram>(),
          {class_labels(pairs, SkipGram::words),
           class_labels(pairs * candidates, SkipGram::words).reshape({pairs, candidates})},
          Tensor(labels, {pairs, candidates}),
          std::make_shared<loss::SigmoidBCELoss>(),
          "adam",
          {.learning_rate = 0.001}};
}

}  // namespace

void add_language() {
  add_training_step("train_bert_layer_b4", [] { return layer(TransformerLayer::Kind::bert); });
  add_training_step("train_gpt_block_b4", [] { return layer(TransformerLayer::Kind::gpt); });
  add_training_step("train_lstm_lm_b32", [] {
    constexpr std::int64_t steps = 35, sentences = 32;
    return Training{std::make_shared<LanguageModel>(),
                    {class_labels(steps * sentences, LanguageModel::words).reshape({steps, sentences})},
                    class_labels(steps * sentences, LanguageModel::words),
                    cross_entropy(),
                    "sgd",
                    {.learning_rate = 1}};
  });
  add_training_step("train_skip_gram_b512", skip_gram);
}

}  // namespace bench

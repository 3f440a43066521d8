// Steps of training of networks for text.
#include "bench/training_step.h"
#include "bench/transformer.h"

using namespace kiln;

namespace bench {
namespace {

constexpr std::int64_t batch = 4, tokens = 128;

Training layer(const TransformerOptions& options) {
  const Shape shape{batch, tokens, options.width};
  return {std::make_shared<TransformerLayer>(options),
          {randn(shape)},
          uniform(shape),
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
  add_training_step("train_bert_layer_b4", [] { return layer({.dropout = 0.1}); });
  add_training_step("train_gpt_block_b4",
                    [] { return layer({.norm_first = true, .causal_tokens = tokens}); });
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

// Transformer layers, for encoding and for decoding with a cache.
#include "bench/transformer.h"

#include <cmath>

using namespace kiln;

namespace bench {

TransformerLayer::TransformerLayer(const TransformerOptions& options) : options_(options) {
  const auto scope = name_scope();
  const int width = options.width;
  qkv = nn::Dense(3 * width, {.flatten = false, .in_units = width});
  out = nn::Dense(width, {.flatten = false, .in_units = width});
  up = nn::Dense(options.inner, {.flatten = false, .in_units = width});
  down = nn::Dense(width, {.flatten = false, .in_units = options.inner});
  norm1 = nn::LayerNorm({.in_channels = width});
  norm2 = nn::LayerNorm({.in_channels = width});
  dropout = nn::Dropout(options.dropout);
  if (const std::int64_t tokens = options.causal_tokens; tokens > 0) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < tokens * tokens; ++i)
      values.push_back(i % tokens > i / tokens ? -1e9F : 0.0F);
    mask_ = params().get_constant("mask", Tensor(values, {1, tokens, tokens}));
  }
}

Tensors TransformerLayer::hybrid_forward(F& F, const Tensors& in) {
  Tensors cache(in.begin() + 1, in.end());
  Tensor x = in[0];
  if (options_.norm_first) {
    x = x + attention(F, norm1(x), cache);
    x = x + perceptron(F, norm2(x));
  } else {
    x = norm1(x + attention(F, x, cache));
    x = norm2(x + perceptron(F, x));
  }
  cache.insert(cache.begin(), x);
  return cache;
}

/// Replaces the keys and values in `cache`, if there are any, by the keys and values of x.
Tensor TransformerLayer::attention(F& F, const Tensor& x, Tensors& cache) {
  const auto split = [&](const Tensor& t) { return split_heads(F, t, options_.heads); };
  const Tensors parts = F.split(qkv(x), {.num_outputs = 3, .axis = 2});
  Tensor keys = split(parts[1]), values = split(parts[2]);
  if (!cache.empty()) {
    const Tensors earlier = std::exchange(cache, {keys, values});
    keys = F.concat({earlier[0], keys}, 1);
    values = F.concat({earlier[1], values}, 1);
  }
  const double scale = 1 / std::sqrt(static_cast<double>(options_.width / options_.heads));
  Tensor scores = F.batch_dot(split(parts[0]), keys, {.transpose_b = true}) * scale;
  if (options_.causal_tokens > 0) scores = F.broadcast_add(scores, mask_);
  const Tensor weights = dropout(F.softmax(scores, {.axis = -1}));
  return dropout(out(join_heads(F, F.batch_dot(weights, values), options_.heads)));
}

Tensor TransformerLayer::perceptron(F& F, const Tensor& x) {
  return dropout(down(F.LeakyReLU(up(x), {.act_type = "gelu"})));
}

namespace {

constexpr int layers = 12;

/// Makes the layers children of `owner`.
std::vector<TransformerLayer> stack(HybridBlock& owner, const TransformerOptions& options) {
  std::vector<TransformerLayer> all;
  for (int i = 0; i < layers; ++i) {
    all.emplace_back(options);
    owner.register_child(all.back());
  }
  return all;
}

/// Devlin et al., "BERT" (2018), with its pooler: words and types of segments (batch, tokens) -> (batch,
/// 768).
class Bert : public HybridBlock {
 public:
  static constexpr int width = 768, vocabulary = 30'522, longest = 512;

  Bert() {
    const auto scope = name_scope();
    words = nn::Embedding(vocabulary, width);
    types = nn::Embedding(2, width);
    positions_ = params().get("positions", {longest, width});
    norm = nn::LayerNorm({.in_channels = width});
    layers_ = stack(*this, {});
    pooler = nn::Dense(width, {.activation = "tanh", .in_units = width});
  }

 protected:
  Tensor hybrid_forward(F& F, const Tensor& x, const Tensor& segments) override {
    const Tensor positions = F.slice_axis(positions_, 0, 0, x.shape()[1]);
    Tensor h = norm(F.broadcast_add(words(x) + types(segments), F.expand_dims(positions, 0)));
    for (TransformerLayer& layer : layers_) h = layer(h);
    return pooler(F.reshape(F.slice_axis(h, 1, 0, 1), {0, -1}));
  }

 private:
  Child<nn::Embedding> words{this, "words"}, types{this, "types"};
  Child<nn::LayerNorm> norm{this, "norm"};
  Child<nn::Dense> pooler{this, "pooler"};
  Parameter positions_;
  std::vector<TransformerLayer> layers_;
};

/// Radford et al., "Language models are unsupervised multitask learners" (2019): one step of decoding. A word
/// and its position (1, 1), then keys and values of each layer -> scores (1, words), then the new keys and
/// values.
class Gpt2Step : public HybridBlock {
 public:
  static constexpr int width = 768, heads = 12, vocabulary = 50'257, longest = 1024;

  Gpt2Step() {
    const auto scope = name_scope();
    words_ = params().get("words", {vocabulary, width});
    positions = nn::Embedding(longest, width);
    layers_ = stack(*this, {.norm_first = true});
    norm = nn::LayerNorm({.in_channels = width});
  }

 protected:
  Tensors hybrid_forward(F& F, const Tensors& in) override {
    Tensor h = F.Embedding(in[0], words_, {.input_dim = vocabulary, .output_dim = width}) + positions(in[1]);
    Tensors results(1);
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const Tensors of_layer = layers_[i]({h, in[2 + 2 * i], in[3 + 2 * i]});
      h = of_layer[0];
      results.insert(results.end(), of_layer.begin() + 1, of_layer.end());
    }
    results[0] = F.FullyConnected(norm(h), words_, {.num_hidden = vocabulary, .no_bias = true});
    return results;
  }

 private:
  Parameter words_;
  Child<nn::Embedding> positions{this, "positions"};
  Child<nn::LayerNorm> norm{this, "norm"};
  std::vector<TransformerLayer> layers_;
};

Workload gpt2_step(std::int64_t cached) {
  Tensors inputs{full({1, 1}, 17), full({1, 1}, static_cast<double>(cached))};
  for (int i = 0; i < 2 * layers; ++i)
    inputs.push_back(randn({Gpt2Step::heads, cached, Gpt2Step::width / Gpt2Step::heads}));
  return {std::make_shared<Gpt2Step>(), inputs, /*many=*/true};
}

/// Dosovitskiy et al., "An image is worth 16x16 words" (2020), small: images (batch, 3, 224, 224) ->
/// (batch, 1000).
class VisionTransformer : public HybridBlock {
 public:
  static constexpr int width = 384, patch = 16, patches = 14 * 14;

  VisionTransformer() {
    const auto scope = name_scope();
    embedding = nn::Conv2D(width, {.kernel_size = patch, .strides = patch, .in_channels = 3});
    token_ = params().get("token", {1, 1, width});
    positions_ = params().get("positions", {1, patches + 1, width});
    layers_ = stack(*this, {.width = width, .heads = 6, .inner = 4 * width, .norm_first = true});
    norm = nn::LayerNorm({.in_channels = width});
    head = nn::Dense(1000, {.in_units = width});
  }

 protected:
  Tensor hybrid_forward(F& F, const Tensor& x) override {
    const Tensor parts = F.transpose(F.reshape(embedding(x), {0, 0, -1}), {0, 2, 1});
    const Tensor token = F.broadcast_like(token_, F.slice_axis(parts, 1, 0, 1));
    Tensor h = F.broadcast_add(F.concat({token, parts}, 1), positions_);
    for (TransformerLayer& layer : layers_) h = layer(h);
    return head(F.reshape(F.slice_axis(norm(h), 1, 0, 1), {0, -1}));
  }

 private:
  Child<nn::Conv2D> embedding{this, "embedding"};
  Parameter token_, positions_;
  Child<nn::LayerNorm> norm{this, "norm"};
  Child<nn::Dense> head{this, "head"};
  std::vector<TransformerLayer> layers_;
};

}  // namespace

Workload bert_base(std::int64_t batch, std::int64_t tokens) {
  std::vector<float> words;
  for (std::int64_t i = 0; i < batch * tokens; ++i)
    words.push_back(static_cast<float>(i * 7919 % Bert::vocabulary));
  return {std::make_shared<Bert>(), {Tensor(words, {batch, tokens}), zeros({batch, tokens})}};
}

void add_transformers() {
  add("bert_base_b1_s128", [] { return bert_base(1, 128); }, {1, 2});
  add("bert_base_b1_s384", [] { return bert_base(1, 384); }, {1, 2});
  add("bert_base_b8_s128", [] { return bert_base(8, 128); }, {1, 2});
  add("gpt2_step_512", [] { return gpt2_step(512); }, {1, 2});
  add("vit_s",
      [] {
        return Workload{std::make_shared<VisionTransformer>(), {randn({1, 3, 224, 224})}};
      },
      {1, 2});
}

}  // namespace bench

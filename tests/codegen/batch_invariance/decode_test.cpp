// A token has the same bits in a step of decoding as in the whole sequence. The step reads the keys and
// values of the tokens before it; in the sequence, scores of later tokens are masked by -inf. Why:
// ir/README.md.
#include "same_bits.h"

#include <kiln/kiln.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

using namespace kiln;

namespace {

constexpr std::int64_t batch = 2, heads = 3, head = 16, width = heads * head, words = 61;

/// (batch, tokens, width) to (batch * heads, tokens, head).
Tensor split_heads(F& F, const Tensor& x) {
  const Tensor parts = F.transpose(F.reshape(x, {0, 0, heads, head}), {.axes = {0, 2, 1, 3}});
  return F.reshape(parts, {-3, 0, 0});
}
Tensor join_heads(F& F, const Tensor& x) {
  const Tensor parts = F.reshape(x, {-4, -1, heads, 0, 0});
  return F.reshape(F.transpose(parts, {.axes = {0, 2, 1, 3}}), {0, 0, -3});
}

/// Scores of the tokens that are not to be read: by addition, or selected.
Tensor causal_mask(std::int64_t tokens) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < tokens * tokens; ++i)
    values.push_back(i % tokens > i / tokens ? -std::numeric_limits<float>::infinity() : 0.0F);
  return Tensor(values, {1, tokens, tokens});
}

/// A layer of GPT-2. Of x it makes (x, keys, values); with a mask x is a whole sequence, otherwise its tokens
/// read the keys and values given, and their own.
struct Layer : HybridBlock {
  Child<nn::Dense> qkv{this, "qkv"}, out{this, "out"}, up{this, "up"}, down{this, "down"};
  Child<nn::LayerNorm> norm1{this, "norm1"}, norm2{this, "norm2"};

  Layer() {
    qkv = nn::Dense(3 * width, {.flatten = false, .in_units = width});
    out = nn::Dense(width, {.flatten = false, .in_units = width});
    up = nn::Dense(4 * width, {.flatten = false, .in_units = width});
    down = nn::Dense(width, {.flatten = false, .in_units = 4 * width});
    norm1 = nn::LayerNorm({.in_channels = width});
    norm2 = nn::LayerNorm({.in_channels = width});
  }

  Tensors hybrid_forward(F& F, const Tensors& in) override {
    Tensor x = in[0];
    const Tensors parts = F.split(qkv(norm1(x)), {.num_outputs = 3, .axis = 2});
    Tensor keys = split_heads(F, parts[1]), values = split_heads(F, parts[2]);
    if (in.size() == 3) {
      keys = F.concat({in[1], keys}, 1);
      values = F.concat({in[2], values}, 1);
    }
    Tensor scores = F.batch_dot(split_heads(F, parts[0]), keys, {.transpose_b = true}) *
                    (1 / std::sqrt(static_cast<double>(head)));
    if (in.size() == 2) scores = F.broadcast_add(scores, in[1].astype(scores.dtype()));
    const Tensor read = F.batch_dot(F.softmax(scores, {.axis = -1}), values);
    x = x + out(join_heads(F, read));
    x = x + down(F.LeakyReLU(up(norm2(x)), {.act_type = "gelu"}));
    return {x, keys, values};
  }
};

/// Four layers. (words, mask) gives scores of words, and each layer's keys and values; (words, keys, values,
/// ...) those after the tokens before.
struct Gpt : HybridBlock {
  Child<nn::Embedding> embedding{this, "embedding"};
  Child<nn::LayerNorm> norm{this, "norm"};
  Child<nn::Dense> scores{this, "scores"};
  std::vector<Layer> layers;

  Gpt() {
    embedding = nn::Embedding(words, width);
    for (int i = 0; i < 4; ++i) {
      layers.emplace_back();
      register_child(layers.back());
    }
    norm = nn::LayerNorm({.in_channels = width});
    scores = nn::Dense(words, {.flatten = false, .in_units = width});
  }

  Tensors hybrid_forward(F& F, const Tensors& in) override {
    (void)F;
    Tensor x = embedding(in[0]);
    Tensors results;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const Tensors made =
          layers[i](in.size() == 2 ? Tensors{x, in[1]} : Tensors{x, in[1 + 2 * i], in[2 + 2 * i]});
      x = made[0];
      results.insert(results.end(), made.begin() + 1, made.end());
    }
    results.insert(results.begin(), scores(norm(x)));
    return results;
  }
};

Tensor token(const Tensor& x, std::int64_t number) {
  return x.slice_axis({.axis = 1, .begin = number, .end = number + 1});
}

}  // namespace

TEST_CASE("a GPT decodes with the bits of its prefill", "[decode]") {
  constexpr std::int64_t tokens = 40;
  const DType dtype = GENERATE(DType::f32, DType::bf16, DType::f64);
  CAPTURE(name_of(dtype));
  random::seed(5);
  Gpt net;
  net.initialize(init::Normal(0.3));
  net.cast(dtype);
  const Tensor text = random::randint(0, words, {batch, tokens}).astype(dtype);
  const Tensors whole = net({text, causal_mask(tokens)});
  for (const bool compiled : {false, true}) {
    net.hybridize(compiled);
    INFO((compiled ? "compiled" : "eager"));
    for (std::size_t i = 0; i < whole.size(); ++i)
      CHECK(same_bits(net({text, causal_mask(tokens)})[i], whole[i]));
    Tensors cache;
    for (std::int64_t t = 0; t < (compiled ? 24 : tokens); ++t) {
      INFO("token " << t);
      Tensors in{token(text, t)};
      in.insert(in.end(), cache.begin(), cache.end());
      if (t == 0) in.push_back(zeros({1, 1, 1}));  // a sequence of one token
      const Tensors step = net(in);
      CHECK(same_bits(step[0], token(whole[0], t)));
      cache.assign(step.begin() + 1, step.end());
      for (std::size_t i = 0; i < cache.size(); ++i)
        CHECK(same_bits(cache[i], whole[i + 1].slice_axis({.axis = 1, .begin = 0, .end = t + 1})));
    }
    // Sequences of other lengths, and steps of several tokens' worth of cache.
    for (const std::int64_t length : {1, 2, 15, 16, 17, 33}) {
      INFO("a sequence of " << length);
      const Tensor part = text.slice_axis({.axis = 1, .begin = 0, .end = length});
      CHECK(same_bits(net({part, causal_mask(length)})[0],
                      whole[0].slice_axis({.axis = 1, .begin = 0, .end = length})));
    }
  }
}

// Keys beyond a chunk of a product's k, and beyond a block of a sum.
TEST_CASE("attention to many keys does not depend on masked ones", "[decode]") {
  constexpr std::int64_t tokens = 1100;
  random::seed(6);
  const Tensor q = random::normal(0, 1, {heads, tokens, head}),
               k = random::normal(0, 1, {heads, tokens, head}),
               v = random::normal(0, 1, {heads, tokens, head}), mask = causal_mask(tokens);
  const auto attention = [](const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask) {
    Tensor scores = F::batch_dot(q, k, {.transpose_b = true}) * 0.25;
    if (mask.defined()) scores = F::broadcast_add(scores, mask);
    return F::batch_dot(F::softmax(scores, {.axis = -1}), v);
  };
  const Tensor whole = attention(q, k, v, mask);
  for (const std::int64_t t : {0,   1,   2,   7,   14,  15,   16,   62,   63,   64,   65,  300,
                               510, 511, 512, 513, 700, 1022, 1023, 1024, 1025, 1088, 1099}) {
    INFO("token " << t);
    const auto before = [&](const Tensor& x) { return x.slice_axis({.axis = 1, .begin = 0, .end = t + 1}); };
    CHECK(same_bits(attention(token(q, t), before(k), before(v), {}), token(whole, t)));
  }
}

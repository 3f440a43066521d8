// Transformer layers as workloads.
#pragma once
#include "bench/workload.h"

namespace bench {

struct TransformerOptions {
  int width = 768, heads = 12, inner = 3072;
  bool norm_first = false;         ///< as in GPT-2; else after each part, as in BERT
  double dropout = 0;              ///< in training
  std::int64_t causal_tokens = 0;  ///< not 0: the number of tokens, causally masked
};

/// Attention and a perceptron of two layers with GELU, each with a residual connection.
class TransformerLayer : public kiln::HybridBlock {
 public:
  explicit TransformerLayer(const TransformerOptions& options);

 protected:
  /// x (batch, tokens, width) to the same shape. Given keys and values (heads, earlier tokens, width / heads)
  /// of a batch of 1, the tokens read these too, and their own keys and values are further results.
  kiln::Tensors hybrid_forward(kiln::F& F, const kiln::Tensors& in) override;

 private:
  kiln::Tensor attention(kiln::F& F, const kiln::Tensor& x, kiln::Tensors& cache);
  kiln::Tensor perceptron(kiln::F& F, const kiln::Tensor& x);

  TransformerOptions options_;
  kiln::Parameter mask_;
  kiln::Child<kiln::nn::Dense> qkv{this, "qkv"}, out{this, "out"}, up{this, "up"}, down{this, "down"};
  kiln::Child<kiln::nn::LayerNorm> norm1{this, "norm1"}, norm2{this, "norm2"};
  kiln::Child<kiln::nn::Dropout> dropout{this, "dropout"};
};

/// BERT-base on sentences of that many tokens.
Workload bert_base(std::int64_t batch, std::int64_t tokens);

}  // namespace bench

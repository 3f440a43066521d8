// Matrix products, and an encoder layer of BERT-base, which consists mostly of them.
#include "bench/workload.h"

using namespace kiln;

namespace bench {
namespace {

class Encoder : public HybridBlock {
 public:
  Encoder() {
    const auto scope = name_scope();
    q = nn::Dense(width, {.flatten = false, .in_units = width});
    k = nn::Dense(width, {.flatten = false, .in_units = width});
    v = nn::Dense(width, {.flatten = false, .in_units = width});
    o = nn::Dense(width, {.flatten = false, .in_units = width});
    up = nn::Dense(inner, {.flatten = false, .in_units = width});
    down = nn::Dense(width, {.flatten = false, .in_units = inner});
    norm1 = nn::LayerNorm({.in_channels = width});
    norm2 = nn::LayerNorm({.in_channels = width});
  }

 protected:
  Tensor hybrid_forward(F& F, const Tensor& x) override {
    const auto split = [&](const Tensor& t) { return split_heads(F, t, heads); };
    const Tensor scores = F.batch_dot(split(q(x)), split(k(x)), {.transpose_b = true}) * 0.125;
    const Tensor mixed = F.batch_dot(F.softmax(scores, {.axis = -1}), split(v(x)));
    const Tensor x1 = norm1(x + o(join_heads(F, mixed, heads)));
    return norm2(x1 + down(F.LeakyReLU(up(x1), {.act_type = "gelu"})));
  }

 private:
  static constexpr int width = 768, heads = 12, inner = 3072;
  Child<nn::Dense> q{this, "q"}, k{this, "k"}, v{this, "v"}, o{this, "o"}, up{this, "up"}, down{this, "down"};
  Child<nn::LayerNorm> norm1{this, "norm1"}, norm2{this, "norm2"};
};

}  // namespace

Workload encoder() { return {std::make_shared<Encoder>(), {randn({1, 128, 768})}}; }

void add_contractions() {
  for (const int n : {512, 1024})
    add("matmul_" + std::to_string(n),
        [n] {
          return function([](F& F, const Tensors& in) { return F.dot(in[0], in[1]); },
                          {randn({n, n}), randn({n, n})});
        },
        {1, 2});
  add("encoder_s128", encoder, {1, 2});
}

}  // namespace bench

// Recurrent networks, input 128 and hidden 256, over 35 steps: an unrolled LSTM cell, and the layers.
#include "bench/workload.h"

using namespace kiln;

namespace bench {
namespace {

constexpr std::int64_t hidden = 256;

class UnrolledLSTM : public HybridBlock {
 public:
  UnrolledLSTM() {
    const auto scope = name_scope();
    wx = params().get("wx", {4 * hidden, 128});
    wh = params().get("wh", {4 * hidden, hidden});
    bx = params().get("bx", {4 * hidden});
    bh = params().get("bh", {4 * hidden});
  }

 protected:
  /// x (35, batch, 128), h and c (batch, 256); returns the last h and c.
  Tensors hybrid_forward(F& F, const Tensors& in) override {
    const Tensor& x = in[0];
    Tensor h = in[1], c = in[2];
    for (std::int64_t t = 0; t < x.shape()[0]; ++t) {
      const Tensor g = F.FullyConnected(x[t], wx, bx, {.num_hidden = 4 * hidden}) +
                       F.FullyConnected(h, wh, bh, {.num_hidden = 4 * hidden});
      const Tensors gates = F.split(g, {.num_outputs = 4, .axis = 1});
      c = F.sigmoid(gates[1]) * c + F.sigmoid(gates[0]) * F.tanh(gates[2]);
      h = F.sigmoid(gates[3]) * F.tanh(c);
    }
    return {h, c};
  }

 private:
  Parameter wx, wh, bx, bh;
};

}  // namespace

void add_recurrent() {
  for (const int batch : {1, 32})
    add("rnn_b" + std::to_string(batch), [=] {
      return Workload{std::make_shared<UnrolledLSTM>(),
                      {randn({35, batch, 128}), zeros({batch, 256}), zeros({batch, 256})},
                      /*many=*/true};
    });
  for (const int batch : {1, 16}) {
    const auto sequences = [=] { return randn({35, batch, 128}); };
    add("bilstm2_b" + std::to_string(batch), [=] {
      const rnn::LayerOptions options{.num_layers = 2, .bidirectional = true, .input_size = 128};
      return Workload{std::make_shared<rnn::LSTM>(hidden, options), {sequences()}};
    });
    add("gru2_b" + std::to_string(batch), [=] {
      const rnn::LayerOptions options{.num_layers = 2, .input_size = 128};
      return Workload{std::make_shared<rnn::GRU>(hidden, options), {sequences()}};
    });
  }
}

}  // namespace bench

// Recurrent layers over whole sequences, against the cells that compute the same step by step, and the CTC
// loss.
#include "same_bits.h"

#include <kiln/kiln.h>

#include <catch2/catch.hpp>
#include <cmath>

using namespace kiln;

namespace {

bool close(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape()) return false;
  const auto x = a.to_vector<float>(), y = b.to_vector<float>();
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!(std::abs(x[i] - y[i]) <= 1e-5f)) return false;
  return true;
}

template <class Layer, class Cell>
void compare_with_cell(Layer layer, Cell cell) {
  layer.initialize(init::Uniform(0.4));
  cell.initialize();
  const Tensor x = random::normal(0, 1, {7, 3, 5}), lengths({7.f, 2.f, 4.f});
  const auto all = layer(Tensors{x, lengths});
  for (const char* name : {"i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias"})
    cell.params().get(name).set_data(layer.params().get(std::string("l0_") + name).data());
  const auto steps = cell.unroll(7, x, {.layout = "TNC", .merge_outputs = true, .valid_length = lengths});
  CHECK(close(all[0], steps.outputs.tensor()));
  const auto [outputs, states] = layer(x, [&] {
    Tensors begin = layer.begin_state(3);
    begin.push_back(lengths);
    return begin;
  }());
  CHECK(same_bits(outputs, all[0]));
  for (std::size_t i = 0; i < states.size(); ++i) CHECK(close(states[i].reshape({3, -1}), steps.states[i]));
}

}  // namespace

TEST_CASE("a layer computes what its cell does, sequences of other lengths included") {
  const rnn::LayerOptions options{.use_sequence_length = true};
  compare_with_cell(rnn::LSTM(4, options), rnn::LSTMCell(4, {.input_size = 5}));
  compare_with_cell(rnn::GRU(4, options), rnn::GRUCell(4, {.input_size = 5}));
  compare_with_cell(rnn::RNN(4, options, "tanh"), rnn::RNNCell(4, {.input_size = 5}));
}

TEST_CASE("layers hybridize to the same bits, on every layout, mode and dropout") {
  for (const bool train : {false, true}) {
    const autograd::TrainMode mode(train);
    for (const char* layout : {"TNC", "NTC"}) {
      rnn::LSTM lstm(6, {.num_layers = 2,
                         .layout = layout,
                         .dropout = 0.4,
                         .bidirectional = true,
                         .projection_size = 3,
                         .state_clip_min = -0.2,
                         .state_clip_max = 0.3});
      lstm.initialize();
      const Tensor x = random::normal(0, 1, {5, 5, 4});
      random::seed(5);
      const Tensor eager = lstm(x);
      CHECK(eager.shape() == Shape{5, 5, 6});
      lstm.hybridize();
      for (const int threads : {1, 2}) {
        const ThreadLimit limit(threads);
        random::seed(5);
        CHECK(same_bits(lstm(x), eager));
      }
    }
  }
}

TEST_CASE("layers print as MXNet prints them, and name their parameters as it does") {
  rnn::LSTM lstm(100,
                 {.num_layers = 3, .dropout = 0.5, .bidirectional = true, .input_size = 20, .prefix = "a_"});
  CHECK(lstm.str() == "LSTM(20 -> 100, TNC, num_layers=3, dropout=0.5, bidirectional)");
  CHECK(lstm.params().size() == 24);
  CHECK(lstm.params().get("r2_h2h_bias").name() == "a_r2_h2h_bias");
  CHECK(rnn::GRU(8).str() == "GRU(None -> 8, TNC)");
}

TEST_CASE("mistakes with layers are named") {
  CHECK_THROWS_WITH(rnn::LSTM(4, {.layout = "NCT"}), Catch::Contains("NCT") && Catch::Contains("TNC"));
  CHECK_THROWS_WITH(rnn::GRU(4, {.projection_size = 2}), Catch::Contains("LSTM alone"));
  CHECK_THROWS_WITH(rnn::RNN(4, {}, "gelu"), Catch::Contains("relu and tanh"));
  rnn::GRU gru(4);
  gru.initialize();
  CHECK_THROWS_WITH(gru(ones({3, 2})), Catch::Contains("3 axes"));
  gru(ones({3, 2, 5}));
  CHECK_THROWS_WITH(gru(ones({3, 2, 5}), Tensors{ones({1, 3, 4})}),
                    Catch::Contains("Expecting (1, 2, 4), got (1, 3, 4)"));
  CHECK_THROWS_WITH(gru.begin_state(0), Catch::Contains("size of the batch"));
}

TEST_CASE("CTCLoss sums the alignments that read as the label") {
  // Two steps, classes a and blank, label "a": a a, a -, - a.
  const Tensor pred = Tensor({{0.3f, 0.7f}, {1.2f, -0.4f}}).reshape({1, 2, 2});
  const auto p = F::softmax(pred).to_vector<float>();
  const float expected = -std::log(p[0] * p[2] + p[0] * p[3] + p[1] * p[2]);
  loss::CTCLoss loss;
  CHECK(loss(pred, Tensor({{0.f}})).item<float>() == Approx(expected));
  CHECK(loss(pred, Tensor({{0.f, -1.f}})).item<float>() == Approx(expected));
  // One step of it: a alone.
  CHECK(loss(pred, Tensor({{0.f}}), Tensor({1.f})).item<float>() == Approx(-std::log(p[0])));
  loss::CTCLoss by_length = loss::CTCLoss::with(false, true);
  CHECK(by_length(pred, Tensor({{0.f, 0.f}}), Tensor({1.f})).item<float>() == Approx(expected));
  const Tensor x = random::normal(0, 1, {4, 9, 6}), labels({{1, 1, 2}, {0, 4, -1}, {3, -1, -1}, {2, 2, 2}});
  const Tensor eager = loss(x, labels);
  loss.hybridize();
  CHECK(same_bits(loss(x, labels), eager));
}

TEST_CASE("an eager call of a recurrent layer copies its weights once") {
  rnn::LSTM net(16, {.num_layers = 2, .bidirectional = true, .input_size = 8});
  net.initialize();
  const Tensor x = random::uniform(-1, 1, {3, 2, 8});
  net(x).wait_to_read();
  const Profile profile;
  net(x).wait_to_read();
  for (const Profile::Kernel& k : profile.kernels())  // a kernel's name begins with its operators
    CHECK(k.name.substr(0, k.name.find('.')).find("eshape") == std::string::npos);
}

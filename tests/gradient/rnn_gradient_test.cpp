// Gradients of the operators with loops, RNN and CTCLoss, in f64 against central differences, and of the
// recurrent layers against the cells that compute the same step by step.
#include "same_bits.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <string>

using namespace kiln;

namespace {

using Names = std::vector<std::string>;

/// One node as a network of its inputs.
SymbolBlock node(const std::string& op, const std::string& attrs, const Names& inputs, int outputs) {
  std::string nodes, links, numbers, heads;
  std::vector<Symbol> variables;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    nodes += fmt::format(R"({{"op": "null", "name": "{}", "inputs": []}}, )", inputs[i]);
    links += fmt::format("{}[{}, 0, 0]", i ? ", " : "", i);
    numbers += fmt::format("{}{}", i ? ", " : "", i);
    variables.push_back(sym::var(inputs[i]));
  }
  for (int i = 0; i < outputs; ++i) heads += fmt::format("{}[{}, {}, 0]", i ? ", " : "", inputs.size(), i);
  const std::string text =
      fmt::format(R"({{"nodes": [{}{{"op": "{}", "name": "node", "attrs": {{{}}}, "inputs": [{}]}}], )"
                  R"("arg_nodes": [{}], "heads": [{}], "attrs": {{"mxnet_version": ["int", 10901]}}}})",
                  nodes, op, attrs, links, numbers, heads);
  return SymbolBlock(Symbol::load_json(text), variables);
}

struct Gradients {
  SymbolBlock net;
  Tensors inputs;
  /// By output; undefined for an output without a head.
  Tensors heads;
  /// How many of the inputs are differentiated.
  std::size_t variables;

  Tensors outputs(const Tensors& in) {
    random::seed(11);
    return net(in);
  }
  Tensors run() {
    Tensors in;
    for (const Tensor& t : inputs) in.push_back(t.copy());
    for (std::size_t i = 0; i < variables; ++i) in[i].attach_grad();
    Tensors out, with_head, given;
    {
      const autograd::Record record;
      out = outputs(in);
    }
    for (std::size_t i = 0; i < heads.size(); ++i)
      if (heads[i].defined()) {
        with_head.push_back(out[i]);
        given.push_back(heads[i]);
      }
    autograd::backward(with_head, given);
    Tensors gradients;
    for (std::size_t i = 0; i < variables; ++i) gradients.push_back(in[i].grad().copy());
    return gradients;
  }
  /// The sum of outputs times heads, in training mode as run().
  double value(const Tensors& in) {
    const autograd::TrainMode train;
    const Tensors out = outputs(in);
    double sum = 0;
    for (std::size_t i = 0; i < heads.size(); ++i) {
      if (!heads[i].defined()) continue;
      const auto y = out[i].to_vector<double>(), g = heads[i].to_vector<double>();
      for (std::size_t k = 0; k < y.size(); ++k) sum += y[k] * g[k];
    }
    return sum;
  }
};

/// Each element's gradient is the central difference, and all runs give the same bits.
void check(Gradients g) {
  const Tensors eager = g.run();
  constexpr double h = 1e-5;
  double worst = 0;
  for (std::size_t i = 0; i < g.variables; ++i) {
    const auto gradient = eager[i].to_vector<double>(), at = g.inputs[i].to_vector<double>();
    for (std::size_t k = 0; k < at.size(); ++k) {
      const auto moved = [&](double by) {
        auto elements = at;
        elements[k] += by;
        Tensors in = g.inputs;
        in[i] = Tensor(elements, g.inputs[i].shape());
        return g.value(in);
      };
      const double difference = (moved(h) - moved(-h)) / (2 * h);
      const double error = std::abs(gradient[k] - difference) / (1 + std::abs(difference));
      if (!(error < 1e-7)) {
        UNSCOPED_INFO(fmt::format("input {}, element {}: {} is not {}", i, k, gradient[k], difference));
        worst = std::max(worst, std::isnan(error) ? 1. : error);
      }
    }
  }
  CHECK(worst == 0);
  for (const bool hybridized : {false, true}) {
    if (hybridized) g.net.hybridize();
    for (const int threads : {1, 2}) {
      const ThreadLimit limit(threads);
      const Tensors again = g.run();
      for (std::size_t i = 0; i < eager.size(); ++i) CHECK(same_bits(again[i], eager[i]));
    }
  }
}

struct Sizes {
  std::int64_t steps = 3, batch = 2, channels = 2, hidden = 2;
};
struct Config {
  std::string mode = "lstm";
  std::int64_t layers = 1;
  bool bidirectional = false;
  std::int64_t projection = 0;
  bool lengths = false;
  std::string more = "";  // attributes as JSON
};

Tensor numbers(const Shape& shape) { return random::uniform(-1, 1, shape, DType::f64); }

Gradients recurrent(const Config& c, const Sizes& s = {}) {
  const bool lstm = c.mode == "lstm";
  const std::int64_t gates = lstm ? 4 : c.mode == "gru" ? 3 : 1, directions = c.bidirectional ? 2 : 1;
  const std::int64_t out = c.projection ? c.projection : s.hidden;
  std::int64_t parameters = 0;
  for (std::int64_t l = 0; l < c.layers; ++l)
    parameters += directions * (gates * s.hidden * ((l == 0 ? s.channels : out * directions) + out + 2) +
                                c.projection * s.hidden);
  std::string attrs = fmt::format(
      R"("mode": "{}", "state_size": "{}", "num_layers": "{}", "bidirectional": "{}", "state_outputs": "True")",
      c.mode, s.hidden, c.layers, c.bidirectional ? "True" : "False");
  if (c.projection) attrs += fmt::format(R"(, "projection_size": "{}")", c.projection);
  if (c.lengths) attrs += R"(, "use_sequence_length": "True")";
  Names names{"data", "parameters", "state"};
  random::seed(5);
  Tensors in{numbers({s.steps, s.batch, s.channels}), numbers({parameters}),
             numbers({c.layers * directions, s.batch, out})};
  Tensors heads{numbers({s.steps, s.batch, out * directions}), numbers(in[2].shape())};
  if (lstm) {
    names.push_back("state_cell");
    in.push_back(numbers({c.layers * directions, s.batch, s.hidden}));
    heads.push_back(numbers(in[3].shape()));
  }
  const std::size_t variables = in.size();
  if (c.lengths) {
    names.push_back("sequence_length");
    std::vector<double> lengths;
    for (std::int64_t n = 0; n < s.batch; ++n)
      lengths.push_back(static_cast<double>((s.steps - n) % (s.steps + 1)));
    in.push_back(Tensor(lengths, {s.batch}));
  }
  return {node("RNN", attrs + c.more, names, lstm ? 3 : 2), in, heads, variables};
}

const char* const modes[] = {"rnn_relu", "rnn_tanh", "lstm", "gru"};

}  // namespace

TEST_CASE("RNN: gradients of every mode, layers and directions") {
  for (const char* mode : modes)
    for (const int layers : {1, 2})
      for (const bool bidirectional : {false, true}) {
        INFO(mode << ", " << layers << " layers, bidirectional: " << bidirectional);
        check(recurrent({.mode = mode, .layers = layers, .bidirectional = bidirectional}));
      }
}

TEST_CASE("RNN: gradients of one step, one sequence, one channel") {
  for (const char* mode : modes)
    for (const Sizes& s :
         {Sizes{.steps = 1}, Sizes{.batch = 1}, Sizes{.channels = 1, .hidden = 1}, Sizes{1, 1, 1, 1}}) {
      INFO(mode << ": " << s.steps << ", " << s.batch << ", " << s.channels << ", " << s.hidden);
      check(recurrent({.mode = mode, .layers = 2, .bidirectional = true}, s));
    }
}

TEST_CASE("RNN: gradients of no steps and of no sequences") {
  for (const char* mode : modes)
    for (const Sizes& s : {Sizes{.steps = 0}, Sizes{.batch = 0}}) {
      INFO(mode << ": " << s.steps << ", " << s.batch);
      check(recurrent({.mode = mode, .layers = 2, .bidirectional = true}, s));
    }
}

TEST_CASE("RNN: gradients through some of the outputs") {
  for (const char* mode : modes)
    for (std::size_t only = 0; only < 3; ++only) {
      INFO(mode << ", output " << only);
      Gradients g = recurrent({.mode = mode, .layers = 2, .bidirectional = true});
      if (only >= g.heads.size()) continue;
      for (std::size_t i = 0; i < g.heads.size(); ++i)
        if (i != only) g.heads[i] = Tensor();
      check(std::move(g));
    }
}

TEST_CASE("RNN: gradients of sequences of different lengths, whose padding may be NaN") {
  for (const char* mode : modes) {
    INFO(mode);
    const Sizes s{.steps = 3, .batch = 4};
    Gradients g = recurrent({.mode = mode, .layers = 2, .bidirectional = true, .lengths = true}, s);
    auto data = g.inputs[0].to_vector<double>();
    const auto lengths = g.inputs.back().to_vector<double>();
    for (std::size_t i = 0; i < data.size(); ++i) {
      const std::size_t row = i / 2, step = row / 4;
      if (static_cast<double>(step) >= lengths[row % 4]) data[i] = std::numeric_limits<double>::quiet_NaN();
    }
    g.inputs[0] = Tensor(data, g.inputs[0].shape());
    check(std::move(g));
  }
}

TEST_CASE("RNN: gradients of lstm with a projection and a limited cell") {
  for (const bool lengths : {false, true}) {
    check(recurrent({.layers = 2, .bidirectional = true, .projection = 3, .lengths = lengths}));
    check(recurrent({.layers = 2,
                     .lengths = lengths,
                     .more = R"(, "lstm_state_clip_min": "-0.2", "lstm_state_clip_max": "0.25")"}));
  }
  check(recurrent(
      {.more =
           R"(, "lstm_state_clip_min": "-0.2", "lstm_state_clip_max": "0.25", "lstm_state_clip_nan": "True")"}));
}

TEST_CASE("RNN: the gradient of dropout between layers has the masks of the call") {
  for (const char* mode : modes) {
    INFO(mode);
    check(recurrent({.mode = mode, .layers = 3, .bidirectional = true, .more = R"(, "p": "0.4")"}));
  }
}

TEST_CASE("recurrent layers among other random draws: one gradient, hybridized or not") {
  nn::HybridSequential net;
  net.add(nn::Dropout(0.3), rnn::GRU(4, {.num_layers = 3, .dropout = 0.5}), nn::Dropout(0.3),
          rnn::LSTM(3, {.num_layers = 2, .dropout = 0.5, .bidirectional = true}));
  net.initialize(init::Uniform(0.5));
  Tensor x = random::normal(0, 1, {6, 3, 5});
  net(x);
  x.attach_grad();
  const auto run = [&] {
    random::seed(2);
    {
      const autograd::Record record;
      net(x).backward();
    }
    Tensors all{x.grad().copy()};
    for (const Parameter& parameter : net.collect_params()) all.push_back(parameter.grad().copy());
    return all;
  };
  const Tensors eager = run();
  net.hybridize();
  for (const int threads : {1, 2}) {
    const ThreadLimit limit(threads);
    const Tensors compiled = run();
    for (std::size_t i = 0; i < eager.size(); ++i) CHECK(same_bits(compiled[i], eager[i]));
  }
}

TEST_CASE("RNN: gradients in half precision are those in f32, rounded once") {
  for (const char* mode : modes) {
    INFO(mode);
    Gradients g = recurrent({.mode = mode, .layers = 2, .bidirectional = true}, {.steps = 5, .hidden = 3});
    for (Tensors* list : {&g.inputs, &g.heads})
      for (Tensor& t : *list) t = t.astype(DType::f16);
    const Tensors half = g.run();
    for (Tensors* list : {&g.inputs, &g.heads})
      for (Tensor& t : *list) t = t.astype(DType::f32);
    const Tensors wide = g.run();
    for (std::size_t i = 0; i < half.size(); ++i) CHECK(same_bits(half[i], wide[i].astype(DType::f16)));
  }
}

namespace {

double distance(const Tensor& a, const Tensor& b) {
  const auto x = a.to_vector<double>(), y = b.to_vector<double>();
  double largest = x.size() == y.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i)
    largest = std::max(largest, std::abs(x[i] - y[i]));
  return largest;
}

template <class Layer, class Cell>
void compare_with_cell(Layer layer, Cell cell) {
  const Names names{"i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias"};
  layer.initialize(init::Uniform(0.4));
  cell.initialize();
  Tensor x = random::normal(0, 1, {7, 3, 5});
  const Tensor head = random::normal(0, 1, {7, 3, 4});
  layer(x);
  for (const std::string& name : names)
    cell.params().get(name).set_data(layer.params().get("l0_" + name).data());
  x.attach_grad();
  {
    const autograd::Record record;
    layer(x).backward(head);
  }
  const Tensor fused = x.grad().copy();
  {
    const autograd::Record record;
    cell.unroll(7, x, {.layout = "TNC", .merge_outputs = true}).outputs.tensor().backward(head);
  }
  CHECK(distance(fused, x.grad()) < 1e-5);
  for (const std::string& name : names) {
    INFO(name);
    const Tensor of_layer = layer.params().get("l0_" + name).grad(), of_cell = cell.params().get(name).grad();
    CHECK(distance(of_layer, of_cell) < 1e-5);
  }
}

}  // namespace

TEST_CASE("the gradients of a recurrent layer are those of its cell") {
  compare_with_cell(rnn::LSTM(4), rnn::LSTMCell(4, {.input_size = 5}));
  compare_with_cell(rnn::GRU(4), rnn::GRUCell(4, {.input_size = 5}));
  compare_with_cell(rnn::RNN(4, {}, "tanh"), rnn::RNNCell(4, {.input_size = 5}));
}

namespace {

struct Ctc {
  std::int64_t steps = 5, classes = 4;
  std::vector<std::vector<double>> labels;
  std::vector<double> data_lengths = {}, label_lengths = {};
  std::string blank = "first";
};

Gradients alignment(const Ctc& c) {
  const auto batch = static_cast<std::int64_t>(c.labels.size());
  std::vector<double> labels;
  for (const auto& row : c.labels) labels.insert(labels.end(), row.begin(), row.end());
  random::seed(9);
  Tensors in{random::uniform(-2, 2, {c.steps, batch, c.classes}, DType::f64),
             Tensor(labels, {batch, static_cast<std::int64_t>(c.labels[0].size())})};
  Names names{"data", "label"};
  std::string attrs = fmt::format(R"("blank_label": "{}")", c.blank);
  const auto lengths = [&](const std::vector<double>& list, const char* name, const char* flag) {
    if (list.empty()) return;
    names.push_back(name);
    in.push_back(Tensor(list, {batch}));
    attrs += fmt::format(R"(, "{}": "True")", flag);
  };
  lengths(c.data_lengths, "data_lengths", "use_data_lengths");
  lengths(c.label_lengths, "label_lengths", "use_label_lengths");
  return {node("CTCLoss", attrs, names, 1), in, {numbers({batch})}, 1};
}

}  // namespace

TEST_CASE("CTCLoss: gradients with repeated labels, lengths and either blank") {
  for (const char* blank : {"first", "last"}) {
    INFO(blank);
    check(alignment({.labels = {{1, 2, 1}, {2, 2, 1}, {1, 1, 1}}, .blank = blank}));
    check(alignment({.labels = {{1, 2, 1}, {2, 2, 1}, {1, 2, 2}},
                     .data_lengths = {5, 4, 3},
                     .label_lengths = {3, 3, 1},
                     .blank = blank}));
    check(alignment({.labels = {{1, 2}, {1, 1}}, .data_lengths = {3, 4}, .blank = blank}));
    check(alignment({.steps = 1, .labels = {{1}, {2}}, .blank = blank}));
    check(alignment({.steps = 3, .labels = {{1}, {2}}, .label_lengths = {1, 0}, .blank = blank}));
  }
  check(alignment({.labels = {{1, 0, 0}, {3, 3, 0}}}));
  check(alignment({.labels = {{0, -1, -1}, {2, 2, -1}}, .blank = "last"}));
}

TEST_CASE("CTCLoss: steps after the end and sequences without an alignment have the gradient zero") {
  Gradients g = alignment({.labels = {{1, 1, 1}, {1, 2, 1}}, .data_lengths = {4, 4}});
  auto data = g.inputs[0].to_vector<double>();
  for (std::size_t i = data.size() - 8; i < data.size(); ++i)
    data[i] = std::numeric_limits<double>::quiet_NaN();
  g.inputs[0] = Tensor(data, g.inputs[0].shape());
  CHECK(std::isinf(g.outputs(g.inputs)[0].to_vector<double>()[0]));
  const auto gradient = g.run()[0].to_vector<double>();
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const bool is_zero = i >= 32 || i % 8 < 4;
    CHECK((is_zero ? gradient[i] == 0 : std::isfinite(gradient[i]) && gradient[i] != 0));
  }
}

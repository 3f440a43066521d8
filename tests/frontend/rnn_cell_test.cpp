// Recurrent cells: steps, states, unrolling, modifiers, and what a program that uses them wrongly is told.
#include "golden_files.h"

#include <kiln/kiln.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <thread>

using namespace kiln;
using golden::error_of;

namespace {

using Catch::Matchers::Contains;

template <class Cell>
Cell initialized(Cell cell) {
  random::seed(3);
  cell.initialize(init::Normal(0.5));
  return cell;
}

Tensor sample(const Shape& shape, unsigned seed = 1) {
  random::seed(static_cast<int>(seed));
  return nd::random::normal(0, 1, shape);
}

bool equal(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.to_vector<float>() == b.to_vector<float>();
}
bool equal(const Tensors& a, const Tensors& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Tensor& x, const Tensor& y) { return equal(x, y); });
}
bool close(const Tensor& a, const Tensor& b) {
  const auto x = a.to_vector<double>(), y = b.to_vector<double>();
  return a.shape() == b.shape() && std::equal(x.begin(), x.end(), y.begin(), y.end(),
                                              [](double p, double q) { return std::abs(p - q) < 1e-5; });
}

/// A cell in a network, so that hybridize() compiles the whole sequence.
class Runner : public HybridBlock {
 public:
  Runner(std::shared_ptr<rnn::HybridRecurrentCell> cell, std::int64_t length, bool by_hand = false,
         bool reset = true)
      : cell_(std::move(cell)), length_(length), by_hand_(by_hand), reset_(reset) {
    register_child(std::static_pointer_cast<Block>(cell_), "cell");
  }

 protected:
  Tensors hybrid_forward(F& F, const Tensors& inputs) override {
    if (!by_hand_) {
      rnn::UnrollOptions options{.merge_outputs = true};
      if (inputs.size() > 1) options.valid_length = inputs[1];
      auto [y, states] = cell_->unroll(length_, inputs[0], options);
      Tensors out{y};
      out.insert(out.end(), states.begin(), states.end());
      return out;
    }
    if (reset_) cell_->reset();
    Tensors states = cell_->begin_state(inputs[0].shape()[0]);
    Tensors outputs;
    for (std::int64_t t = 0; t < length_; ++t) {
      auto [y, next] =
          (*cell_)(F.slice_axis(inputs[0], {.axis = 1, .begin = t, .end = t + 1}).squeeze(1), states);
      outputs.push_back(y);
      states = next;
    }
    return {F.stack(outputs, {.axis = 1})};
  }

 private:
  std::shared_ptr<rnn::HybridRecurrentCell> cell_;
  std::int64_t length_;
  bool by_hand_, reset_;
};

/// A program's own cell: the running sum.
class Accumulator : public rnn::HybridRecurrentCell {
 public:
  std::vector<rnn::StateInfo> state_info(std::int64_t batch = 0) const override {
    return {{.shape = {batch, 3}}};
  }

 protected:
  rnn::StepOutput hybrid_forward(F&, const Tensor& x, const Tensors& states) override {
    const Tensor sum = states[0] + x;
    return {sum, {sum}};
  }
};

}  // namespace

TEST_CASE("cells print as MXNet prints them") {
  CHECK(rnn::LSTMCell(4).str() == "LSTMCell(None -> 16)");
  CHECK(rnn::GRUCell(4, {.input_size = 3}).str() == "GRUCell(3 -> 12)");
  CHECK(rnn::RNNCell(4).str() == "RNNCell(None -> 4, tanh)");
  CHECK(rnn::DropoutCell(0.3).str() == "DropoutCell(rate=0.3, axes=())");
  CHECK(rnn::ResidualCell(rnn::GRUCell(2)).str() == "ResidualCell(GRUCell(None -> 6))");
  CHECK(rnn::ZoneoutCell(rnn::GRUCell(2), 0.5).str() ==
        "ZoneoutCell(p_out=0.5, p_state=0.0, GRUCell(None -> 6))");
  CHECK(rnn::BidirectionalCell(rnn::RNNCell(2), rnn::RNNCell(3)).str() ==
        "BidirectionalCell(forward=RNNCell(None -> 2, tanh), backward=RNNCell(None -> 3, tanh))");
  CHECK(contrib::rnn::LSTMPCell(4, 2).str() == "LSTMPCell(None -> 16 -> 2)");
  CHECK(contrib::rnn::VariationalDropoutCell(rnn::GRUCell(2), {.drop_outputs = 0.5}).str() ==
        "VariationalDropoutCell(p_out = 0.5, p_state = 0.0)");
  rnn::SequentialRNNCell stack;
  stack.add(rnn::LSTMCell(4), rnn::GRUCell(2));
  CHECK(stack.str() == "SequentialRNNCell(\n(0): LSTMCell(None -> 16)\n(1): GRUCell(None -> 6)\n)");
  CHECK(stack.size() == 2);
  CHECK(stack[1].as<rnn::GRUCell>().i2h_weight.shape() == Shape{6, 0});
}

TEST_CASE("names and shapes of parameters") {
  const rnn::LSTMCell cell(4, {.prefix = "a_"});
  CHECK(cell.params().keys() ==
        std::vector<std::string>{"a_i2h_weight", "a_h2h_weight", "a_i2h_bias", "a_h2h_bias"});
  CHECK(cell.i2h_weight.shape() == Shape{16, 0});
  CHECK(cell.h2h_weight.shape() == Shape{16, 4});
  rnn::GRUCell gru = initialized(rnn::GRUCell(2));
  gru(ones({1, 5}), gru.begin_state(1));
  CHECK(gru.i2h_weight.shape() == Shape{6, 5});
  CHECK(rnn::ResidualCell(rnn::GRUCell(2, {.prefix = "g_"})).collect_params().keys().front() ==
        "g_i2h_weight");
}

TEST_CASE("a const cell can be called") {
  const rnn::GRUCell cell(2);
  cell.initialize();
  const Tensor x = sample({3, 4});
  const auto [y, states] = cell(x, cell.begin_state(3));
  CHECK(states.at(0).to_vector<float>() == y.to_vector<float>());
  CHECK(cell.unroll(1, Tensors{x}, {.merge_outputs = false}).outputs[0].to_vector<float>() ==
        y.to_vector<float>());
  CHECK_THAT(error_of([&] { cell(x); }), Contains("begin_state"));
  rnn::HybridSequentialRNNCell cells;
  cells.add(rnn::GRUCell(2), rnn::LSTMCell(3));
  cells.initialize();
  const rnn::HybridSequentialRNNCell& seen = cells;
  CHECK(seen(x, seen.begin_state(3)).states.size() == 3);
}

TEST_CASE("a child is called with states as the block itself") {
  struct Net : HybridBlock {
    Child<rnn::GRU> gru{this, "gru"};
    Child<rnn::LSTMCell> cell{this, "cell"};
    Net() {
      gru = rnn::GRU(2);
      cell = rnn::LSTMCell(3);
    }
    Tensors hybrid_forward(F& F, const Tensors& in) override {
      auto [y, after] = gru(in[0], {in[1]});
      auto [z, states] = cell(F.mean(y, {.axis = 0}), {in[2], in[3]});
      const Tensors both = states;
      auto [last, again] = cell(F.mean(y, {.axis = 0}), both);
      return {y, after.at(0), last, again.at(1)};
    }
  };
  Net net;
  net.initialize();
  const Tensor x = sample({4, 1, 3}), h = sample({1, 1, 2}), s = sample({1, 3}), c = sample({1, 3});
  const auto [y, states] = (*net.gru)(x, {h});
  const Tensors got = net({x, h, s, c});
  CHECK(got[0].to_vector<float>() == y.to_vector<float>());
  CHECK(got[1].to_vector<float>() == states.at(0).to_vector<float>());
  CHECK(got[2].shape() == Shape{1, 3});
  net.hybridize();
  const Tensors compiled = net({x, h, s, c});
  for (std::size_t i = 0; i < got.size(); ++i)
    CHECK(compiled[i].to_vector<float>() == got[i].to_vector<float>());

  struct Unassigned : HybridBlock {
    Child<rnn::GRU> gru{this, "gru"};
    Tensor hybrid_forward(F&, const Tensor& x) override { return gru(x, {x}).output; }
  };
  CHECK_THAT(error_of([&] { Unassigned()(x); }), Contains("'gru' is used before a block was assigned"));
}

TEST_CASE("an LSTM step is its formula") {
  rnn::LSTMCell cell = initialized(rnn::LSTMCell(3, {.i2h_bias_initializer = init::Normal(0.5)}));
  const Tensor x = sample({2, 4});
  const Tensor h = sample({2, 3}, 2), c = sample({2, 3}, 3);
  const auto [y, states] = cell(x, {h, c});
  const auto value = [](const Tensor& t) { return t.to_vector<double>(); };
  const auto wi = value(cell.i2h_weight.data()), wh = value(cell.h2h_weight.data());
  const auto bi = value(cell.i2h_bias.data()), bh = value(cell.h2h_bias.data());
  const auto xs = value(x), hs = value(h), cs = value(c), got = value(y), got_c = value(states[1]);
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  for (std::size_t n = 0; n < 2; ++n)
    for (std::size_t j = 0; j < 3; ++j) {
      double gate[4];
      for (std::size_t g = 0; g < 4; ++g) {
        const std::size_t r = g * 3 + j;
        gate[g] = bi[r] + bh[r];
        for (std::size_t k = 0; k < 4; ++k) gate[g] += wi[r * 4 + k] * xs[n * 4 + k];
        for (std::size_t k = 0; k < 3; ++k) gate[g] += wh[r * 3 + k] * hs[n * 3 + k];
      }
      const double next = sigmoid(gate[1]) * cs[n * 3 + j] + sigmoid(gate[0]) * std::tanh(gate[2]);
      CHECK(got_c[n * 3 + j] == Approx(next).margin(1e-5));
      CHECK(got[n * 3 + j] == Approx(sigmoid(gate[3]) * std::tanh(next)).margin(1e-5));
    }
  CHECK(equal(states[0], y));
}

TEST_CASE("unrolling is stepping") {
  rnn::GRUCell cell = initialized(rnn::GRUCell(3));
  const Tensor x = sample({2, 4, 5});
  Tensors states = cell.begin_state(2), outputs;
  Tensors steps;
  for (int t = 0; t < 4; ++t) {
    steps.push_back(x({slice(), t}));
    auto [y, next] = cell(steps.back(), states);
    outputs.push_back(y);
    states = next;
  }
  const auto merged = cell.unroll(4, x, {.merge_outputs = true});
  CHECK(merged.outputs.tensor().shape() == Shape{2, 4, 3});
  CHECK(equal(merged.outputs, nd::stack(outputs, {.axis = 1})));
  CHECK(equal(merged.states, states));
  const auto list = cell.unroll(4, steps);
  CHECK(!list.outputs.merged());
  CHECK(equal(list.outputs.steps(), outputs));
  CHECK(equal(list.outputs[3], outputs[3]));
  const auto time_first = cell.unroll(4, x.swapaxes(0, 1), {.layout = "TNC", .merge_outputs = true});
  CHECK(equal(time_first.outputs, nd::stack(outputs)));
  // States of one sequence continue in the next.
  const auto first = cell.unroll(2, {steps[0], steps[1]});
  const auto second = cell.unroll(2, {steps[2], steps[3]}, {.begin_state = first.states});
  CHECK(equal(second.states, states));

  CHECK_THAT(error_of([&] { list.outputs.tensor(); }), Contains("merge_outputs = true"));
  CHECK_THAT(error_of([&] { merged.outputs.steps(); }), Contains("merge_outputs = false"));
  CHECK_THAT(error_of([&] { list.outputs[4]; }), Contains("Step 4 of a sequence of 4 steps"));
}

TEST_CASE("begin_state") {
  rnn::LSTMCell cell(3, {.prefix = "c_"});
  const Tensors zero = cell.begin_state(4);
  REQUIRE(zero.size() == 2);
  CHECK(equal(zero[1], zeros({4, 3})));
  CHECK(cell.begin_state({.batch_size = 2, .dtype = DType::f16})[0].dtype() == DType::f16);
  std::vector<std::string> names;
  const Tensors made =
      cell.begin_state({.batch_size = 2, .func = [&](const std::string& name, const rnn::StateInfo& i) {
                          names.push_back(name + " " + i.layout);
                          return ones(i.shape);
                        }});
  CHECK(equal(made[0], ones({2, 3})));
  CHECK(names ==
        std::vector<std::string>{"c_begin_state_4 NC", "c_begin_state_5 NC"});  // counted until reset()
  CHECK_THAT(error_of([&] { cell.begin_state(); }), Contains("needs the size of the batch"));
  rnn::HybridSequentialRNNCell stack;
  stack.add(cell, rnn::GRUCell(2));
  CHECK(stack.begin_state(1).size() == 3);
  CHECK(stack.state_info(7)[2].shape == Shape{7, 2});
}

TEST_CASE("valid lengths end sequences") {
  const std::vector<std::shared_ptr<rnn::HybridRecurrentCell>> cells{
      std::make_shared<rnn::LSTMCell>(initialized(rnn::LSTMCell(3))),
      std::make_shared<rnn::BidirectionalCell>(
          initialized(rnn::BidirectionalCell(rnn::GRUCell(2), rnn::RNNCell(3)))),
      std::make_shared<rnn::ResidualCell>(initialized(rnn::ResidualCell(rnn::RNNCell(2))))};
  const Tensor x = sample({3, 4, 2});
  const Tensor lengths{2, 4, 1};
  for (const auto& cell : cells) {
    INFO(cell->str());
    const auto all = cell->unroll(4, x, {.merge_outputs = true, .valid_length = lengths});
    const auto list = cell->unroll(4, x, {.merge_outputs = false, .valid_length = lengths});
    CHECK(equal(nd::stack(list.outputs.steps(), {.axis = 1}), all.outputs));
    for (int n = 0; n < 3; ++n) {
      const auto length = lengths[n].item<int>();
      const Tensor alone = x({slice(n, n + 1), slice(0, length)});
      const auto one = cell->unroll(length, alone, {.merge_outputs = true});
      const Tensor row = all.outputs.tensor()({slice(n, n + 1)});
      CHECK(close(row({slice(), slice(0, length)}), one.outputs));
      if (length < 4) {
        const Tensor rest = row({slice(), slice(length)});
        CHECK(equal(rest, zeros(rest.shape())));
      }
      for (std::size_t i = 0; i < one.states.size(); ++i)
        CHECK(close(all.states[i]({slice(n, n + 1)}), one.states[i]));
    }
  }
}

TEST_CASE("eager and compiled runs have the same bits") {
  const Tensor x = sample({2, 3, 4});
  const Tensor lengths{3, 1};
  rnn::HybridSequentialRNNCell stack;
  stack.add(rnn::LSTMCell(4), rnn::DropoutCell(0.4), rnn::ResidualCell(rnn::GRUCell(4)),
            rnn::ZoneoutCell(rnn::LSTMCell(3), 0.3, 0.2), contrib::rnn::LSTMPCell(4, 2));
  const std::vector<std::shared_ptr<rnn::HybridRecurrentCell>> cells{
      std::make_shared<rnn::HybridSequentialRNNCell>(stack),
      std::make_shared<rnn::BidirectionalCell>(rnn::GRUCell(2), rnn::LSTMCell(2)),
      std::make_shared<contrib::rnn::VariationalDropoutCell>(
          rnn::LSTMCell(3),
          contrib::rnn::VariationalDropoutOptions{
              .drop_inputs = 0.2, .drop_states = 0.3, .drop_outputs = 0.4}),
      std::make_shared<contrib::rnn::VariationalDropoutCell>(
          rnn::LSTMCell(3), contrib::rnn::VariationalDropoutOptions{.drop_inputs = 0.2, .drop_outputs = 0.4}),
      std::make_shared<Accumulator>()};
  for (const auto& cell : cells) {
    cell->initialize(init::Normal(0.5));
    for (const bool train : {false, true})
      for (const bool ends : {false, true}) {
        INFO(cell->str() << (train ? " training" : "") << (ends ? " with valid lengths" : ""));
        const bool own = dynamic_cast<Accumulator*>(cell.get());
        const Tensor in = own ? x({slice(), slice(), slice(0, 3)}) : x;
        const Tensors inputs = ends ? Tensors{in, lengths} : Tensors{in};
        Runner net(cell, 3);
        const autograd::TrainMode mode(train);
        net.hybridize(false);
        net(inputs);  // deferred shapes: initialisers draw from a separate stream
        random::seed(11);
        const Tensors eager = net(inputs);
        net.hybridize();
        random::seed(11);
        CHECK(equal(net(inputs), eager));
        random::seed(11);
        CHECK(equal(net(inputs), eager));  // the second call runs recorded code
      }
  }
}

TEST_CASE("a compiled cell steps") {
  rnn::LSTMCell cell = initialized(rnn::LSTMCell(3));
  const Tensor x = sample({2, 4});
  const Tensors begin = cell.begin_state(2);
  const auto eager = cell(x, begin);
  cell.hybridize();
  for (int i = 0; i < 2; ++i) {
    const auto compiled = cell(x, begin);
    CHECK(equal(compiled.output, eager.output));
    CHECK(equal(compiled.states, eager.states));
  }
  CHECK(cell.compiled_calls().size() == 1);
  rnn::HybridSequentialRNNCell stack;
  stack.add(cell, initialized(rnn::GRUCell(2)));
  const auto one = stack(x, stack.begin_state(2));
  stack.hybridize();
  CHECK(equal(stack(x, stack.begin_state(2)).states, one.states));
  CHECK(stack.compiled_calls().size() == 1);
}

TEST_CASE("zoneout and variational dropout") {
  rnn::RNNCell base = initialized(rnn::RNNCell(50));
  const Tensor x = sample({1, 3, 4});
  const auto plain = base.unroll(3, x, {.merge_outputs = true});
  rnn::ZoneoutCell zoneout(base, 0.5, 0);
  // Prediction changes nothing.
  CHECK(equal(zoneout.unroll(3, x, {.merge_outputs = true}).outputs, plain.outputs));
  const autograd::TrainMode train;
  const auto y = zoneout.unroll(3, x).outputs;
  const auto now = y[1].to_vector<float>(), before = y[0].to_vector<float>();
  int kept = 0;
  for (std::size_t i = 0; i < 50; ++i) kept += now[i] == before[i];
  CHECK(kept > 5);
  CHECK(kept < 45);

  contrib::rnn::VariationalDropoutCell variational(initialized(rnn::RNNCell(50)), {.drop_outputs = 0.5});
  for (const bool stepped : {false, true}) {
    variational.reset();
    rnn::Sequence steps;
    if (stepped) {
      Tensors states = variational.begin_state(1), outputs;
      for (int t = 0; t < 3; ++t) {
        auto [out, next] = variational(x({slice(), t}), states);
        outputs.push_back(out);
        states = next;
      }
      steps = rnn::Sequence(outputs);
    } else {
      steps = variational.unroll(3, x, {.merge_outputs = false}).outputs;
    }
    const auto a = steps[0].to_vector<float>(), b = steps[2].to_vector<float>();
    int zeros = 0;
    for (std::size_t i = 0; i < 50; ++i) {
      CHECK((a[i] == 0) == (b[i] == 0));
      zeros += a[i] == 0;
    }
    CHECK(zeros > 5);
    CHECK(zeros < 45);
  }
}

TEST_CASE("cells that keep tensors begin anew in a recording") {
  const auto cell = std::make_shared<rnn::ZoneoutCell>(initialized(rnn::RNNCell(4)), 0.5);
  const Tensor x = sample({1, 2, 3});
  const autograd::TrainMode train;
  Runner with_reset(cell, 2, /*by_hand=*/true);
  with_reset(x);
  random::seed(5);
  const Tensor eager = with_reset(x);
  with_reset.hybridize();
  random::seed(5);
  CHECK(equal(with_reset(x), eager));
  CHECK(cell->compiled_calls().empty());  // by itself it is never compiled
  Runner without(cell, 2, true, false);
  without.hybridize();
  CHECK_THAT(error_of([&] { without(x); }),
             Contains("ZoneoutCell") && Contains("call reset() before the first step"));
  // Steps outside of a network start from a state that no recording has left.
  cell->reset();
  auto [y, states] = (*cell)(x({slice(), 0}), cell->begin_state(1));
  CHECK(y.shape() == Shape{1, 4});
}

TEST_CASE("threads unroll one cell") {
  const auto cell = std::make_shared<rnn::ZoneoutCell>(initialized(rnn::LSTMCell(3)), 0.5, 0.5);
  const Tensor x = sample({2, 4, 3});
  const Tensor expected = cell->unroll(4, x, {.merge_outputs = true}).outputs;
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (std::size_t i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int n = 0; n < 5; ++n)
        wrong[i] += !equal(cell->unroll(4, x, {.merge_outputs = true}).outputs, expected);
    });
  for (auto& t : threads) t.join();
  CHECK(wrong == std::vector<int>(4));
}

TEST_CASE("symbols unroll without a network") {
  rnn::LSTMCell cell(4, {.prefix = "l_"});
  const auto [y, states] = cell.unroll(2, sym::var("data"), {.merge_outputs = true});
  const Symbol net = Symbol(y.tensor());
  CHECK(net.list_arguments() ==
        std::vector<std::string>{"data", "l_i2h_weight", "l_i2h_bias", "l_h2h_weight", "l_h2h_bias"});
  const InferredShapes shapes = net.infer_shape({{"data", {5, 2, 3}}});
  CHECK(shapes.outputs.at(0) == Shape{5, 2, 4});
  const Symbol x = sym::var("x"), h = sym::var("h"), c = sym::var("c");
  const auto step = cell(x, {h, c});
  CHECK(Symbol(step.output).name() == "l_t2_out");  // the steps of unroll() were t0 and t1
}

TEST_CASE("parameters are saved by path") {
  rnn::HybridSequentialRNNCell stack;
  stack.add(rnn::LSTMCell(2, {.input_size = 3}), rnn::ResidualCell(rnn::GRUCell(2, {.input_size = 2})));
  stack.initialize();
  stack.save_parameters("stack.params");
  std::vector<std::string> names;
  for (const NamedArray& a : load_arrays("stack.params")) names.push_back(a.name);
  CHECK(names.size() == 8);
  CHECK(names[0] == "0.i2h_weight");
  CHECK(names[4] == "1.base_cell.i2h_weight");
  stack.load_parameters("stack.params");
}

TEST_CASE("what a wrong use is told") {
  rnn::LSTMCell cell = initialized(rnn::LSTMCell(3, {.prefix = "cell_"}));
  const Tensor x = ones({2, 4});
  CHECK_THAT(error_of([&] { cell(x); }), Contains("rnn_cell_test.cpp") && Contains("called without states") &&
                                             Contains("cell(x, cell.begin_state(x.shape()[0]))"));
  CHECK_THAT(error_of([&] {
               cell(x, {zeros({2, 3})});
             }),
             Contains("rnn_cell_test.cpp") && Contains("LSTMCell cell takes 2 states, got 1") &&
                 Contains("begin_state(batch_size)"));
  CHECK_THAT(error_of([&] { static_cast<Block&>(cell)(x); }),
             Contains("takes its input and 2 states, got 1 tensors"));
  const Tensor sequence = ones({2, 4, 5});
  CHECK_THAT(error_of([&] { cell.unroll(6, sequence); }),
             Contains("rnn_cell_test.cpp") && Contains("over 6 steps got inputs of shape (2, 4, 5)") &&
                 Contains("pass length 4"));
  CHECK_THAT(error_of([&] { cell.unroll(2, sequence, {.layout = "TNX"}); }), !Contains("needs T"));
  CHECK_THAT(error_of([&] { cell.unroll(2, sequence, {.layout = "NC"}); }),
             Contains("needs T (time) and N (batch)"));
  CHECK_THAT(error_of([&] { cell.unroll(3, {x, x}); }), Contains("over 3 steps got a list of 2 inputs"));
  CHECK_THAT(error_of([&] { cell.unroll(0, sequence); }), Contains("length of 1 or more, not 0"));
  CHECK_THAT(error_of([&] { cell.unroll(3, ones({3})); }), Contains("no axis 1 for time"));
  CHECK_THAT(error_of([&] { cell.unroll(4, sequence, {.begin_state = {x}}); }),
             Contains("takes 2 states as begin_state, got 1"));
  rnn::BidirectionalCell both(rnn::RNNCell(2), rnn::RNNCell(2));
  CHECK_THAT(error_of([&] {
               both(x, {x, x});
             }),
             Contains("Bidirectional cannot be stepped. Please use unroll"));
  CHECK_THAT(error_of([&] { rnn::ZoneoutCell(both, 0.5); }),
             Contains("add ZoneoutCell to the cells underneath"));
  rnn::GRUCell base(2);
  const rnn::ResidualCell residual(base);
  CHECK_THAT(error_of([&] { rnn::ZoneoutCell(base, 0.5); }), Contains("One cell cannot be modified twice"));
  CHECK_THAT(error_of([&] { base.begin_state(1); }), Contains("Call the modifier cell instead"));
  CHECK_THAT(error_of([] {
               rnn::HybridSequentialRNNCell().unroll(1, ones({1, 1, 1}));
             }),
             Contains("has no cells"));
  CHECK_THAT(error_of([] { rnn::RNNCell(0); }), Contains("positive hidden_size, not 0"));
  CHECK_THAT(error_of([] { rnn::RNNCell(2, {.activation = "tanhh"}); }), Contains("tanhh"));
  CHECK_THAT(error_of([] { rnn::GRUCell(2, {.activation = "relu"}); }), Contains("no activations to choose"));
  CHECK_THAT(error_of([] { rnn::DropoutCell(1.5); }), Contains("less than 1, not 1.5"));
  CHECK_THAT(error_of([&] {
               initialized(rnn::GRUCell(2))(ones({3}), {zeros({1, 2})});
             }),
             Contains("needs an input (batch, channels), not (3,)"));
}

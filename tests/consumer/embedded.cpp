// A program that is compiled with -fno-exceptions, with -fno-rtti, and with both: its own classes of each
// public base are called by the library, and classes of the library by it. With an argument it makes the
// mistake of that name.
#include <kiln/kiln.h>

#include <cstdio>
#include <cstring>
#include <string>

using namespace kiln;

struct Residual : HybridBlock {
  Child<nn::Dense> fc{this, "fc"};

  explicit Residual(std::int64_t units) { fc = nn::Dense(units); }
  std::string class_name() const override { return "Residual"; }

  Tensor hybrid_forward(F& F, const Tensor& x) override { return F.relu(fc(x)) + x; }
};

/// Gradients need values, which a recording has not: Kiln abandons it by an exception and runs the block
/// eagerly.
struct Doubling : HybridBlock {
  Tensor hybrid_forward(F&, const Tensor& x) override {
    Tensor squares = autograd::record([&] { return (x * x).sum(); });
    return autograd::grad({squares}, {x})[0];
  }
};

struct Unassigned : HybridBlock {
  Child<nn::Dense> fc{this, "fc"};

  Tensor hybrid_forward(F&, const Tensor& x) override { return fc(x); }
};

struct Accumulator : rnn::HybridRecurrentCell {
  std::vector<rnn::StateInfo> state_info(std::int64_t batch_size) const override {
    return {{{batch_size, 2}}};
  }

 protected:
  rnn::StepOutput hybrid_forward(F&, const Tensor& x, const Tensors& states) override {
    Tensor sum = states[0] + x;
    return {sum, {sum}};
  }
};

struct SumLoss : loss::Loss {
  SumLoss() : Loss({}, 0) {}

  Tensors hybrid_forward(F&, const Tensors& x) override { return {((x[0] - x[1]) * (x[0] - x[1])).sum()}; }
};

struct Descent : optimizer::Optimizer {
  explicit Descent(const optimizer::Options& o) : Optimizer("descent", o) {}
  void update(optimizer::Update& u) const override { u.weight = u.weight - u.rate * u.gradient; }
};

struct Largest : metric::EvalMetric {
  Largest() : EvalMetric("largest") {}
  void add(const Tensor&, const Tensor& preds) override {
    sum_ = preds.max().item<double>();
    count_ = 1;
  }
};

struct Square : autograd::Function {
  Tensors forward(const Tensors& x) override { return {(kept = x[0]) * x[0]}; }
  Tensors backward(const Tensors& dy) override { return {2 * kept * dy[0]}; }
  Tensor kept;
};

bool same(const Tensor& a, const Tensor& b) { return a.to_vector<float>() == b.to_vector<float>(); }

int mistake(std::string_view name) {
  nn::HybridSequential net;
  net.add(nn::Dense(2), Doubling());
  if (name == "type") net[0].as<nn::Conv2D>();
  if (name == "untyped") net[1].as<Doubling>();
  if (name == "unassigned") Unassigned()(ones({1, 2}));
  if (name == "shape") ones({2, 3}) + ones({4});
  if (name == "own_child") {
    rnn::SequentialRNNCell cells;
    cells.add(cells);  // the line that registers it is in a header of Kiln
  }
  return 0;
}

int main(int argc, char** argv) {
  if (argc > 1) return mistake(argv[1]);
  const auto say = [](const auto&... parts) { ((std::cout << parts << " "), ...) << "\n"; };

  const Tensor x{{1, 2}, {3, 4}}, image = x.reshape({1, 1, 2, 2});
  nn::HybridSequential net;
  net.add(nn::Conv2D(1, 1), nn::MaxPool2D(1), nn::BatchNormReLU(), nn::Identity(), nn::Flatten(), Residual(4),
          nn::Dense(2));
  net.initialize(init::One());
  const Tensor eager = net(image);
  say(net.str());
  net.summary(image);
  net.hybridize();
  const bool equal = same(net(image), eager);
  say("compiled", equal, net.compiled_calls().at(0).compiled);
  say(net[6].as<nn::Dense>().weight.name(), net[0].as<nn::Conv>().bias.name(), net[5].name());

  // Classes whose tables of virtual functions a program could make, without the type.
  const auto names = [&]<class... B>(const B&... blocks) { say(blocks.class_name()...); };
  names(nn::Conv1D(1, 1), nn::Conv2D(1, 1), nn::Conv3D(1, 1), nn::Conv1DTranspose(1, {}),
        nn::Conv2DTranspose(1, {}), nn::Conv3DTranspose(1, {}), nn::MaxPool1D(), nn::MaxPool2D(),
        nn::MaxPool3D(), nn::AvgPool1D(), nn::AvgPool2D(), nn::AvgPool3D(), nn::GlobalMaxPool1D(),
        nn::GlobalMaxPool2D(), nn::GlobalMaxPool3D(), nn::GlobalAvgPool1D(), nn::GlobalAvgPool2D(),
        nn::GlobalAvgPool3D());
  names(rnn::RNN(1), rnn::LSTM(1), rnn::GRU(1), nn::Swish(), loss::L2Loss());

  Doubling doubling;
  doubling.hybridize();
  Tensor variable = x.copy();
  variable.attach_grad();
  const bool doubled = same(doubling(variable), 2 * x);
  say("abandoned", doubled, doubling.compiled_calls().at(0).compiled);

  rnn::SequentialRNNCell cells;
  cells.add(Accumulator(), rnn::LSTMCell(2));
  cells.initialize(init::One());
  say("cells", cells.state_info(1).size(), cells.unroll(2, x.reshape({1, 2, 2})).states.size());

  Tensor t = x.copy();
  t.attach_grad();
  Tensor squares = autograd::record([&] { return autograd::apply<Square>({t})[0].sum(); });
  squares.backward();
  say("gradient", same(t.grad(), 2 * x));

  Trainer trainer(net.collect_params(), std::make_shared<Descent>(optimizer::Options{.learning_rate = 0.01}));
  SumLoss criterion;
  auto step = net.train_step(criterion, trainer);
  const float before = step(image, ones({1, 2})).item<float>(),
              after = step(image, ones({1, 2})).item<float>();
  trainer.save_states("embedded-states.params");
  say("loss falls", after < before);

  metric::CompositeEvalMetric metrics;
  metrics.add(Largest());
  metrics.add(metric::Accuracy());
  say("metrics", metrics.size());
  data::DataLoader batches(data::ArrayDataset(x).transform_first([](const Tensor& row) { return 2 * row; }),
                           {.batch_size = 2, .num_workers = 1});
  for (const auto& batch : batches) say("batch", same(batch[0], 2 * x));
  net.save_parameters("embedded.params");
  net.load_parameters("embedded.params");
}

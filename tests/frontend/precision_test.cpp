// Precision::bf16 on the CPU: products and convolutions of float32 round their operands, however a program
// chooses it and however it runs.
#include "function_net.h"

#include <thread>

using namespace kiln;

namespace {

using Compute = std::function<Tensor(const Tensors&)>;

Tensor numbers(const Shape& shape, DType dtype = DType::f32) {
  return random::normal(0, 1, shape).astype(dtype);
}
Tensors in_bf16(const Tensors& in) {
  Tensors out;
  for (const Tensor& x : in) out.push_back(x.astype(DType::bf16));
  return out;
}

template <class Function>
auto under(Precision precision, const Function& function) {
  const PrecisionScope scope(precision);
  return function();
}

/// The result, then the gradients of all inputs for the head `g`.
Tensors with_gradients(const Compute& compute, const Tensors& in, const Tensor& g) {
  Tensors x;
  for (const Tensor& t : in) {
    x.push_back(t.copy());
    x.back().attach_grad();
  }
  const Tensor y = autograd::record([&] { return compute(x); });
  y.backward(g);
  Tensors out{y};
  for (const Tensor& t : x) out.push_back(t.grad());
  return out;
}

bool equal(const Tensors& a, const Tensors& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!same_bits(a[i], b[i])) return false;
  return true;
}

Net net_of(const Compute& compute) {
  return Net([compute](F&, const Tensors& in) { return Tensors{compute(in)}; });
}

struct Subject {
  const char* name;
  Compute compute;
  Tensors in;
};

Compute convolution(const ConvolutionOptions& options) {
  return [=](const Tensors& in) { return F::Convolution(in[0], in[1], options); };
}

/// Operators whose contractions read the operands themselves, by one algorithm for all precisions.
std::vector<Subject> subjects() {
  random::seed(1);
  const auto dot = [](bool ta, bool tb) -> Compute {
    return [=](const Tensors& in) { return F::dot(in[0], in[1], {.transpose_a = ta, .transpose_b = tb}); };
  };
  return {
      {"dot", dot(false, false), {numbers({17, 600}), numbers({600, 30})}},
      {"one row", dot(false, true), {numbers({1, 40}), numbers({70, 40})}},
      {"one column", dot(true, false), {numbers({40, 33}), numbers({40, 1})}},
      {"long row", dot(false, false), {numbers({1, 5000}), numbers({5000, 2})}},
      {"a transposed factor",
       [](const Tensors& in) { return F::dot(F::transpose(in[0]), in[1]); },
       {numbers({30, 7}), numbers({30, 19})}},
      {"batch_dot",
       [](const Tensors& in) { return F::batch_dot(in[0], in[1], {.transpose_b = true}); },
       {numbers({3, 9, 20}), numbers({3, 11, 20})}},
      {"FullyConnected",
       [](const Tensors& in) { return F::FullyConnected(in[0], in[1], {.num_hidden = 21, .no_bias = true}); },
       {numbers({5, 4, 9}), numbers({21, 36})}},
      {"einsum",
       [](const Tensors& in) {
         return np::einsum("abc,bd->cad", {in[0], in[1]});
       },
       {numbers({3, 8, 5}), numbers({8, 6})}},
      {"1x1",
       convolution({.kernel = {1, 1}, .num_filter = 12, .no_bias = true}),
       {numbers({2, 20, 9, 9}), numbers({12, 20, 1, 1})}},
      {"strides",
       convolution({.kernel = {3, 3}, .stride = {2, 2}, .pad = {1, 1}, .num_filter = 24, .no_bias = true}),
       {numbers({2, 17, 15, 15}), numbers({24, 17, 3, 3})}},
      {"few channels",
       convolution({.kernel = {5}, .pad = {2}, .num_filter = 3, .no_bias = true}),
       {numbers({1, 2, 70}), numbers({3, 2, 5})}},
      {"depthwise",
       convolution({.kernel = {3, 3}, .pad = {1, 1}, .num_filter = 16, .num_group = 16, .no_bias = true}),
       {numbers({2, 16, 12, 12}), numbers({16, 1, 3, 3})}},
      {"Deconvolution",
       [](const Tensors& in) {
         return F::Deconvolution(in[0], in[1],
                                 {.kernel = {2, 2}, .stride = {2, 2}, .num_filter = 7, .no_bias = true});
       },
       {numbers({2, 9, 6, 6}), numbers({9, 7, 2, 2})}},
  };
}

struct Layers : HybridBlock {
  Child<nn::Conv2D> convolution{this, "convolution"};
  Child<nn::Dense> hidden{this, "hidden"}, out{this, "out"};
  Layers() {
    convolution = nn::Conv2D(16, {.kernel_size = 3, .padding = 1, .activation = "relu"});
    hidden = nn::Dense(37, {.activation = "tanh"});
    out = nn::Dense(19);
  }
  Tensor hybrid_forward(F& F, const Tensor& x) override {
    const Tensor y = hidden(convolution(x));
    const auto step = [&](const Tensors& row, const Tensors& states) {
      return F::contrib::Results{{F.dot(row[0], F.ones({37, 37}) * 0.3)}, states};
    };
    return out(y + F::contrib::foreach (step, {y.reshape({2, -1, 37})}, {}).outputs[0].reshape({-1, 37}));
  }
};

/// The loss and the parameters after two steps.
enum class How { eager, hybrid, one_call };
Tensors trained(How how, const HybridizeOptions& options = {}) {
  random::seed(5);
  Layers net;
  net.initialize();
  if (how != How::eager) net.hybridize(options);
  Trainer trainer(net.collect_params(), "sgd", {.learning_rate = 0.05});
  loss::L2Loss loss;
  TrainStep step = net.train_step(loss, trainer);
  Tensors all(1);
  for (int i = 0; i < 2; ++i) {
    const Tensor x = numbers({6, 16, 9, 9}), label = numbers({6, 19});
    if (how == How::one_call) {
      all[0] = step(x, label);
      CHECK(step.compiled());
      continue;
    }
    all[0] = autograd::record([&] { return loss(net(x), label); });
    all[0].backward();
    trainer.step(6);
  }
  for (const Parameter& p : net.collect_params()) all.push_back(p.data());
  return all;
}

/// Whether eager operators of the thread compute as under `precision`.
bool computes_by(Precision precision) {
  const Tensor x = numbers({4, 50}), w = numbers({50, 3});
  return same_bits(F::dot(x, w), under(precision, [&] { return F::dot(x, w); }));
}

}  // namespace

TEST_CASE("bf16: the value is that of bf16 arrays before its rounding, in gradients too") {
  for (const Subject& s : subjects()) {
    INFO(s.name);
    const Tensor g = numbers(s.compute(s.in).shape());
    const auto run = [&](const Tensors& in, const Tensor& head) {
      return with_gradients(s.compute, in, head);
    };
    const Tensors exact = run(s.in, g), reference = run(in_bf16(s.in), g.astype(DType::bf16));
    for (const Precision other : {Precision::fast, Precision::tf32})
      CHECK(equal(under(other, [&] { return run(s.in, g); }), exact));
    const Tensors values = under(Precision::bf16, [&] { return run(s.in, g); });
    CHECK(equal(in_bf16(values), reference));
    for (std::size_t i = 0; i < values.size(); ++i) CHECK_FALSE(same_bits(values[i], exact[i]));
    for (const int threads : {1, 2}) {
      const ThreadLimit limit(threads);
      Net net = net_of(s.compute);
      net.hybridize();
      const auto compiled = [&] {
        return with_gradients([&](const Tensors& in) { return net(in)[0]; }, s.in, g);
      };
      CHECK(equal(under(Precision::bf16, compiled), values));
      CHECK(equal(compiled(), exact));
    }
  }
}

TEST_CASE("bf16: convolutions are never transformed") {
  random::seed(2);
  const Compute compute = convolution({.kernel = {3, 3}, .num_filter = 16, .no_bias = true});
  // Few channels sum as in float32, many by paired32. Six rows of results are too few to transform.
  for (const std::int64_t channels : {15, 16}) {
    const Tensor x = numbers({2, channels, 20, 20}), w = numbers({16, channels, 3, 3});
    const PrecisionScope scope(Precision::bf16);
    Tensors bands;
    for (std::int64_t row = 0; row < 18; row += 6)
      bands.push_back(compute({F::slice_axis(x, {.axis = 2, .begin = row, .end = row + 8}), w}));
    CHECK(same_bits(compute({x, w}), F::concat(bands, {.dim = 2})));
  }
}

TEST_CASE("bf16: factors that an operator computes are rounded") {
  random::seed(3);
  const Compute attention = [](const Tensors& in) {
    const Tensor scores = F::contrib::interleaved_matmul_selfatt_qk(in[0], 2);
    return F::contrib::interleaved_matmul_selfatt_valatt(in[0], F::softmax(scores), 2);
  };
  const Tensors in{numbers({6, 2, 24})};
  const Tensor g = numbers({6, 2, 8}), exact = attention(in);
  const PrecisionScope scope(Precision::bf16);
  const Tensors eager = with_gradients(attention, in, g);
  CHECK_FALSE(same_bits(eager[0], exact));
  Net net = net_of(attention);
  net.hybridize();
  CHECK(equal(with_gradients([&](const Tensors& x) { return net(x)[0]; }, in, g), eager));
}

TEST_CASE("bf16: an operator computes alike whatever computed its operands") {
  random::seed(5);
  const Tensor bytes = F::random::randint(0, 256, {6, 100}).astype(DType::u8), w = numbers({100, 17});
  const PrecisionScope scope(Precision::bf16);
  for (const DType dtype : {DType::u8, DType::bf16, DType::f16}) {
    Net net([](F& F, const Tensors& in) { return Tensors{F.dot(F.cast(in[0], DType::f32), in[1])}; });
    const Tensors in{bytes.astype(dtype), w};
    const Tensor eager = net(in)[0];
    CHECK(same_bits(F::dot(in[0].astype(DType::f32), w), eager));
    net.hybridize();
    CHECK(same_bits(net(in)[0], eager));
  }
}

TEST_CASE("bf16: recurrent layers") {
  for (const DType dtype : {DType::f32, DType::f16}) {
    random::seed(4);
    rnn::LSTM layer(7, {.num_layers = 2, .input_size = 6});
    layer.initialize(init::Uniform(1));
    layer.cast(dtype);
    const Tensors in{numbers({5, 3, 6}, dtype)};
    const Tensor g = numbers({5, 3, 7}, dtype);
    const auto run = [&] {
      Tensors out = with_gradients([&](const Tensors& x) { return layer(x[0]); }, in, g);
      for (const Parameter& p : layer.collect_params()) out.push_back(p.grad().copy());
      return out;
    };
    const Tensors exact = run(), eager = under(Precision::bf16, run);
    // An operator of float16 keeps its states in float32.
    CHECK(equal(eager, exact) == (dtype == DType::f16));
    layer.hybridize();
    CHECK(equal(under(Precision::bf16, run), eager));
    CHECK(equal(run(), exact));
  }
}

TEST_CASE("bf16: operators of other dtypes stay as they are") {
  random::seed(4);
  for (const DType dtype : {DType::f64, DType::f16, DType::bf16, DType::i32}) {
    INFO(name_of(dtype));
    for (const Subject& s : subjects()) {
      INFO(s.name);
      Tensors in;
      for (const Tensor& t : s.in) in.push_back((is_floating(dtype) ? t : t * 10).astype(dtype));
      if (dtype == DType::i32) {
        CHECK(same_bits(under(Precision::bf16, [&] { return s.compute(in); }), s.compute(in)));
        continue;
      }
      const Tensor g = numbers(s.compute(in).shape(), dtype);
      const Tensors exact = with_gradients(s.compute, in, g);
      CHECK(equal(under(Precision::bf16, [&] { return with_gradients(s.compute, in, g); }), exact));
    }
  }
  // A transformed convolution.
  const Tensors image{numbers({1, 16, 12, 12}, DType::f16), numbers({16, 16, 3, 3}, DType::f16)};
  const Compute transformed = convolution({.kernel = {3, 3}, .num_filter = 16, .no_bias = true});
  CHECK(same_bits(under(Precision::bf16, [&] { return transformed(image); }), transformed(image)));
}

TEST_CASE("bf16: training has the same bits in all modes") {
  Tensors exact = trained(How::eager), eager;
  for (const int threads : {1, 2}) {
    const ThreadLimit limit(threads);
    const auto by_scope = [&](How how) { return under(Precision::bf16, [&] { return trained(how); }); };
    if (threads == 1) eager = by_scope(How::eager);
    for (const How how : {How::eager, How::hybrid, How::one_call}) CHECK(equal(by_scope(how), eager));
    for (const How how : {How::hybrid, How::one_call}) {
      // Forward, loss and backward pass of the options; the loss has no product.
      CHECK(equal(trained(how, {.precision = Precision::bf16}), eager));
      CHECK(equal(under(Precision::bf16, [&] { return trained(how, {.precision = Precision::exact}); }),
                  exact));
    }
    CHECK(equal(trained(How::hybrid), exact));
  }
  CHECK_FALSE(same_bits(eager[1], exact[1]));
  for (const Recompute recompute : {Recompute::none, Recompute::all, Recompute::blocks})
    CHECK(equal(trained(How::hybrid, {.recompute = recompute, .precision = Precision::bf16}), eager));
}

TEST_CASE("bf16: each way to choose it gives the same bits") {
  random::seed(6);
  Layers net;
  net.initialize();
  const Tensor x = numbers({4, 16, 9, 9}), exact = net(x);
  const Tensor eager = under(Precision::bf16, [&] { return net(x); });
  CHECK_FALSE(same_bits(eager, exact));

  net.hybridize({.check = Check::bits | Check::recording});
  CHECK(same_bits(under(Precision::bf16, [&] { return net(x); }), eager));
  CHECK(same_bits(net(x), exact));
  CHECK(net.compiled_calls().size() == 2);
  CHECK_THAT(net.compiled_calls().back().reason.str(),
             Catch::Contains("because the precision of products was bf16 and is exact"));
  CHECK(same_bits(under(Precision::bf16, [&] { return net(x); }), eager));
  CHECK(net.compiled_calls().size() == 2);
  auto bound = under(Precision::bf16, [&] { return net.bind({x}); });
  CHECK(same_bits(bound(), eager));

  net.hybridize({.precision = Precision::bf16});
  CHECK(same_bits(net(x), eager));
  auto by_options = net.bind({x});
  CHECK(same_bits(by_options(), eager));

  Net scoped([&](F&, const Tensors& in) {
    const PrecisionScope scope(Precision::bf16);
    return Tensors{net(in[0])};
  });
  scoped.register_child(net, "net");
  CHECK(same_bits(scoped({x})[0], eager));
  scoped.hybridize({.precision = Precision::exact});
  CHECK(same_bits(scoped({x})[0], eager));

  nn::Dense dense(5, {.in_units = 30});
  dense.initialize();
  const std::map<std::string, Tensor> inputs{{"data", numbers({8, 30})}};
  const Tensor value = under(Precision::bf16, [&] { return dense(inputs.at("data")); });
  const Model model = Model::from_symbol(dense(sym::var("data")), {{dense.weight.name(), dense.weight.data()},
                                                                   {dense.bias.name(), dense.bias.data()}});
  for (const RunMode mode : {RunMode::eager, RunMode::compiled}) {
    CHECK(same_bits(model.run(inputs, {.mode = mode, .precision = Precision::bf16})[0], value));
    CHECK_FALSE(same_bits(model.run(inputs, {.mode = mode})[0], value));
    CHECK(same_bits(under(Precision::bf16, [&] { return model.run(inputs, {.mode = mode})[0]; }), value));
  }
}

TEST_CASE("bf16: scopes and threads keep apart") {
  random::seed(7);
  const PrecisionScope outer(Precision::exact);
  CHECK(computes_by(Precision::fast));
  {
    const PrecisionScope scope(Precision::bf16);
    CHECK(computes_by(Precision::bf16));
    CHECK_FALSE(computes_by(Precision::exact));
    std::thread([] { CHECK(computes_by(PrecisionScope::current())); }).join();
    const PrecisionScope inner(Precision::tf32);
    CHECK(computes_by(Precision::exact));
  }
  CHECK(computes_by(Precision::exact));
  CHECK(precision_of("bf16") == Precision::bf16);
  CHECK(name_of(Precision::bf16) == "bf16");
}

// Runs by itself, with KILN_PRECISION=bf16.
TEST_CASE("KILN_PRECISION=bf16 is the precision of all calls without a scope", "[.environment]") {
  random::seed(8);
  CHECK(computes_by(Precision::bf16));
  CHECK_FALSE(computes_by(Precision::exact));
  const Tensor x = numbers({4, 16, 9, 9});
  Layers net;
  net.initialize();
  const Tensor eager = net(x);
  CHECK(same_bits(under(Precision::bf16, [&] { return net(x); }), eager));
  CHECK_FALSE(same_bits(under(Precision::exact, [&] { return net(x); }), eager));
  net.hybridize();
  CHECK(same_bits(net(x), eager));
  const Tensors trained_eagerly = trained(How::eager);
  for (const How how : {How::hybrid, How::one_call}) CHECK(equal(trained(how), trained_eagerly));
}

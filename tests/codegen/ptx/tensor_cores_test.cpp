// Products on tensor cores: bits of the CPU where sums are exact in any order, and eager code's bits
// elsewhere.
#include "function_net.h"

using namespace kiln;

namespace {

const Device gpu0 = cuda(0);

/// Integers whose products and sums are exact in f32, of f16 and bf16.
Tensor integers(const Shape& shape, DType dtype) { return random::randint(-3, 4, shape).astype(dtype); }
Tensor numbers(const Shape& shape, DType dtype) { return random::normal(0, 1, shape).astype(dtype); }

/// Factors of a product whose results are nothing but errors of rounding: each order of the sum has others.
Tensors cancelling(std::int64_t m, std::int64_t k, std::int64_t n, DType dtype) {
  const Tensor a = numbers({m, k}, dtype), b = numbers({k, n}, dtype);
  return {F::concat({a, a}, {.dim = 1}), F::concat({b, -b}, {.dim = 0})};
}

using Compute = std::function<Tensor(const Tensors&)>;

Tensor on_gpu(const Compute& compute, Tensors inputs) {
  const DeviceScope scope(gpu0);
  for (Tensor& t : inputs) t = t.to(gpu0);
  return compute(inputs).to(cpu());
}

struct Product {
  Shape a, b;
  bool transposes_a = false, transposes_b = false;
};
Compute computed(const Product& p) {
  const DotOptions options{.transpose_a = p.transposes_a, .transpose_b = p.transposes_b};
  return [=](const Tensors& in) {
    return in[0].shape().rank() > 2 ? F::batch_dot(in[0], in[1], options) : F::dot(in[0], in[1], options);
  };
}

Net net_of(const Compute& compute, const HybridizeOptions& options = {}) {
  Net net([compute](F&, const Tensors& in) { return Tensors{compute(in)}; });
  net.hybridize(options);
  return net;
}
Compute called(Net& net) {
  return [&net](const Tensors& in) { return net(in)[0]; };
}

struct Layers : HybridBlock {
  Child<nn::Dense> hidden{this, "hidden"}, out{this, "out"};
  explicit Layers(DType dtype) {
    hidden = nn::Dense(37, {.activation = "relu"});
    out = nn::Dense(19);
    cast(dtype);
  }
  Tensor hybrid_forward(F& F, const Tensor& x) override {
    const Tensor y = hidden(x);
    return out(y + F.dot(y, F.ones({37, 37}, y.dtype()) * 0.3));
  }
};

/// The loss and the parameters after two steps, on the GPU.
enum class How { eager, hybrid, one_call };
Tensors trained(Device device, DType dtype, How how, const HybridizeOptions& options = {}) {
  random::seed(5);
  const DeviceScope scope(device);
  Layers net(dtype);
  net.initialize();
  if (how != How::eager) net.hybridize(options);
  Trainer trainer(net.collect_params(), "sgd", {.learning_rate = 0.05});
  loss::L2Loss loss;
  TrainStep step = net.train_step(loss, trainer);
  Tensors all(1);
  for (int i = 0; i < 2; ++i) {
    const Tensor x = numbers({21, 530}, dtype), label = numbers({21, 19}, dtype);
    if (how == How::one_call) {
      all[0] = step(x, label);
      continue;
    }
    {
      const autograd::Record record;
      all[0] = loss(net(x), label);
    }
    all[0].backward();
    trainer.step(21);
  }
  for (const Parameter& p : net.collect_params()) all.push_back(p.data());
  return all;
}

bool equal(const Tensors& a, const Tensors& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!same_bits(a[i], b[i])) return false;
  return true;
}

}  // namespace

TEST_CASE("products whose sums are exact have the bits of the CPU") {
  const PrecisionScope scope(Precision::fast);
  random::seed(1);
  std::vector<Product> products = {{{16, 1}, {1, 8}},
                                   {{1, 40}, {40, 200}},
                                   {{17, 15}, {15, 9}},
                                   {{64, 16}, {16, 64}},
                                   {{65, 17}, {17, 130}},
                                   {{40, 31}, {31, 33}},
                                   {{70, 512}, {512, 67}},
                                   {{20, 513}, {513, 70}},
                                   {{33, 1040}, {1040, 129}},
                                   {{2, 3}, {3, 2}},
                                   {{33, 70}, {33, 81}, true},
                                   {{70, 33}, {81, 33}, false, true},
                                   {{53, 41}, {80, 53}, true, true},
                                   {{1, 600}, {70, 600}, false, true},
                                   {{3, 66, 20}, {3, 20, 65}},
                                   {{5, 20, 66}, {5, 65, 20}, true, true},
                                   {{0, 20}, {20, 30}},
                                   {{20, 0}, {0, 30}}};
  for (const DType dtype : {DType::f16, DType::bf16})
    for (const Product& p : products) {
      const Tensors in{integers(p.a, dtype), integers(p.b, dtype)};
      INFO(name_of(dtype) << " " << p.a.str() << " times " << p.b.str());
      CHECK(same_bits(on_gpu(computed(p), in), computed(p)(in)));
    }
}

TEST_CASE("products of many tiles") {
  const PrecisionScope scope(Precision::fast);
  const Compute product = computed({{1930, 520}, {2050, 520}, false, true});
  const Tensors in{integers({1930, 520}, DType::f16), integers({2050, 520}, DType::f16)};
  CHECK(same_bits(on_gpu(product, in), product(in)));
}

TEST_CASE("views of factors, and epilogues") {
  const PrecisionScope scope(Precision::fast);
  const Compute computes[] = {
      [](const Tensors& in) { return F::relu(F::dot(in[0][slice(3, 40)], in[1]) + 1); },
      [](const Tensors& in) { return F::dot(F::transpose(in[0]), in[0]) * in[1]; },
      [](const Tensors& in) {
        const Tensor x = F::broadcast_to(F::expand_dims(in[0], 0), {3, 47, 47});
        return F::batch_dot(x, F::reverse(x, {2}), {.transpose_b = true});
      },
      [](const Tensors& in) {
        return F::FullyConnected(in[0], in[1], in[1][0], {.num_hidden = 47, .flatten = false});
      }};
  for (const Compute& compute : computes) {
    const Tensors in{integers({47, 47}, DType::bf16), integers({47, 47}, DType::bf16)};
    INFO("number " << &compute - computes);
    const Tensor expected = compute(in);
    CHECK(same_bits(on_gpu(compute, in), expected));
    Net net = net_of(compute);
    CHECK(same_bits(on_gpu(called(net), in), expected));
  }
}

TEST_CASE("the precision chooses") {
  random::seed(2);
  const Compute product = [](const Tensors& in) { return F::dot(in[0], in[1]); };
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32}) {
    const Tensors in = cancelling(20, 350, 30, dtype);
    const Tensor expected = product(in);
    const bool is_half = dtype != DType::f32;
    for (const Precision precision : {Precision::exact, Precision::fast, Precision::tf32}) {
      const bool on_tensor_cores = precision == Precision::tf32 || (precision == Precision::fast && is_half);
      INFO(name_of(dtype) << " " << name_of(precision));
      const auto eager = [&] {
        const PrecisionScope scope(precision);
        return on_gpu(product, in);
      }();
      CHECK(same_bits(eager, expected) == !on_tensor_cores);
      // An option of hybridize() wins over the scope, which is part of a recording's signature.
      for (const Precision outer : {Precision::exact, Precision::fast}) {
        const PrecisionScope scope(outer);
        Net net = net_of(product, {.precision = precision});
        CHECK(same_bits(on_gpu(called(net), in), eager));
      }
    }
    Net net = net_of(product);
    for (const Precision precision : {Precision::exact, Precision::tf32, Precision::exact}) {
      const PrecisionScope scope(precision);
      const bool is_exact = same_bits(on_gpu(called(net), in), expected);
      CHECK(is_exact == (precision == Precision::exact));
    }
  }
}

TEST_CASE("eager and compiled programs have equal bits on tensor cores") {
  random::seed(3);
  const Compute programs[] = {
      // A product of f32 stays one where its factors are f16 that the program has widened.
      [](const Tensors& in) { return F::dot(F::cast(in[0], DType::f32), F::cast(in[1], DType::f32)); },
      [](const Tensors& in) {
        const Tensor y = F::relu(F::dot(in[0], in[1], {.transpose_b = true}) + 0.1);
        return F::softmax(F::dot(y, in[1]) * 0.1 + in[0]);
      },
      // Of constants.
      [](const Tensors& in) {
        const Tensor ones = F::ones({530, 40}, in[0].dtype()) * 0.1;
        return F::dot(in[0], F::dot(ones, F::transpose(ones)));
      },
      // Fewer results than 16, and of a batch.
      [](const Tensors& in) {
        const Tensor x = F::reshape(in[0], {5, 7, 530});
        return F::batch_dot(x, F::slice_axis(x, {.axis = 1, .begin = 0, .end = 2}), {.transpose_b = true});
      }};
  for (const DType dtype : {DType::f16, DType::bf16})
    for (const Precision precision : {Precision::fast, Precision::tf32}) {
      const PrecisionScope scope(precision);
      for (const Compute& program : programs) {
        INFO(name_of(dtype) << " " << name_of(precision) << ", program " << &program - programs);
        const Tensors in{numbers({35, 530}, dtype), numbers({45, 530}, dtype)};
        const Tensors given = &program == programs ? Tensors{in[0], F::transpose(in[1])} : in;
        Net net = net_of(program, {.check = Check::bits});
        const Tensor compiled = on_gpu(called(net), given);
        CHECK(same_bits(compiled, on_gpu(program, given)));
        if (&program == programs && precision == Precision::fast) CHECK(same_bits(compiled, program(given)));
      }
    }
}

TEST_CASE("training on tensor cores") {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    INFO(name_of(dtype));
    Tensors eager;
    {
      const PrecisionScope scope(Precision::fast);
      eager = trained(gpu0, dtype, How::eager);
      CHECK(equal(trained(gpu0, dtype, How::hybrid), eager));
      CHECK(equal(trained(gpu0, dtype, How::one_call), eager));
    }
    // Both passes of a block have its precision.
    const Tensors expected = trained(cpu(), dtype, How::eager);
    if (dtype == DType::f16) CHECK(!equal(eager, expected));
    const PrecisionScope scope(Precision::fast);
    CHECK(equal(trained(gpu0, dtype, How::hybrid, {.precision = Precision::exact}), expected));
    CHECK(equal(trained(gpu0, dtype, How::one_call, {.precision = Precision::exact}), expected));
  }
}

TEST_CASE("a backward pass that computes a call again has the precision of the call") {
  random::seed(4);
  const Tensors factors = cancelling(20, 40, 20, DType::f16);
  const Tensor x = factors[0], w = factors[1];
  const auto gradients = [&](Device device, const HybridizeOptions& options) {
    Tensor data = x.to(device), weight = w.to(device);
    Net net = net_of(
        [](const Tensors& in) {
          return F::dot(F::relu(F::dot(in[0], in[1])) * 1000, in[1], {.transpose_b = true});
        },
        options);
    data.attach_grad();
    weight.attach_grad();
    Tensor y;
    {
      const autograd::Record record;
      y = net({data, weight})[0];
    }
    // For one of two inputs.
    return autograd::grad({y}, {weight})[0].to(cpu());
  };
  const Tensor expected = gradients(cpu(), {});
  const PrecisionScope scope(Precision::fast);
  CHECK(same_bits(gradients(gpu0, {.precision = Precision::exact}), expected));
  CHECK(!same_bits(gradients(gpu0, {}), expected));
}

TEST_CASE("a scope in hybrid_forward chooses for its operators") {
  random::seed(6);
  const Compute mixed = [](const Tensors& in) {
    Tensor exact, fast;
    {
      const PrecisionScope scope(Precision::exact);
      exact = F::dot(in[0], in[1]);
    }
    {
      const PrecisionScope scope(Precision::tf32);
      const auto step = [&](const Tensors& row, const Tensors& states) {
        const PrecisionScope inner(Precision::exact);
        return F::contrib::Results{{F::dot(row[0], in[1])}, states};
      };
      fast = F::dot(in[0], in[1]) +
             F::contrib::foreach (step, {in[0].reshape({2, 10, -1})}, {}).outputs[0].reshape({20, -1});
    }
    return F::concat({exact, fast, F::dot(in[0], in[1])}, {.dim = 1});
  };
  for (const DType dtype : {DType::f16, DType::f32}) {
    const Tensors in = cancelling(20, 350, 30, dtype);
    const auto gradient = [&](const Compute& compute) {
      const DeviceScope device(gpu0);
      Tensor x = in[0].to(gpu0), w = in[1].to(gpu0);
      x.attach_grad();
      w.attach_grad();
      const Tensor y = autograd::record([&] { return compute({x, w}); });
      const Tensor first = autograd::grad({y}, {w})[0];
      return Tensors{y.to(cpu()), first.to(cpu())};
    };
    for (const Precision outer : {Precision::exact, Precision::tf32}) {
      INFO(name_of(dtype) << " " << name_of(outer));
      const PrecisionScope scope(outer);
      const Tensors expected = gradient(mixed);
      Net net = net_of(mixed), fixed = net_of(mixed, {.precision = outer});
      CHECK(equal(gradient(called(net)), expected));
      const PrecisionScope other(outer == Precision::exact ? Precision::tf32 : Precision::exact);
      CHECK(equal(gradient(called(fixed)), expected));
    }
  }
}

TEST_CASE("with Precision::bf16 a GPU has the CPU's bits") {
  random::seed(7);
  const Compute computes[] = {
      [](const Tensors& in) { return F::dot(in[0], in[1]); },
      [](const Tensors& in) {
        return F::batch_dot(in[0].reshape({2, 10, -1}), in[1].reshape({2, 350, -1}));
      },
      [](const Tensors& in) {
        const Tensor images = in[0].reshape({1, 10, 20, 35}), filters = in[1].reshape({105, 10, 2, 5});
        return F::Convolution(
            images, filters,
            {.kernel = {2, 5}, .stride = {1, 2}, .pad = {1, 0}, .num_filter = 105, .no_bias = true});
      }};
  for (const DType dtype : {DType::f32, DType::f16})
    for (const Compute& compute : computes) {
      INFO(name_of(dtype) << ", number " << &compute - computes);
      const Tensors in{numbers({20, 350}, dtype), numbers({350, 30}, dtype)};
      const Tensor exact = compute(in);
      const PrecisionScope scope(Precision::bf16);
      const Tensor expected = compute(in);
      CHECK(same_bits(expected, exact) == (dtype == DType::f16));
      CHECK(same_bits(on_gpu(compute, in), expected));
      Net net = net_of(compute, {.check = Check::bits});
      CHECK(same_bits(on_gpu(called(net), in), expected));
    }
  const PrecisionScope scope(Precision::bf16);
  const Tensors expected = trained(cpu(), DType::f32, How::eager);
  for (const How how : {How::eager, How::hybrid, How::one_call})
    CHECK(equal(trained(gpu0, DType::f32, how), expected));
}

TEST_CASE("TF32 reads the bits that it has") {
  const PrecisionScope scope(Precision::tf32);
  const Compute product = [](const Tensors& in) { return F::dot(in[0], in[1]); };
  for (const Product& p : {Product{{17, 9}, {9, 30}}, Product{{70, 600}, {600, 65}}}) {
    const Tensors in{integers(p.a, DType::f32), integers(p.b, DType::f32)};
    CHECK(same_bits(on_gpu(product, in), product(in)));
  }
  // 2^-11 of a factor is rounded away from zero, less is lost.
  const Tensor one = kiln::ones({16, 8}), x = kiln::ones({8, 16});
  CHECK(on_gpu(product, {one, x * (1 + 0x1p-11)}).to_vector<float>()[0] == 8 * (1 + 0x1p-10f));
  CHECK(on_gpu(product, {one, x * (1 + 0x1p-12)}).to_vector<float>()[0] == 8);
}

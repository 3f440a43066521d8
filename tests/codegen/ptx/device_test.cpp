// Programs on a GPU: where arrays are, what moves them, what is refused, and the bits of the CPU.
#include "golden_files.h"
#include "same_bits.h"

#include <kiln/kiln.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <thread>

using namespace kiln;
using golden::error_of;

namespace {

const Device gpu0 = cuda(0);

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

struct Net : HybridBlock {
  Child<nn::Dense> hidden{this, "hidden"}, out{this, "out"};
  Child<nn::BatchNorm> norm{this, "norm"};

  Net() {
    hidden = nn::Dense(8, {.activation = "relu"});
    norm = nn::BatchNorm();
    out = nn::Dense(3);
  }

  Tensor hybrid_forward(F& F, const Tensor& x) override {
    const Tensor y = norm(hidden(x)) + F.ones({8}) * Tensor({1, 2, 3, 4, 5, 6, 7, 8});
    return out(F.Dropout(y, {.p = 0.25f}));
  }
};

/// A hybridized network on the GPU, and what it makes of an input.
struct OnGpu {
  Net net;
  Tensor x, expected;

  OnGpu() {
    net.initialize();
    net.to(gpu0);
    net.hybridize();
    x = random::normal(0, 1, {2, 5}).to(gpu0);
    expected = net(x);
  }
};

/// The loss and the parameters after three steps of training, the arrays of the program on `device`.
Tensors trained(Device device, bool hybrid, bool one_call = false) {
  random::seed(11);
  const DeviceScope scope(device);
  Net net;
  net.initialize();
  if (hybrid) net.hybridize();
  Trainer trainer(net.collect_params(), "adam", {.learning_rate = 0.05, .wd = 0.01});
  loss::SoftmaxCrossEntropyLoss loss;
  TrainStep step = net.train_step(loss, trainer);
  Tensors all(1);
  for (int i = 0; i < 3; ++i) {
    const Tensor x = random::normal(0, 1, {6, 5}), label = random::randint(0, 3, {6}).astype(DType::f32);
    if (one_call) {
      all[0] = step(x, label);
      continue;
    }
    {
      const autograd::Record record;
      all[0] = loss(net(x), label);
    }
    all[0].backward();
    trainer.step(6);
  }
  for (const Parameter& p : net.collect_params()) all.push_back(p.data());
  return all;
}

}  // namespace

TEST_CASE("arrays move, print, and are read and written where they are") {
  CHECK(num_gpus() == 1);
  const Tensor x({{1, 2, 3}, {4, 5, 6}});
  Tensor y = x.to(gpu0);
  CHECK(y.device() == gpu0);
  CHECK(y.as_in_context(gpu(0)).device() == gpu0);
  CHECK(same_bits(y.to(cpu()), x));
  CHECK(contains(to_string(y), "[4. 5. 6.]]\n<NDArray 2x3 @cuda(0)>"));
  CHECK((y * 2 + 1).device() == gpu0);
  CHECK((y * 2).sum().item<double>() == 42);
  Tensor row = y[1];
  row += 10;
  y[0][slice(0, 2)] = 7;
  y(std::vector<Index>{slice(), 2}) = Tensor({-1, -2}).to(gpu0);
  CHECK(y.to_vector<float>() == std::vector<float>{7, 7, -1, 14, 15, -2});
  y.copy_from(std::vector<double>{1, 2, 3, 4, 5, 6}.data(), DType::f64);
  CHECK(y.copy().astype(DType::f16).device() == gpu0);
  CHECK(same_bits(y.copy(), x));
  CHECK(zeros({0, 3}).to(gpu0).sum().item<float>() == 0);
  y.wait();
  waitall();
}

TEST_CASE("DeviceScope says where factories make arrays, on its thread") {
  const DeviceScope scope(gpu0);
  CHECK(zeros({2}).device() == gpu0);
  CHECK(arange(3).to_vector<int>() == std::vector<int>{0, 1, 2});
  CHECK(arange(3).device() == gpu0);
  CHECK(full({2}, 2.5).to_vector<float>() == std::vector<float>{2.5f, 2.5f});
  CHECK(Tensor({1, 2}).device() == gpu0);
  CHECK(random::uniform(0, 1, {2}).device() == gpu0);
  std::thread([] { CHECK(zeros({2}).device() == cpu()); }).join();
  const DeviceScope inner{cpu()};
  CHECK(ones({1}).device() == cpu());
}

TEST_CASE("functions of all integers of 8 bits") {
  const auto results = [](const Tensor& x) {
    return Tensors{F::abs(x), F::sign(x), F::square(x), F::negative(x), F::softsign(x), x / 3, x % 3};
  };
  for (const DType dtype : {DType::i8, DType::u8}) {
    const Tensor x = arange(256).astype(dtype);
    const Tensors expected = results(x), found = results(x.to(gpu0));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CAPTURE(name_of(dtype), i);
      CHECK(same_bits(found[i], expected[i]));
    }
  }
}

TEST_CASE("operands on two devices are an error that names both, and the line") {
  const Tensor x = ones({2}), y = ones({2}).to(gpu0);
  const std::string error = error_of([&] { (void)(x + y); });
  CHECK(contains(error, "device_test.cpp:"));
  CHECK(contains(error, "cpu(0)"));
  CHECK(contains(error, "cuda(0)"));
  CHECK(contains(error_of([&] { (void)y.data(); }), "to(cpu())"));
  CHECK(contains(error_of([&] { (void)x.to(cuda(3)); }), "there is no device cuda(3)"));
  CHECK(contains(error_of([] { const DeviceScope scope(cuda(3)); }), "there is no device cuda(3)"));
  Tensor z = y.copy();
  CHECK(contains(error_of([&] { z += x; }), "cuda(0)"));
}

TEST_CASE("a network on another device than its input is an error that names both") {
  for (const bool hybrid : {false, true}) {
    Net net;
    net.initialize();
    if (hybrid) net.hybridize();
    const Tensor x = random::normal(0, 1, {2, 5});
    const Tensor expected = net(x);
    net.to(gpu0);
    const std::string error = error_of([&] { net(x); });
    CHECK(contains(error, "cpu(0)"));
    CHECK(contains(error, "cuda(0)"));
    CHECK(same_bits(net(x.to(gpu0)), expected));
    net.to(cpu());
    CHECK(same_bits(net(x), expected));
  }
}

TEST_CASE("training has the bits of the CPU, eagerly, hybridized and as one call") {
  const Tensors expected = trained(cpu(), false);
  for (const auto& [hybrid, one_call] : {std::pair{false, false}, {true, false}, {true, true}}) {
    const Tensors found = trained(gpu0, hybrid, one_call);
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      CAPTURE(hybrid, one_call, i);
      CHECK(found[i].device() == gpu0);
      CHECK(same_bits(found[i], expected[i]));
    }
  }
}

TEST_CASE("a network moves in the middle of training: gradients and states move too") {
  const auto run = [](bool moves) {
    random::seed(5);
    nn::Dense net(3, {.in_units = 4});
    net.initialize();
    net.hybridize();
    net.collect_params().set_grad_req(GradReq::add);
    Trainer trainer(net.collect_params(), "sgd", {.learning_rate = 0.1, .momentum = 0.9});
    Device device = cpu();
    for (int i = 0; i < 4; ++i) {
      if (moves && i == 1) net.to(device = gpu0);
      if (moves && i == 3) net.to(device = cpu());
      const Tensor x = random::normal(0, 1, {2, 4}).to(device);
      {
        const autograd::Record record;
        F::sum(F::square(net(x))).backward();
      }
      trainer.step(2);
    }
    return Tensors{net.weight.data(), net.bias.data(), net.weight.grad()};
  };
  const Tensors expected = run(false), found = run(true);
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(same_bits(found[i], expected[i]));
}

TEST_CASE("a gradient passes from device to device") {
  Tensor x({1, 2, 3});
  x.attach_grad();
  {
    const autograd::Record record;
    const Tensor y = (x * x).to(gpu0) * 3;
    F::sum(y.to(cpu()) * x).backward();
  }
  CHECK(x.grad().to_vector<float>() == std::vector<float>{9, 36, 81});
  CHECK(x.grad().device() == cpu());
  Tensor z = x.to(gpu0);
  z.attach_grad();
  {
    const autograd::Record record;
    const Tensor y = z * 2;
    CHECK(contains(error_of([&] { y.backward(ones({3})); }), "its gradient on cpu(0)"));
    y.backward();
  }
  CHECK(z.grad().device() == gpu0);
  CHECK(z.grad().to_vector<float>() == std::vector<float>{2, 2, 2});
}

TEST_CASE("parameters are saved from a GPU, and loaded where the network is") {
  const std::string path = (std::filesystem::temp_directory_path() / "kiln_device_test.params").string();
  Net net;
  net.initialize(init::Xavier(), {.device = gpu0});
  const Tensor x = random::normal(0, 1, {2, 5});
  const Tensor expected = net(x.to(gpu0));
  CHECK(net.collect_params().items()[0].device() == gpu0);
  net.save_parameters(path);
  Net same, moved;
  same.load_parameters(path);
  CHECK(same_bits(same(x), expected));
  moved.to(gpu0);  // before it has values
  moved.load_parameters(path);
  moved.hybridize();
  const Tensor y = moved(x.to(gpu0));
  CHECK(y.device() == gpu0);
  CHECK(same_bits(y, expected));
  std::filesystem::remove(path);
}

TEST_CASE("one block has recordings for several devices, and bound calls") {
  const Tensor w({2, 3});
  struct Twice : HybridBlock {
    Tensor hybrid_forward(F& F, const Tensor& x) override { return F.relu(x) * 2 + F.arange(2); }
  } net;
  net.hybridize();
  const Tensor x({-1, 5});
  CHECK(same_bits(net(x), net(x.to(gpu0))));
  CHECK(net.compiled_calls().size() == 2);
  BoundCall bound = net.bind({x.to(gpu0)});
  CHECK(bound().device() == gpu0);
  CHECK(same_bits(bound(), net(x)));
  CHECK(contains(error_of([&] { bound.set_inputs({x}); }), "cuda(0)"));
}

TEST_CASE("moving while a network is recorded is an error, and within a device nothing") {
  struct Moves : HybridBlock {
    Device to;
    Tensor hybrid_forward(F&, const Tensor& x) override { return x.to(to) + 1; }
  } net;
  net.hybridize();
  net.to = gpu0;
  CHECK(contains(error_of([&] { net(ones({2})); }), "one call runs on one device"));
  CHECK(net(ones({2}).to(gpu0)).device() == gpu0);
}

TEST_CASE("checked calls compare bits on a GPU") {
  Net net;
  net.initialize();
  net.to(gpu0);
  net.hybridize({.check = Check::recording | Check::bits});
  const Tensor x = random::normal(0, 1, {2, 5}).to(gpu0);
  for (int i = 0; i < 2; ++i) CHECK(net(x).device() == gpu0);
  const autograd::TrainMode mode;
  CHECK(net(x).device() == gpu0);
}

TEST_CASE("the memory of a GPU is reported and limited") {
  waitall();
  release_pooled_memory(gpu0);
  reset_peak_memory(gpu0);
  const std::size_t before = memory_report(gpu0).live_bytes;
  {
    const Tensor x = zeros({256, 1024}).to(gpu0);
    CHECK(memory_report(gpu0).live_bytes == before + (1 << 20));
    CHECK(memory_report(gpu0).peak_bytes >= before + (1 << 20));
  }
  CHECK(memory_report(gpu0).live_bytes == before);
  CHECK(memory_report(gpu0).pooled_bytes >= 1 << 20);
  const Tensor again = zeros({256, 1024}).to(gpu0);
  CHECK(memory_report(gpu0).pooled_bytes < 1 << 20);

  OnGpu on_gpu;
  auto& [net, x, expected] = on_gpu;
  set_memory_limit(memory_report(gpu0).live_bytes + memory_report(gpu0).pooled_bytes + 65536, gpu0);
  const std::string error = error_of([&] { (void)zeros({1 << 20}).to(gpu0); });
  CHECK(contains(error, "has no memory for 4194304 bytes"));
  CHECK(contains(error, "device_test.cpp:"));
  CHECK(same_bits(net(x), expected));
  set_memory_limit(0, gpu0);
  CHECK(zeros({1 << 20}).to(gpu0).device() == gpu0);
  CHECK(contains(error_of([] { set_memory_limit(1, cpu()); }), "for a GPU"));
}

TEST_CASE("threads call one network on a GPU") {
  OnGpu on_gpu;
  auto& [net, x, expected] = on_gpu;
  std::vector<std::thread> threads;
  std::atomic<int> same{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) same += same_bits(net(x), expected);
    });
  for (std::thread& t : threads) t.join();
  CHECK(same == 20);
}

TEST_CASE("a Function on a GPU") {
  struct Square : autograd::Function {
    Tensors forward(const Tensors& x) override { return {(kept = x[0]) * x[0]}; }
    Tensors backward(const Tensors& dy) override { return {dy[0] * kept * 2}; }
    Tensor kept;
  };
  Tensor x = Tensor({1, 2, 3}).to(gpu0);
  x.attach_grad();
  {
    const autograd::Record record;
    autograd::apply<Square>({x})[0].backward();
  }
  CHECK(x.grad().to_vector<float>() == std::vector<float>{2, 4, 6});
}

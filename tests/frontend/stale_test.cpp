// Changes of a network between its calls: a hybridized call sees what an eager one sees.
#include "function_net.h"
#include "temporary_folder.h"

#include <kiln/memory.h>

#include <fstream>
#include <thread>

using namespace kiln;
using Catch::Matchers::Contains;
using Floats = std::vector<float>;

namespace {

Floats floats(const Tensor& t) { return t.to_vector<float>(); }

nn::HybridLambda plus(double n) {
  return nn::HybridLambda([n](F&, const Tensor& x) { return x + n; });
}

/// A dense layer of one weight, which multiplies.
nn::Dense times(double weight) {
  nn::Dense layer(1, {.use_bias = false, .weight_initializer = init::Constant(weight), .in_units = 1});
  layer.initialize();
  return layer;
}

struct WithChild : HybridBlock {
  Child<nn::Dense> fc{this, "fc"};
  WithChild() { fc = times(2); }
  Tensor hybrid_forward(F&, const Tensor& x) override { return fc(x); }
};

struct Scaled : HybridBlock {
  float scale = 2;
  Tensor array = full({1}, 10);
  explicit Scaled(float s = 2) : scale(s) {}
  Tensor hybrid_forward(F&, const Tensor& x) override { return x * scale + array; }
};

const Tensor one = ones({1, 1});

}  // namespace

TEST_CASE("a layer added later runs") {
  nn::HybridSequential net, inner;
  inner.add(plus(1));
  net.add(inner);
  net.hybridize();
  CHECK(floats(net(one)) == Floats{2});
  net.add(plus(10));
  CHECK(floats(net(one)) == Floats{12});
  inner.add(plus(100));  // two levels down
  CHECK(floats(net(one)) == Floats{112});
  CHECK(floats(net(one)) == Floats{112});
  CHECK(net.compiled_calls().size() == 1);
}

TEST_CASE("a child put in another's place runs") {
  WithChild net;
  nn::HybridSequential outer;
  outer.add(net);
  outer.hybridize();
  CHECK(floats(outer(one)) == Floats{2});
  outer[0].as<WithChild>().fc = times(5);
  CHECK(floats(outer(one)) == Floats{5});
  outer.register_child(times(7), "0");
  CHECK(floats(outer(one)) == Floats{7});
}

TEST_CASE("a child of one block may become that of another") {
  WithChild a, b;
  b.fc = times(3);
  a.hybridize();
  CHECK(floats(a(one)) == Floats{2});
  a.fc = b.fc;
  CHECK(floats(a(one)) == Floats{3});
  CHECK(a.collect_params().keys() == b.fc->collect_params().keys());
  b.fc->weight.set_data(full({1, 1}, 4));  // they share it
  CHECK(floats(a(one)) == Floats{4});
  // A block assigned as a whole takes its children along.
  WithChild c;
  const WithChild old = c;
  c = b;
  c.fc = times(8);
  CHECK(floats(b.child("fc")(one)) == Floats{8});
  CHECK(floats(old.child("fc")(one)) == Floats{2});
}

TEST_CASE("a parameter put in another's place is used") {
  nn::HybridSequential net;
  net.add(times(2));
  net.hybridize();
  CHECK(floats(net(one)) == Floats{2});
  nn::Dense other = times(6);
  net[0].as<nn::Dense>().weight = other.weight;
  CHECK(floats(net(one)) == Floats{6});
  other.weight.set_data(full({1, 1}, 7));
  CHECK(floats(net(one)) == Floats{7});
}

TEST_CASE("an array that a block holds may be another one") {
  Scaled net;
  net.hybridize();
  CHECK(floats(net(one)) == Floats{12});
  const float* kept = nullptr;
  for (const float n : {20.f, 30.f, 40.f}) {
    net.array = full({1}, n);
    CHECK(floats(net(one)) == Floats{2 + n});
    CHECK(floats(net(full({1, 1}, 2))) == Floats{4 + n});
    CHECK(floats(net(ones({2, 1}))) == Floats{2 + n, 2 + n});
    CHECK(net.array.data() != kept);
    kept = static_cast<const float*>(net.array.data());
  }
  CHECK(net.compiled_calls().size() == 2);
}

TEST_CASE("what a network let go of is freed") {
  constexpr std::int64_t elements = 1 << 18;
  struct Holds : HybridBlock {
    Tensor array = ones({elements});
    Tensor hybrid_forward(F&, const Tensor& x) override { return x + array; }
  } net;
  net.hybridize();
  const Tensor x = ones({elements});
  net(x);
  const std::size_t before = memory_report().live_bytes;
  for (int i = 0; i < 10; ++i) {
    net.array = full({elements}, i);
    CHECK(floats(net(x)[slice(0, 1)]) == Floats{static_cast<float>(i + 1)});
  }
  CHECK(memory_report().live_bytes <= before + 2 * elements * sizeof(float));
}

TEST_CASE("arrays that hybrid_forward makes for itself are recorded once") {
  Net net([](F&, const Tensors& in) {
    nn::HybridLambda local("relu");
    return Tensors{local(in[0]) * Tensor({1, 2, 3})};
  });
  net.hybridize();
  for (int i = 0; i < 3; ++i) CHECK(floats(net(ones({3}))) == Floats{1, 2, 3});
  CHECK(net.runs() == 1);
}

TEST_CASE("a hook of a child runs in the next recording") {
  nn::HybridSequential net;
  net.add(plus(1), plus(2));
  net.hybridize();
  net(one);
  int before = 0, after = 0;
  auto pre = net[1].register_forward_pre_hook([&](Block&, const Tensors&) { ++before; });
  CHECK(floats(net(one)) == Floats{4});
  CHECK(before == 1);
  auto post = net[0].register_forward_hook([&](Block&, const Tensors&, const Tensors& out) {
    ++after;
    Tensor y = out[0];
    y += 100;
  });
  CHECK(floats(net(one)) == Floats{104});
  CHECK(floats(net(one)) == Floats{104});
  CHECK(after == 1);
  pre.detach();
  post.detach();
  CHECK(floats(net(one)) == Floats{4});
  CHECK(before == 2);
}

TEST_CASE("copies of a block with other plain members compute their own") {
  Scaled a;
  a.hybridize();
  CHECK(floats(a(one)) == Floats{12});
  Scaled b = a;
  b.scale = 5;
  CHECK(floats(b(one)) == Floats{15});
  CHECK(floats(a(one)) == Floats{12});
  CHECK(floats(b(one)) == Floats{15});
  for (const float s : {3.f, 4.f}) {  // at one address
    Scaled c = a;
    c.scale = s;
    CHECK(floats(c(one)) == Floats{s + 10});
  }
  b = a;
  CHECK(floats(b(one)) == Floats{12});
  const auto moved = [](Scaled net) {
    net.scale = 7;
    return net;
  };
  Scaled d = moved(a);
  CHECK(floats(d(one)) == Floats{17});
}

TEST_CASE("copies that compute the same share their code") {
  nn::HybridSequential net;
  net.add(times(2), plus(1));
  net.hybridize();
  CHECK(floats(net(one)) == Floats{3});
  nn::HybridSequential copy = net;
  CHECK(floats(copy(one)) == Floats{3});
  CHECK(copy.compiled_calls().size() == 1);
}

TEST_CASE("a network may change while it is recorded") {
  for (const bool hybridized : {false, true}) {
    nn::HybridSequential net;
    int left = 1;
    net.add(nn::HybridLambda([&](F&, const Tensor& x) {
      if (left-- > 0) net.add(plus(10));
      return x + 1;
    }));
    net.add(plus(100));
    net.hybridize(hybridized);
    CHECK(floats(net(one)) == Floats{112});
    CHECK(floats(net(one)) == Floats{112});
  }
}

TEST_CASE("a network may be hybridized while it is recorded") {
  nn::HybridSequential net;
  int runs = 0;
  net.add(nn::HybridLambda([&](F&, const Tensor& x) {
    if (runs++ == 0) net.hybridize({.fuse = false});
    return (x + 1) * 2;
  }));
  net.hybridize();
  CHECK(floats(net(one)) == Floats{4});
  CHECK(floats(net(one)) == Floats{4});
  CHECK(floats(net(one)) == Floats{4});
  CHECK(runs == 2);
  Net off([&](F&, const Tensors& in) {
    off.hybridize(false);
    return Tensors{in[0] + 1};
  });
  off.hybridize();
  CHECK(floats(off(one)) == Floats{2});
  CHECK(floats(off(one)) == Floats{2});
  CHECK(off.compiled_calls().empty());
}

TEST_CASE("a child may be put in another's place while it runs") {
  for (const bool hybridized : {false, true}) {
    struct Parent : HybridBlock {
      Child<HybridBlock> child{this, "child"};
      Tensor hybrid_forward(F&, const Tensor& x) override { return child(x); }
    } net;
    const auto big = std::make_shared<Floats>(1000, 1.f);
    net.child = nn::HybridLambda([&net, big](F&, const Tensor& x) {
      net.child = plus(50);
      return x + (*big)[999];
    });
    net.hybridize(hybridized);
    CHECK(floats(net(one)) == Floats{2});
    CHECK(floats(net(one)) == Floats{51});
  }
}

TEST_CASE("casts and plain members that are blocks are seen") {
  struct Uses : HybridBlock {
    nn::HybridLambda part = plus(1);  // no child
    Tensor hybrid_forward(F&, const Tensor& x) override { return part(x); }
  } uses;
  uses.hybridize();
  CHECK(floats(uses(one)) == Floats{2});
  uses.part = plus(5);
  CHECK(floats(uses(one)) == Floats{6});

  nn::HybridSequential net;
  net.add(times(2), times(3));
  net.hybridize();
  const Tensor x = ones({1, 1}, DType::f64);
  CHECK(floats(net(one)) == Floats{6});
  net.cast(DType::f64);
  CHECK(net(x).dtype() == DType::f64);
  net[0].as<nn::Dense>().weight.cast(DType::f32);
  net[1].cast(DType::f32);
  CHECK(floats(net(one)) == Floats{6});
  CHECK(net(one).dtype() == DType::f32);
}

TEST_CASE("numpy mode of the program is seen") {
  Net net([](F&, const Tensors& in) { return Tensors{in[0].reshape({-1}) + 1, in[0] == in[0]}; });
  net.hybridize();
  const auto runs = [&] {
    net(Tensors{one});
    return net.runs();
  };
  CHECK(runs() == 1);
  npx::set_np();
  CHECK(runs() == 2);
  npx::set_np();
  CHECK(runs() == 2);
  // The recording of the other mode is still there.
  npx::reset_np();
  CHECK(runs() == 2);
}

TEST_CASE("a cell that comes to keep tensors is not compiled by itself") {
  rnn::HybridSequentialRNNCell stack;
  rnn::RNNCell first(3, {.input_size = 2});
  stack.add(first);
  stack.initialize();
  stack.hybridize();
  const Tensor x = ones({1, 2});
  stack(x, stack.begin_state(1));
  CHECK(stack.compiled_calls().size() == 1);
  rnn::ZoneoutCell second(rnn::RNNCell(3, {.input_size = 3}), 0.5);
  second.initialize();
  stack.add(second);
  stack.reset();
  for (int i = 0; i < 2; ++i) CHECK(stack(x, stack.begin_state(1)).states.size() == 2);
  CHECK_THROWS_WITH(stack.bind({x, zeros({1, 3}), zeros({1, 3})}), Contains("keeps tensors"));
}

TEST_CASE("changes elsewhere record nothing again") {
  Net net([](F&, const Tensors& in) { return Tensors{in[0] + 1}; });
  net.hybridize();
  nn::HybridSequential other;
  other.add(plus(1));
  other.hybridize();
  for (int i = 0; i < 3; ++i) {
    CHECK(floats(net(one)) == Floats{2});
    CHECK(floats(other(one)) == Floats{2 + static_cast<float>(i)});
    other.add(plus(1));
  }
  CHECK(net.runs() == 1);
  // A child's own hybridize() does not concern the networks around it.
  nn::HybridSequential around;
  around.add(net);
  around.hybridize();
  around(one);
  const int runs = net.runs();
  net.hybridize();
  around(one);
  CHECK(net.runs() == runs);
}

TEST_CASE("networks are called by many threads while others change") {
  auto net = [] {
    nn::HybridSequential n;
    n.add(times(2), plus(1));
    return n;
  }();
  net.hybridize();
  std::atomic<int> wrong = 0, running = 3;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 300; ++i) wrong += floats(net(one)) != Floats{3};
      --running;
    });
  nn::HybridSequential other;
  other.hybridize();
  other.add(plus(1));
  while (running > 0) {
    nn::HybridSequential made;
    made.add(plus(2));
    other.register_child(made, "0");
    wrong += floats(other(one)) != Floats{3};
  }
  for (auto& t : threads) t.join();
  CHECK(wrong == 0);
}

TEST_CASE("a bound call of a network that has changed says so") {
  nn::HybridSequential net({.prefix = "net_"});
  net.add(times(2));
  net.hybridize();
  auto step = net.bind({one});
  CHECK(floats(step()) == Floats{2});
  nn::HybridSequential().add(plus(1));
  net.hybridize();
  CHECK(floats(step()) == Floats{2});
  net.add(plus(1));
  CHECK_THROWS_WITH(step(),
                    Contains("stale_test.cpp:") && Contains("net has changed since its call was bound"));
  CHECK(floats(net.bind({one})()) == Floats{3});

  Scaled holds;
  holds.hybridize();
  auto held = holds.bind({one});
  CHECK(floats(held()) == Floats{12});
  holds.array = full({1}, 20);
  CHECK_THROWS_WITH(held(), Contains("bind it again"));
  CHECK(floats(holds(one)) == Floats{22});
  const auto outlives = [] {
    Scaled local;
    local.hybridize();
    return local.bind({one});
  };
  CHECK(floats(outlives()()) == Floats{12});
}

TEST_CASE("a network that has changed is exported after another call") {
  const TemporaryFolder folder;
  const std::string before = folder.path / "before", after = folder.path / "after";
  nn::HybridSequential net({.prefix = "changed_"});
  net.add(times(2));
  net.hybridize();
  net(one);
  net.export_model(before);
  net.add(plus(1));
  CHECK_THROWS_WITH(net.export_model(after), Contains("changed has changed since its latest call"));
  CHECK_FALSE(std::ifstream(after + "-symbol.json").good());
  const Tensor y = net(one);
  net.export_model(after);
  CHECK(same_bits(SymbolBlock::imports(after + "-symbol.json", {"data"}, after + "-0000.params")(one), y));
}

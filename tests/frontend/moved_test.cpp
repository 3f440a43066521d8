// Handles that were moved from: their use throws, and an assignment makes them usable again.
#include <kiln/kiln.h>

#include <catch2/catch.hpp>
#include <sstream>
#include <utility>
#include <vector>

using namespace kiln;
using Catch::Contains;
using Floats = std::vector<float>;

namespace {

struct Inner : HybridBlock {
  Attr<float> shift{this, 1.0f};
  Tensor hybrid_forward(F&, const Tensor& x) override { return x + shift; }
};

/// Members of each kind that follow their block.
struct Net : HybridBlock {
  Inner inner;
  Child<nn::Dense> fc{this, "fc"};
  Attr<float> scale{this, 2.0f};
  Parameter weight = params().get("weight", {3});
  Net() {
    register_child(inner, "inner");
    fc = nn::Dense(3, {.in_units = 3});
  }
  Tensor hybrid_forward(F&, const Tensor& x) override { return inner(fc(x)) * scale + weight; }
};

Net made() {
  Net net;
  net.initialize(init::One());
  return net;
}

const Tensor x = ones({1, 3});

auto moved() { return Contains("was moved from and cannot be used"); }
auto moved_here() { return Catch::Matches("moved_test\\.cpp:[0-9]+: .*was moved from and cannot be used.*"); }

}  // namespace

TEST_CASE("a network that was moved from says so") {
  Net net = made();
  const Net taken = std::move(net);
  // NOLINTBEGIN(bugprone-use-after-move): it is the test
  Net other;
  std::ostringstream out;
  const auto loop = [&] {
    for (Block& child : net) out << child.name();
  };
  CHECK_THROWS_WITH(net(x), moved_here());
  CHECK_THROWS_WITH(net.child("fc"), moved_here());
  CHECK_THROWS_WITH(net[0], moved_here());
  CHECK_THROWS_WITH(net.register_child(nn::Dense(2)), moved_here());
  CHECK_THROWS_WITH(net.size(), moved());
  CHECK_THROWS_WITH(net.children(), moved());
  CHECK_THROWS_WITH(net.name(), moved());
  CHECK_THROWS_WITH(net.hybridize(), moved());
  CHECK_THROWS_WITH(net.collect_params(), moved());
  CHECK_THROWS_WITH(net.register_forward_pre_hook([](Block&, const Tensors&) {}), moved());
  CHECK_THROWS_WITH(net.register_forward_hook([](Block&, const Tensors&, const Tensors&) {}), moved());
  CHECK_THROWS_WITH(out << net, moved());
  CHECK_THROWS_WITH(loop(), moved());
  CHECK_THROWS_WITH(Child<nn::Dense>(&net, "more"), moved_here());
  CHECK_THROWS_WITH(other = net, moved());
  CHECK(other.size() == 2);  // the assignment changed nothing
  // NOLINTEND(bugprone-use-after-move)
}

TEST_CASE("members of a network that was moved from say so") {
  Net net = made();
  Net taken = std::move(net);
  // NOLINTBEGIN(bugprone-use-after-move): it is the test
  Net other;
  CHECK_THROWS_WITH(net.scale = 3, moved());
  CHECK_THROWS_WITH(net.scale.get(), moved());
  CHECK_THROWS_WITH(net.scale = other.scale, moved());
  CHECK_THROWS_WITH(other.scale = net.scale, moved());
  CHECK_THROWS_WITH(net.fc = nn::Dense(2), moved());
  CHECK_THROWS_WITH(net.fc = other.fc, moved());
  CHECK_THROWS_WITH(other.fc = net.fc, moved());
  CHECK_THROWS_WITH(net.fc(x), moved_here());
  CHECK_THROWS_WITH(net.fc->weight, moved());
  CHECK_THROWS_WITH(*net.fc, moved());
  // NOLINTEND(bugprone-use-after-move)
  CHECK(taken.scale.get() == 2);
  CHECK(taken(x).to_vector<float>() == Floats{9, 9, 9});
}

TEST_CASE("a Child that was never assigned says where it is used") {
  struct Empty : HybridBlock {
    Child<nn::Dense> fc{this, "fc"};
  };
  const Empty net;
  const auto unassigned = Contains("The child 'fc' is used before a block was assigned to it");
  CHECK_THROWS_WITH(net.fc(x), Contains("moved_test.cpp:") && unassigned);
  CHECK_THROWS_WITH(net.fc->weight, unassigned);
  CHECK_THROWS_WITH(*net.fc, unassigned);
}

TEST_CASE("a network that was moved from can be assigned") {
  Net net = made();
  Net taken = std::move(net);
  SECTION("a copy") {
    net = taken;
    net.scale = 3;
    CHECK(taken.scale.get() == 3);
    net.inner.shift = 2;
    CHECK(taken(x).to_vector<float>() == Floats{16, 16, 16});
  }
  SECTION("a moved network") {
    net = std::move(taken);
    net.scale = 3;
    net.inner.shift = 2;
  }
  SECTION("by a swap") {
    std::swap(net, taken);
    net.scale = 3;
    net.inner.shift = 2;
  }
  net.hybridize();
  CHECK(net(x).to_vector<float>() == Floats{16, 16, 16});
  // The members belong to the block that was assigned.
  net.fc = nn::Dense(3, {.use_bias = false, .in_units = 3});
  CHECK(net.size() == 2);
  CHECK(&net.child("fc") == &*net.fc);
  net.initialize(init::One());
  net.scale = 1;
  CHECK(net(x).to_vector<float>() == Floats{6, 6, 6});
  // And they leave it with the next one.
  const Net old = net;
  net = made();
  CHECK(net.scale.get() == 2);
  net.scale = 5;
  CHECK(old.scale.get() == 1);
}

TEST_CASE("a symbol block that was moved from says so") {
  const Symbol in = sym::var("x");
  SymbolBlock block(in + 1, {in});
  SymbolBlock taken = std::move(block);
  // NOLINTBEGIN(bugprone-use-after-move): it is the test
  CHECK_THROWS_WITH(block.symbol(), moved());
  CHECK_THROWS_WITH(block.str(), moved());
  CHECK_THROWS_WITH(block.infer_shape({x}), moved());
  // NOLINTEND(bugprone-use-after-move)
  block = taken;
  CHECK(block(x).to_vector<float>() == Floats{2, 2, 2});
}

TEST_CASE("a dictionary that was moved from says so") {
  Net net = made();
  ParameterDict dict = net.collect_params();
  const ParameterDict taken = std::move(dict);
  // NOLINTBEGIN(bugprone-use-after-move): it is the test
  CHECK_THROWS_WITH(dict.size(), moved());
  CHECK_THROWS_WITH(dict.begin(), moved());
  CHECK_THROWS_WITH(dict.prefix(), moved());
  CHECK_THROWS_WITH(dict["weight"], moved());
  CHECK_THROWS_WITH(dict.contains("weight"), moved());
  CHECK_THROWS_WITH(dict.add(net.weight), moved());
  CHECK_THROWS_WITH(dict.zero_grad(), moved());
  CHECK_THROWS_WITH(dict.get("more", {1}), moved_here());
  CHECK_THROWS_WITH(dict.get_constant("more", x), moved_here());
  CHECK_THROWS_WITH(dict.initialize(), moved_here());
  CHECK_THROWS_WITH(dict.set_lr_mult(1), moved_here());
  CHECK_THROWS_WITH(dict.save("moved.params"), moved_here());
  CHECK_THROWS_WITH(ParameterDict("", dict), moved());
  // NOLINTEND(bugprone-use-after-move)
  dict = taken;
  CHECK(dict.size() == 3);
}

TEST_CASE("trainers and training steps that were moved from say so") {
  Net net = made();
  const loss::L2Loss loss;
  Trainer trainer(net.collect_params(), "sgd", {.learning_rate = 0.5});
  Trainer taken = std::move(trainer);
  TrainStep step = net.train_step(loss, taken);
  TrainStep taken_step = std::move(step);
  // NOLINTBEGIN(bugprone-use-after-move): it is the test
  CHECK_THROWS_WITH(trainer.step(1), moved_here());
  CHECK_THROWS_WITH(trainer.update(1), moved_here());
  CHECK_THROWS_WITH(trainer.set_learning_rate(0.1), moved_here());
  CHECK_THROWS_WITH(trainer.save_states("moved.states"), moved_here());
  CHECK_THROWS_WITH(trainer.load_states("moved.states"), moved_here());
  CHECK_THROWS_WITH(trainer.learning_rate(), moved());
  CHECK_THROWS_WITH(trainer.optimizer(), moved());
  CHECK_THROWS_WITH(trainer.num_update(), moved());
  CHECK_THROWS_WITH(step({x}, x), moved_here());
  CHECK_THROWS_WITH(step.compiled(), moved());
  // NOLINTEND(bugprone-use-after-move)
  trainer = taken;
  step = taken_step;
  step({x}, x);
  CHECK(trainer.num_update() == 1);
  CHECK(trainer.learning_rate() == 0.5);
}

TEST_CASE("models that were moved from say so") {
  Model model = Model::from_symbol(sym::var("x") + 1);
  Model taken = std::move(model);
  PreparedModel prepared = taken.prepare({{"x", x}});
  PreparedModel taken_prepared = std::move(prepared);
  // NOLINTBEGIN(bugprone-use-after-move): it is the test
  CHECK_THROWS_WITH(model.symbol(), moved());
  CHECK_THROWS_WITH(model.input_names(), moved());
  CHECK_THROWS_WITH(model.output_names(), moved());
  CHECK_THROWS_WITH(model.params(), moved());
  CHECK_THROWS_WITH(model.internals(), moved());
  CHECK_THROWS_WITH(model.describe_node("x"), moved());
  CHECK_THROWS_WITH(model.make_inputs({}), moved());
  CHECK_THROWS_WITH(model.run({{"x", x}}), moved());
  CHECK_THROWS_WITH(model.dump({{"x", x}}), moved());
  CHECK_THROWS_WITH(model.dot({{"x", x}}), moved());
  CHECK_THROWS_WITH(prepared.run(), moved());
  CHECK_THROWS_WITH(prepared.auxiliary_states(), moved());
  CHECK_THROWS_WITH(prepared.stats(), moved());
  // NOLINTEND(bugprone-use-after-move)
  model = taken;
  prepared = taken_prepared;
  CHECK(model.input_names() == std::vector<std::string>{"x"});
  CHECK(prepared.run().at(0).to_vector<float>() == Floats{2, 2, 2});
}

TEST_CASE("loaders, record files and checkpoints that were moved from say so") {
  data::DataLoader loader(data::ArrayDataset(ones({4, 3})), {.batch_size = 2});
  data::DataLoader taken = std::move(loader);
  recordio::Writer writer("moved.rec");
  recordio::Writer taken_writer = std::move(writer);
  taken_writer.write("record");
  taken_writer.close();
  recordio::Reader reader("moved.rec");
  recordio::Reader taken_reader = std::move(reader);
  // NOLINTBEGIN(bugprone-use-after-move): it is the test
  CHECK_THROWS_WITH(loader.size(), moved_here());
  CHECK_THROWS_WITH(loader.begin(), moved_here());
  CHECK_THROWS_WITH(loader.restore({}), moved_here());
  CHECK_THROWS_WITH(loader.state(), moved());
  CHECK_THROWS_WITH(writer.write("record"), moved_here());
  CHECK_THROWS_WITH(writer.close(), moved_here());
  CHECK_THROWS_WITH(writer.tell(), moved());
  CHECK_THROWS_WITH(reader.read(), moved_here());
  CHECK_THROWS_WITH(reader.seek(0), moved_here());
  CHECK_THROWS_WITH(reader.tell(), moved());
  // NOLINTEND(bugprone-use-after-move)
  loader = taken;
  CHECK(loader.size() == 2);
  reader = std::move(taken_reader);
  CHECK(reader.read() == "record");

  Net net = made();
  const Trainer trainer(net.collect_params(), "sgd");
  CheckpointManager manager("moved_checkpoints", net, trainer);
  CheckpointManager taken_manager = std::move(manager);
  // NOLINTBEGIN(bugprone-use-after-move): it is the test
  CHECK_THROWS_WITH(manager.add(net), moved_here());
  CHECK_THROWS_WITH(manager.save(), moved_here());
  CHECK_THROWS_WITH(manager.save_every(1), moved_here());
  CHECK_THROWS_WITH(manager.restore(), moved_here());
  // NOLINTEND(bugprone-use-after-move)
}

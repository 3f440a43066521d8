// Why a call was recorded: the difference from the nearest earlier recording, its cost and its remedy.
#include "function_net.h"
#include "log_lines.h"

#include <nlohmann/json.hpp>
#include <source_location>

using namespace kiln;
using Catch::Contains;
using Kind = RecordingReason::Kind;

namespace {

struct Scale : HybridBlock {
  Attr<float> scale{this, 2.0f, "scale"};
  Attr<std::vector<int>> steps{this, {1, 2}};
  Tensor hybrid_forward(F&, const Tensor& x) override {
    Tensor y = x * scale;
    for (const int step : steps.get()) y = y + step;
    return y;
  }
};

/// A network with a child, and a child of that.
struct Deep : HybridBlock {
  Child<nn::HybridSequential> features{this, "features"};
  Child<Scale> last{this, "last"};
  Deep() {
    features = nn::HybridSequential();
    features->add(nn::Dense(4, {.in_units = 3}));
    features->add(nn::Dense(4, {.in_units = 4}));
    last = Scale();
  }
  Tensor hybrid_forward(F&, const Tensor& x) override { return last(features(x)); }
};

RecordingReason reason_of(const HybridBlock& net, std::size_t call) {
  return net.compiled_calls().at(call).reason;
}
RecordingReason last_reason(const HybridBlock& net) { return net.compiled_calls().back().reason; }

/// The one difference of the latest recording.
std::string only(const HybridBlock& net, Kind kind) {
  const RecordingReason reason = last_reason(net);
  REQUIRE(reason.differences.size() == 1);
  CHECK(reason.differences[0].kind == kind);
  INFO(reason.str());
  CHECK(reason.str().find(", because " + reason.differences[0].str()) != std::string::npos);
  return reason.differences[0].str();
}

Deep hybridized_deep() {
  Deep net;
  net.initialize();
  net.hybridize();
  net(ones({2, 3}));
  return net;
}

}  // namespace

TEST_CASE("a first recording has its line, cost and no remedy") {
  Deep net;
  net.initialize();
  net.hybridize();
  const auto line = std::source_location::current().line() + 1;
  net(ones({2, 3}));
  const RecordingReason reason = reason_of(net, 0);
  CHECK(reason.network == net.name());
  CHECK(reason.inputs == "float32 (2, 3)");
  CHECK(reason.line == "recording_reason_test.cpp:" + std::to_string(line));
  CHECK(only(net, Kind::first_call) == "this is the first call");
  CHECK(reason.remedy.empty());
  CHECK(reason.milliseconds > 0);
  CHECK(reason.kernels_compiled + reason.kernels_reused > 0);
  CHECK_THAT(reason.str(), Contains(net.name() + " was recorded for float32 (2, 3) at " + reason.line +
                                    ", because this is the first call, in ") &&
                               Contains(" kernels compiled, "));
}

TEST_CASE("the extents that differ from the nearest recording") {
  Net net([](F&, const Tensors& in) { return Tensors{in[0] + in[1]}; });
  net.hybridize();
  net(Tensors{ones({4, 3}), ones({4, 3})});
  net(Tensors{ones({8, 3}), ones({8, 3})});
  CHECK(last_reason(net).differences.at(1).str() == "axis 0 of input 1 was 4 and is 8");
  CHECK_THAT(last_reason(net).remedy, Contains("pad inputs") && Contains("LastBatch::discard"));
  net(Tensors{ones({8, 3}), ones({1, 3})});
  CHECK(only(net, Kind::shape) == "axis 0 of input 1 was 8 and is 1");
  net(Tensors{ones({8, 3}), ones({3})});
  CHECK(only(net, Kind::shape) == "the shape of input 1 was (1, 3) and is (3,)");
  net(Tensors{ones({8, 3}, DType::f64), ones({3}, DType::f64)});
  CHECK(last_reason(net).differences.at(0).str() == "the dtype of input 0 was float32 and is float64");
  const Tensor twice = ones({4, 3});
  net(Tensors{twice, twice});
  CHECK(only(net, Kind::aliasing) == "input 1 shares memory with other inputs in another way");
  CHECK_THAT(last_reason(net).remedy, Contains("twice in each call or in none"));
}

TEST_CASE("the remedy for an Attr fits its type") {
  struct Named : HybridBlock {
    Attr<std::string> function{this, "relu", "function"};
    Attr<double> factor{this, 0.5, "factor"};
    Tensor hybrid_forward(F& F, const Tensor& x) override {
      return F.Activation(x, {.act_type = function.get()}) * factor;
    }
  } net;
  net.hybridize();
  net(ones({2}));
  net.function = "tanh";
  net(ones({2}));
  CHECK(last_reason(net).remedy == "set it before the first call");
  net.factor = -0.25;
  net(ones({2}));
  CHECK(last_reason(net).remedy == "pass a number that changes often as a tensor");
}

TEST_CASE("modes of the call") {
  Net net([](F& F, const Tensors& in) { return Tensors{autograd::is_recording() ? in[0] : F.relu(in[0])}; });
  net.hybridize();
  net(Tensors{ones({2})});
  {
    const autograd::TrainMode train;
    net(Tensors{ones({2})});
  }
  CHECK(only(net, Kind::train) == "the training mode was off and is on");
  CHECK(last_reason(net).remedy.empty());
  {
    const autograd::Record record(/*train_mode=*/false);
    net(Tensors{ones({2})});
  }
  CHECK(only(net, Kind::recording) == "the recording for gradients was off and is on");
}

TEST_CASE("changes of the network, by path") {
  Deep net = hybridized_deep();
  const std::string before = net.features->child("1").name();
  net.features->register_child(nn::Dense(4, {.in_units = 4}), "1");
  net.initialize();
  net.hybridize();
  net(ones({2, 3}));
  const RecordingReason replaced = last_reason(net);
  CHECK(replaced.differences.at(0).kind == Kind::child);
  CHECK_THAT(replaced.differences.at(0).str(),
             Contains("the child 'features.1' was " + before + " (Dense) and is "));
  CHECK_THAT(replaced.remedy, Contains("load_parameters()"));

  net.last->scale = 3;
  net(ones({2, 3}));
  CHECK(only(net, Kind::attribute) == "the Attr 'scale' of the block 'last' was 2 and is 3");
  net.last->steps = {1, 2, 3};
  net(ones({2, 3}));
  CHECK(only(net, Kind::attribute) == "the Attr number 2 of the block 'last' was {1, 2} and is {1, 2, 3}");

  const HookHandle hook = net.last->register_forward_hook([](Block&, const Tensors&, const Tensors&) {});
  net(ones({2, 3}));
  CHECK_THAT(only(net, Kind::hook), Contains("the number of hooks of") && Contains("(Scale) was 0 and is 1"));
  net.cast(DType::f64);
  net(ones({2, 3}, DType::f64));
  const RecordingReason cast = last_reason(net);
  CHECK(cast.differences.size() == 2);
  CHECK(cast.differences.at(0).str() == "the dtype of 4 parameters was float32 and is float64");
  CHECK(cast.differences.at(0).kind == Kind::cast);
  net.hybridize();
  net(ones({2, 3}, DType::f64));
  CHECK(only(net, Kind::options) == "hybridize() was called again");
}

TEST_CASE("changes that leave the network as it was are named") {
  Deep net = hybridized_deep();
  net.cast(DType::f64);
  net.cast(DType::f32);
  net(ones({2, 3}));
  CHECK_THAT(only(net, Kind::cast), Contains("the block " + net.name() + " (") && Contains(") was cast"));

  struct Weighted : HybridBlock {
    Parameter weight = params().get("weight", {2, 3});
    Tensor hybrid_forward(F&, const Tensor& x) override {
      return weight.lr_mult() > 0.5 ? x * weight.data() : x + weight.data();
    }
  };
  Weighted weighted;
  weighted.initialize();
  weighted.hybridize();
  weighted(ones({2, 3}));
  const std::string name = "the parameter '" + weighted.weight.name() + "' ";
  weighted.weight.set_lr_mult(0.25);
  weighted.weight.set_lr_mult(1);
  weighted(ones({2, 3}));
  CHECK(only(weighted, Kind::parameter) == "the lr_mult of " + name + "was set again");
  weighted.weight = Parameter("other", {2, 3});
  weighted.weight.initialize();
  weighted(ones({2, 3}));
  CHECK(only(weighted, Kind::parameter) == name + "was replaced");
}

TEST_CASE("of a parameter, only the options that hybrid_forward reads count") {
  struct Read : HybridBlock {
    Parameter weight = params().get("weight", {2}), other = params().get("other", {2});
    Tensor hybrid_forward(F&, const Tensor& x) override {
      const bool trained = other.grad_req() != GradReq::null;
      return trained ? x * weight : x + weight * static_cast<float>(other.wd_mult());
    }
  };
  Read net;
  net.initialize();
  net.hybridize();
  net(ones({2}));
  const std::uint64_t made = stats().recordings_made;
  net.other.set_lr_mult(5);
  net.other.set_wd_mult(5);
  net.weight.set_grad_req(GradReq::null);
  net(ones({2}));
  CHECK(stats().recordings_made == made);

  net.other.set_grad_req(GradReq::null);
  net(ones({2}));
  const std::string of_other = " of the parameter '" + net.other.name() + "' was ";
  CHECK(only(net, Kind::parameter) == "the grad_req" + of_other + "write and is null");
  CHECK(last_reason(net).differences[0].was == "write");
  CHECK(last_reason(net).differences[0].now == "null");
  CHECK(last_reason(net).remedy == "call set_grad_req() before the first call");
  net.other.set_wd_mult(0.5);
  net(ones({2}));
  CHECK(only(net, Kind::parameter) == "the wd_mult" + of_other + "5 and is 0.5");
  CHECK(last_reason(net).remedy == "call set_wd_mult() before the first call");
  net(ones({3, 2}));
  CHECK(only(net, Kind::shape) == "the shape of input 0 was (2,) and is (3, 2)");
}

TEST_CASE("a replaced parameter is named, and the one in its place") {
  struct Outer : HybridBlock {
    struct Inner : HybridBlock {
      Parameter weight = params().get("weight", {2, 3});
      Tensor hybrid_forward(F&, const Tensor& x) override { return x * weight; }
    };
    Child<Inner> inner{this, "inner"};
    Parameter weight = params().get("w1", {2, 3});
    Outer() { inner = Inner(); }
    Tensor hybrid_forward(F&, const Tensor& x) override { return inner(x) + weight; }
  };
  Outer net;
  net.initialize();
  net.hybridize();
  net(ones({2, 3}));
  // A block keeps the old one, so that the new one stands before the child's.
  net.weight = net.params().get("w2", {2, 3});
  net.weight.initialize();
  net(ones({2, 3}));
  const std::string w1 = net.prefix() + "w1", w2 = net.prefix() + "w2";
  CHECK(only(net, Kind::parameter) == "the parameter '" + w1 + "' was " + w1 + " and is " + w2);
  CHECK(last_reason(net).differences[0].was == w1);
  CHECK(last_reason(net).differences[0].now == w2);
  net.inner->weight = net.inner->params().get("w3", {2, 3});
  net.inner->weight.initialize();
  net(ones({2, 3}));
  CHECK_THAT(only(net, Kind::parameter), Contains("the parameter '" + net.inner->prefix() + "weight' was ") &&
                                             Contains(" and is ") && Contains("w3"));
}

TEST_CASE("a stale recording of the same signature is nearer than one of another size") {
  Deep net = hybridized_deep();
  net(ones({5, 3}));
  net.last->scale = 4;
  net(ones({2, 3}));
  CHECK(only(net, Kind::attribute) == "the Attr 'scale' of the block 'last' was 2 and is 4");
  net(ones({5, 3}));
  CHECK(only(net, Kind::attribute) == "the Attr 'scale' of the block 'last' was 2 and is 4");
  net(ones({6, 3}));
  CHECK(only(net, Kind::shape) == "axis 0 of input 0 was 5 and is 6");
}

TEST_CASE("arrays, copies, dropped recordings, and networks that change themselves") {
  Tensor number = ones({1}), array = ones({2});
  const Net::Body body = [&](F&, const Tensors& in) {
    return Tensors{number.item<float>() > 0 ? in[0] + array : in[0] - array};
  };
  Net net(body);
  net.hybridize();
  net(Tensors{ones({2})});
  number[0] = -1;
  net(Tensors{ones({2})});
  CHECK(only(net, Kind::elements) == "elements that hybrid_forward reads as numbers were written");
  array = zeros({2});
  net(Tensors{ones({2})});
  CHECK_THAT(only(net, Kind::array), Contains("which hybrid_forward reads, was replaced"));

  Scale one;
  one.hybridize({.max_recordings = 1});
  one(ones({2}));
  const Scale copy = one;
  copy(ones({3}));
  CHECK(only(copy, Kind::copy) == "this copy of the block has no recordings yet, but other copies have");
  const Scale second = one;
  second(ones({3}));  // with the code of the other copy
  CHECK(second.compiled_calls().size() == 2);
  CHECK(only(second, Kind::copy) == "this copy of the block has no recordings yet, but other copies have");
  CHECK(last_reason(second).line != last_reason(copy).line);
  one(ones({4}));
  one(ones({2}));
  CHECK(only(one, Kind::dropped) == "its recording was dropped, as the one that was called longest ago");

  struct Restless : HybridBlock {
    Child<Scale> scale{this, "scale"};
    Restless() { scale = Scale(); }
    Tensor hybrid_forward(F&, const Tensor& x) override {
      scale = Scale();
      return scale(x);
    }
  };
  Restless restless;
  restless.hybridize();
  restless(ones({2}));
  const LogLines lines;
  for (int i = 0; i < 20; ++i) restless(ones({2}));
  REQUIRE(lines.warnings.size() == 1);
  CHECK_THAT(lines.warnings[0], Contains("hybrid_forward changed the network while it was recorded"));
}

TEST_CASE("one warning past 16 recordings, with the extent that varies") {
  Scale net;
  net.hybridize();
  const LogLines lines;
  unsigned line = 0;
  const auto call = [&](std::int64_t rows) {
    line = std::source_location::current().line() + 1;
    net(ones({rows, 3}));
  };
  for (std::int64_t rows = 1; rows <= 16; ++rows) call(rows);
  CHECK(lines.warnings.empty());
  for (std::int64_t rows = 17; rows <= 40; ++rows) call(rows);
  REQUIRE(lines.warnings.size() == 1);
  const std::string& text = lines.warnings[0];
  INFO(text);
  CHECK_THAT(text, Contains(net.name() + " was recorded 17 times") &&
                       Contains("recording_reason_test.cpp:" + std::to_string(line)) &&
                       Contains("axis 0 of input 0 varied: 1, 2, 3, 4, 5, 6, 7, 8 and 9 others") &&
                       Contains("Remedy: pad inputs to a few shapes"));
}

TEST_CASE("a reason as JSON") {
  Deep net = hybridized_deep();
  net.last->scale = 3;
  net(ones({2, 3}));
  const RecordingReason reason = last_reason(net);
  CHECK(reason.json().find('\n') == std::string::npos);
  const auto json = nlohmann::json::parse(reason.json());
  CHECK(json.at("network") == net.name());
  CHECK(json.at("inputs") == "float32 (2, 3)");
  CHECK(json.at("line") == reason.line);
  CHECK(json.at("milliseconds").get<double>() == reason.milliseconds);
  CHECK(json.at("kernels_compiled") == reason.kernels_compiled);
  CHECK(json.at("remedy") == reason.remedy);
  const auto difference = json.at("differences").at(0);
  CHECK(difference.at("kind") == "attribute");
  CHECK(difference.at("what") == "the Attr 'scale' of the block 'last'");
  CHECK(difference.at("was") == "2");
  CHECK(difference.at("now") == "3");
}

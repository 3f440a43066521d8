// Why a call was recorded: the difference from the nearest earlier recording, its cost and its remedy.
#include "function_net.h"
#include "temporary_folder.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <source_location>

using namespace kiln;
using Catch::Contains;
using Kind = RecordingReason::Kind;
namespace fs = std::filesystem;

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

/// All lines of the log in its lifetime.
struct Lines {
  std::vector<std::string> all, warnings;
  Lines() {
    set_log_sink([this](LogLevel level, std::string_view line) {
      (level == LogLevel::warning ? warnings : all).emplace_back(line);
    });
  }
  ~Lines() { set_log_sink({}); }
};

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
  weighted(ones({2, 3}));
  CHECK(only(weighted, Kind::parameter) == name + "has another lr_mult, which hybrid_forward reads");
  weighted.weight = Parameter("other", {2, 3});
  weighted.weight.initialize();
  weighted(ones({2, 3}));
  CHECK(only(weighted, Kind::parameter) == name + "was replaced");
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
  const Lines lines;
  for (int i = 0; i < 20; ++i) restless(ones({2}));
  REQUIRE(lines.warnings.size() == 1);
  CHECK_THAT(lines.warnings[0], Contains("hybrid_forward changed the network while it was recorded"));
}

TEST_CASE("one warning past 16 recordings, with the extent that varies") {
  Scale net;
  net.hybridize();
  const Lines lines;
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

TEST_CASE("folders of dumps are named by network, signature and reason, and have an index") {
  const TemporaryFolder folder;
  Deep net;
  net.initialize();
  net.hybridize({.dump_dir = folder.path.string()});
  net(ones({2, 3}));
  net(ones({5, 3}));
  net.last->scale = 3;
  net(ones({5, 3}));
  std::vector<std::string> lines;
  std::ifstream index(folder.path / "index.txt");
  for (std::string line; std::getline(index, line);) lines.push_back(line);
  REQUIRE(lines.size() == 3);
  const char* const ends[] = {"_float32-2x3_first-call", "_float32-5x3_axis-0-of-input-0",
                              "_float32-5x3_Attr-scale-of-the-block-last"};
  for (std::size_t i = 0; i < 3; ++i) {
    INFO(lines[i]);
    const std::string name = lines[i].substr(0, lines[i].find(": "));
    CHECK(name.substr(3) == "_" + net.name() + ends[i]);
    CHECK(fs::file_size(folder.path / name / "7_plan.txt") > 0);
    CHECK(lines[i].find(net.name() + " was recorded for float32 (") == name.size() + 2);
  }
  net.cast(DType::f64);
  net.cast(DType::f32);
  net(ones({5, 3}));  // its code exists: the recording is listed, and has no folder
  std::ifstream again(folder.path / "index.txt");
  std::string last;
  for (std::string line; std::getline(again, line);) last = line;
  CHECK_THAT(last, Contains("(no folder: equal code exists): " + net.name()) && Contains("was cast"));
}

TEST_CASE("the index of dumps tells code with gradients from code without") {
  const TemporaryFolder folder;
  Deep net;
  net.initialize();
  net.hybridize({.dump_dir = folder.path.string()});
  const Tensor x = ones({2, 3});
  net(x);
  {
    const autograd::Record record(false);
    net(x).backward();
  }
  std::vector<std::string> sentences;
  std::ifstream index(folder.path / "index.txt");
  for (std::string line; std::getline(index, line);) sentences.push_back(line.substr(line.find(": ") + 2));
  REQUIRE(sentences.size() == 3);
  CHECK(sentences[0].ends_with("because this is the first call"));
  CHECK(sentences[1] == sentences[0] + "; with gradients, forward part");
  CHECK(sentences[2] == sentences[0] + "; with gradients, backward part");
}

// Run with KILN_LOG=compile or KILN_LOG=compile,json, see CMakeLists.txt.
TEST_CASE("the log has each recording", "[.log]") {
  const bool json = std::string_view(std::getenv("KILN_LOG")) == "compile,json";
  Scale net;
  net.hybridize();
  const Lines lines;
  net(ones({2, 3}));
  net(ones({2, 4}));
  std::vector<std::string> recordings;
  for (const std::string& line : lines.all) {
    if (!json) {
      CHECK(line.starts_with("kiln: compile: "));
      if (line.find(" was recorded for ") != std::string::npos) recordings.push_back(line.substr(15));
      continue;
    }
    const auto object = nlohmann::json::parse(line);
    CHECK(object.at("category") == "compile");
    if (!object.contains("recording")) continue;
    recordings.push_back(object.at("text"));
    CHECK(object.at("recording").at("network") == net.name());
  }
  CHECK(recordings == std::vector<std::string>{reason_of(net, 0).str(), reason_of(net, 1).str()});
}

TEST_CASE("the log has the recordings of checks", "[.log]") {
  Scale net;
  net.hybridize({.check = Check::recording});
  net(ones({2}));
  const Lines lines;
  net(ones({2}));
  REQUIRE(lines.all.size() == 1);
  CHECK_THAT(lines.all[0],
             Contains(net.name() + ": recorded again for float32 (2,), as Check::recording asks"));
}

// The log and the index of dumps: the reason of every recording and compilation.
#include "function_net.h"
#include "log_lines.h"
#include "temporary_folder.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <source_location>

using namespace kiln;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

struct Scale : HybridBlock {
  Attr<float> scale{this, 2.0f, "scale"};
  Tensor hybrid_forward(F&, const Tensor& x) override { return x * scale; }
};

/// A network with a layer, and with an Attr in a child.
struct Deep : HybridBlock {
  Child<nn::Dense> wide{this, "wide"};
  Child<Scale> last{this, "last"};
  Deep() {
    wide = nn::Dense(4, {.in_units = 3});
    last = Scale();
  }
  Tensor hybrid_forward(F&, const Tensor& x) override { return last(wide(x)); }
};

RecordingReason reason_of(const HybridBlock& net, std::size_t call) {
  return net.compiled_calls().at(call).reason;
}

}  // namespace

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
  unsigned line = 0;
  {
    const autograd::Record record(false);
    line = std::source_location::current().line() + 1;
    const Tensor y = net(x);
    y.backward();
  }
  std::vector<std::string> sentences;
  std::ifstream index(folder.path / "index.txt");
  for (std::string line; std::getline(index, line);) sentences.push_back(line.substr(line.find(": ") + 2));
  REQUIRE(sentences.size() == 3);
  CHECK(sentences[0].ends_with("because this is the first call"));
  const auto with_gradients = [&](unsigned at, const std::string& rest) {
    return net.name() +
           " was compiled with gradients for float32 (2, 3) at recording_log_test.cpp:" + std::to_string(at) +
           ", " + rest;
  };
  CHECK(sentences[1] ==
        with_gradients(line, "forward part, because this is the first call that wants gradients"));
  CHECK(sentences[2] ==
        with_gradients(line + 1, "backward part, because this is the first backward pass of such a call"));
}

// Run with KILN_LOG=compile or KILN_LOG=compile,json, see CMakeLists.txt.
TEST_CASE("the log has each recording", "[.log]") {
  const bool json = std::string_view(std::getenv("KILN_LOG")) == "compile,json";
  Scale net;
  net.hybridize();
  const LogLines lines;
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

TEST_CASE("the log has the reason of each compilation with gradients", "[.log]") {
  Deep net;
  net.initialize();
  net.hybridize();
  unsigned line = 0;
  const auto reasons = [&](bool of_input) {
    const LogLines lines;
    const autograd::Record record(false);
    Tensor x = ones({2, 3});
    if (of_input) x.attach_grad();
    line = std::source_location::current().line() + 1;
    const Tensor y = net(x);
    y.backward();
    return lines.with(net.name() +
                      " was compiled with gradients for float32 (2, 3) at recording_log_test.cpp:");
  };
  const auto part = [&](unsigned at, const std::string& rest) {
    return Contains(":" + std::to_string(at) + ", " + rest);
  };
  net(ones({2, 3}));
  const std::vector<std::string> first = reasons(false);
  REQUIRE(first.size() == 2);
  CHECK_THAT(first[0], part(line, "forward part, because this is the first call that wants gradients"));
  CHECK_THAT(first[1],
             part(line + 1, "backward part, because this is the first backward pass of such a call"));
  const std::vector<std::string> again = reasons(false);  // parameters that were not written are packed
  REQUIRE(again.size() == 1);
  CHECK_THAT(again[0], part(line, "forward part for parameters that stay, because its parameters were not "));
  CHECK(reasons(false).empty());
  const std::vector<std::string> input = reasons(true);
  REQUIRE(input.size() == 2);
  CHECK_THAT(input[0],
             part(line, "forward part, because the gradient of 'data' is wanted and was not; remedy: "));
  CHECK_THAT(input[1],
             part(line + 1, "backward part, because this is the first backward pass of such a call"));
}

TEST_CASE("the log tells the option of a parameter that a training step reads", "[.log]") {
  nn::Dense net(3, {.in_units = 4});
  net.initialize();
  const loss::SoftmaxCrossEntropyLoss loss;
  const Trainer trainer(net.collect_params(), "adam");
  TrainStep step = net.train_step(loss, trainer);
  const auto recordings = [&] {
    const LogLines lines;
    step(ones({5, 4}), zeros({5}));
    return lines.with(" was recorded for ");
  };
  CHECK(recordings().size() == 1);
  net.weight.set_lr_mult(0.5);
  CHECK(recordings().empty());
  net.bias.set_grad_req(GradReq::null);
  const std::vector<std::string> frozen = recordings();
  REQUIRE(frozen.size() == 1);
  CHECK_THAT(frozen[0], Contains(", because the grad_req of the parameter '" + net.bias.name() +
                                 "' was write and is null, in ") &&
                            Contains("remedy: call set_grad_req() before the first call"));
  net.bias.set_grad_req(GradReq::write);
  CHECK(recordings().empty());
  net.hybridize({.precision = Precision::tf32});
  const std::vector<std::string> precise = recordings();
  REQUIRE(precise.size() == 1);
  CHECK_THAT(precise[0], Contains(", because the precision of products was exact and is tf32, in "));
  CHECK(recordings().empty());
}

TEST_CASE("the log has the recordings of checks", "[.log]") {
  Scale net;
  net.hybridize({.check = Check::recording});
  net(ones({2}));
  const LogLines lines;
  net(ones({2}));
  REQUIRE(lines.all.size() == 1);
  CHECK_THAT(lines.all[0],
             Contains(net.name() + ": recorded again for float32 (2,), as Check::recording asks"));
}

// Symbol files of older versions of MXNet.
#include "golden_files.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace kiln;
using golden::error_of;
using Names = std::vector<std::string>;

namespace {

// A graph as 0.8 wrote it: `param`, entries of two numbers, no versions.
std::string old_graph(const std::string& op, const std::string& param, const std::string& attr, int inputs) {
  std::string nodes, entries;
  const char* const names[] = {"data", "w", "b"};
  for (int i = 0; i < inputs; ++i) {
    nodes += fmt::format(
        R"({{"op": "null", "param": {{}}, "name": "{}", "inputs": [], "backward_source_id": -1}}, )",
        names[i]);
    entries += fmt::format("{}[{}, 0]", i ? ", " : "", i);
  }
  return fmt::format(
      R"({{"nodes": [{}{{"op": "{}", "param": {}, "name": "n", "attr": {}, "inputs": [{}], "backward_source_id": -1}}],
          "arg_nodes": [0], "heads": [[{}, 0]]}})",
      nodes, op, param, attr, entries, inputs);
}

nlohmann::json nodes_of(const std::string& text) {
  return nlohmann::json::parse(Symbol::load_json(text).tojson())["nodes"];
}

}  // namespace

TEST_CASE("all versions of one network are the same network", "[legacy]") {
  for (const char* net : {"mlp", "lenet", "tiny_resnet"}) {
    INFO(net);
    const auto load = [&](const char* version) {
      return Symbol::load(golden::path(std::string("legacy/") + net + "-" + version + "-symbol.json"));
    };
    const Symbol now = Symbol::load(golden::path(std::string("models/") + net + "-symbol.json"));
    CHECK(load("v10300").tojson() == now.tojson());
    CHECK(load("v1100").list_inputs() == now.list_inputs());
    CHECK(load("v1100").list_auxiliary_states() == now.list_auxiliary_states());
    CHECK(load("v800").list_arguments() == now.list_arguments());
    CHECK(load("v800").list_auxiliary_states().size() == now.list_auxiliary_states().size());
    CHECK(load("v800").list_outputs() == now.list_outputs());
  }
}

TEST_CASE("missing auxiliary states become variables", "[legacy]") {
  const Symbol net = Symbol::load(golden::path("legacy/tiny_resnet-v800-symbol.json"));
  const Names states = net.list_auxiliary_states();
  REQUIRE(!states.empty());
  CHECK(states.size() % 2 == 0);
  CHECK_THAT(states[0], Catch::EndsWith("_moving_mean"));
  CHECK_THAT(states[1], Catch::EndsWith("_moving_var"));
  CHECK(Symbol::load_json(net.tojson()).list_auxiliary_states() == states);
}

TEST_CASE("old hidden keys get their underscores", "[legacy]") {
  const auto nodes =
      nodes_of(old_graph("FullyConnected", R"({"num_hidden": "2"})",
                         R"({"ctx_group": "g", "w_lr_mult": "3", "weight_lr_mult": "0.5"})", 3));
  CHECK(nodes[3]["attrs"] ==
        nlohmann::json({{"num_hidden", "2"}, {"__ctx_group__", "g"}, {"w_lr_mult", "3"}}));
  CHECK(nodes[1]["attrs"] == nlohmann::json({{"__lr_mult__", "0.5"}}));
  CHECK(!nodes[0].contains("attrs"));
}

TEST_CASE("axis -1 of argmax was all axes", "[legacy]") {
  CHECK(!nodes_of(old_graph("argmax", R"({"axis": "-1"})", "{}", 1))[1].contains("attrs"));
  CHECK(nodes_of(old_graph("argmax", R"({"axis": "1"})", "{}", 1))[1]["attrs"]["axis"] == "1");
  std::string newer = old_graph("argmax", R"({"axis": "-1"})", "{}", 1);
  newer.insert(newer.rfind('}'), R"(, "attrs": {"mxnet_version": ["int", 905]})");
  CHECK(nodes_of(newer)[1]["attrs"]["axis"] == "-1");
}

TEST_CASE("old names of operators are understood and written as the new ones", "[legacy]") {
  CHECK(nodes_of(old_graph("Softmax", "{}", "{}", 2))[2]["op"] == "SoftmaxOutput");
  CHECK(nodes_of(old_graph("ElementWiseSum", R"({"num_args": "2"})", "{}", 2))[2]["op"] == "add_n");
}

TEST_CASE("inputs are only invented for files before 0.9", "[legacy]") {
  std::string text = old_graph("FullyConnected", R"({"num_hidden": "2"})", "{}", 2);
  CHECK(Symbol::load_json(text).list_arguments() == Names{"data", "w", "n_bias"});
  text.insert(text.rfind('}'), R"(, "attrs": {"mxnet_version": ["int", 1000]})");
  CHECK_THAT(error_of([&] { Symbol::load_json(text, "newer.json"); }),
             Catch::Contains("newer.json") && Catch::Contains("'n'"));
}

// Symbol files: files of MXNet 1.9.1 come back byte for byte, and errors name the mistake and its place.
#include "golden_files.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace kiln;
using golden::error_of;

namespace {

const std::string relu = R"({
  "nodes": [
    {
      "op": "null", 
      "name": "x", 
      "inputs": []
    }, 
    {
      "op": "relu", 
      "name": "y", 
      "inputs": [[0, 0, 0]]
    }
  ], 
  "arg_nodes": [0], 
  "node_row_ptr": [0, 1, 2], 
  "heads": [[1, 0, 0]], 
  "attrs": {"mxnet_version": ["int", 10901]}
})";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string error_with(const std::string& from, const std::string& to) {
  return error_of([&] { Symbol::load_json(replaced(relu, from, to), "net-symbol.json"); });
}

}  // namespace

TEST_CASE("files of MXNet 1.9.1 come back byte for byte", "[symbol]") {
  std::size_t count = 0;
  for (const char* folder : {"ops", "models", "random", "formats"}) {
    for (const std::string& file : golden::files(folder, "-symbol.json")) {
      INFO(file);
      const std::string text = golden::read_text(file);
      const Symbol symbol = Symbol::load(file);
      if (symbol.tojson(/*remove_amp_cast=*/false) != text) FAIL_CHECK(file << " is printed differently");
      convert_model(file, "converted");
      if (golden::read_text("converted-symbol.json") != text) FAIL_CHECK(file << " is converted differently");
      ++count;
    }
  }
  CHECK(count > 1000);
}

TEST_CASE("a small file is read and printed", "[symbol]") {
  const Symbol y = Symbol::load_json(relu);
  CHECK(y.tojson() == relu);
  CHECK(y.list_arguments() == std::vector<std::string>{"x"});
  CHECK(y.list_outputs() == std::vector<std::string>{"y_output"});
}

TEST_CASE("MXNet's liberties are taken", "[symbol]") {
  CHECK(Symbol::load_json(replaced(relu, "[0, 0, 0]", "[0, 0]")).tojson() == relu);
  CHECK(Symbol::load_json(replaced(relu, "  \"node_row_ptr\": [0, 1, 2], \n", "")).tojson() == relu);
  CHECK(Symbol::load_json(replaced(relu, "[0, 1, 2]", "[7]")).tojson() == relu);
  CHECK(Symbol::load_json(replaced(relu, ", \n  \"attrs\": {\"mxnet_version\": [\"int\", 10901]}", ""))
            .tojson() == relu);
  CHECK(Symbol::load_json(replaced(relu, "\"name\": \"x\", ", "\"name\": \"x\", \"attrs\": {}, ")).tojson() ==
        relu);
  CHECK(Symbol::load_json(
            replaced(relu, "[\"int\", 10901]", "[\"int\", 10901], \"other\": [\"list\", [[1, \"]\"], {}]]"))
            .tojson() == relu);
}

TEST_CASE("strings keep every byte", "[symbol]") {
  const std::string odd = R"(a\"b\\c\nd\re\tf)"
                          "\x01\xff gr\xc3\xb6\xc3\x9f"
                          "e/";
  const std::string text = replaced(relu, "\"name\": \"x\"", "\"name\": \"" + odd + "\"");
  CHECK(Symbol::load_json(text).tojson() == text);
  CHECK(Symbol::load_json(text).list_arguments()[0] ==
        "a\"b\\c\nd\re\tf\x01\xff gr\xc3\xb6\xc3\x9f"
        "e/");
  const Symbol escaped = Symbol::load_json(replaced(relu, "\"x\"", R"("\u0041\u00f6\u20ac\ud83d\ude00\/")"));
  CHECK(escaped.list_arguments()[0] == "A\xc3\xb6\xe2\x82\xac\xf0\x9f\x98\x80/");
}

TEST_CASE("errors name file, node and key", "[symbol]") {
  using Catch::Contains;
  CHECK_THAT(error_with("relu", "rellu"), Contains(""));
  CHECK_THAT(error_with("\"op\": \"relu\", ", ""),
             Contains("net-symbol.json") && Contains("'y'") && Contains("\"op\""));
  CHECK_THAT(error_with("\"name\": \"y\", ", ""), Contains("node 1") && Contains("\"name\""));
  CHECK_THAT(error_with("\"name\": \"y\"", "\"nam\": \"y\""), Contains("node 1") && Contains("\"nam\""));
  CHECK_THAT(error_with("[[0, 0, 0]]", "[[1, 0, 0]]"), Contains("node 1 'y' (relu)") && Contains("node 1"));
  CHECK_THAT(error_with("[[0, 0, 0]]", "[[4000000000, 0, 0]]"), Contains("4000000000"));
  CHECK_THAT(error_with("[[0, 0, 0]]", "[[-1, 0, 0]]"), Contains("-1"));
  CHECK_THAT(error_with("[[0, 0, 0]]", "[[0, 1, 0]]"), Contains("output 1 of 'x'"));
  CHECK_THAT(error_with("[[0, 0, 0]]", "[[0]]"), Contains("[node, output"));
  CHECK_THAT(error_with("[[0, 0, 0]]", "[[0, 0, 0, 0]]"), Contains("more than three"));
  CHECK_THAT(error_with("[[0, 0, 0]]", "[[0, 0.5, 0]]"), Contains("whole number"));
  CHECK_THAT(error_with("[[0, 0, 0]]", "[]"), Contains("'y'") && Contains("0 inputs"));
  CHECK_THAT(error_with("[[0, 0, 0]]", "[[0, 0, 0], [0, 0, 0]]"), Contains("2 inputs") && Contains("data"));
  CHECK_THAT(error_with("\"heads\": [[1", "\"heads\": [[9"), Contains("node 9"));
  CHECK_THAT(error_with("\"heads\": [[1, 0, 0]]", "\"heads\": []"), Contains("no outputs"));
  CHECK_THAT(error_with("\"heads\": [[1, 0, 0]], ", ""), Contains("\"heads\""));
  CHECK_THAT(error_with("\"arg_nodes\": [0], ", ""), Contains("\"arg_nodes\""));
  CHECK_THAT(error_with("\"arg_nodes\": [0]", "\"arg_nodes\": [0], \"more\": 1"), Contains("\"more\""));
  CHECK_THAT(error_with("\"op\": \"relu\"", "\"op\": \"Activation\", \"attrs\": {\"act\": \"x\"}"),
             Contains("'y'") && Contains("\"act\"") && Contains("act_type"));
  // An operator without attributes looks at none.
  CHECK(error_with("\"name\": \"y\"", "\"name\": \"y\", \"attrs\": {\"act\": \"x\"}").empty());
  CHECK_THAT(error_with("\"name\": \"y\"", "\"name\": \"y\", \"attrs\": {\"act\": 1}"),
             Contains("'y'") && Contains("\"act\""));
  CHECK_THAT(error_with("\"y\"", "\"y"), Contains("line 10"));
  CHECK_THAT(error_with("10901]}\n}", "10901]}\n} x"), Contains("follows"));
  CHECK_THAT(error_of([&] { Symbol::load("nowhere-symbol.json"); }), Contains("nowhere-symbol.json"));
}

TEST_CASE("every text that ends too early is refused", "[symbol]") {
  const std::string text = golden::read_text(golden::path("models/lenet-symbol.json"));
  for (std::size_t n = 0; n < text.size(); n += n < 2000 ? 1 : 37) {
    INFO("cut after " << n);
    const std::string_view cut = std::string_view(text).substr(0, n);
    CHECK_THAT(error_of([&] { Symbol::load_json(cut, "cut.json"); }), Catch::Contains("cut.json"));
  }
}

TEST_CASE("no nesting overflows the stack", "[symbol]") {
  const std::string deep(1000000, '[');
  CHECK_THAT(error_of([&] { Symbol::load_json(deep, "deep.json"); }), Catch::Contains("deep.json"));
  CHECK_THAT(error_of([&] { Symbol::load_json("{\"attrs\": {\"x\": [\"a\", " + deep, "deep.json"); }),
             Catch::Contains("deep.json"));
  std::string graphs;
  for (int i = 0; i < 100000; ++i)
    graphs += R"({"nodes": [{"op": "f", "name": "f", "inputs": [], "subgraphs": [)";
  CHECK_THAT(error_of([&] { Symbol::load_json(graphs, "deep.json"); }), Catch::Contains("nested"));
}

TEST_CASE("a long chain of nodes is read, printed and let go", "[symbol]") {
  const int length = 100000;
  std::string nodes = R"({"op": "null", "name": "x", "inputs": []})";
  for (int i = 0; i < length; ++i)
    nodes += fmt::format(R"(, {{"op": "relu", "name": "r{}", "inputs": [[{}, 0, 0]]}})", i, i);
  const Symbol chain = Symbol::load_json(fmt::format(
      R"({{"nodes": [{}], "arg_nodes": [0], "heads": [[{}, 0, 0]], "attrs": {{"mxnet_version": ["int", 10901]}}}})",
      nodes, length));
  CHECK(chain.get_internals().size() == length + 1);
  CHECK(Symbol::load_json(chain.tojson()).name() == "r99999");
}

TEST_CASE("a long chain of control dependencies is let go", "[symbol]") {
  std::string nodes = R"({"op": "f", "name": "n0", "inputs": []})";
  for (int i = 0; i < 100000; ++i)
    nodes += fmt::format(R"(, {{"op": "f", "name": "n{}", "inputs": [], "control_deps": [{}]}})", i + 1, i);
  const Symbol chain =
      Symbol::load_json(fmt::format(R"({{"nodes": [{}], "arg_nodes": [], "heads": [[100000, 0]]}})", nodes));
  CHECK(chain.get_internals().size() == 100001);
  CHECK(Symbol::load_json(chain.tojson()).name() == "n100000");
}

TEST_CASE("unknown operators are kept and cannot be run", "[symbol]") {
  const std::string text = replaced(relu, "\"op\": \"relu\"", "\"op\": \"reluu\"");
  CHECK(Symbol::load_json(text).tojson() == text);
  const std::string counted = replaced(text, "[0, 1, 2]", "[0, 1, 4]");
  CHECK(Symbol::load_json(counted).tojson() == counted);
  golden::write_text("unknown-symbol.json", text);
  const std::string error = error_of([] { Model::load("unknown-symbol.json"); });
  CHECK_THAT(error, Catch::Contains("unknown-symbol.json") && Catch::Contains("'y'") &&
                        Catch::Contains("'reluu'") && Catch::Contains("'relu'"));
}

TEST_CASE("amp_cast goes when a symbol is saved and stays when it is converted", "[symbol]") {
  const std::string file = golden::path("ops/amp_cast__f16-symbol.json");
  const Symbol symbol = Symbol::load(file);
  CHECK(symbol.tojson(false) == golden::read_text(file));
  CHECK(symbol.tojson().find("amp_cast") == std::string::npos);
  symbol.save("amp-symbol.json");
  CHECK(golden::read_text("amp-symbol.json") == symbol.tojson());
}

// Broken files: each is refused with an error that names the mistake and its place.
#include "golden_files.h"

#include <catch2/catch.hpp>

using namespace kiln;

namespace {

const std::string folder = golden::path("malformed/");

Tensor input_of(const nlohmann::json& test_case) {
  const auto shape = test_case["input"]["data"].get<std::vector<std::int64_t>>();
  return ones(Shape(std::span(shape)));
}

// The message must hold every part that the case lists.
void check_error(const std::string& error, const nlohmann::json& test_case) {
  INFO(test_case["name"].get<std::string>() << ": " << test_case["wrong"].get<std::string>());
  INFO("the error: " << error);
  REQUIRE(!error.empty());
  CHECK(error.find("internal error") == std::string::npos);
  for (const auto& part : test_case["mentions"]) CHECK_THAT(error, Catch::Contains(part.get<std::string>()));
}

}  // namespace

TEST_CASE("the good pair runs", "[malformed]") {
  SymbolBlock block =
      SymbolBlock::imports(folder + "good-symbol.json", {"data"}, folder + "good-0000.params");
  const Tensor y = block(ones({2, 3}));
  CHECK(y.shape() == Shape{2, 2});
  const Model model = Model::load(folder + "good-symbol.json", folder + "good-0000.params");
  CHECK(model.run({{"data", ones({2, 3})}})[0].to_vector<float>() == y.to_vector<float>());
}

TEST_CASE("a broken file is refused by SymbolBlock", "[malformed]") {
  for (const auto& c : golden::manifest("malformed")) {
    check_error(golden::error_of([&] {
                  SymbolBlock block = SymbolBlock::imports(folder + c["symbol"].get<std::string>(), {"data"},
                                                           folder + c["params"].get<std::string>());
                  block(input_of(c));
                }),
                c);
  }
}

TEST_CASE("a broken file is refused by Model", "[malformed]") {
  for (const auto& c : golden::manifest("malformed")) {
    check_error(golden::error_of([&] {
                  const Model model = Model::load(folder + c["symbol"].get<std::string>(),
                                                  folder + c["params"].get<std::string>());
                  model.run({{"data", input_of(c)}});
                }),
                c);
  }
}

TEST_CASE("a broken file takes no memory beyond its size", "[malformed]") {
  reset_peak_memory();
  const std::size_t before = memory_report().peak_bytes;
  for (const std::string& file : golden::files("malformed", ".params"))
    golden::error_of([&] { load_arrays(file); });
  CHECK(memory_report().peak_bytes - before < 16384);
}

namespace {

/// The file of a network of one layer, with some of its text replaced.
std::string with(const std::string& from, const std::string& to) {
  std::string text = golden::read_text(folder + "good-symbol.json");
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
  golden::write_text("bad-symbol.json", text);
  return text;
}

/// The message of whatever is done with the file first.
std::vector<std::string> errors() {
  return {golden::error_of([] { Symbol::load("bad-symbol.json"); }),
          golden::error_of([] { SymbolBlock::imports("bad-symbol.json", {"data"}); }), golden::error_of([] {
            Model::load("bad-symbol.json").run({{"data", ones({2, 3})}});
          }),
          golden::error_of([] { convert_model("bad-symbol.json", "converted"); })};
}

}  // namespace

TEST_CASE("errors of symbol files name the file, the line and the node", "[malformed]") {
  using Catch::Contains;
  for (const char* value : {"(4, x)", "[4", "(4, 3", "(1, 2, 3, 4, 5, 6, 7, 8, 9)", "four"}) {
    with("\"__shape__\": \"(4, 0)\"", std::string("\"__shape__\": \"") + value + "\"");
    for (const std::string& error : errors())
      CHECK_THAT(error,
                 Contains("bad-symbol.json, line ") && Contains("'net_dense0_weight'") && Contains(value));
  }
  for (const char* value : {"7", "null", "[\"FullyConnected\"]", "{\"a\": [1]}", "-1.5"}) {
    with("\"op\": \"FullyConnected\"", std::string("\"op\": ") + value);
    for (const std::string& error : errors())
      CHECK_THAT(error,
                 Contains("bad-symbol.json, line ") && Contains("'net_dense0_fwd'") && Contains("\"op\""));
  }
  // Two variables of one name share their array, and so must have one shape.
  with("\"name\": \"net_dense0_bias\"", "\"name\": \"net_dense0_weight\"");
  CHECK_THAT(
      golden::error_of([] { SymbolBlock::imports("bad-symbol.json", {"data"}); }),
      Contains("bad-symbol.json, line ") && Contains("variable 'net_dense0_weight'") && Contains("(4,)"));
}

TEST_CASE("all operators that Kiln lacks are named, with their numbers", "[malformed]") {
  using Catch::Contains;
  std::string text = golden::read_text(folder + "good-symbol.json");
  const auto replace = [&](const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
  };
  replace("\"FullyConnected\"", "\"FullyConected\"");
  golden::write_text("bad-symbol.json", text);
  const auto error = [] { return golden::error_of([] { Model::load("bad-symbol.json"); }); };
  CHECK_THAT(error(), Contains("bad-symbol.json, line ") &&
                          Contains("Kiln has no operator 'FullyConected' (did you mean 'FullyConnected'?)"));
  replace("\"FullyConnected\"", "\"FullyConected\"");
  replace("\"Activation\"", "\"Unheard\"");
  golden::write_text("bad-symbol.json", text);
  for (const std::string& e :
       {error(), golden::error_of([] { SymbolBlock::imports("bad-symbol.json", {"data"}); })})
    CHECK_THAT(
        e,
        Contains(
            "2 nodes: 'FullyConected' (did you mean 'FullyConnected'?), first in bad-symbol.json, line ") &&
            Contains("1 node: 'Unheard'"));
}

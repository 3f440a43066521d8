// Broken files: each is refused with an error that says what and where.
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

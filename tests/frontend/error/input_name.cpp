// Errors of inputs that a model does not have, or that are missing.
#include "expect.h"

TEST_CASE("an input under a name that the model does not have", "[error]") {
  const std::string text = message_of([&] { model_of("relu", "").run({{"data", ones({2})}}); });
  CHECK_THAT(text, Contains("no variable 'data'") && Contains("it has 'x'"));
}

TEST_CASE("an input that is not given", "[error]") {
  const std::string text = message_of([&] {
    model_of("elemwise_add", "", "[[0, 0, 0], [1, 0, 0]]").run({{"x", ones({2})}});
  });
  CHECK_THAT(text, Contains("no value for 'w'") && Contains("give it as an input, or give a params file"));
}

TEST_CASE("a block imported with an input that the file does not have", "[error]") {
  std::ofstream("imported-symbol.json") << symbol_text("relu", "", "[[0, 0, 0]]");
  const std::string text = message_of([&] { SymbolBlock::imports("imported-symbol.json", {"data"}); });
  CHECK_THAT(text, Contains("imported-symbol.json: there is no variable 'data'") && Contains("'x'"));
}

TEST_CASE("a shape for a variable that a symbol does not have", "[error]") {
  const std::string text = message_of([&] { model_of("relu", "").symbol().infer_shape({{"data", {2, 3}}}); });
  CHECK_THAT(text, Catch::StartsWith("input_name.cpp:") &&
                       Catch::EndsWith(": infer_shape: <Symbol node> has no variable 'data'; it has 'x'"));
}

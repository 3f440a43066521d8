// The error of a node with too many inputs.
#include "expect.h"

TEST_CASE("a node with more inputs than its operator takes", "[error]") {
  const std::string text = message_of([&] { model_of("relu", "", "[[0, 0, 0], [1, 0, 0]]"); });
  CHECK_THAT(text, Contains("net-symbol.json, line 5: node 2 'node' (relu)") && Contains("2 inputs") &&
                       Contains("takes 1 (data)"));
}

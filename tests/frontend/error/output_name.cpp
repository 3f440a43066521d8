// The error of an output that does not exist.
#include "expect.h"

TEST_CASE("an output of a name that there is not", "[error]") {
  const std::string text = message_of([&] { model_of("relu", "").symbol()["relu_output"]; });
  CHECK(text == "<Symbol node> has no output 'relu_output'; it has node_output");
}

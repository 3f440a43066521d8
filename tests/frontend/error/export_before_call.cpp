// The error of an export before the first call.
#include "expect.h"

TEST_CASE("an export before the network ran", "[error]") {
  nn::Dense layer(3);
  layer.initialize();
  const std::string line = line_below();
  const std::string text = message_of([&] { layer.export_model("net"); });
  CHECK_THAT(text, Contains(line) && Contains("hybridize()") && Contains("at least once"));
}

// The error of a layer made for data of another shape.
#include "expect.h"

TEST_CASE("a layer made for other data", "[error]") {
  nn::Dense layer(3, {.in_units = 7});
  layer.initialize();
  for (const bool hybrid : {false, true}) {
    layer.hybridize(hybrid);
    const std::string line = line_below();
    const std::string text = message_of([&] { layer(ones({2, 5})); });
    CHECK_THAT(text, Contains(line) && Contains("FullyConnected") && Contains("[3,7]") && Contains("(3,5)") &&
                         Contains("(2, 5)"));
  }
}

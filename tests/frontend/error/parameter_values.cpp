// Errors of values that do not fit a parameter.
#include "expect.h"

TEST_CASE("values of another shape for a parameter", "[error]") {
  nn::Dense layer(3, {.in_units = 3, .prefix = "fc_"});
  layer.initialize();
  const std::string line = line_below();
  const std::string text = message_of([&] { layer.weight.set_data(ones({2, 2})); });
  CHECK_THAT(text, Contains(line) && Contains("'fc_weight'") && Contains("(3, 3)") && Contains("(2, 2)"));
}

TEST_CASE("a parameter of a name that there is not", "[error]") {
  const nn::Dense layer(3, {.prefix = "fc_"});
  const std::string text = message_of([&] { layer.params()["wieght"]; });
  CHECK_THAT(text, Contains("'wieght'") && Contains("'fc_weight', 'fc_bias'"));
}

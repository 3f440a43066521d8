// The error of an index after the end of an axis.
#include "expect.h"

#include <limits>

TEST_CASE("an index behind the end", "[error]") {
  const Tensor x = ones({2, 3});
  const std::string line = line_below();
  const std::string text = message_of([&] { x[5]; });
  CHECK(text == line + "index 5 is out of range: axis 0 of shape (2, 3) has 2 elements [KL0105]");
}

TEST_CASE("an index of take behind the end, and one that is no number", "[error]") {
  const Tensor x = ones({2, 3});
  const auto message_at = [&](float index) {
    return message_of([&] { F::take(x, Tensor{index}, {.axis = 0, .mode = "raise"}); });
  };
  CHECK_THAT(message_at(5),
             Contains("the index 5, element (0,)") && Contains("2 elements") && Contains("[KL0105]"));
  CHECK_THAT(message_at(std::numeric_limits<float>::quiet_NaN()),
             Contains("the index NaN (or ") && Contains("element (0,)") && Contains("[KL0105]"));
}

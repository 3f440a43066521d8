// The error of an index after the end of an axis.
#include "expect.h"

TEST_CASE("an index behind the end", "[error]") {
  const Tensor x = ones({2, 3});
  const std::string line = line_below();
  const std::string text = message_of([&] { x[5]; });
  CHECK(text == line + "index 5 is out of range: axis 0 of shape (2, 3) has 2 elements [KL0105]");
}

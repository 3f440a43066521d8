#include "error/expect.h"

TEST_CASE("arrays larger than any memory", "[error]") {
  const std::string huge = message_of([&] { zeros({1ll << 40, 1ll << 40}); });
  CHECK_THAT(huge, Contains("(1099511627776, 1099511627776)") && Contains("64 bits"));
  const std::string line = line_below();
  const std::string range = message_of([&] { arange(0, 1e30, 1e-9); });
  CHECK_THAT(range, Contains(line) && Contains("arange from 0 to 1e+30 by 1e-09 has too many elements"));
}

TEST_CASE("a shape with a negative extent", "[error]") {
  const std::string line = line_below();
  const std::string text = message_of([&] { zeros({-1, 2}); });
  CHECK(text == line + "_zeros: the shape (-1, 2) has a negative extent");
}

TEST_CASE("values that do not fill a shape", "[error]") {
  const std::string text = message_of([&] { Tensor(std::vector<float>{1, 2}, {3}); });
  CHECK(text == "Tensor: 2 values do not fill the shape (3,), which has 3 elements");
}

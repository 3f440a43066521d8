// Errors of rows of different lengths.
#include "expect.h"

TEST_CASE("rows of different lengths", "[error]") {
  CHECK_THAT(message_of([] {
               Tensor({{1, 2}, {3, 4}, {5}});
             }),
             Contains("row [2] has 1 values, and the rows before it have 2"));
  const std::vector<std::vector<float>> two{{1, 2}, {3}};
  std::string line = line_below();
  std::string text = message_of([&] { Tensor{two}; });
  CHECK(text ==
        line + "Tensor: row [1] has 1 values, and the rows before it have 2; they must be equally long");
  const std::vector<std::vector<std::vector<int>>> three{{{1, 2}, {3, 4}}, {{5, 6}, {7, 8, 9}}};
  line = line_below();
  text = message_of([&] { Tensor{three}; });
  CHECK_THAT(text, Contains(line) && Contains("row [1][1] has 3 values, and the rows before it have 2"));
  const std::vector<std::vector<std::vector<int>>> fewer{{{1}, {3}}, {{5}}};
  CHECK_THAT(message_of([&] { Tensor{fewer}; }),
             Contains("row [1] has 1 values, and the rows before it have 2"));
}

// Errors of axes that an array does not have.
#include "expect.h"

TEST_CASE("an axis that is not there", "[error]") {
  const std::string line = line_below();
  const std::string text = message_of([&] { F::sum(ones({2, 3}), {.axis = 5}); });
  CHECK(text ==
        line +
            "sum: axis 5 does not exist in an array of 2 axes: they are numbered from 0 to 1, or from "
            "the end from -1 to -2; data is float32 (2, 3) [KL0103]");
}

TEST_CASE("an axis of a file that is not there", "[error]") {
  const std::string text = message_of([&] {
    model_of("softmax", R"("axis": "4")").run({{"x", ones({2, 3})}});
  });
  CHECK_THAT(text, Contains("net-symbol.json:5: softmax 'node': axis 4 does not exist") &&
                       Contains("data 'x' is float32 (2, 3)"));
}

TEST_CASE("one axis twice", "[error]") {
  const std::string text = message_of([&] { F::transpose(ones({2, 3}), {0, 0}); });
  CHECK_THAT(text, Contains("transpose: axes (0, 0) name one axis twice") && Contains("(2, 3)"));
}

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

TEST_CASE("a new axis that has no place", "[error]") {
  const auto check = [](const std::string& text, const std::string& op, const std::string& range) {
    CHECK_THAT(text,
               Contains(op + ": there is no place for a new axis") && Contains(range) && Contains("KL0103"));
  };
  const std::string of_two =
      "the array has 2 axes, so a new one is from 0 to 2, or from the end from -1 to -3";
  for (const int axis : {3, 5, -4}) {
    check(message_of([&] { ones({2, 3}).expand_dims(axis); }), "expand_dims", of_two);
    check(message_of([&] { F::stack({ones({2, 3}), ones({2, 3})}, axis); }), "stack", of_two);
  }
  check(message_of([&] { ones({2}).expand_dims(2); }), "expand_dims",
        "has 1 axis, so a new one is from 0 to 1,");
  // The ends of the range.
  CHECK(ones({2, 3}).expand_dims(2).shape() == Shape{2, 3, 1});
  CHECK(ones({2, 3}).expand_dims(-3).shape() == Shape{1, 2, 3});
}

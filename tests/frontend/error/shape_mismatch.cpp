// Errors of operands whose shapes do not fit.
#include "expect.h"

TEST_CASE("shapes that do not broadcast", "[error]") {
  const Tensor a = ones({2, 3}), b = ones({4, 5});
  const std::string line = line_below();
  const std::string text = message_of([&] { a + b; });
  CHECK(text == line + "broadcast_add: shapes (2, 3) and (4, 5) do not broadcast [KL0101]");
}

TEST_CASE("matrices that cannot be multiplied", "[error]") {
  const std::string text = message_of([&] { F::dot(ones({2, 3}), ones({4, 3})); });
  CHECK_THAT(text, Contains("shape_mismatch.cpp:") && Contains("dot cannot multiply (2, 3) by (4, 3)") &&
                       Contains(".transpose_b = true"));
}

TEST_CASE("stacks of matrices that cannot be multiplied", "[error]") {
  CHECK_THAT(message_of([&] {
               F::batch_dot(ones({2, 3, 4}), ones({2, 3, 4}));
             }),
             Contains("batch_dot cannot multiply (2, 3, 4) by (2, 3, 4)") && Contains("4 and 3 differ") &&
                 Contains(".transpose_b = true") && Contains("[KL0107]"));
  CHECK_THAT(message_of([&] {
               F::batch_dot(ones({2, 3, 4}), ones({5, 4, 3}));
             }),
             Contains("batch_dot cannot multiply (2, 3, 4) by (5, 4, 3)") && Contains("the batch axes") &&
                 Contains("[KL0107]"));
}

TEST_CASE("statistics for another number of channels", "[error]") {
  const Tensor x = ones({2, 3, 4}), three = ones({3}), four = ones({4});
  CHECK_THAT(message_of([&] { F::BatchNorm(x, three, three, four, three); }),
             Contains("the 3 channels of data (2, 3, 4), and moving_mean has the shape (4,)") &&
                 Contains("[KL0113]"));
}

TEST_CASE("elementwise operators of symbols do not broadcast", "[error]") {
  const std::string text = message_of([&] {
    model_of("elemwise_add", "", "[[0, 0, 0], [1, 0, 0]]").run({{"x", ones({2, 3})}, {"w", ones({3})}});
  });
  CHECK_THAT(text, Contains("net-symbol.json:5: elemwise_add 'node'") && Contains("(2, 3) and (3,)") &&
                       Contains("use the broadcast_ form"));
}

TEST_CASE("images without a channel axis", "[error]") {
  nn::Conv2D conv(3, {.kernel_size = 3});
  conv.initialize();
  CHECK_THAT(message_of([&] {
               conv(ones({4, 8, 8}));
             }),
             Contains("shape_mismatch.cpp:") && Contains("(4, 8, 8), but it must have 4 axes"));
}

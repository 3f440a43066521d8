// Errors of attributes with a value that they do not take.
#include "expect.h"

TEST_CASE("a word that the attribute does not know", "[error]") {
  const std::string line = line_below();
  const std::string text = message_of([&] { F::Activation(ones({2, 3}), {.act_type = "rleu"}); });
  CHECK_THAT(text, Contains(line + "Activation: attribute 'act_type'") &&
                       Contains("one of relu, sigmoid, softrelu, softsign, tanh") && Contains("'rleu'"));
}

TEST_CASE("a word in a file where numbers are expected", "[error]") {
  const std::string text = message_of([&] { model_of("sum", R"("axis": "one")"); });
  CHECK_THAT(text, Contains("net-symbol.json, line 5: node 2 'node' (sum)") &&
                       Contains("\"axis\" = \"one\"") && Contains("a tuple of integers, as (3, 3)"));
}

TEST_CASE("a probability above one", "[error]") {
  const std::string line = line_below();
  const std::string text = message_of([&] { F::Dropout(ones({2, 3}), {.p = 1.5}); });
  CHECK_THAT(text,
             Contains(line + "Dropout: p, the share of elements to drop, must be from 0 to 1, got 1.5"));
}

TEST_CASE("groups that do not divide the channels", "[error]") {
  const std::string text = message_of([&] {
    F::Convolution(ones({1, 3, 5, 5}), ones({4, 1, 3, 3}),
                   {.kernel = {3, 3}, .num_filter = 4, .num_group = 2, .no_bias = true});
  });
  CHECK_THAT(text, Contains("num_group 2 must divide the 3 channels and the 4 filters") &&
                       Contains("data is float32 (1, 3, 5, 5)"));
}

TEST_CASE("a number of units below one", "[error]") {
  const Model model =
      model_of("FullyConnected", R"("num_hidden": "-4")", "[[0, 0, 0], [1, 0, 0], [1, 0, 0]]");
  const std::string in_file = message_of([&] { model.run({{"x", ones({2, 3})}, {"w", ones({4, 3})}}); });
  CHECK_THAT(in_file,
             Contains("net-symbol.json:5: FullyConnected 'node': num_hidden must be 1 or more, not -4"));
  const std::string line = line_below(2);
  const std::string called = message_of([&] {
    F::FullyConnected(ones({2, 3}), ones({4, 3}), {.num_hidden = 0, .no_bias = true});
  });
  CHECK_THAT(called, Contains(line) && Contains("num_hidden must be 1 or more, not 0"));
}

// Errors of names of activations and initializers that do not exist.
#include "expect.h"

TEST_CASE("an activation that there is not", "[error]") {
  std::string line = line_below();
  std::string text = message_of([] { nn::Dense(3, {.activation = "rleu"}); });
  CHECK_THAT(text, Contains(line) && Contains("'rleu'") && Contains("relu, sigmoid"));
  line = line_below();
  text = message_of([] { nn::Conv2D(3, {.kernel_size = 3, .activation = "rleu"}); });
  CHECK_THAT(text, Contains(line) && Contains("'rleu'") && Contains("relu, sigmoid"));
  line = line_below();
  text = message_of([] { nn::Activation("rleu"); });
  CHECK_THAT(text, Contains(line) && Contains("'rleu'") && Contains("relu, sigmoid"));
  line = line_below();
  text = message_of([] { rnn::RNN(3, {}, "sigmoid"); });
  CHECK_THAT(text, Contains(line) && Contains("'sigmoid'") && Contains("relu and tanh"));
}

TEST_CASE("an initializer that there is not", "[error]") {
  std::string line = line_below();
  std::string text = message_of([] { nn::Dense(3, {.weight_initializer = "xaver"}); });
  CHECK_THAT(text, Contains(line) && Contains("'xaver'") && Contains("xavier"));
  line = line_below();
  text = message_of([] { nn::Dense(3).initialize("xaver"); });
  CHECK_THAT(text, Contains(line) && Contains("'xaver'"));
}

TEST_CASE("a layer of no size", "[error]") {
  std::string line = line_below();
  std::string text = message_of([] { nn::Dense(0); });
  CHECK_THAT(text, Contains(line) && Contains("positive number of units"));
  line = line_below();
  text = message_of([] { nn::Dropout(1.5); });
  CHECK_THAT(text, Contains(line) && Contains("rate"));
}

TEST_CASE("an activation that is a layer of its own", "[error]") {
  for (const auto& [name, layer] :
       {std::pair{"gelu", "nn::GELU()"}, {"swish", "nn::Swish()"}, {"elu", "nn::ELU()"}}) {
    std::string line = line_below();
    std::string text = message_of([&, word = name] { nn::Activation{word}; });
    CHECK_THAT(text, Contains(line) && Contains("relu, sigmoid") && Contains(layer));
    line = line_below();
    text = message_of([&, word = name] { nn::Dense(3, word); });
    CHECK_THAT(text, Contains(line) && Contains(layer));
    line = line_below();
    text = message_of([&, word = name] { F::Activation(ones({2}), {.act_type = word}); });
    CHECK_THAT(text, Contains(line) && Contains(layer));
  }
}

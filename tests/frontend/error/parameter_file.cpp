// Errors of files of parameters that do not fit a network.
#include "expect.h"

namespace {

nn::HybridSequential layers(std::initializer_list<int> units) {
  nn::HybridSequential net({.prefix = "net_"});
  for (const int n : units) net.add(nn::Dense(n, {.in_units = 3}));
  net.initialize();
  return net;
}

}  // namespace

TEST_CASE("a file that lacks a parameter", "[error]") {
  layers({3}).save_parameters("one.params");
  const std::string text = message_of([&] { layers({3, 3}).load_parameters("one.params"); });
  CHECK_THAT(text, Contains("one.params: there are no values for parameter '1.weight'") &&
                       Contains("'0.weight', '0.bias'") && Contains("{.allow_missing = true}"));
}

TEST_CASE("a file that has a parameter too many", "[error]") {
  layers({3, 3}).save_parameters("two.params");
  const std::string text = message_of([&] { layers({3}).load_parameters("two.params"); });
  CHECK_THAT(text,
             Contains("two.params: there is no parameter '1.weight'") && Contains("{.ignore_extra = true}"));
}

TEST_CASE("a file with a parameter of another shape", "[error]") {
  layers({3}).save_parameters("three.params");
  const std::string text = message_of([&] { layers({4}).load_parameters("three.params"); });
  CHECK_THAT(text,
             Contains("0.weight") && Contains("three.params") && Contains("(4, 3)") && Contains("(3, 3)"));
}

TEST_CASE("a file that is not there", "[error]") {
  const std::string text = message_of([&] { layers({4}).load_parameters("nowhere.params"); });
  CHECK_THAT(text, Contains("nowhere.params") && Contains("No such file"));
}

TEST_CASE("a file that is no list of arrays", "[error]") {
  std::ofstream("text.params") << "these are no parameters, whatever the file is called";
  const std::string text = message_of([&] { layers({4}).load_parameters("text.params"); });
  CHECK_THAT(text, Contains("text.params"));
}

TEST_CASE("a file with a parameter of another dtype", "[error]") {
  layers({3}).save_parameters("dtype.params");
  nn::HybridSequential half = layers({3});
  half.cast(DType::f16);
  const std::string text = message_of([&] { half.load_parameters("dtype.params"); });
  CHECK_THAT(text, Contains("dtype.params") && Contains("is float16 and the saved values are float32") &&
                       Contains("{.cast_dtype = true}"));
}

TEST_CASE("saving parameters that have no values", "[error]") {
  nn::Dense layer(3, {.prefix = "fc_"});
  std::string line = line_below();
  CHECK_THAT(message_of([&] { layer.save_parameters("never.params"); }),
             Contains(line) && Contains("'fc_weight'"));
  layer.initialize();
  line = line_below();
  CHECK_THAT(message_of([&] { layer.save_parameters("never.params"); }),
             Contains(line) && Contains("deferred"));
}

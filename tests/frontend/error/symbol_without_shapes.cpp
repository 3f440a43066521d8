// Errors about the shapes of a symbol.
#include "expect.h"

TEST_CASE("the shape of a symbol", "[error]") {
  const Tensor x = sym::var("x");
  const std::string line = line_below();
  const std::string text = message_of([&] { x.shape(); });
  CHECK_THAT(text, Contains(line) && Contains("<Symbol x>") && Contains("infer_shape()"));
}

TEST_CASE("a symbol's shapes that contradict each other", "[error]") {
  const Model model =
      model_of("FullyConnected", R"("num_hidden": "4", "no_bias": "True")", "[[0, 0, 0], [1, 0, 0]]");
  const std::string text = message_of([&] { model.symbol().infer_shape({{"x", {2, 3}}, {"w", {4, 5}}}); });
  CHECK_THAT(text,
             Contains("net-symbol.json:5: FullyConnected 'node'") && Contains("[4,5]") && Contains("(4,3)"));
}

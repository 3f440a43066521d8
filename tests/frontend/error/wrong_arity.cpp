// The error of a layer called with another number of tensors.
#include "expect.h"

TEST_CASE("a layer called with two tensors", "[error]") {
  nn::Dense layer(3);
  layer.initialize();
  const Tensor x = ones({2, 3});
  const std::string line = line_below();
  const std::string text = message_of([&] { layer(x, x); });
  CHECK(text == line +
                    "Dense defines no hybrid_forward() of two tensors: call it with as many as it takes, or "
                    "override that form [KL0205]");
}

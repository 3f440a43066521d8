// The error of a tensor that was never assigned.
#include "expect.h"

TEST_CASE("a tensor that was never assigned", "[error]") {
  const Tensor none;
  const std::string line = line_below();
  const std::string text = message_of([&] { F::FullyConnected(ones({1, 2}), none, {.num_hidden = 1}); });
  CHECK(text == line +
                    "FullyConnected: the input 'weight' is an undefined Tensor (made by Tensor() and never "
                    "assigned) [KL0106]");
}

// Errors of reshapes to another number of elements.
#include "expect.h"

TEST_CASE("a reshape to another number of elements", "[error]") {
  const Tensor x = ones({2, 3});
  const std::string line = line_below();
  const std::string text = message_of([&] { x.reshape({4, 2}); });
  CHECK(text == line + "reshape: cannot make (4, 2) of shape (2, 3): 6 elements cannot become 8 [KL0104]");
}

TEST_CASE("a reshape whose hole does not come out even", "[error]") {
  const std::string line = line_below();
  const std::string text = message_of([&] { F::reshape(ones({2, 3}), {4, -1}); });
  CHECK_THAT(text, Contains(line) && Contains("(2, 3)") && Contains("(4, -1)"));
}

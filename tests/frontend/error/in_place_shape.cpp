// The error of an in-place operator that would change the shape.
#include "expect.h"

TEST_CASE("an in-place operator that would change the shape", "[error]") {
  Tensor x = ones({3});
  const std::string line = line_below();
  const std::string text = message_of([&] { x += ones({2, 3}); });
  CHECK(text ==
        line + "an in-place operator cannot change the shape (3,) to (2, 3): write x = x + y [KL0111]");
}

// The error of arrays whose shapes do not concatenate.
#include "expect.h"

TEST_CASE("arrays that do not fit side by side", "[error]") {
  const std::string line = line_below();
  const std::string text = message_of([&] { F::concat({ones({2, 3}), ones({4, 5})}, {.dim = 1}); });
  CHECK(text ==
        line +
            "Concat: cannot concatenate float32 (2, 3) and float32 (4, 5) along axis 1: dtypes and all "
            "other extents must be equal");
}

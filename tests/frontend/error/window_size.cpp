// Errors of windows that do not fit the image.
#include "expect.h"

TEST_CASE("a kernel larger than the image", "[error]") {
  const std::string line = line_below();
  const std::string text = message_of([&] { F::Pooling(ones({1, 1, 2, 2}), {.kernel = {3, 3}}); });
  CHECK_THAT(text, Contains(line + "Pooling: kernel size exceed input") && Contains("kernel (3, 3)") &&
                       Contains("data (1, 1, 2, 2)"));
}

TEST_CASE("a kernel of other axes than the image", "[error]") {
  const std::string text = message_of([&] {
    F::Convolution(ones({2, 3}), ones({1, 1, 3, 3}), {.kernel = {3, 3}, .num_filter = 1, .no_bias = true});
  });
  CHECK_THAT(text, Contains("Convolution: a kernel (3, 3) needs data of 4 axes, got (2, 3)") &&
                       Contains("weight is float32 (1, 1, 3, 3)"));
}

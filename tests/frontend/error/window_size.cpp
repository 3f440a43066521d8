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

TEST_CASE("a kernel larger than the image, of layers that infer their channels", "[error]") {
  const auto raised = [](auto layer, const Shape& images) {
    layer.initialize();
    try {
      layer(ones(images));
    } catch (const Error& e) {
      CHECK(e.code() == "KL0109");
      return std::string(e.what());
    }
    FAIL("there was no error");
    return std::string();
  };
  // One less than the kernel leaves no window, two less a negative number of them.
  for (const std::int64_t extent : {4, 3, 1}) {
    const Shape images{1, 3, extent, extent};
    const std::string cause =
        "kernel size exceed input: kernel (5, 5) on data " + images.str() + " with pad (0, 0)";
    CHECK_THAT(raised(nn::Conv2D(8, 5, {.in_channels = 3}), images), Contains(cause));
    CHECK_THAT(raised(nn::Conv2D(8, 5), images), Contains(cause));
    CHECK_THAT(raised(nn::Conv2D(8, 5, {.strides = 2}), images), Contains(cause));
    CHECK_THAT(raised(nn::MaxPool2D({.pool_size = 5}), images), Contains(cause));
  }
  CHECK_THAT(raised(nn::Conv2D(8, 3, {.dilation = 4}), {1, 3, 6, 6}),
             Contains("kernel (3, 3) on data (1, 3, 6, 6) with pad (0, 0) and dilate (4, 4)"));
  const Tensor x = sym::var("x");
  const std::string text = message_of([&] {
    Symbol(F::Pooling(x, {.kernel = {5, 5}})).infer_shape({{"x", {0, 0, 3, 3}}});
  });
  CHECK_THAT(text, Contains("kernel (5, 5) on data (?, ?, 3, 3)"));
}

TEST_CASE("a transposed convolution whose padding leaves no output", "[error]") {
  const auto text = [](nn::Conv2DTranspose layer) {
    layer.initialize();
    return message_of([&] { layer(ones({1, 3, 4, 4})); });
  };
  const std::string cause = "kernel (3, 3), stride (1, 1) and pad (8, 8) leave nothing of data (1, 3, 4, 4)";
  CHECK_THAT(text(nn::Conv2DTranspose(8, 3, {.padding = 8, .in_channels = 3})), Contains(cause));
  CHECK_THAT(text(nn::Conv2DTranspose(8, 3, {.padding = 8})), Contains(cause));
}

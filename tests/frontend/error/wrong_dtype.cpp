// Errors of operands of two dtypes.
#include "expect.h"

TEST_CASE("operands of two dtypes", "[error]") {
  const Tensor a = ones({2, 3}), b = ones({2, 3}, DType::i32);
  const std::string line = line_below();
  const std::string text = message_of([&] { (void)(a * b); });
  CHECK_THAT(text, Contains(line) && Contains("float32 and int32") && Contains("b.astype(DType::f32)"));
}

TEST_CASE("a product of two dtypes", "[error]") {
  const std::string text = message_of([&] { F::dot(ones({2, 3}), ones({3, 2}, DType::f64)); });
  CHECK_THAT(text, Contains("dot takes arrays of one dtype, got float32 and float64: convert one") &&
                       Contains("lhs is float32 (2, 3), rhs is float64 (3, 2)"));
}

TEST_CASE("data of another dtype than a layer's parameters", "[error]") {
  nn::Dense layer(3, {.in_units = 3, .prefix = "fc_"});
  layer.initialize();
  for (const bool hybrid : {false, true}) {
    layer.hybridize(hybrid);
    const std::string line = line_below();
    const std::string text = message_of([&] { layer(ones({2, 3}, DType::f64)); });
    CHECK_THAT(text, Contains(line) && Contains("float64 and float32: convert one") && Contains("astype"));
  }
  CHECK_THAT(message_of([&] {
               F::Convolution(ones({1, 1, 3, 3}, DType::i32), ones({1, 1, 3, 3}),
                              {.kernel = {3, 3}, .num_filter = 1, .no_bias = true});
             }),
             Contains("Convolution takes arrays of one dtype, got int32 and float32: convert one"));
}

namespace {

void check_half(HybridBlock& layer, const Shape& shape, const std::string& parameter) {
  layer.initialize();
  layer.cast(DType::f16);
  for (const DType other : {DType::f64, DType::f32, DType::bf16})
    for (const bool hybrid : {false, true}) {
      layer.hybridize(hybrid);
      const Tensor x = ones(shape, other);
      const std::string line = line_below();
      const std::string text = message_of([&] { layer(x); });
      CHECK_THAT(text, Contains(line) &&
                           Contains(fmt::format("{} and float16: convert one", name_of(other))) &&
                           Contains(parameter + "' is float16"));
      if (other == DType::f64) CHECK_THAT(text, !Contains("float32"));
    }
}

}  // namespace

TEST_CASE("data of another dtype than half precision parameters", "[error]") {
  nn::Dense dense(3, {.prefix = "fc_"});
  check_half(dense, {2, 3}, "fc_weight");
  nn::Conv2D conv(3, 3, {.prefix = "conv_"});
  check_half(conv, {2, 3, 5, 5}, "conv_weight");
  nn::Conv2DTranspose back(3, 3, {.prefix = "back_"});
  check_half(back, {2, 3, 5, 5}, "back_weight");
  nn::LayerNorm norm({.prefix = "norm_"});
  check_half(norm, {2, 3}, "norm_gamma");
  nn::Dense known(3, {.in_units = 3});
  known.initialize();
  known.cast(DType::f16);
  CHECK_THAT(message_of([&] {
               known(ones({2, 3}, DType::f64));
             }),
             Contains("float64 and float16: convert one") && Contains("weight is float16"));
}

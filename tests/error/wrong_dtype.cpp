#include "error/expect.h"

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

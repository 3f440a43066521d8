// The error of clipping the norm of integers.
#include "expect.h"

TEST_CASE("integers whose norm is clipped", "[error]") {
  const Tensor floats = full({2}, 30), integers = full({2}, 40, DType::i32);
  for (const DType dtype : {DType::i8, DType::u8, DType::i32, DType::i64, DType::boolean}) {
    const Tensor x = ones({2}, dtype);
    const std::string line = line_below();
    CHECK_THAT(
        message_of([&] {
          clip_global_norm({floats, x}, 1);
        }),
        Contains(line) && Contains(std::string(name_of(dtype))) && Contains("array 1") && Contains("cast"));
  }
  CHECK_THAT(message_of([&] { clip_global_norm({integers}, 1e9); }), Contains("array 0 is int32"));
  CHECK(floats.to_vector<float>() == std::vector<float>{30, 30});
  CHECK(integers.to_vector<int>() == std::vector<int>{40, 40});
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64})
    CHECK(clip_global_norm({full({4}, 2, dtype)}, 1) == 4);
  const std::string line = line_below();
  CHECK_THAT(message_of([&] { clip_global_norm({floats, Tensor()}, 1); }), Contains(line));
}

// The error of a backward pass that gets no memory.
#include "expect.h"

TEST_CASE("memory that backward() does not get", "[error]") {
  // The array is external memory, and only its first elements are read. Its gradient is not external.
  float elements[2] = {1, 2};
  Tensor x = Tensor::wrap(elements, {std::int64_t{1} << 44}, DType::f32);
  x.attach_grad();
  const Tensor loss = autograd::record([&] { return (x[slice(0, 2)] * 2).sum(); });
  std::string line = line_below();
  const std::string text = message_of([&] { loss.backward({}, {.retain_graph = true}); });
  CHECK_THAT(text, Contains(line) && Contains("memory"));
  line = line_below();
  CHECK_THAT(message_of([&] { autograd::grad({loss}, {x}); }), Contains(line) && Contains("memory"));
}

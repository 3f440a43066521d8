// The error of a child that cannot be compiled.
#include "expect.h"

namespace {
class OnlyEager : public Block {
 protected:
  Tensor forward(const Tensor& x) override { return x; }
};
}  // namespace

TEST_CASE("a child that cannot be compiled", "[error]") {
  nn::HybridSequential net;
  const std::string text = message_of([&] { net.add(OnlyEager()); });
  CHECK_THAT(text, Contains("Children of HybridBlock must also be HybridBlock") &&
                       Contains("type OnlyEager") && Contains("Sequential"));
}

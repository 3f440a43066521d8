// The error of a GPU that the machine does not have.
#include "expect.h"

TEST_CASE("a GPU that the machine does not have", "[error]") {
  const Device missing = cuda(num_gpus());
  nn::Dense net(2, {.in_units = 2, .prefix = "fc_"});
  std::string line = line_below();
  CHECK_THAT(message_of([&] { net.initialize(init::One(), {.device = missing}); }),
             Contains(line) && (Contains("CUDA") || Contains("GPU")));
  line = line_below();
  CHECK_THAT(message_of([&] { net.collect_params().initialize(init::One(), {.device = missing}); }),
             Contains(line) && (Contains("CUDA") || Contains("GPU")));
  net.initialize();
  line = line_below();
  CHECK_THAT(message_of([&] { net.to(missing); }), Contains(line) && (Contains("CUDA") || Contains("GPU")));
  line = line_below();
  CHECK_THAT(message_of([&] { net.collect_params().to(missing); }), Contains(line));
  line = line_below();
  CHECK_THAT(message_of([&] { net.weight.to(missing); }), Contains(line));
  line = line_below();
  CHECK_THAT(message_of([&] { ones({2}).to(missing); }),
             Contains(line) && (Contains("CUDA") || Contains("GPU")));
  CHECK(net(ones({1, 2})).shape() == Shape{1, 2});
}

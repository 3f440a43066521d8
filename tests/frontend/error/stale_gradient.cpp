// Errors of a step whose gradients are stale.
#include "expect.h"

TEST_CASE("a step without backward(), and with a part of the network", "[error]") {
  nn::HybridSequential net({.prefix = "stale_"});
  {
    const auto scope = net.name_scope();
    net.add(nn::Dense(2, {.in_units = 2}), nn::Dense(1, {.in_units = 2}));
  }
  net.initialize();
  Trainer trainer(net.collect_params(), "sgd");
  std::string line = line_below();
  CHECK_THAT(message_of([&] { trainer.step(1); }),
             Contains(line) && Contains("stale_dense0_bias") && Contains("call backward() of a loss") &&
                 Contains("autograd::Record") && !Contains("ignore_stale_grad"));
  autograd::record([&] { return net[0](ones({1, 2})); }).backward();
  line = line_below();
  CHECK_THAT(message_of([&] { trainer.step(1); }),
             Contains(line) && Contains("stale_dense1_bias") && Contains("ignore_stale_grad"));
}

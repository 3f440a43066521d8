#include "error/expect.h"

TEST_CASE("a step without backward(), and with a part of the network", "[error]") {
  nn::HybridSequential net({.prefix = "stale_"});
  {
    const auto scope = net.name_scope();
    net.add(nn::Dense(2, {.in_units = 2}), nn::Dense(1, {.in_units = 2}));
  }
  net.initialize();
  Trainer trainer(net.collect_params(), "sgd");
  const std::string line = line_below();
  const std::string text = message_of([&] { trainer.step(1); });
  CHECK_THAT(text, Contains(line) && Contains("stale_dense0_bias") && Contains("ignore_stale_grad"));
  {
    const autograd::Record record;
    net[0](ones({1, 2})).backward();
  }
  CHECK_THAT(message_of([&] { trainer.step(1); }), Contains("stale_dense1_bias"));
}

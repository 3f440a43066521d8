// The error of a batch without elements.
#include "expect.h"

TEST_CASE("a batch without elements", "[error]") {
  nn::Dense net(2, {.in_units = 2});
  net.initialize();
  Trainer trainer(net.collect_params(), "sgd");
  const std::string line = line_below();
  CHECK_THAT(message_of([&] { trainer.step(0); }),
             Contains(line) && Contains("batch size") && Contains("at least 1"));
}

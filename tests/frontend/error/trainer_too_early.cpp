// Errors of a step before the parameters have values.
#include "expect.h"

TEST_CASE("a step before initialize(), and before the first call", "[error]") {
  nn::Dense net(2);
  Trainer trainer(net.collect_params(), "sgd");
  std::string line = line_below();
  std::string text = message_of([&] { trainer.step(1); });
  CHECK_THAT(text, Contains(line) && Contains("has not been initialized") && Contains("initialize()"));
  net.initialize();
  line = line_below();
  text = message_of([&] { trainer.step(1); });
  CHECK_THAT(text, Contains(line) && Contains("deferred") && Contains("Call the network on one batch"));
}

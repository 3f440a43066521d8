// Errors of losses with options without sense.
#include "expect.h"

TEST_CASE("losses with options without sense, and where they are made", "[error]") {
  using namespace loss;
  std::string line = line_below();
  CHECK_THAT(message_of([] { HuberLoss({.rho = 0}); }), Contains(line) && Contains("positive rho"));
  line = line_below();
  CHECK_THAT(message_of([] { LogisticLoss({.label_format = "x"}); }), Contains(line) && Contains("signed"));
  line = line_below();
  CHECK_THAT(message_of([] { PoissonNLLLoss({.epsilon = -1}); }),
             Contains(line) && Contains("epsilon is -1"));
  line = line_below();
  CHECK_THAT(message_of([] { SDMLLoss({.smoothing_parameter = 1.5}); }),
             Contains(line) && Contains("smoothing_parameter is 1.5"));
  line = line_below();
  CHECK_THAT(message_of([] { CTCLoss({.layout = "CNT"}); }), Contains(line) && Contains("CNT"));
  line = line_below();
  CHECK_THAT(message_of([] { CTCLoss::with(true, true, {.label_layout = "N"}); }),
             Contains(line) && Contains("not N"));
  CHECK_NOTHROW(L2Loss({.weight = -1.0}));  // a loss that is to be large
}

// Errors of metrics that do not exist.
#include "expect.h"

TEST_CASE("a metric that there is none", "[error]") {
  const std::string line = line_below();
  const std::string text = message_of([&] { metric::create("acuracy"); });
  CHECK_THAT(text,
             Contains(line) &&
                 Contains("'acuracy' is no metric (did you mean 'accuracy'?); there are accuracy, acc"));
  CHECK_THAT(message_of([&] { metric::create({"acc", "RSME"}); }), Contains("did you mean 'rmse'?"));
  CHECK_THAT(message_of([&] { metric::create("no such thing"); }),
             Contains("'no such thing' is no metric; there are accuracy"));
}

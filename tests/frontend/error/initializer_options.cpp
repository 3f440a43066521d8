// Errors of initializers with options without sense.
#include "expect.h"

TEST_CASE("initializers with options without sense, and where they are made", "[error]") {
  constexpr double inf = std::numeric_limits<double>::infinity();
  std::string line = line_below();
  CHECK_THAT(message_of([] { init::Normal(-1); }), Contains(line) && Contains("sigma is -1"));
  line = line_below();
  CHECK_THAT(message_of([] { init::Uniform(inf); }), Contains(line) && Contains("the scale is inf"));
  line = line_below();
  CHECK_THAT(message_of([] { init::Xavier({.magnitude = -3}); }),
             Contains(line) && Contains("the magnitude is -3"));
  line = line_below();
  CHECK_THAT(message_of([] { init::Xavier({.rnd_type = "x"}); }), Contains(line) && Contains("gaussian"));
  line = line_below();
  CHECK_THAT(message_of([] { init::MSRAPrelu("x"); }), Contains(line) && Contains("avg, in and out"));
  line = line_below();
  CHECK_THAT(message_of([] { init::Orthogonal({.rand_type = "x"}); }), Contains(line) && Contains("normal"));
  line = line_below();
  CHECK_THAT(message_of([] { init::Orthogonal({.scale = inf}); }),
             Contains(line) && Contains("scale is inf"));
  line = line_below();
  CHECK_THAT(message_of([] { init::Mixed({"a", "b"}, {"ones"}); }), Contains(line) && Contains("2 patterns"));
  nn::Dense net(2, {.in_units = 2, .prefix = "fc_"});
  line = line_below();
  CHECK_THAT(message_of([&] { net.initialize(init::Mixed({"x"}, {"ones"})); }),
             Contains(line) && Contains("fc_weight"));
  line = line_below();
  CHECK_THAT(message_of([&] { net.bias.initialize(init::Xavier()); }), Contains(line) && Contains("fc_bias"));
  CHECK_NOTHROW(init::Normal(0));
  CHECK_NOTHROW(init::Uniform(-1));
  CHECK_NOTHROW(init::Constant(-inf));  // of a mask
}

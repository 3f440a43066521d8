// Errors of optimizers and options that do not exist.
#include "expect.h"

TEST_CASE("an optimizer that there is none, and options that one does not have", "[error]") {
  nn::Dense net(2, {.in_units = 2});
  const ParameterDict params = net.collect_params();
  const std::string line = line_below();
  const std::string text = message_of([&] { Trainer(params, "adem"); });
  CHECK_THAT(text, Contains(line) && Contains("did you mean 'adam'?") && Contains("rmsprop"));
  // One swap of letters is nearer than two other letters, as of nag.
  CHECK_THAT(message_of([&] { Trainer(params, "sdg"); }), Contains("did you mean 'sgd'?"));
  CHECK_THAT(message_of([&] { Trainer(params, "no such thing"); }), Contains("there are sgd, nag"));
  CHECK_THAT(message_of([&] { Trainer(params, "adam", {.momentum = 0.9}); }),
             Contains("adam has no option 'momentum'") && Contains("beta1, beta2, epsilon") &&
                 Contains("learning_rate"));
  CHECK_THAT(message_of([&] { Trainer(params, "adagrad", {.epsilon = 0.9}); }), Contains("it has eps,"));
  CHECK_THAT(message_of([&] { Trainer(params, "sgd", {.clip_gradient = -1}); }), Contains("above 0"));
  CHECK_THAT(message_of([&] { Trainer(params, "sgd", {}, {.kvstore = "dist_sync"}); }),
             Contains("one device"));
  CHECK_THAT(message_of([&] { Trainer(params, "sgd", {}, {.kvstore = "devise"}); }),
             Contains("no kvstore 'devise'"));
  CHECK_THAT(message_of([&] { Trainer(ParameterDict(), "sgd"); }), Contains("collect_params()"));
}

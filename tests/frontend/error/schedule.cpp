// Errors of schedules with options without sense.
#include "expect.h"

TEST_CASE("schedules with options without sense, and where they are made", "[error]") {
  using namespace lr_scheduler;
  std::string line = line_below();
  CHECK_THAT(message_of([] { Factor({.step = 0}); }), Contains(line) && Contains("step is 0"));
  line = line_below();
  CHECK_THAT(message_of([] { Factor({.factor = -0.5}); }),
             Contains(line) && Contains("factor is -0.5; it is at least 0"));
  line = line_below();
  CHECK_THAT(message_of([] { MultiFactor({.step = {}}); }), Contains(line) && Contains("empty"));
  line = line_below();
  CHECK_THAT(message_of([] { MultiFactor({.step = {1}, .base_lr = -1}); }),
             Contains(line) && Contains("base_lr is -1; a learning rate is a finite number, 0 or more"));
  line = line_below();
  CHECK_THAT(message_of([] { Poly({.max_update = 0}); }), Contains(line) && Contains("max_update is 0"));
  line = line_below();
  CHECK_THAT(message_of([] { Poly({.max_update = 9, .pwr = -1}); }), Contains(line) && Contains("pwr is -1"));
  line = line_below();
  CHECK_THAT(message_of([] { Cosine({.max_update = 9, .final_lr = -0.1}); }),
             Contains(line) && Contains("final_lr is -0.1"));
  line = line_below();
  CHECK_THAT(message_of([] { Cosine({.max_update = 9, .warmup_steps = 2, .warmup_begin_lr = -0.1}); }),
             Contains(line) && Contains("warmup_begin_lr is -0.1"));
  CHECK_THAT(message_of([] { Factor({.stop_factor_lr = std::nan("")}); }), Contains("stop_factor_lr is nan"));
  CHECK_NOTHROW(Factor({.factor = 0, .stop_factor_lr = 0, .base_lr = 0}));
  CHECK_NOTHROW(Poly({.max_update = 9, .pwr = 0, .final_lr = 1}));

  nn::Dense net(2, {.in_units = 2});
  const ParameterDict params = net.collect_params();
  const Cosine late({.max_update = 5, .warmup_steps = 2, .warmup_begin_lr = 0.1});
  line = line_below();  // the base_lr is the optimizer's
  CHECK_THAT(message_of([&] { Trainer(params, "sgd", {.learning_rate = 0.01, .lr_scheduler = late}); }),
             Contains(line) && Contains("rises to base_lr"));
}

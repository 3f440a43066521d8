// Errors of learning rates and of schedules.
#include "expect.h"

TEST_CASE("learning rates that contradict each other, and schedules without sense", "[error]") {
  using namespace lr_scheduler;
  nn::Dense net(2, {.in_units = 2});
  const ParameterDict params = net.collect_params();
  Trainer trainer(params, "sgd", {.lr_scheduler = Factor({.step = 5, .factor = 0.5})});
  const std::string line = line_below();
  CHECK_THAT(message_of([&] { trainer.set_learning_rate(1); }), Contains(line) && Contains("Factor(step=5"));
  CHECK_THAT(message_of([&] {
               Trainer(params, "sgd",
                       {.learning_rate = 1, .lr_scheduler = Factor({.step = 5, .base_lr = 2})});
             }),
             Contains("given twice"));
  CHECK_THAT(message_of([] { Factor({.step = 0}); }), Contains("step is 0"));
  CHECK_THAT(message_of([] { Factor({.factor = 2}); }), Contains("at most 1"));
  CHECK_THAT(message_of([] { MultiFactor({.step = {}}); }), Contains("empty"));
  CHECK_THAT(message_of([] { MultiFactor({.step = {5, 5}}); }), Contains("[5, 5]"));
  CHECK_THAT(message_of([] { Poly({.max_update = 0}); }), Contains("max_update is 0"));
  CHECK_THAT(message_of([] { Cosine({.max_update = 5, .warmup_steps = 5}); }), Contains("not shorter"));
  CHECK_THAT(message_of([] { Cosine({.max_update = 5, .base_lr = .1, .warmup_begin_lr = 1}); }),
             Contains("rises to base_lr"));
}

TEST_CASE("a schedule that gives no number", "[error]") {
  nn::Dense net(2, {.in_units = 2});
  net.initialize(init::One());
  Trainer trainer(net.collect_params(), "sgd",
                  {.lr_scheduler = [](std::int64_t) { return std::sqrt(-1.0); }});
  Tensor loss;
  {
    const autograd::Record record;
    loss = net(ones({1, 2}));
  }
  loss.backward();
  const std::string line = line_below();
  CHECK_THAT(message_of([&] { trainer.step(1); }),
             Contains(line) && Contains("learning rate of update 1 is"));
  CHECK(net.weight.data()[0][0].item<float>() == 1);
}

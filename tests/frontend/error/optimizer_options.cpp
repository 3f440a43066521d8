// Errors of optimizers with options without sense.
#include "expect.h"

namespace {

const ParameterDict& parameters() {
  static const nn::Dense net(2, {.in_units = 2});
  static const ParameterDict params = net.collect_params();
  return params;
}

std::string refusal(const char* name, const optimizer::Options& options) {
  return message_of([&] { optimizer::create(name, options); });
}

}  // namespace

TEST_CASE("rates, decays and momenta that make no sense", "[error]") {
  constexpr double inf = std::numeric_limits<double>::infinity(),
                   nan = std::numeric_limits<double>::quiet_NaN();
  std::string line = line_below();
  CHECK_THAT(message_of([] { Trainer(parameters(), "sgd", {.learning_rate = -0.1}); }),
             Contains(line) && Contains("the learning rate is -0.1; it is a finite number, 0 or more") &&
                 Contains("To maximise, negate the loss"));
  line = line_below();
  CHECK_THAT(message_of([] { Trainer(parameters(), "sgd", {.momentum = 1.5}); }),
             Contains(line) && Contains("sgd: momentum is 1.5; it is between -1 and 1"));
  line = line_below();
  CHECK_THAT(message_of([] { optimizer::Adam({.wd = -1}); }),
             Contains(line) && Contains("adam: wd is -1; it is a finite number, 0 or more"));
  for (const double rate : {-1e-9, inf, -inf, nan}) {
    Trainer trainer(parameters(), "adam");
    line = line_below();
    CHECK_THAT(message_of([&] { trainer.set_learning_rate(rate); }),
               Contains(line) && Contains("the learning rate is"));
    CHECK(trainer.learning_rate() == 0.001);
    CHECK_THAT(refusal("adagrad", {.learning_rate = rate}), Contains("the learning rate is"));
    CHECK_THAT(refusal("sgd", {.wd = rate}), Contains("wd is"));
  }
  for (const char* name : {"sgd", "nag", "signum", "lars"})
    for (const double m : {1.0, -1.0, 2.0, inf, nan})
      CHECK_THAT(refusal(name, {.momentum = m}), Contains(name) && Contains("momentum is"));
}

TEST_CASE("what the standard library makes has no line of its headers", "[error]") {
  CHECK(message_of([] {
          std::make_shared<optimizer::SGD>(optimizer::Options{.momentum = 2});
        }).substr(0, 18) == "sgd: momentum is 2");
  CHECK_THAT(message_of([] { std::make_shared<nn::Dense>(-1); }), Catch::StartsWith("Dense needs"));
}

TEST_CASE("options of optimizers outside of their ranges", "[error]") {
  using optimizer::Options;
  for (const char* name : {"ftml", "lamb", "adam", "adamw", "adamax", "nadam"})
    for (const double beta : {-0.1, 1.0, 1.5}) {
      CHECK_THAT(refusal(name, {.beta1 = beta}), Contains("beta1 is") && Contains("at least 0 and below 1"));
      CHECK_THAT(refusal(name, {.beta2 = beta}), Contains("beta2 is"));
    }
  for (const char* name : {"ftml", "lamb", "adam", "adamw", "nadam", "rmsprop", "adadelta"})
    CHECK_THAT(refusal(name, {.epsilon = -1e-8}), Contains("epsilon is -1e-08"));
  for (const char* name : {"lars", "adagrad"}) CHECK_THAT(refusal(name, {.eps = -1}), Contains("eps is -1"));
  CHECK_THAT(refusal("signum", {.wd_lh = -1}), Contains("wd_lh is -1"));
  CHECK_THAT(refusal("lars", {.eta = -0.1}), Contains("eta is -0.1"));
  CHECK_THAT(refusal("lamb", {.lower_bound = -1}), Contains("lower_bound is -1"));
  CHECK_THAT(refusal("lamb", {.upper_bound = -1}), Contains("upper_bound is -1"));
  CHECK_THAT(refusal("lamb", {.lower_bound = 2, .upper_bound = 1}), Contains("above upper_bound 1"));
  CHECK_THAT(refusal("rmsprop", {.gamma1 = 1}), Contains("gamma1 is 1"));
  CHECK_THAT(refusal("rmsprop", {.gamma2 = 1.1, .centered = true}), Contains("gamma2 is 1.1"));
  CHECK_THAT(refusal("rmsprop", {.clip_weights = 0}), Contains("clip_weights is 0") && Contains("above 0"));
  CHECK_THAT(refusal("adadelta", {.rho = 1.01}), Contains("rho is 1.01"));
  CHECK_THAT(refusal("ftrl", {.lamda1 = -1}), Contains("lamda1 is -1"));
  CHECK_THAT(refusal("ftrl", {.beta = -1}), Contains("beta is -1"));
  CHECK_THAT(refusal("nadam", {.schedule_decay = -1}), Contains("schedule_decay is -1"));
  CHECK_THAT(refusal("sgd", {.rescale_grad = std::nan("")}), Contains("rescale_grad is nan"));
}

TEST_CASE("what people use is accepted", "[error]") {
  using optimizer::create;
  CHECK_NOTHROW(create("sgd", {.learning_rate = 0, .momentum = 0, .wd = 0}));
  CHECK_NOTHROW(create("sgd", {.momentum = -0.5, .rescale_grad = -1}));
  CHECK_NOTHROW(create("adam", {.beta1 = 0, .beta2 = 0, .epsilon = 0}));
  CHECK_NOTHROW(create("rmsprop", {.gamma1 = 0, .gamma2 = 0}));
  CHECK_NOTHROW(create("lamb", {.lower_bound = 1, .upper_bound = 1}));
  CHECK_NOTHROW(create("ftrl", {.lamda1 = 0, .beta = 0}));
  CHECK_NOTHROW(create("lars", {.eta = 0, .eps = 0}));
}

TEST_CASE("multipliers of parameters", "[error]") {
  nn::Dense net(2, {.in_units = 2, .prefix = "fc_"});
  std::string line = line_below();
  CHECK_THAT(message_of([&] { net.weight.set_wd_mult(-1); }),
             Contains(line) && Contains("Parameter 'fc_weight': wd_mult is -1"));
  line = line_below();
  CHECK_THAT(message_of([&] { net.collect_params().set_lr_mult(std::nan("")); }),
             Contains(line) && Contains("lr_mult is nan"));
  CHECK_THAT(message_of([] { Parameter("w", {2}, {.wd_mult = -1}); }), Contains("wd_mult is -1"));
  CHECK_NOTHROW(net.weight.set_lr_mult(-1));  // this parameter climbs
  CHECK_NOTHROW(net.bias.set_lr_mult(0));
  CHECK(net.weight.wd_mult() == 1);
}

TEST_CASE("a schedule of the program that falls below 0, and a rate of 0 to divide by", "[error]") {
  nn::Dense net(1, {.in_units = 1});
  net.initialize(init::One());
  const auto step_of = [&](const char* name, const optimizer::Options& options) {
    Trainer trainer(net.collect_params(), name, options);
    const Tensor loss = autograd::record([&] { return net(ones({1, 1})); });
    loss.backward();
    return message_of([&] { trainer.step(1); });
  };
  const auto falling = [](std::int64_t n) { return 0.5 - static_cast<double>(n); };
  CHECK_THAT(step_of("sgd", {.lr_scheduler = falling}),
             Contains("optimizer_options.cpp") && Contains("the learning rate of update 1 is -0.5"));
  for (const char* name : {"ftml", "ftrl"})
    CHECK_THAT(step_of(name, {.learning_rate = 0}), Contains("optimizer_options.cpp") &&
                                                        Contains("divides by the learning rate") &&
                                                        Contains("grad_req"));
  CHECK(net.weight.data().item<float>() == 1);
}

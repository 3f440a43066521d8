// Trainer as a program uses it: the effects of a step, its compilations, its state and its errors. Files of
// states: trainer_states_test.cpp.
#include "function_net.h"
#include "golden_files.h"
#include "trained_parameters.h"

#include <catch2/catch.hpp>
#include <limits>
#include <thread>

using namespace kiln;
using Catch::Contains;
using golden::error_of;
using training::give_gradient;
using training::One;
using training::parameter;
using Floats = std::vector<float>;

namespace {

Floats floats(const Tensor& t) { return t.to_vector<float>(); }

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("a step moves the parameters in place, by the gradient over the batch size", "[trainer]") {
  One one;
  const Tensor handle = one.w.data();
  Trainer trainer(one.params, "sgd", {.learning_rate = 0.5});
  one.give();
  trainer.step(2);
  CHECK(floats(handle) == Floats{0.75, 2.25});
  CHECK(trainer.num_update() == 1);
  const Trainer copy = trainer;
  trainer.set_learning_rate(1);
  CHECK(copy.learning_rate() == 1);
  one.give();
  trainer.allreduce_grads();
  trainer.update(1);
  CHECK(floats(handle) == Floats{-0.25, 3.25});
}

TEST_CASE("multipliers, decay and gradients that are left alone", "[trainer]") {
  ParameterDict params;
  Parameter a = parameter(params, "a_weight", Tensor{4}), b = parameter(params, "b_bias", Tensor{4}),
            c = parameter(params, "c", Tensor{4});
  a.set_lr_mult(2);
  b.set_wd_mult(0);
  c.set_grad_req(GradReq::null);
  Trainer trainer(params, "sgd", {.learning_rate = 0.25, .wd = 0.5});
  const auto give = [&] {
    give_gradient(a, Tensor{1});
    give_gradient(b, Tensor{1});
  };
  give();
  trainer.step(1);
  CHECK(floats(a.data()) == Floats{2.5});   // 4 - 0.5 * (1 + 0.5 * 4)
  CHECK(floats(b.data()) == Floats{3.75});  // no decay
  CHECK(floats(c.data()) == Floats{4});

  // Biases decay, unless names are given.
  Parameter d = parameter(params, "d_bias", Tensor{4});
  for (const bool named : {false, true}) {
    d.set_data(Tensor{4});
    optimizer::Options options{.learning_rate = 0.25, .wd = 0.5};
    if (named) options.param_idx2name[0] = "d_bias";
    Trainer other({d}, "sgd", options);
    give_gradient(d, Tensor{1});
    other.step(1);
    CHECK(floats(d.data()) == Floats{named ? 3.75f : 3.25f});
  }
}

TEST_CASE("what changes from step to step compiles nothing", "[trainer]") {
  for (const char* name : {"sgd", "adam", "lamb", "nadam", "ftml", "lars"}) {
    INFO(name);
    One one;
    Trainer trainer(one.params, name, {.wd = 0.01, .lr_scheduler = [](std::int64_t n) {
                                         return 0.1 / static_cast<double>(n);
                                       }});
    const auto step = [&](int i) {
      one.w.set_lr_mult(1 + i);
      one.w.set_wd_mult(i % 2);
      one.give();
      trainer.step(1 + i % 3);
    };
    step(0);
    const Stats before = stats();
    for (int i = 1; i < 30; ++i) {
      step(i);
      CHECK(trainer.learning_rate() == 0.1 / (i + 1));
    }
    CHECK(stats().graphs_compiled == before.graphs_compiled);
    CHECK(stats().kernels_compiled + stats().kernels_loaded ==
          before.kernels_compiled + before.kernels_loaded);
  }
}

TEST_CASE("choices of parameters that a program alternates between are compiled once", "[trainer]") {
  ParameterDict params;
  Parameter a = parameter(params, "a", Tensor{1}), b = parameter(params, "b", Tensor{1});
  Trainer trainer(params, "adam");
  const auto step = [&](const std::vector<Parameter>& used) {
    for (const Parameter& p : used) give_gradient(p, Tensor{1});
    trainer.step(1, /*ignore_stale_grad=*/true);
  };
  const std::vector<std::vector<Parameter>> choices = {{a}, {b}, {a, b}};
  for (const auto& c : choices) step(c);
  const std::uint64_t before = stats().graphs_compiled;
  for (int i = 0; i < 20; ++i) step(choices[static_cast<std::size_t>(i) % 3]);
  CHECK(stats().graphs_compiled == before);
}

TEST_CASE("parameters of one shape share their kernels", "[trainer]") {
  const auto kernels = [](std::size_t count) {
    ParameterDict params;
    std::vector<Parameter> all;
    for (std::size_t i = 0; i < count; ++i)
      all.push_back(parameter(params, "p" + std::to_string(i), ones({6, 7})));
    Trainer trainer(params, "adam");
    for (const Parameter& p : all) give_gradient(p, ones({6, 7}));
    const std::uint64_t before = stats().kernels;
    trainer.step(1);
    return stats().kernels - before;
  };
  kernels(1);
  CHECK(kernels(9) <= 2);
}

TEST_CASE("steps allocate nothing that stays", "[trainer]") {
  One one;
  Trainer trainer(one.params, "adam");
  const auto step = [&] {
    one.give();
    trainer.step(1);
  };
  for (int i = 0; i < 10; ++i) step();
  const std::size_t before = memory_report().live_bytes;
  for (int i = 0; i < 2000; ++i) step();
  CHECK(memory_report().live_bytes == before);
}

TEST_CASE("a parameter without a new gradient", "[trainer]") {
  ParameterDict params;
  Parameter a = parameter(params, "a", Tensor{1}), b = parameter(params, "b", Tensor{1});
  Trainer trainer(params, "adam", {.learning_rate = 0.5});
  give_gradient(a, Tensor{1});
  CHECK_THAT(error_of([&] { trainer.step(1); }),
             Contains("Gradient of Parameter `b` has not been updated by backward since last `step`") &&
                 Contains("ignore_stale_grad"));
  CHECK(floats(a.data()) == Floats{1});
  CHECK(trainer.num_update() == 0);
  trainer.step(1, /*ignore_stale_grad=*/true);
  CHECK(floats(a.data())[0] == Approx(0.5));
  CHECK(floats(b.data()) == Floats{1});
  // Each parameter has its own count, for the bias correction.
  give_gradient(a, Tensor{1});
  give_gradient(b, Tensor{1});
  trainer.step(1);
  CHECK(floats(b.data())[0] == Approx(0.5));
  CHECK(trainer.num_update() == 2);
  // All stale: nothing to do.
  trainer.step(1, true);
  CHECK(trainer.num_update() == 2);
}

TEST_CASE("gradients that are not finite are found before anything is written", "[trainer]") {
  ParameterDict params;
  Parameter a = parameter(params, "a", Tensor{1, 2}), b = parameter(params, "b", ones({70, 3}));
  Trainer trainer(params, "sgd", {.learning_rate = 1}, {.check_finite = true});
  give_gradient(a, Tensor{1, 1});
  Tensor bad = ones({70, 3});
  bad(std::vector<Index>{55, 1}) = not_a_number;
  give_gradient(b, bad);
  CHECK_THAT(error_of([&] { trainer.step(1); }), Contains("'b'") && Contains("NaN"));
  CHECK(floats(a.data()) == Floats{1, 2});
  CHECK(trainer.num_update() == 0);
  give_gradient(b, ones({70, 3}));
  trainer.step(1);
  CHECK(floats(a.data()) == Floats{0, 1});
}

TEST_CASE("clip_global_norm", "[trainer]") {
  Tensor a{3, 0}, b{0, 4};
  CHECK(clip_global_norm({a, b}, 10) == 5);
  CHECK(floats(a) == Floats{3, 0});
  CHECK(clip_global_norm({a, b}, 2.5) == 5);
  CHECK(floats(a)[0] == Approx(1.5));
  CHECK(floats(b)[1] == Approx(2));
  Tensor half = Tensor{300, 400}.astype(DType::f16);  // whose squares are no float16
  CHECK(clip_global_norm({half}, 250) == 500);
  CHECK(half.to_vector<float>()[0] == Approx(150).epsilon(1e-3));
  CHECK(std::isnan(clip_global_norm({Tensor{not_a_number}}, 1)));
  CHECK_THAT(error_of([&] { clip_global_norm({Tensor()}, 1); }), Contains("trainer_test.cpp"));
  CHECK_THAT(error_of([&] { clip_global_norm({}, 1); }), Contains("needs arrays"));
  CHECK_THAT(error_of([&] { clip_global_norm({a}, 0); }), Contains("max_norm is 0"));
}

TEST_CASE("a program's own optimizer", "[trainer]") {
  struct SignDescent : optimizer::Optimizer {
    explicit SignDescent(const optimizer::Options& o) : Optimizer("sign_descent", o) {}
    std::vector<std::string> states() const override { return {"steps"}; }
    void numbers(const optimizer::Progress& p, optimizer::Memory&, std::vector<double>& out) const override {
      out.push_back(static_cast<double>(p.count));
    }
    void update(optimizer::Update& u) const override {
      u.states[0] = u.states[0] + u.numbers[0];
      u.weight = u.weight - u.rate * F::sign(u.gradient);
    }
  };
  // A rule may use member arrays, and write in place.
  struct Masked : optimizer::Optimizer {
    Tensor mask;
    explicit Masked(Tensor m) : Optimizer("masked", {.learning_rate = 1}), mask(std::move(m)) {}
    void update(optimizer::Update& u) const override { u.weight -= u.rate * u.gradient * mask; }
  };
  struct Reads : optimizer::Optimizer {
    Reads() : Optimizer("reads", {}) {}
    void update(optimizer::Update& u) const override {
      if (u.rate.item<float>() > 0) u.weight = u.weight - u.gradient;
    }
  };
  struct Reshapes : optimizer::Optimizer {
    Reshapes() : Optimizer("reshapes", {}) {}
    void update(optimizer::Update& u) const override { u.weight = F::sum(u.weight); }
  };
  One one;
  Trainer trainer(one.params, std::make_shared<SignDescent>(optimizer::Options{.learning_rate = 0.25}));
  one.give(Tensor{8, -3});
  trainer.step(1);
  CHECK(floats(one.w.data()) == Floats{0.75, 2.25});
  one.w.set_data(Tensor{1, 2});
  Tensor mask{1, 0};
  Trainer masked(one.params, std::make_shared<Masked>(mask));
  one.give(Tensor{8, -3});
  masked.step(1);
  CHECK(floats(one.w.data()) == Floats{-7, 2});
  mask[slice()] = 1;
  one.give(Tensor{8, -3});
  masked.step(1);
  CHECK(floats(one.w.data()) == Floats{-15, 5});

  Trainer reads(one.params, std::make_shared<Reads>());
  one.give();
  CHECK_THAT(error_of([&] { reads.step(1); }), Contains("trainer_test.cpp") && Contains("traced"));
  Trainer wrong(one.params, std::make_shared<Reshapes>());
  one.give();
  CHECK_THAT(error_of([&] { wrong.step(1); }),
             Contains("reshapes") && Contains("the weight") && Contains("float32 (2,)"));
}

TEST_CASE("an update is the same in numpy mode, in training mode and for every floating dtype", "[trainer]") {
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16})
    for (const bool master : {false, true}) {
      INFO(name_of(dtype) << master);
      std::vector<Tensor> results;
      for (const bool numpy : {false, true}) {
        if (numpy) npx::set_np();
        ParameterDict params;
        Parameter w = parameter(params, "w", Tensor({1, 2, 3}, dtype));
        Trainer trainer(params, "lamb", {.learning_rate = 0.125, .multi_precision = master});
        for (int i = 0; i < 3; ++i) {
          give_gradient(w, Tensor({1, -1, 0.5}, dtype));
          const autograd::TrainMode train(numpy);
          trainer.step(4);
        }
        results.push_back(w.data());
        if (numpy) npx::reset_np();
      }
      CHECK(same_bits(results[0], results[1]));
      CHECK(results[0].dtype() == dtype);
    }
}

TEST_CASE("a step gives the bits of the rule run eagerly, and of a trainer for each parameter", "[trainer]") {
  for (const char* name : {"sgd", "nag", "signum", "ftml", "lars", "lamb", "adam", "adamw", "adagrad",
                           "rmsprop", "adadelta", "ftrl", "adamax", "sgld"})
    for (const DType dtype : {DType::f32, DType::f64}) {
      INFO(name << " " << name_of(dtype));
      const optimizer::Options options{.wd = 0.01, .clip_gradient = 0.75};
      const auto rule = optimizer::create(name, options);
      const std::vector<Shape> shapes = {{5, 7}, {1}, {300}};
      ParameterDict params;
      std::vector<optimizer::Update> eager(shapes.size());
      std::vector<Trainer> single;
      std::vector<Parameter> all, alone;
      random::seed(1);
      for (std::size_t i = 0; i < shapes.size(); ++i) {
        const Tensor values = random::normal(0, 1, shapes[i], dtype);
        all.push_back(parameter(params, "p" + std::to_string(i), values));
        alone.push_back(parameter(params, "single" + std::to_string(i), values));
        single.emplace_back(std::vector<Parameter>{alone[i]}, name, options);
        eager[i].weight = values;
        eager[i].states.assign(rule->states().size(), zeros(shapes[i], dtype));
      }
      Trainer trainer(all, name, options);
      optimizer::Memory memory;
      for (int t = 1; t <= 4; ++t) {
        for (std::size_t i = 0; i < shapes.size(); ++i) {
          const Tensor g = random::normal(0, 1, shapes[i], dtype);
          give_gradient(all[i], g);
          give_gradient(alone[i], g);
          eager[i].gradient = g;
        }
        random::seed(static_cast<std::uint64_t>(t));
        trainer.step(3);
        random::seed(static_cast<std::uint64_t>(t));
        for (optimizer::Update& u : eager) {
          const double rate = rule->learning_rate(t);
          u.rate = Tensor({rate}, dtype);
          u.decay = Tensor({0.01}, dtype);
          u.rescale = Tensor({1.0 / 3}, dtype);
          u.numbers.clear();
          std::vector<double> numbers;
          rule->numbers({t, t, rate, rate, 0.01}, memory, numbers);
          for (const double n : numbers) u.numbers.push_back(Tensor({n}, dtype));
          rule->update(u);
        }
        random::seed(static_cast<std::uint64_t>(t));
        for (Trainer& s : single) s.step(3);
      }
      for (std::size_t i = 0; i < shapes.size(); ++i) {
        CHECK(same_bits(all[i].data(), eager[i].weight));
        CHECK(same_bits(all[i].data(), alone[i].data()));
      }
    }
}

TEST_CASE("a scalar of numpy mode is a parameter", "[trainer]") {
  npx::set_np();
  const Tensor scalar = Tensor{2}.reshape({1})[0];
  npx::reset_np();
  REQUIRE(scalar.shape() == Shape{});
  ParameterDict params;
  for (const char* name : {"sgd", "adam", "lamb", "lars", "ftrl", "sgld"}) {
    INFO(name);
    Parameter p = params.get(name);
    p.initialize();
    p.set_data(scalar);
    Trainer trainer({p}, name, {}, {.check_finite = true});
    Tensor y;
    {
      const autograd::Record record;
      y = p.data() * p.data();
    }
    y.backward();
    trainer.step(1);
    CHECK(p.data().shape() == Shape{});
    CHECK(p.data().item<float>() != 2);
  }
}

TEST_CASE("a parameter of another dtype after its states were made", "[trainer]") {
  One one;
  Trainer trainer(one.params, "adam");
  one.give();
  trainer.step(1);
  one.w.cast(DType::f64);
  one.give(Tensor({1, 1}, DType::f64));
  CHECK_THAT(error_of([&] { trainer.step(1); }),
             Contains("'w'") && Contains("float64 (2,)") && Contains("another Trainer"));
  Trainer next(one.params, "adam");
  next.step(1);
  CHECK(one.w.data().dtype() == DType::f64);
}

TEST_CASE("a step inside Record, and in hybrid_forward", "[trainer]") {
  One one;
  Trainer trainer(one.params, "sgd", {.learning_rate = 1});
  {
    const autograd::Record record;
    F::sum(one.w.data() * Tensor{1, -1}).backward();
    trainer.step(1);
  }
  CHECK(floats(one.w.data()) == Floats{0, 3});
  Net net([&](F&, const Tensors& in) {
    trainer.step(1);
    return Tensors{in[0]};
  });
  net.hybridize();
  CHECK_THAT(error_of([&] { net({ones({1})}); }), Contains("hybrid_forward"));
}

TEST_CASE("AdamW decays apart from the gradient, SGLD adds noise of the rate's size", "[trainer]") {
  One one;
  Trainer trainer(one.params, "adamw", {.learning_rate = 0.125, .wd = 0.5});
  one.give(Tensor{1, 0});
  trainer.step(1);
  CHECK(floats(one.w.data())[0] == Approx(1 - 0.125 - 0.0625).epsilon(1e-5));
  CHECK(floats(one.w.data())[1] == Approx(2 - 0.125));

  ParameterDict params;
  Parameter p = parameter(params, "p", zeros({10000}));
  Trainer noisy(params, "sgld", {.learning_rate = 0.25});
  random::seed(3);
  give_gradient(p, zeros({10000}));
  noisy.step(1);
  CHECK(p.data().mean().item<double>() == Approx(0).margin(0.02));
  CHECK(F::mean(F::square(p.data())).item<double>() == Approx(0.25).epsilon(0.05));
}

TEST_CASE("threads train a network each", "[trainer]") {
  const auto train = [](float slope) {
    nn::Dense net(3, {.weight_initializer = init::One(), .in_units = 4});
    net.initialize();
    net.hybridize();
    Trainer trainer(net.collect_params(), "adam", {.learning_rate = 0.1});
    for (int i = 0; i < 50; ++i) {
      Tensor loss;
      {
        const autograd::Record record;
        loss = F::sum(F::square(net(ones({2, 4}) * slope) - slope));
      }
      loss.backward();
      trainer.step(2);
    }
    return net.weight.data();
  };
  std::vector<Tensor> alone, together(4);
  for (std::size_t i = 0; i < together.size(); ++i) alone.push_back(train(1 + static_cast<float>(i)));
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < together.size(); ++i)
      threads.emplace_back([&, i] { together[i] = train(1 + static_cast<float>(i)); });
  }
  for (std::size_t i = 0; i < together.size(); ++i) CHECK(same_bits(together[i], alone[i]));
}

TEST_CASE("a step between two backward passes of one graph", "[trainer]") {
  One one;
  Trainer trainer(one.params, "sgd", {.learning_rate = 1});
  Tensor loss;
  {
    const autograd::Record record;
    loss = F::sum(one.w.data() * one.w.data());
  }
  loss.backward({}, {.retain_graph = true});
  trainer.step(1);
  CHECK(floats(one.w.data()) == Floats{-1, -2});
  loss.backward();
  CHECK(floats(one.w.grad()) == Floats{2, 4});  // of the weights that the loss was computed from
}

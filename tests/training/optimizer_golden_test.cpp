// Optimizers, learning rate schedules and a training run against MXNet's results.
#include "golden_files.h"
#include "same_bits.h"
#include "trained_parameters.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace kiln;

namespace {

const std::vector<std::string> names = {"fc_weight", "fc_bias", "conv_weight"};

/// The first element outside of the tolerance, in words; empty if there is none.
std::string difference(const Tensor& got, const Tensor& expected, double rtol, double atol) {
  if (got.shape() != expected.shape()) return got.shape().str() + " is not " + expected.shape().str();
  const auto a = got.to_vector<double>(), b = expected.to_vector<double>();
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(std::abs(a[i] - b[i]) <= atol + rtol * std::abs(b[i])))
      return fmt::format("element {}: {} is not {}", i, a[i], b[i]);
  return {};
}

optimizer::Options options_of(const nlohmann::json& given) {
  optimizer::Options o;
  const std::map<std::string, std::optional<double> optimizer::Options::*> numbers = {
      {"momentum", &optimizer::Options::momentum},
      {"clip_gradient", &optimizer::Options::clip_gradient},
      {"wd_lh", &optimizer::Options::wd_lh},
      {"learning_rate", &optimizer::Options::learning_rate},
      {"eta", &optimizer::Options::eta},
      {"lower_bound", &optimizer::Options::lower_bound},
      {"upper_bound", &optimizer::Options::upper_bound},
      {"clip_weights", &optimizer::Options::clip_weights}};
  for (const auto& [name, value] : given.items()) {
    if (name == "wd")
      o.wd = value;
    else if (name == "multi_precision")
      o.multi_precision = value;
    else if (name == "centered")
      o.centered = value.get<bool>();
    else if (name == "bias_correction")
      o.bias_correction = value.get<bool>();
    else
      o.*numbers.at(name) = value.get<double>();
  }
  return o;
}

}  // namespace

TEST_CASE("optimizers follow MXNet") {
  for (const nlohmann::json& entry : golden::manifest("training", "optimizers")) {
    const std::string name = entry.at("optimizer");
    if (name == "dcasgd") continue;  // asynchronous
    const std::string file = entry.at("file");
    INFO(file << " " << entry.at("options").dump());
    const auto arrays = load_arrays(golden::path("training/" + file));
    const auto array = [&](const std::string& key) { return *find_array(arrays, key); };

    optimizer::Options options = options_of(entry.at("options"));
    options.rescale_grad = entry.at("rescale_grad");
    ParameterDict params;
    std::vector<Parameter> in_order;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const Tensor first = array("w0:" + names[i]);
      options.param_idx2name[static_cast<std::int64_t>(i)] = names[i];
      Parameter p = params.get(names[i], first.shape(), {.dtype = first.dtype()});
      p.initialize(init::Zero());
      p.set_data(first);
      in_order.push_back(p);
    }
    Trainer trainer(in_order, name, options);
    const bool half = entry.at("dtype") == "float16";
    CHECK(trainer.learning_rate() == Approx(entry.at("lr").get<double>()).epsilon(1e-15));
    for (int t = 1; t <= 6; ++t) {
      if (t == 5) trainer.set_learning_rate(entry.at("lr_after_4"));
      for (const std::string& n : names)
        training::give_gradient(params[n], array(fmt::format("g{}:{}", t, n)));
      trainer.step(1);
      for (const std::string& n : names) {
        INFO("update " << t << " of " << n);
        CHECK(difference(params[n].data(), array(fmt::format("w{}:{}", t, n)), half ? 1e-2 : 1e-5,
                         half ? 2e-3 : 1e-6) == "");
      }
    }
  }
}

TEST_CASE("learning rates are MXNet's, bit by bit") {
  using namespace lr_scheduler;
  const std::vector<Schedule> schedules = {
      Factor({.step = 10, .factor = .5, .stop_factor_lr = 1e-3, .base_lr = .1}),
      MultiFactor({.step = {5, 12}, .factor = .1, .base_lr = .1, .warmup_steps = 3, .warmup_begin_lr = .01}),
      Poly({.max_update = 20,
            .base_lr = .1,
            .pwr = 2,
            .final_lr = .001,
            .warmup_steps = 4,
            .warmup_begin_lr = .02,
            .warmup_mode = WarmupMode::constant}),
      Cosine({.max_update = 20, .base_lr = .1, .final_lr = .001, .warmup_steps = 4})};
  const auto expected = golden::manifest("training", "schedulers");
  REQUIRE(expected.size() == schedules.size());
  for (std::size_t s = 0; s < schedules.size(); ++s) {
    INFO(expected[s].at("scheduler"));
    const auto rates = expected[s].at("lr").get<std::vector<double>>();
    REQUIRE(rates.size() == 31);
    for (std::size_t n = 0; n < rates.size(); ++n)
      CHECK(schedules[s](static_cast<std::int64_t>(n)) == rates[n]);
    // In any order.
    CHECK(schedules[s](7) == rates[7]);
  }
}

TEST_CASE("a training run follows MXNet's, with the same bits eagerly and hybridized") {
  const auto arrays = load_arrays(golden::path("training/run.params"));
  const auto array = [&](const std::string& key) { return *find_array(arrays, key); };
  const Tensor x = array("x"), y = array("y"), losses = array("losses");
  std::vector<Tensor> first;
  for (const bool hybrid : {false, true}) {
    INFO((hybrid ? "hybridized" : "eager"));
    nn::HybridSequential net({.prefix = "net_"});
    {
      const auto scope = net.name_scope();
      net.add(nn::Conv2D(4, {.kernel_size = 3, .activation = "relu"}), nn::MaxPool2D(), nn::BatchNorm(),
              nn::Dense(16, {.activation = "relu"}), nn::Dense(10));
    }
    net.initialize();
    net(x[0]);
    std::size_t known = 0;
    for (Parameter p : net.collect_params()) {
      p.set_data(array("before:" + p.name()));
      ++known;
    }
    CHECK(known == 10);
    if (hybrid) net.hybridize();
    loss::SoftmaxCrossEntropyLoss criterion;
    if (hybrid) criterion.hybridize();
    Trainer trainer(net.collect_params(), "sgd", {.learning_rate = 0.05, .momentum = 0.9, .wd = 0.001});
    for (int step = 0; step < 20; ++step) {
      INFO("step " << step);
      Tensor value;
      {
        const autograd::Record record;
        value = criterion(net(x[step]), y[step]);
      }
      value.backward();
      if (step == 0)
        for (const Parameter& p : net.collect_params())
          if (p.grad_req() != GradReq::null)
            CHECK(difference(p.grad(), array("grad1:" + p.name()), 1e-4, 1e-5) == "");
      CHECK(difference(value, losses[step], 1e-3, 1e-4) == "");
      trainer.step(8);
    }
    std::vector<Tensor> last;
    for (const Parameter& p : net.collect_params()) {
      INFO(p.name());
      CHECK(difference(p.data(), array("after:" + p.name()), 1e-3, 1e-4) == "");
      last.push_back(p.data().copy());
    }
    if (!hybrid) first = last;
    for (std::size_t i = 0; i < last.size(); ++i) CHECK(same_bits(last[i], first[i]));
  }
}

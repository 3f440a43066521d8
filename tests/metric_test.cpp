// Metrics against MXNet's values, and their edges.
#include "golden_files.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <memory>

using namespace kiln;
using Catch::Contains;
using golden::error_of;

TEST_CASE("metrics follow MXNet", "[metric]") {
  std::map<std::string, std::shared_ptr<metric::EvalMetric>> metrics = {
      {"Accuracy()", std::make_shared<metric::Accuracy>()},
      {"TopKAccuracy(top_k=3)", std::make_shared<metric::TopKAccuracy>(3)},
      {"Perplexity(ignore_label=None)", std::make_shared<metric::Perplexity>()},
      {"Perplexity(ignore_label=2)", std::make_shared<metric::Perplexity>(2)},
      {"MAE()", std::make_shared<metric::MAE>()},
      {"MSE()", std::make_shared<metric::MSE>()},
      {"RMSE()", std::make_shared<metric::RMSE>()},
      {"CrossEntropy()", std::make_shared<metric::CrossEntropy>()},
      {"Loss()", std::make_shared<metric::Loss>()},
  };
  const auto arrays = load_arrays(golden::path("training/metrics.params"));
  // "pred", "pred[::-1]" or "pred * 0.5"
  const auto value = [&](const std::string& text) {
    const Tensor array = *find_array(arrays, text.substr(0, text.find_first_of("[ ")));
    if (text.ends_with("[::-1]")) return F::reverse(array, 0);
    return text.ends_with(" * 0.5") ? array * 0.5 : array;
  };
  std::size_t found = 0;
  for (const nlohmann::json& entry : golden::manifest("training", "metrics")) {
    const auto m = metrics.find(entry.at("metric"));
    if (m == metrics.end()) continue;
    ++found;
    INFO(m->first);
    metric::EvalMetric& metric = *m->second;
    for (int round = 0; round < 2; ++round) {
      for (const nlohmann::json& update : entry.at("updates"))
        metric.update(value(update[0]), value(update[1]));
      CHECK(metric.get().first == entry.at("get")[0].get<std::string>());
      CHECK(metric.get().second == Approx(entry.at("get")[1].get<double>()).epsilon(1e-5));
      metric.reset();
      CHECK(std::isnan(metric.value()));
    }
  }
  CHECK(found == metrics.size());
}

TEST_CASE("what counts as a right prediction", "[metric]") {
  metric::Accuracy accuracy;
  accuracy.update(Tensor{1, 0}, Tensor{{0, 1, 1}, {2, 3, 1}});  // scores: of equal ones the first
  CHECK(accuracy.value() == 0.5);
  accuracy.update(Tensor{1, 0}, Tensor{1, 0});  // classes
  CHECK(accuracy.value() == 0.75);
  accuracy.reset();
  accuracy.update({Tensor{1}, Tensor{0}}, {Tensor{{0, 1}}, Tensor{{0, 1}}});  // two outputs
  CHECK(accuracy.value() == 0.5);
  metric::Accuracy images;  // (batch, classes, width)
  images.update(Tensor{{0, 1}, {1, 1}}, Tensor({5, 1, 2, 3, 0, 0, 4, 4}, DType::f32).reshape({2, 2, 2}));
  CHECK(images.value() == 1);
  metric::TopKAccuracy top(2);
  CHECK(top.name() == "top_k_accuracy_2");
  top.update(Tensor{2, 0, 7}.astype(DType::i32), Tensor{{1, 1, 1}, {1, 2, 0}, {1, 2, 3}});
  CHECK(top.value() == Approx(1. / 3));
  metric::Perplexity padded(-1);
  padded.update(Tensor{0, -1}, Tensor{{0.25, 0.75}, {0.5, 0.5}});
  CHECK(padded.value() == Approx(4));
  metric::Loss loss;
  loss.update(Tensor{1, 2});
  loss.update(Tensor{6});
  CHECK(loss.value() == 3);
}

TEST_CASE("a metric of a program's own", "[metric]") {
  struct Positive : metric::EvalMetric {
    Positive() : EvalMetric("positive") {}
    void add(const Tensor&, const Tensor& preds) override {
      sum_ += (preds > 0).sum().item<double>();
      count_ += preds.size();
    }
  };
  Positive positive;
  positive.update(Tensor(), Tensor{1, -1, 2, 3});
  CHECK(positive.get() == std::pair<std::string, double>("positive", 0.75));
}

TEST_CASE("mistakes with metrics name the line and the shapes", "[metric]") {
  metric::Accuracy accuracy;
  CHECK_THAT(error_of([&] {
               accuracy.update(ones({3}), ones({4, 2}));
             }),
             Contains("metric_test.cpp:") && Contains("each of 4 predictions") && Contains("(3,)"));
  CHECK_THAT(error_of([&] { accuracy.update(ones({3}), ones({4})); }),
             Contains("along axis 1") && Contains("labels, then predictions"));
  CHECK_THAT(error_of([&] { accuracy.update(Tensors{ones({3})}, Tensors{}); }),
             Contains("1 arrays of labels and 0"));
  CHECK_THAT(error_of([&] { accuracy.update(ones({3}), Tensor()); }),
             Contains("metric_test.cpp:") && Contains("undefined Tensor"));
  CHECK_THAT(error_of([&] { metric::MSE().update(ones({3}), ones({4})); }), Contains("as many labels"));
  CHECK_THAT(error_of([&] {
               metric::CrossEntropy().update(Tensor{2}, ones({1, 2}));
             }),
             Contains("label 0 is 2") && Contains("classes 0 to 1"));
  CHECK_THAT(error_of([] { metric::TopKAccuracy(0); }), Contains("at least 1"));
}

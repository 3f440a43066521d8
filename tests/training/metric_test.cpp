// Metrics against MXNet's values, and their edges.
#include "golden_files.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <memory>
#include <set>

using namespace kiln;
using Catch::Contains;
using golden::error_of;

TEST_CASE("metrics follow MXNet", "[metric]") {
  std::map<std::string, std::shared_ptr<metric::EvalMetric>> metrics = {
      {"Accuracy()", std::make_shared<metric::Accuracy>()},
      {"TopKAccuracy(top_k=3)", std::make_shared<metric::TopKAccuracy>(3)},
      {"F1()", std::make_shared<metric::F1>()},
      {"F1(average=\"micro\")", std::make_shared<metric::F1>(metric::Average::micro)},
      {"MCC()", std::make_shared<metric::MCC>()},
      {"Perplexity(ignore_label=None)", std::make_shared<metric::Perplexity>()},
      {"Perplexity(ignore_label=2)", std::make_shared<metric::Perplexity>(2)},
      {"MAE()", std::make_shared<metric::MAE>()},
      {"MSE()", std::make_shared<metric::MSE>()},
      {"RMSE()", std::make_shared<metric::RMSE>()},
      {"CrossEntropy()", std::make_shared<metric::CrossEntropy>()},
      {"NegativeLogLikelihood()", std::make_shared<metric::NegativeLogLikelihood>()},
      {"PearsonCorrelation()", std::make_shared<metric::PearsonCorrelation>()},
      {"PCC()", std::make_shared<metric::PCC>()},
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
    INFO(entry.at("metric"));
    const auto m = metrics.find(entry.at("metric"));
    REQUIRE(m != metrics.end());
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

TEST_CASE("of scores with a NaN the first NaN is the predicted class, as of argmax", "[metric]") {
  const float n = NAN, i = INFINITY;
  const Tensor scores{{n, 0.3f, 0.7f}, {0.5f, n, 0.2f}, {0.5f, 0.2f, n}, {n, n, 0.1f}, {0.1f, n, n},
                      {n, n, n},       {i, n, 1},       {n, i, 1},       {-i, -i, -i}, {-i, n, -i}};
  const std::vector<int> predicted{0, 1, 2, 0, 1, 0, 1, 0, 0, 1};  // MXNet's
  CHECK(F::argmax(scores, {.axis = 1}).to_vector<int>() == predicted);
  // The two classes that come first: a NaN comes before an infinity, of equal scores the first.
  const std::vector<std::set<int>> two{{0, 2}, {0, 1}, {0, 2}, {0, 1}, {1, 2},
                                       {0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}};
  for (std::int64_t row = 0; row < scores.shape()[0]; ++row)
    for (int c = 0; c < 3; ++c) {
      INFO("row " << row << ", class " << c);
      const Tensor label = Tensor{static_cast<float>(c)}.astype(DType::i32),
                   one = scores[slice(row, row + 1)];
      metric::Accuracy accuracy;
      accuracy.update(label, one);
      CHECK(accuracy.value() == (c == predicted[static_cast<std::size_t>(row)]));
      metric::TopKAccuracy top(2);
      top.update(label, one);
      CHECK(top.value() == two[static_cast<std::size_t>(row)].count(c));
    }
  metric::Accuracy images;  // (batch, classes, width)
  images.update(Tensor{{1, 0}}, Tensor({1, n, n, 3}, DType::f32).reshape({1, 2, 2}));
  CHECK(images.value() == 1);

  // MXNet's values.
  const auto value = [&](metric::EvalMetric&& metric, const Tensor& labels) {
    metric.update(labels, Tensor{{n, 1}, {0.5f, n}, {n, n}, {0.2f, 0.1f}, {n, 0.3f}});
    return metric.value();
  };
  CHECK(value(metric::F1(), Tensor{0, 1, 0, 1, 1}) == Approx(0.5));
  CHECK(value(metric::MCC(), Tensor{0, 1, 0, 1, 1}) == Approx(0.4082482904638631));
  CHECK(value(metric::PCC(), Tensor{0, 1, 0, 1, 1}) == Approx(0.4082482904638631));
  CHECK(value(metric::F1(), Tensor{1, 1, 0, 0, 0}) == Approx(0.6666666666666666));
  CHECK(value(metric::MCC(), Tensor{1, 1, 0, 0, 0}) == Approx(0.6123724356957946));
  CHECK(value(metric::PCC(), Tensor{1, 1, 0, 0, 0}) == Approx(0.6123724356957946));
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

TEST_CASE("metrics of two classes", "[metric]") {
  const auto scores = [](std::vector<int> classes) {
    std::vector<float> values;
    for (const int c : classes) values.insert(values.end(), {c == 0 ? 1.0f : 0.0f, c == 1 ? 1.0f : 0.0f});
    return Tensor(values, {static_cast<std::int64_t>(classes.size()), 2});
  };
  const auto value = [&](metric::EvalMetric&& metric) {
    metric.update(Tensor{1, 1, 0, 0}, scores({1, 0, 0, 1}));
    metric.update(Tensor{1, 1, 1, 0}, scores({1, 1, 1, 0}));
    return metric.value();
  };
  using metric::Average;
  CHECK(value(metric::F1()) == Approx((0.5 + 1) / 2));
  CHECK(value(metric::F1(Average::micro)) == Approx(0.8));
  CHECK(value(metric::MCC()) == Approx((0.0 + 1) / 2));
  CHECK(value(metric::MCC(Average::micro)) == Approx((4 * 2 - 1) / 15.0));  // TP 4, FP 1, FN 1, TN 2

  // Two outputs are one batch.
  metric::F1 outputs;
  outputs.update({Tensor{1, 1, 0, 0}, Tensor{1, 1, 1, 0}}, {scores({1, 0, 0, 1}), scores({1, 1, 1, 0})});
  CHECK(outputs.value() == Approx(0.8));

  // Without positives, without one of the factors, without any update.
  metric::F1 none;
  none.update(Tensor{0, 0}, scores({0, 0}));
  CHECK(none.value() == 0);
  metric::MCC factor;
  factor.update(Tensor{1, 0}, scores({1, 1}));
  CHECK(factor.value() == 0);
  CHECK(std::isnan(metric::F1(Average::micro).value()));

  metric::F1 refusing(Average::micro);
  refusing.update(Tensor{1, 0}, scores({1, 0}));
  CHECK_THAT(error_of([&] { refusing.update(Tensor{0, 1, 2}, scores({0, 1, 1})); }), Contains("PCC"));
  CHECK_THAT(error_of([&] { refusing.update(Tensor{0, 1}, Tensor{0, 1}); }), Contains("axis 1"));
  CHECK_THAT(error_of([&] {
               refusing.update({Tensor{1, 0}, Tensor{1}}, {scores({0, 1}), scores({1, 0})});
             }),
             Contains("label for each"));
  CHECK(refusing.value() == 1);  // an update that throws counts for nothing
}

TEST_CASE("correlations", "[metric]") {
  metric::PCC pcc;
  CHECK(std::isnan(pcc.value()));
  pcc.update(Tensor{0, 1, 2}, Tensor{0, 1, 2});  // classes
  CHECK(pcc.value() == Approx(1));
  // By the definition: covariances of the indicators of three classes, labels 0 1 2 2, predictions 0 1 2 0
  pcc.update(Tensor{2}, Tensor{{0.9f, 0.1f, 0.0f}});
  CHECK(pcc.value() == Approx((3 * 4 - (1 * 2 + 1 * 1 + 2 * 1)) / 10.0));
  pcc.reset();
  pcc.update(Tensor{1, 1}, Tensor{0, 1});
  CHECK(std::isnan(pcc.value()));  // one class of labels
  pcc.reset();
  pcc.update(Tensor{-1, 1000000}, Tensor{-1, 1000000});  // no room for all between
  CHECK(pcc.value() == Approx(1));

  using metric::Average;
  metric::PearsonCorrelation macro, micro(Average::micro);
  for (metric::EvalMetric* m : std::initializer_list<metric::EvalMetric*>{&macro, &micro}) {
    CHECK(std::isnan(m->value()));
    m->update(Tensor{1, 2, 3}, Tensor{1, 2, 3});
    m->update(Tensor{1, 2, 3}, Tensor{-1, -2, -3});
  }
  CHECK(macro.value() == Approx(0).margin(1e-12));
  CHECK(micro.value() == Approx(0).margin(1e-12));
  micro.reset();
  micro.update(Tensor{0, 1}, Tensor{0, 1});
  micro.update(Tensor{2, 3}, Tensor{2, 4});
  CHECK(micro.value() == Approx(6.5 / std::sqrt(5 * 8.75)));
  CHECK_THAT(error_of([&] { macro.update(Tensor{1, 2}, Tensor{{1, 2}}); }), Contains("one shape"));
}

TEST_CASE("a metric of the program's own, and several as one", "[metric]") {
  metric::CustomMetric bias([](const Tensor& label, const Tensor& pred) {
    return metric::Evaluation(F::sum(pred - label).item<double>(), label.size());
  });
  metric::CustomMetric largest([](const Tensor&, const Tensor& pred) { return F::max(pred).item<double>(); },
                               "largest", /*allow_extra_outputs=*/true);
  bias.update(Tensor{1.0f, 2.0f}, Tensor{2.0f, 4.0f});
  CHECK(bias.get() == std::pair<std::string, double>("custom", 1.5));
  CHECK_THAT(error_of([&] {
               bias.update({Tensor{1.0f}}, {Tensor{1.0f}, Tensor{1.0f}});
             }),
             Contains("each output"));
  largest.update({Tensor{1.0f}}, {Tensor{3.0f}, Tensor{5.0f}});
  largest.update({Tensor{1.0f}}, {Tensor{4.0f}});
  CHECK(largest.value() == 3.5);
  CHECK_THAT(error_of([] { metric::CustomMetric(metric::CustomMetric::Function{}); }), Contains("function"));

  const auto shared = std::make_shared<metric::Accuracy>();
  metric::CompositeEvalMetric composite({shared});
  composite.add(metric::CrossEntropy());
  CHECK(composite.size() == 2);
  composite.update(Tensor{1, 0}, Tensor{{0.5f, 0.5f}, {0.5f, 0.5f}});
  const metric::NamedValues values = composite.get_name_value();
  REQUIRE(values.size() == 2);
  CHECK(values[0] == std::pair<std::string, double>("accuracy", 0.5));
  CHECK(values[1].first == "cross-entropy");
  CHECK(values[1].second == Approx(std::log(2)));
  CHECK(shared->value() == 0.5);
  CHECK_THAT(error_of([&] { composite.value(); }), Contains("get_name_value()"));
  CHECK_THAT(error_of([&] { composite.get_metric(2); }), Contains("metric 2"));
  composite.reset();
  CHECK(std::isnan(composite.get_metric(1).value()));
}

TEST_CASE("metrics by name", "[metric]") {
  for (const auto& [name, shown] : std::map<std::string, std::string>{{"acc", "accuracy"},
                                                                      {"Accuracy", "accuracy"},
                                                                      {"ce", "cross-entropy"},
                                                                      {"nll_loss", "nll-loss"},
                                                                      {"pearsonr", "pearsonr"},
                                                                      {"RMSE", "rmse"},
                                                                      {"mae", "mae"},
                                                                      {"mse", "mse"},
                                                                      {"mcc", "mcc"},
                                                                      {"pcc", "pcc"},
                                                                      {"perplexity", "perplexity"},
                                                                      {"loss", "loss"},
                                                                      {"composite", "composite"}})
    CHECK(metric::create(name)->name() == shown);
  CHECK(metric::create("top_k_acc", {.top_k = 5})->name() == "top_k_accuracy_5");
  CHECK(metric::create("rmse", {.name = "error"})->name() == "error");
  const auto two = metric::create({"acc", "f1"});
  two->update(Tensor{1}, Tensor{{0, 1}});
  CHECK(two->get_name_value() == metric::NamedValues{{"accuracy", 1}, {"f1", 1}});

  const auto micro = metric::create("f1", {.average = metric::Average::micro});
  micro->update(Tensor{1, 0}, Tensor{{0, 1}, {0, 1}});
  micro->update(Tensor{1}, Tensor{{0, 1}});
  CHECK(micro->value() == Approx(0.8));
  CHECK_THAT(error_of([] { metric::create("accurate"); }),
             Contains("metric_test.cpp") && Contains("'accurate'") && Contains("top_k_accuracy"));
  CHECK_THAT(error_of([] { metric::create("mae", {.top_k = 5}); }), Contains("'mae'") && Contains("top_k"));
  CHECK_THAT(error_of([] { metric::create("top_k_accuracy"); }), Contains("top_k"));
}

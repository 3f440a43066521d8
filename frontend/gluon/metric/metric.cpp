// Metrics. They read values, on the host: a batch's results are few.
#include "frontend/eager/call_site.h"
#include "frontend/eager/invoke.h"
#include "runtime/fail.h"

#include <kiln/metric.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace kiln::metric {

namespace {

/// Scores of classes along one axis, as element (before, class, after).
struct Scores {
  std::vector<double> values;
  std::int64_t classes = 1, after = 1;

  Scores(const Tensor& t, int axis, const std::string& metric) {
    const Shape& shape = t.shape();
    const int a = axis < 0 ? axis + shape.rank() : axis;
    if (a < 0 || a >= shape.rank())
      fail(
          "{} takes scores with classes along axis {}, and the predictions are {}: update() takes labels, "
          "then "
          "predictions",
          metric, axis, shape.str());
    classes = shape[a];
    for (int i = a + 1; i < shape.rank(); ++i) after *= shape[i];
    values = t.to_vector<double>();
  }
  std::int64_t rows() const { return classes == 0 ? 0 : static_cast<std::int64_t>(values.size()) / classes; }
  double at(std::int64_t row, std::int64_t c) const {
    return values[static_cast<std::size_t>((row / after * classes + c) * after + row % after)];
  }
  std::int64_t largest(std::int64_t row) const {
    std::int64_t best = 0;
    for (std::int64_t c = 1; c < classes; ++c)
      if (at(row, c) > at(row, best)) best = c;
    return best;
  }
};

/// One class index for each of `rows`.
std::vector<std::int64_t> classes_of(const Tensor& labels, std::int64_t rows, const Tensor& preds,
                                     const std::string& metric) {
  if (labels.size() != rows)
    fail("{} needs a label for each of {} predictions: the labels are {}, the predictions {}", metric, rows,
         labels.shape().str(), preds.shape().str());
  return labels.to_vector<std::int64_t>();
}

/// Calls fn(probability of the label) for each row whose label is not `ignored`.
template <class Fn>
void for_each_label(const Tensor& labels, const Tensor& preds, const std::string& metric,
                    std::optional<std::int64_t> ignored, Fn fn) {
  const Scores scores(preds, -1, metric);
  const std::vector<std::int64_t> label = classes_of(labels, scores.rows(), preds, metric);
  for (std::int64_t row = 0; row < scores.rows(); ++row) {
    const std::int64_t c = label[static_cast<std::size_t>(row)];
    if (c == ignored) continue;
    if (c < 0 || c >= scores.classes)
      fail("{}: label {} is {}, and there are the classes 0 to {}", metric, row, c, scores.classes - 1);
    fn(scores.at(row, c));
  }
}

/// The mean of fn(label - prediction).
template <class Fn>
double mean_error(const Tensor& labels, const Tensor& preds, const std::string& metric, Fn fn) {
  if (labels.size() != preds.size())
    fail("{} needs as many labels as predictions: the labels are {}, the predictions {}", metric,
         labels.shape().str(), preds.shape().str());
  const auto label = labels.to_vector<double>(), pred = preds.to_vector<double>();
  double sum = 0;
  for (std::size_t i = 0; i < label.size(); ++i) sum += fn(label[i] - pred[i]);
  return sum / static_cast<double>(label.size());
}

}  // namespace

EvalMetric::~EvalMetric() = default;

void EvalMetric::update(const Tensor& labels, const Tensor& preds, Where where) {
  update(std::vector{labels}, std::vector{preds}, where);
}
void EvalMetric::update(const std::vector<Tensor>& labels, const std::vector<Tensor>& preds, Where where) {
  const CallSite site(where, where);
  at_line(where, [&] {
    if (labels.size() != preds.size())
      fail("{} needs labels for each output: there are {} arrays of labels and {} of predictions", name_,
           labels.size(), preds.size());
    for (std::size_t i = 0; i < labels.size(); ++i) add(labels[i], preds[i]);
  });
}
void EvalMetric::reset() {
  sum_ = 0;
  count_ = 0;
}
double EvalMetric::value() const {
  return count_ == 0 ? std::numeric_limits<double>::quiet_NaN() : sum_ / static_cast<double>(count_);
}

Accuracy::Accuracy(int axis, std::string name) : EvalMetric(std::move(name)), axis_(axis) {}
void Accuracy::add(const Tensor& labels, const Tensor& preds) {
  std::vector<std::int64_t> classes;
  if (labels.shape() == preds.shape()) {
    classes = preds.to_vector<std::int64_t>();
  } else {
    const Scores scores(preds, axis_, name());
    for (std::int64_t row = 0; row < scores.rows(); ++row) classes.push_back(scores.largest(row));
  }
  const auto rows = static_cast<std::int64_t>(classes.size());
  const std::vector<std::int64_t> label = classes_of(labels, rows, preds, name());
  for (std::size_t i = 0; i < label.size(); ++i) sum_ += label[i] == classes[i];
  count_ += rows;
}

TopKAccuracy::TopKAccuracy(int top_k, const std::string& name)
    : EvalMetric(fmt::format("{}_{}", name, top_k)), top_k_(top_k) {
  if (top_k < 1) fail("TopKAccuracy: top_k is {}; it is a number of classes, at least 1", top_k);
}
void TopKAccuracy::add(const Tensor& labels, const Tensor& preds) {
  const Scores scores(preds, 1, name());
  const std::vector<std::int64_t> label = classes_of(labels, scores.rows(), preds, name());
  for (std::int64_t row = 0; row < scores.rows(); ++row) {
    const std::int64_t c = label[static_cast<std::size_t>(row)];
    if (c < 0 || c >= scores.classes) continue;
    std::int64_t larger = 0;
    for (std::int64_t other = 0; other < scores.classes; ++other)
      larger += scores.at(row, other) > scores.at(row, c) ||
                (scores.at(row, other) == scores.at(row, c) && other < c);
    sum_ += larger < top_k_;
  }
  count_ += scores.rows();
}

CrossEntropy::CrossEntropy(double eps, std::string name) : EvalMetric(std::move(name)), eps_(eps) {}
void CrossEntropy::add(const Tensor& labels, const Tensor& preds) {
  for_each_label(labels, preds, name(), {}, [&](double p) {
    sum_ -= std::log(p + eps_);
    ++count_;
  });
}

Perplexity::Perplexity(std::optional<std::int64_t> ignore_label, std::string name)
    : EvalMetric(std::move(name)), ignore_label_(ignore_label) {}
void Perplexity::add(const Tensor& labels, const Tensor& preds) {
  for_each_label(labels, preds, name(), ignore_label_, [&](double p) {
    sum_ -= std::log(std::max(p, 1e-10));
    ++count_;
  });
}
double Perplexity::value() const { return std::exp(EvalMetric::value()); }

MAE::MAE(std::string name) : EvalMetric(std::move(name)) {}
void MAE::add(const Tensor& labels, const Tensor& preds) {
  sum_ += mean_error(labels, preds, name(), [](double e) { return std::abs(e); });
  ++count_;
}

MSE::MSE(std::string name) : EvalMetric(std::move(name)) {}
void MSE::add(const Tensor& labels, const Tensor& preds) {
  sum_ += mean_error(labels, preds, name(), [](double e) { return e * e; });
  ++count_;
}

RMSE::RMSE(std::string name) : EvalMetric(std::move(name)) {}
void RMSE::add(const Tensor& labels, const Tensor& preds) {
  sum_ += std::sqrt(mean_error(labels, preds, name(), [](double e) { return e * e; }));
  ++count_;
}

Loss::Loss(std::string name) : EvalMetric(std::move(name)) {}
void Loss::update(const Tensor& loss, Where where) { EvalMetric::update(Tensor(), loss, where); }
void Loss::add(const Tensor&, const Tensor& preds) {
  for (const double v : preds.to_vector<double>()) sum_ += v;
  count_ += preds.size();
}

}  // namespace kiln::metric

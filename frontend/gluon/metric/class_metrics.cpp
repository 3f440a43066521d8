// Metrics of scores and probabilities of classes.
#include "frontend/call/line.h"
#include "frontend/gluon/metric/scores.h"

#include <kiln/metric.h>

#include <algorithm>
#include <cmath>

namespace kiln::metric {
namespace {

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

}  // namespace

Accuracy::Accuracy(int axis, std::string name) : EvalMetric(std::move(name)), axis_(axis) {}
void Accuracy::add(const Tensor& labels, const Tensor& preds) {
  const std::vector<std::int64_t> classes = predicted_classes(labels, preds, axis_, name());
  const auto rows = static_cast<std::int64_t>(classes.size());
  const std::vector<std::int64_t> label = classes_of(labels, rows, preds, name());
  for (std::size_t i = 0; i < label.size(); ++i) sum_ += label[i] == classes[i];
  count_ += rows;
}

TopKAccuracy::TopKAccuracy(int top_k, const std::string& name, Where where)
    : EvalMetric(fmt::format("{}_{}", name, top_k)), top_k_(top_k) {
  if (top_k < 1)
    fail("{}TopKAccuracy: top_k is {}; it is a number of classes, at least 1", line_prefix(where), top_k);
}
void TopKAccuracy::add(const Tensor& labels, const Tensor& preds) {
  const Scores scores(preds, 1, name());
  const std::vector<std::int64_t> label = classes_of(labels, scores.rows(), preds, name());
  for (std::int64_t row = 0; row < scores.rows(); ++row) {
    const std::int64_t c = label[static_cast<std::size_t>(row)];
    if (c < 0 || c >= scores.classes) continue;
    std::int64_t before = 0;
    for (std::int64_t other = 0; other < scores.classes; ++other) before += scores.before(row, other, c);
    sum_ += before < top_k_;
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

NegativeLogLikelihood::NegativeLogLikelihood(double eps, std::string name)
    : CrossEntropy(eps, std::move(name)) {}

Perplexity::Perplexity(std::optional<std::int64_t> ignore_label, std::string name)
    : EvalMetric(std::move(name)), ignore_label_(ignore_label) {}
void Perplexity::add(const Tensor& labels, const Tensor& preds) {
  for_each_label(labels, preds, name(), ignore_label_, [&](double p) {
    sum_ -= std::log(std::max(p, 1e-10));
    ++count_;
  });
}
double Perplexity::value() const { return std::exp(EvalMetric::value()); }

}  // namespace kiln::metric

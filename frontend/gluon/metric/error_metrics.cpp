// Metrics of the differences between labels and predictions.
#include "frontend/gluon/metric/scores.h"

#include <kiln/metric.h>

#include <cmath>

namespace kiln::metric {
namespace {

/// The mean of fn(label - prediction).
template <class Fn>
double mean_error(const Tensor& labels, const Tensor& preds, const std::string& metric, Fn fn) {
  check_same_size(labels, preds, metric);
  const auto label = labels.to_vector<double>(), pred = preds.to_vector<double>();
  double sum = 0;
  for (std::size_t i = 0; i < label.size(); ++i) sum += fn(label[i] - pred[i]);
  return sum / static_cast<double>(label.size());
}

}  // namespace

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

}  // namespace kiln::metric

// Metrics of how labels and predictions go together: counts of two classes, and correlations.
#include "frontend/gluon/metric/scores.h"

#include <kiln/metric.h>

#include <cmath>
#include <limits>
#include <set>

namespace kiln::metric {

void BinaryMetric::reset() {
  EvalMetric::reset();
  counts_ = {};
}

double BinaryMetric::value() const {
  if (average_ == Average::macro || counts_.total() == 0) return EvalMetric::value();
  return score(counts_);
}

void BinaryMetric::add_all(std::span<const Tensor> labels, std::span<const Tensor> preds) {
  const Counts before = counts_;
  try {
    EvalMetric::add_all(labels, preds);
  } catch (...) {
    counts_ = before;
    throw;
  }
  if (average_ == Average::micro) return;
  sum_ += score(counts_);
  ++count_;
  counts_ = {};
}

void BinaryMetric::add(const Tensor& labels, const Tensor& preds) {
  const Scores scores(preds, 1, name());
  const std::vector<std::int64_t> label = classes_of(labels, scores.rows(), preds, name());
  if (const std::set<std::int64_t> all(label.begin(), label.end()); all.size() > 2)
    fail("{} is a metric of two classes, and there are {} different labels: PCC is one of any number", name(),
         all.size());
  for (std::int64_t row = 0; row < scores.rows(); ++row) {
    const bool positive = label[static_cast<std::size_t>(row)] == 1, predicted = scores.largest(row) == 1;
    ++(predicted  ? positive ? counts_.true_positives : counts_.false_positives
       : positive ? counts_.false_negatives
                  : counts_.true_negatives);
  }
}

F1::F1(Average average, std::string name) : BinaryMetric(average, std::move(name)) {}
double F1::score(const Counts& c) const {
  const auto share = [](std::int64_t part, std::int64_t rest) {
    return part + rest == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(part + rest);
  };
  const double precision = share(c.true_positives, c.false_positives),
               recall = share(c.true_positives, c.false_negatives);
  return precision + recall == 0 ? 0 : 2 * precision * recall / (precision + recall);
}

MCC::MCC(Average average, std::string name) : BinaryMetric(average, std::move(name)) {}
double MCC::score(const Counts& c) const {
  const auto tp = static_cast<double>(c.true_positives), fp = static_cast<double>(c.false_positives),
             fn = static_cast<double>(c.false_negatives), tn = static_cast<double>(c.true_negatives);
  double product = 1;
  for (const double factor : {tp + fp, tp + fn, tn + fp, tn + fn})
    if (factor != 0) product *= factor;
  return (tp * tn - fp * fn) / std::sqrt(product);
}

PCC::PCC(std::string name) : EvalMetric(std::move(name)) {}
void PCC::reset() {
  EvalMetric::reset();
  classes_.clear();
}
void PCC::add(const Tensor& labels, const Tensor& preds) {
  const std::vector<std::int64_t> pred = predicted_classes(labels, preds, 1, name());
  const auto rows = static_cast<std::int64_t>(pred.size());
  const std::vector<std::int64_t> label = classes_of(labels, rows, preds, name());
  for (std::size_t i = 0; i < pred.size(); ++i) {
    ++classes_[label[i]].labels;
    ++classes_[pred[i]].preds;
    if (label[i] == pred[i]) ++classes_[label[i]].both;
  }
  count_ += rows;
}
double PCC::value() const {
  const auto n = static_cast<double>(count_);
  double labels = 0, preds = 0, both = 0;  // covariances, times n squared
  for (const auto& [_, c] : classes_) {
    labels += c.labels * (n - c.labels);
    preds += c.preds * (n - c.preds);
    both += c.both * n - c.labels * c.preds;
  }
  if (labels == 0 || preds == 0) return std::numeric_limits<double>::quiet_NaN();
  return both / std::sqrt(labels * preds);
}

/// By the recurrence of Welford (1962).
void PearsonCorrelation::Moments::add(double l, double p) {
  ++count;
  const double from_label = l - label, from_pred = p - pred;
  label += from_label / count;
  pred += from_pred / count;
  label_label += from_label * (l - label);
  pred_pred += from_pred * (p - pred);
  label_pred += from_label * (p - pred);
}
double PearsonCorrelation::Moments::correlation() const {
  if (label_label == 0 || pred_pred == 0) return std::numeric_limits<double>::quiet_NaN();
  return label_pred / std::sqrt(label_label * pred_pred);
}

PearsonCorrelation::PearsonCorrelation(Average average, std::string name)
    : EvalMetric(std::move(name)), average_(average) {}
void PearsonCorrelation::reset() {
  EvalMetric::reset();
  all_ = {};
}
void PearsonCorrelation::add(const Tensor& labels, const Tensor& preds) {
  if (labels.shape() != preds.shape())
    fail("{} needs labels and predictions of one shape: the labels are {}, the predictions {}", name(),
         labels.shape().str(), preds.shape().str());
  const auto label = labels.to_vector<double>(), pred = preds.to_vector<double>();
  Moments batch;
  Moments& moments = average_ == Average::micro ? all_ : batch;
  for (std::size_t i = 0; i < label.size(); ++i) moments.add(label[i], pred[i]);
  if (average_ == Average::micro) return;
  sum_ += batch.correlation();
  ++count_;
}
double PearsonCorrelation::value() const {
  return average_ == Average::micro ? all_.correlation() : EvalMetric::value();
}

}  // namespace kiln::metric

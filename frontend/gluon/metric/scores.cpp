// Scores of classes, and the class of each row.
#include "frontend/gluon/metric/scores.h"

#include "runtime/messages.h"

#include <cmath>

namespace kiln::metric {

Scores::Scores(const Tensor& t, int axis, const std::string& metric) {
  const Shape& shape = t.shape();
  const int a = axis < 0 ? axis + shape.rank() : axis;
  if (a < 0 || a >= shape.rank())
    fail(
        "{} takes scores with classes along axis {}, and the predictions are {}: update() takes labels, then "
        "predictions",
        metric, axis, shape.str());
  classes = shape[a];
  for (int i = a + 1; i < shape.rank(); ++i) after *= shape[i];
  values = t.to_vector<double>();
}

bool Scores::before(std::int64_t row, std::int64_t a, std::int64_t b) const {
  const double x = at(row, a), y = at(row, b);
  if (std::isnan(x) != std::isnan(y)) return std::isnan(x);
  return x > y || (!(y > x) && a < b);
}

std::int64_t Scores::largest(std::int64_t row) const {
  std::int64_t best = 0;
  for (std::int64_t c = 1; c < classes; ++c)
    if (before(row, c, best)) best = c;
  return best;
}

std::vector<std::int64_t> predicted_classes(const Tensor& labels, const Tensor& preds, int axis,
                                            const std::string& metric) {
  if (labels.shape() == preds.shape()) return preds.to_vector<std::int64_t>();
  const Scores scores(preds, axis, metric);
  std::vector<std::int64_t> classes;
  for (std::int64_t row = 0; row < scores.rows(); ++row) classes.push_back(scores.largest(row));
  return classes;
}

std::vector<std::int64_t> classes_of(const Tensor& labels, std::int64_t rows, const Tensor& preds,
                                     const std::string& metric) {
  if (labels.size() != rows)
    fail(Mistake::operand_shape,
         "{} needs a label for each of {} predictions: the labels are {}, the predictions {}", metric, rows,
         labels.shape().str(), preds.shape().str());
  return labels.to_vector<std::int64_t>();
}

void check_same_size(const Tensor& labels, const Tensor& preds, const std::string& metric) {
  if (labels.size() != preds.size())
    fail(Mistake::operand_shape,
         "{} needs as many labels as predictions: the labels are {}, the predictions {}", metric,
         labels.shape().str(), preds.shape().str());
}

}  // namespace kiln::metric

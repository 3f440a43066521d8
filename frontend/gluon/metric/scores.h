// Scores of classes along one axis.
#pragma once
#include "runtime/fail.h"

#include <kiln/tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace kiln::metric {

/// Scores of classes along one axis, as element (before, class, after).
struct Scores {
  std::vector<double> values;
  std::int64_t classes = 1, after = 1;

  /// Throws if `t` has no such axis.
  Scores(const Tensor& t, int axis, const std::string& metric);
  std::int64_t rows() const { return classes == 0 ? 0 : static_cast<std::int64_t>(values.size()) / classes; }
  double at(std::int64_t row, std::int64_t c) const {
    return values[static_cast<std::size_t>((row / after * classes + c) * after + row % after)];
  }
  /// Whether class a of the row comes before class b: it has the larger score, or an equal one and the
  /// smaller index. NaN is the largest score.
  bool before(std::int64_t row, std::int64_t a, std::int64_t b) const;
  /// The class before all others, as `F::argmax` gives it.
  std::int64_t largest(std::int64_t row) const;
};

/// The predicted class of each row: predictions of the labels' shape are classes, others scores.
std::vector<std::int64_t> predicted_classes(const Tensor& labels, const Tensor& preds, int axis,
                                            const std::string& metric);

/// One class index for each of `rows`.
std::vector<std::int64_t> classes_of(const Tensor& labels, std::int64_t rows, const Tensor& preds,
                                     const std::string& metric);

/// Throws unless there are as many labels as predictions.
void check_same_size(const Tensor& labels, const Tensor& preds, const std::string& metric);

}  // namespace kiln::metric

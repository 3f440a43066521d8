#pragma once
#include <kiln/export.h>
#include <kiln/tensor.h>

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

/// Metrics with MXNet's names and values. Labels are class indices (batch,) where the metric is about
/// classes. Sums are in double; updates are not recorded.
/// ```
/// metric::Accuracy accuracy;
/// for (...) accuracy.update(labels, net(x));
/// auto [name, value] = accuracy.get();
/// ```
namespace kiln::metric {

/// A mean over all updates since the last reset(). Derive from it to write another: add() adds to sum_ and
/// count_. Thread rule: one thread at a time.
class KILN_API EvalMetric {
 public:
  using Where = std::source_location;

  virtual ~EvalMetric();

  /// Adds the predictions of a batch. Throws for shapes that do not fit.
  void update(const Tensor& labels, const Tensor& preds, Where where = Where::current());
  /// The same for several outputs with a label each.
  void update(const std::vector<Tensor>& labels, const std::vector<Tensor>& preds,
              Where where = Where::current());
  void reset();
  const std::string& name() const { return name_; }
  /// NaN before the first update.
  virtual double value() const;
  /// The name and the value.
  std::pair<std::string, double> get() const { return {name_, value()}; }

 protected:
  explicit EvalMetric(std::string name) : name_(std::move(name)) {}
  EvalMetric(const EvalMetric&) = default;
  EvalMetric& operator=(const EvalMetric&) = default;
  virtual void add(const Tensor& labels, const Tensor& preds) = 0;

  double sum_ = 0;
  std::int64_t count_ = 0;

 private:
  std::string name_;
};

/// The share of predictions that equal the label. Predictions of another shape than the labels are scores:
/// the class is the index of the largest along `axis`, the first of equal ones.
class KILN_API Accuracy : public EvalMetric {
 public:
  explicit Accuracy(int axis = 1, std::string name = "accuracy");

 protected:
  void add(const Tensor& labels, const Tensor& preds) override;

 private:
  int axis_;
};

/// The share of rows of scores (batch, classes) of which the label is among the `top_k` largest; of equal
/// scores the first is the larger. The name is "top_k_accuracy_5" for 5.
class KILN_API TopKAccuracy : public EvalMetric {
 public:
  explicit TopKAccuracy(int top_k, const std::string& name = "top_k_accuracy");

 protected:
  void add(const Tensor& labels, const Tensor& preds) override;

 private:
  int top_k_;
};

/// -log(p + eps) of the label's probability p along the last axis, averaged.
class KILN_API CrossEntropy : public EvalMetric {
 public:
  explicit CrossEntropy(double eps = 1e-12, std::string name = "cross-entropy");

 protected:
  void add(const Tensor& labels, const Tensor& preds) override;

 private:
  double eps_;
};

/// exp of the mean of -log(max(p, 1e-10)), p the label's probability along the last axis. Labels that equal
/// `ignore_label` do not count.
class KILN_API Perplexity : public EvalMetric {
 public:
  explicit Perplexity(std::optional<std::int64_t> ignore_label = {}, std::string name = "perplexity");
  double value() const override;

 protected:
  void add(const Tensor& labels, const Tensor& preds) override;

 private:
  std::optional<std::int64_t> ignore_label_;
};

/// Mean absolute error of a batch, averaged over the batches.
class KILN_API MAE : public EvalMetric {
 public:
  explicit MAE(std::string name = "mae");

 protected:
  void add(const Tensor& labels, const Tensor& preds) override;
};

/// Mean squared error of a batch, averaged over the batches.
class KILN_API MSE : public EvalMetric {
 public:
  explicit MSE(std::string name = "mse");

 protected:
  void add(const Tensor& labels, const Tensor& preds) override;
};

/// The root of the mean squared error of a batch, averaged over the batches.
class KILN_API RMSE : public EvalMetric {
 public:
  explicit RMSE(std::string name = "rmse");

 protected:
  void add(const Tensor& labels, const Tensor& preds) override;
};

/// The mean of all elements of losses.
class KILN_API Loss : public EvalMetric {
 public:
  explicit Loss(std::string name = "loss");
  using EvalMetric::update;
  /// A loss needs no labels.
  void update(const Tensor& loss, Where where = Where::current());

 protected:
  void add(const Tensor& labels, const Tensor& preds) override;
};

}  // namespace kiln::metric

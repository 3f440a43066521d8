// Metrics of predictions.
#pragma once
#include <kiln/export.h>
#include <kiln/tensor.h>

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
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

/// Names of metrics and their values.
using NamedValues = std::vector<std::pair<std::string, double>>;

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
  /// Forgets all updates.
  virtual void reset();
  const std::string& name() const { return name_; }  ///< as it is printed: "accuracy"
  /// NaN before the first update.
  virtual double value() const;
  /// The name and the value.
  std::pair<std::string, double> get() const { return {name_, value()}; }
  /// The same as a list; of a CompositeEvalMetric, of all its metrics.
  virtual NamedValues get_name_value() const { return {get()}; }

 protected:
  explicit EvalMetric(std::string name) : name_(std::move(name)) {}
  EvalMetric(const EvalMetric&) = default;
  EvalMetric& operator=(const EvalMetric&) = default;
  /// One output of a batch.
  virtual void add(const Tensor& labels, const Tensor& preds) = 0;
  /// All outputs of a batch: by default, an add() for each. Throws for lists of different lengths.
  virtual void add_all(std::span<const Tensor> labels, std::span<const Tensor> preds);

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

/// The share of rows of scores (batch, classes) whose label is among the `top_k` largest; of equal scores the
/// first is the larger. The name is "top_k_accuracy_5" for 5.
class KILN_API TopKAccuracy : public EvalMetric {
 public:
  explicit TopKAccuracy(int top_k, const std::string& name = "top_k_accuracy",
                        Where where = Where::current());

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

/// CrossEntropy under another name.
class KILN_API NegativeLogLikelihood : public CrossEntropy {
 public:
  explicit NegativeLogLikelihood(double eps = 1e-12, std::string name = "nll-loss");
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

/// How the value of several batches follows from them.
enum class Average {
  macro,  ///< the mean of the batches' values
  micro   ///< the value of all of them as one batch
};

/// The base of metrics of two classes: their counts. Predictions are scores (batch, classes); class 1 is the
/// positive one, and labels are 1 or one other number.
class KILN_API BinaryMetric : public EvalMetric {
 public:
  void reset() override;
  double value() const override;

 protected:
  struct Counts {
    std::int64_t true_positives = 0, false_positives = 0, false_negatives = 0, true_negatives = 0;
    std::int64_t total() const { return true_positives + false_positives + false_negatives + true_negatives; }
  };

  BinaryMetric(Average average, std::string name) : EvalMetric(std::move(name)), average_(average) {}
  void add(const Tensor& labels, const Tensor& preds) override;
  void add_all(std::span<const Tensor> labels, std::span<const Tensor> preds) override;
  virtual double score(const Counts& counts) const = 0;

 private:
  Average average_;
  Counts counts_;
};

/// The harmonic mean of precision and recall; 0 where both are.
class KILN_API F1 : public BinaryMetric {
 public:
  explicit F1(Average average = Average::macro, std::string name = "f1");

 protected:
  double score(const Counts& counts) const override;
};

/// Matthews' correlation coefficient, -1 to 1: (TP TN - FP FN) / sqrt((TP + FP)(TP + FN)(TN + FP)(TN + FN)),
/// without the factors that are 0.
class KILN_API MCC : public BinaryMetric {
 public:
  explicit MCC(Average average = Average::macro, std::string name = "mcc");

 protected:
  double score(const Counts& counts) const override;
};

/// Matthews' correlation coefficient of any number of classes (Gorodkin 2004), of all batches as one.
/// Predictions of another shape than the labels are scores, with classes along axis 1. NaN if labels or
/// predictions are all of one class.
class KILN_API PCC : public EvalMetric {
 public:
  explicit PCC(std::string name = "pcc");
  void reset() override;
  double value() const override;

 protected:
  void add(const Tensor& labels, const Tensor& preds) override;

 private:
  struct Counts {
    double labels = 0, preds = 0, both = 0;
  };
  std::map<std::int64_t, Counts> classes_;
};

/// Pearson's correlation coefficient of labels and predictions, of equal shapes. NaN if either is constant.
class KILN_API PearsonCorrelation : public EvalMetric {
 public:
  explicit PearsonCorrelation(Average average = Average::macro, std::string name = "pearsonr");
  void reset() override;
  double value() const override;

 protected:
  void add(const Tensor& labels, const Tensor& preds) override;

 private:
  /// Means, and sums of products of deviations from them.
  struct Moments {
    double count = 0, label = 0, pred = 0, label_label = 0, pred_pred = 0, label_pred = 0;
    void add(double l, double p);
    double correlation() const;
  };

  Average average_;
  Moments all_;
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
  void add_all(std::span<const Tensor> labels, std::span<const Tensor> preds) override;
};

/// The result of a CustomMetric's function: a batch's value, or a sum with the number of its terms.
struct Evaluation {
  double sum = 0;          ///< the sum of the terms
  std::int64_t count = 1;  ///< the number of terms
  /// One value, or a sum of `count` terms.
  /// @{
  Evaluation(double value) : sum(value) {}
  Evaluation(double sum, std::int64_t count) : sum(sum), count(count) {}
  /// @}
};

/// The mean of what a function of labels and predictions returns.
/// ```
/// metric::CustomMetric bias([](const Tensor& label, const Tensor& pred) {
///   return (pred - label).mean().item<double>();
/// }, "bias");
/// ```
class KILN_API CustomMetric : public EvalMetric {
 public:
  /// From a batch's labels and predictions to its value.
  using Function = std::function<Evaluation(const Tensor& label, const Tensor& pred)>;

  /// `allow_extra_outputs`: the longer of the lists that update() takes is cut to the length of the shorter.
  explicit CustomMetric(Function feval, std::string name = "custom", bool allow_extra_outputs = false,
                        Where where = Where::current());

 protected:
  void add(const Tensor& labels, const Tensor& preds) override;
  void add_all(std::span<const Tensor> labels, std::span<const Tensor> preds) override;

 private:
  Function feval_;
  bool allow_extra_outputs_;
};

/// Several metrics of the same labels and predictions. Shares the metrics that are given as pointers.
class KILN_API CompositeEvalMetric : public EvalMetric {
 public:
  explicit CompositeEvalMetric(std::vector<std::shared_ptr<EvalMetric>> metrics = {},
                               std::string name = "composite", Where where = Where::current());

  /// Appends a metric, which is shared.
  void add(std::shared_ptr<EvalMetric> metric, Where where = Where::current());
  /// Adds a copy.
  template <std::derived_from<EvalMetric> Metric>
  void add(const Metric& metric) {
    add(std::make_shared<Metric>(metric));
  }
  std::size_t size() const { return metrics_.size(); }  ///< the number of metrics
  /// Metric number i. Throws if there is none.
  EvalMetric& get_metric(std::size_t i, Where where = Where::current()) const;

  void reset() override;
  /// Throws: there are several. get_name_value() has them.
  double value() const override;
  NamedValues get_name_value() const override;

 protected:
  void add(const Tensor& labels, const Tensor& preds) override;
  void add_all(std::span<const Tensor> labels, std::span<const Tensor> preds) override;

 private:
  std::vector<std::shared_ptr<EvalMetric>> metrics_;
};

/// Options of create(), taken from the constructors.
struct Options {
  std::optional<int> axis = {};                   ///< Accuracy
  std::optional<int> top_k = {};                  ///< TopKAccuracy, which needs it
  std::optional<double> eps = {};                 ///< CrossEntropy, NegativeLogLikelihood
  std::optional<std::int64_t> ignore_label = {};  ///< Perplexity
  std::optional<Average> average = {};            ///< F1, MCC, PearsonCorrelation
  std::optional<std::string> name = {};           ///< any
};

/// A metric by its name in MXNet: the class's, in any case ("Accuracy", "rmse", ...), or "acc",
/// "top_k_accuracy", "top_k_acc", "ce", "nll_loss", "pearsonr", "composite". Throws for another name, listing
/// all, and for an option that the metric does not have.
KILN_API std::shared_ptr<EvalMetric> create(std::string_view name, const Options& options = {},
                                            std::source_location where = std::source_location::current());
/// A CompositeEvalMetric of these: `create({"acc", "ce"})`.
KILN_API std::shared_ptr<CompositeEvalMetric> create(
    std::initializer_list<std::string_view> names,
    std::source_location where = std::source_location::current());

}  // namespace kiln::metric

// The base of metrics, and the metrics Loss, CustomMetric and CompositeEvalMetric.
#include "frontend/call/call_site.h"
#include "frontend/call/line.h"
#include "runtime/fail.h"

#include <kiln/metric.h>

#include <algorithm>
#include <limits>

namespace kiln::metric {

EvalMetric::~EvalMetric() = default;

void EvalMetric::update(const Tensor& labels, const Tensor& preds, Where where) {
  update(std::vector{labels}, std::vector{preds}, where);
}
void EvalMetric::update(const std::vector<Tensor>& labels, const std::vector<Tensor>& preds, Where where) {
  const CallSite site(where, where);
  at_line(where, [&] { add_all(labels, preds); });
}
void EvalMetric::add_all(std::span<const Tensor> labels, std::span<const Tensor> preds) {
  if (labels.size() != preds.size())
    fail("{} needs labels for each output: there are {} arrays of labels and {} of predictions", name_,
         labels.size(), preds.size());
  for (std::size_t i = 0; i < labels.size(); ++i) add(labels[i], preds[i]);
}
void EvalMetric::reset() {
  sum_ = 0;
  count_ = 0;
}
double EvalMetric::value() const {
  return count_ == 0 ? std::numeric_limits<double>::quiet_NaN() : sum_ / static_cast<double>(count_);
}

Loss::Loss(std::string name) : EvalMetric(std::move(name)) {}
void Loss::update(const Tensor& loss, Where where) { EvalMetric::update(Tensor(), loss, where); }
void Loss::add_all(std::span<const Tensor>, std::span<const Tensor> preds) {
  for (const Tensor& losses : preds) add({}, losses);
}
void Loss::add(const Tensor&, const Tensor& preds) {
  for (const double v : preds.to_vector<double>()) sum_ += v;
  count_ += preds.size();
}

CustomMetric::CustomMetric(Function feval, std::string name, bool allow_extra_outputs, Where where)
    : EvalMetric(std::move(name)), feval_(std::move(feval)), allow_extra_outputs_(allow_extra_outputs) {
  if (!feval_) fail("{}a CustomMetric needs a function of labels and predictions", line_prefix(where));
}
void CustomMetric::add_all(std::span<const Tensor> labels, std::span<const Tensor> preds) {
  const std::size_t both = std::min(labels.size(), preds.size());
  if (allow_extra_outputs_) return EvalMetric::add_all(labels.first(both), preds.first(both));
  EvalMetric::add_all(labels, preds);
}
void CustomMetric::add(const Tensor& labels, const Tensor& preds) {
  const Evaluation batch = feval_(labels, preds);
  sum_ += batch.sum;
  count_ += batch.count;
}

CompositeEvalMetric::CompositeEvalMetric(std::vector<std::shared_ptr<EvalMetric>> metrics, std::string name,
                                         Where where)
    : EvalMetric(std::move(name)) {
  for (auto& m : metrics) add(std::move(m), where);
}
void CompositeEvalMetric::add(std::shared_ptr<EvalMetric> metric, Where where) {
  if (!metric) fail("{}{}: the metric to add is a null pointer", line_prefix(where), name());
  metrics_.push_back(std::move(metric));
}
EvalMetric& CompositeEvalMetric::get_metric(std::size_t i, Where where) const {
  if (i >= metrics_.size())
    fail("{}{} has no metric {}, but {} of them", line_prefix(where), name(), i, metrics_.size());
  return *metrics_[i];
}
void CompositeEvalMetric::reset() {
  for (const auto& m : metrics_) m->reset();
}
double CompositeEvalMetric::value() const {
  fail("{} has {} values: get_name_value() gives them", name(), metrics_.size());
}
NamedValues CompositeEvalMetric::get_name_value() const {
  NamedValues all;
  for (const auto& m : metrics_)
    for (auto& entry : m->get_name_value()) all.push_back(std::move(entry));
  return all;
}
void CompositeEvalMetric::add_all(std::span<const Tensor> labels, std::span<const Tensor> preds) {
  for (const auto& m : metrics_)
    m->update(std::vector(labels.begin(), labels.end()), std::vector(preds.begin(), preds.end()),
              CallSite::resolve({}));
}
void CompositeEvalMetric::add(const Tensor& labels, const Tensor& preds) {
  add_all({&labels, 1}, {&preds, 1});
}

}  // namespace kiln::metric

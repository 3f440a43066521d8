// Metrics by name.
#include "frontend/call/line.h"
#include "ir/nearest_name.h"
#include "runtime/messages.h"

#include <kiln/metric.h>

#include <algorithm>
#include <cctype>
#include <fmt/ranges.h>
#include <initializer_list>
#include <vector>

namespace kiln::metric {
namespace {

enum Option : unsigned { none = 0, axis = 1, top_k = 2, eps = 4, ignore_label = 8, average = 16 };

struct Named {
  std::initializer_list<std::string_view> names;  ///< the class's in lower case, then others
  unsigned takes;                                 ///< the sum of its Options
  std::shared_ptr<EvalMetric> (*make)(const Options& o);
};

/// A metric of `arguments`, with the name of the options if there is one.
template <class Metric, class... A>
std::shared_ptr<EvalMetric> make(const Options& o, const A&... arguments) {
  if (o.name) return std::make_shared<Metric>(arguments..., *o.name);
  return std::make_shared<Metric>(arguments...);
}

const Named table[] = {
    {{"accuracy", "acc"}, axis, [](const Options& o) { return make<Accuracy>(o, o.axis.value_or(1)); }},
    {{"topkaccuracy", "top_k_accuracy", "top_k_acc"},
     top_k,
     [](const Options& o) {
       if (!o.top_k) fail("TopKAccuracy needs the option top_k");
       return make<TopKAccuracy>(o, *o.top_k);
     }},
    {{"f1"}, average, [](const Options& o) { return make<F1>(o, o.average.value_or(Average::macro)); }},
    {{"mcc"}, average, [](const Options& o) { return make<MCC>(o, o.average.value_or(Average::macro)); }},
    {{"perplexity"}, ignore_label, [](const Options& o) { return make<Perplexity>(o, o.ignore_label); }},
    {{"mae"}, none, [](const Options& o) { return make<MAE>(o); }},
    {{"mse"}, none, [](const Options& o) { return make<MSE>(o); }},
    {{"rmse"}, none, [](const Options& o) { return make<RMSE>(o); }},
    {{"crossentropy", "ce"},
     eps,
     [](const Options& o) { return make<CrossEntropy>(o, o.eps.value_or(1e-12)); }},
    {{"negativeloglikelihood", "nll_loss"},
     eps,
     [](const Options& o) { return make<NegativeLogLikelihood>(o, o.eps.value_or(1e-12)); }},
    {{"pearsoncorrelation", "pearsonr"},
     average,
     [](const Options& o) { return make<PearsonCorrelation>(o, o.average.value_or(Average::macro)); }},
    {{"pcc"}, none, [](const Options& o) { return make<PCC>(o); }},
    {{"loss"}, none, [](const Options& o) { return make<Loss>(o); }},
    {{"compositeevalmetric", "composite"},
     none,
     [](const Options& o) {
       return make<CompositeEvalMetric>(o, std::vector<std::shared_ptr<EvalMetric>>());
     }},
};

void check_options(const Options& o, const Named& metric) {
  const auto check = [&](bool given, Option option, std::string_view name) {
    if (given && !(metric.takes & option))
      fail("the metric '{}' has no option {}", *metric.names.begin(), name);
  };
  check(o.axis.has_value(), axis, "axis");
  check(o.top_k.has_value(), top_k, "top_k");
  check(o.eps.has_value(), eps, "eps");
  check(o.ignore_label.has_value(), ignore_label, "ignore_label");
  check(o.average.has_value(), average, "average");
}

std::vector<std::string_view> known_names() {
  std::vector<std::string_view> names;
  for (const Named& m : table) names.insert(names.end(), m.names);
  return names;
}

}  // namespace

std::shared_ptr<EvalMetric> create(std::string_view name, const Options& options,
                                   std::source_location where) {
  return at_line(where, [&] {
    std::string lower(name);
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    for (const Named& m : table) {
      if (std::find(m.names.begin(), m.names.end(), lower) == m.names.end()) continue;
      check_options(options, m);
      return m.make(options);
    }
    const std::vector<std::string_view> names = known_names();
    const std::string_view near = ir::nearest_name(lower, names);
    fail(Mistake::unknown_metric, "'{}' is no metric{}; there are {}, and CustomMetric", name,
         near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near),
         fmt::format("{}", fmt::join(names, ", ")));
  });
}

std::shared_ptr<CompositeEvalMetric> create(std::initializer_list<std::string_view> names,
                                            std::source_location where) {
  auto composite = std::make_shared<CompositeEvalMetric>();
  for (const std::string_view n : names) composite->add(create(n, {}, where));
  return composite;
}

}  // namespace kiln::metric

// The base of optimizers, and their names.
#include "frontend/call/line.h"
#include "frontend/gluon/trainer/options.h"
#include "ir/nearest_name.h"
#include "runtime/dynamic_type.h"
#include "runtime/messages.h"

#include <kiln/f.h>
#include <kiln/optimizers.h>

#include <algorithm>
#include <cctype>
#include <fmt/ranges.h>

namespace kiln::optimizer {

Optimizer::Optimizer(std::string name, const Options& options, std::source_location where,
                     const std::vector<std::string_view>& own, double default_rate)
    : name_(std::move(name)), options_(options), rate_(options.learning_rate.value_or(default_rate)) {
  at_line(where, [&] {
    kiln::detail::check_options(name_, options_, own);
    lr_scheduler::Schedule& schedule = options_.lr_scheduler;
    if (schedule.defined() && (options_.learning_rate || !schedule.has_base_lr()))
      schedule = schedule.with_base_lr(rate_, {});
  });
}

Optimizer::~Optimizer() = default;

double Optimizer::learning_rate(std::int64_t num_update) const {
  return options_.lr_scheduler.defined() ? options_.lr_scheduler(num_update) : rate_;
}

void Optimizer::set_learning_rate(double rate, std::source_location where) {
  if (options_.lr_scheduler.defined())
    fail(
        "{}the learning rate follows the schedule {}: set_learning_rate() has a meaning only without "
        "lr_scheduler",
        line_prefix(where), options_.lr_scheduler.str());
  at_line(where, [&] { kiln::detail::check_rate(rate); });
  rate_ = rate;
}

void Optimizer::numbers(const Progress&, Memory&, std::vector<double>&) const {}

Tensor Optimizer::clipped(const Tensor& t) const {
  const auto bound = options_.clip_gradient;
  return bound ? F::clip(t, -*bound, *bound) : t;
}
Tensor Optimizer::rescaled(const Update& u) const { return clipped(u.gradient * u.rescale); }
Tensor Optimizer::decayed(const Update& u) const { return u.gradient * u.rescale + u.decay * u.weight; }

namespace {

template <class Rule>
std::shared_ptr<Optimizer> make(const Options& options, Where where) {
  return std::make_shared<Rule>(options, where);
}

template <class Rule>
bool is(const Optimizer& optimizer) {
  const std::type_info* const type = dynamic_type(optimizer);
  return type && *type == typeid(Rule);
}

struct Known {
  std::string_view name;
  std::shared_ptr<Optimizer> (*make)(const Options&, Where);
  bool (*is)(const Optimizer&);
};
template <class Rule>
constexpr Known known_as(std::string_view name) {
  return {name, make<Rule>, is<Rule>};
}
constexpr Known known[] = {
    known_as<SGD>("sgd"),         known_as<NAG>("nag"),           known_as<Signum>("signum"),
    known_as<FTML>("ftml"),       known_as<LARS>("lars"),         known_as<LAMB>("lamb"),
    known_as<Adam>("adam"),       known_as<AdamW>("adamw"),       known_as<AdaGrad>("adagrad"),
    known_as<RMSProp>("rmsprop"), known_as<AdaDelta>("adadelta"), known_as<Ftrl>("ftrl"),
    known_as<Adamax>("adamax"),   known_as<Nadam>("nadam"),       known_as<SGLD>("sgld"),
};

}  // namespace

std::shared_ptr<Optimizer> create(std::string_view name, const Options& options, std::source_location where) {
  return at_line(where, [&] {
    std::string lower(name.substr(0, 64));
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    for (const Known& k : known)
      if (k.name == lower) return k.make(options, where);
    std::vector<std::string_view> names;
    for (const Known& k : known) names.push_back(k.name);
    const std::string_view near = ir::nearest_name(lower, names);
    fail(Mistake::unknown_optimizer, "there is no optimizer '{}'{}; there are {}", std::string(name),
         near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near),
         fmt::format("{}", fmt::join(names, ", ")));
  });
}

}  // namespace kiln::optimizer

double& kiln::detail::remembered(optimizer::Memory& memory, std::string_view name, double first) {
  const auto known = memory.find(name);
  return known != memory.end() ? known->second : memory.emplace(name, first).first->second;
}

bool kiln::detail::is_library_rule(const optimizer::Optimizer& optimizer) {
  return std::any_of(std::begin(optimizer::known), std::end(optimizer::known),
                     [&](const auto& k) { return k.is(optimizer); });
}

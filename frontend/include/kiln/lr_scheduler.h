// Learning rate schedules.
#pragma once
#include <kiln/export.h>

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

/// Learning rates as functions of the number of updates, as MXNet's lr_scheduler. All arithmetic is in
/// double, in MXNet's order. A schedule has no state: its rate depends on the number alone, so that a program
/// may continue at any number. Any thread.
namespace kiln::lr_scheduler {

namespace detail {
class FactorChain;
}

using Where = std::source_location;

/// How the rate rises during the first `warmup_steps` updates.
enum class WarmupMode {
  linear,    ///< from warmup_begin_lr to base_lr
  constant,  ///< it stays warmup_begin_lr
};

/// Multiplies the rate by `factor` after each `step` updates.
struct FactorOptions {
  std::int64_t step = 1;               ///< updates from one multiplication to the next
  double factor = 1;                   ///< of the rate at each step, from 0 to 1
  double stop_factor_lr = 1e-8;        ///< the rate does not fall below it
  std::optional<double> base_lr = {};  ///< default: the optimizer's learning_rate, or 0.01
  std::int64_t warmup_steps = 0;       ///< updates before the schedule, in which the rate rises to base_lr
  double warmup_begin_lr = 0;          ///< the rate of the first update of the warm-up
  WarmupMode warmup_mode = WarmupMode::linear;  ///< how the rate rises
};
/// Multiplies the rate by `factor` once for each number in `step` that has been passed. The numbers increase.
struct MultiFactorOptions {
  std::vector<std::int64_t> step;  ///< the updates after which the rate is multiplied, increasing
  double factor = 1;
  std::optional<double> base_lr = {};
  std::int64_t warmup_steps = 0;
  double warmup_begin_lr = 0;
  WarmupMode warmup_mode = WarmupMode::linear;
};
/// Falls from base_lr to final_lr, reached at update `max_update`, as a polynomial of degree `pwr`.
struct PolyOptions {
  std::int64_t max_update = 1;  ///< the update that has final_lr first
  std::optional<double> base_lr = {};
  double pwr = 2;       ///< the degree of the polynomial
  double final_lr = 0;  ///< the rate from update max_update on
  std::int64_t warmup_steps = 0;
  double warmup_begin_lr = 0;
  WarmupMode warmup_mode = WarmupMode::linear;
};
/// Falls from base_lr to final_lr, reached at update `max_update`, as half a period of the cosine.
struct CosineOptions {
  std::int64_t max_update = 1;
  std::optional<double> base_lr = {};
  double final_lr = 0;
  std::int64_t warmup_steps = 0;
  double warmup_begin_lr = 0;
  WarmupMode warmup_mode = WarmupMode::linear;
};

/// The schedules. Their constructors throw kiln::Error for options without sense: a step below 1, a factor
/// below 0 or above 1, steps that do not increase, a negative rate. The same holds for a warm-up that begins
/// above base_lr or is longer than the schedule. A call returns the rate of update number `num_update`; the
/// first update has the number 1. The cost of a call does not depend on the number. A Factor multiplies once
/// for each `step` updates that are new to it and its copies.
class KILN_API Factor {
 public:
  explicit Factor(const FactorOptions& options, Where where = Where::current());
  /// The rate of update number `num_update`.
  double operator()(std::int64_t num_update) const;
  /// The options, as given.
  const FactorOptions& options() const { return options_; }

 private:
  FactorOptions options_;
  std::shared_ptr<detail::FactorChain> chain_;
};
/// The schedule of MultiFactorOptions.
class KILN_API MultiFactor {
 public:
  explicit MultiFactor(const MultiFactorOptions& options, Where where = Where::current());
  /// The rate of update number `num_update`.
  double operator()(std::int64_t num_update) const;
  /// The options, as given.
  const MultiFactorOptions& options() const { return options_; }

 private:
  MultiFactorOptions options_;
};
/// The schedule of PolyOptions.
class KILN_API Poly {
 public:
  explicit Poly(const PolyOptions& options, Where where = Where::current());
  /// The rate of update number `num_update`.
  double operator()(std::int64_t num_update) const;
  /// The options, as given.
  const PolyOptions& options() const { return options_; }

 private:
  PolyOptions options_;
};
/// The schedule of CosineOptions.
class KILN_API Cosine {
 public:
  explicit Cosine(const CosineOptions& options, Where where = Where::current());
  /// The rate of update number `num_update`.
  double operator()(std::int64_t num_update) const;
  /// The options, as given.
  const CosineOptions& options() const { return options_; }

 private:
  CosineOptions options_;
};

/// Any schedule: one of the above, or a function of the update number. An empty one is no schedule.
class KILN_API Schedule {
 public:
  Schedule() = default;
  /// One of Kiln's schedules; its Python text is str().
  /// @{
  Schedule(const Factor& s);
  Schedule(const MultiFactor& s);
  Schedule(const Poly& s);
  Schedule(const Cosine& s);
  /// @}
  /// A function of the update number that returns the rate.
  template <class F>
  requires std::convertible_to < std::invoke_result_t<const F&, std::int64_t>,
  double > &&(!std::same_as<F, Schedule>)Schedule(F rate) : rate_(std::move(rate)), text_("function") {}

  bool defined() const { return static_cast<bool>(rate_); }  ///< whether it is a schedule
  /// The rate of update number `num_update`. The schedule is defined.
  double operator()(std::int64_t num_update) const { return rate_(num_update); }
  /// Whether it has a base_lr, as every function has.
  bool has_base_lr() const { return !rebase_ || has_base_; }
  /// The schedule with this base_lr; a function stays itself. Throws if it has another one.
  Schedule with_base_lr(double base_lr, Where where = Where::current()) const;
  /// "Factor(step=10, factor=0.5, ...)"; "function" for a function of the program.
  const std::string& str() const { return text_; }

 private:
  template <class S>
  void become(const S& schedule);

  std::function<double(std::int64_t)> rate_;
  std::function<Schedule(double, Where)> rebase_;
  bool has_base_ = false;
  std::string text_;
};

}  // namespace kiln::lr_scheduler

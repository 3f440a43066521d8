// The base class of optimizers, their options and their names.
#pragma once
#include <kiln/export.h>
#include <kiln/lr_scheduler.h>
#include <kiln/tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Optimizers, with MXNet's names, options and defaults, and the base class of a program's own.
///
/// A rule is tensor code for one parameter. A Trainer traces it once, on shapes, and compiles the updates of
/// all its parameters as one executable. Numbers that change from step to step are computed on the host, in
/// double, and rounded once; they are inputs of the executable, so that a schedule compiles nothing.
namespace kiln::optimizer {

/// Options of every optimizer, then options of some. A given option that the optimizer does not have is an
/// error, which lists the options it has. So is a number outside of its range, such as a negative rate or
/// decay, or a momentum of 1 or more.
struct Options {
  /// 0 or more; default: the schedule's base_lr, or the optimizer's. To maximise, negate the loss.
  std::optional<double> learning_rate = {};
  std::optional<double> momentum = {};  ///< sgd, nag, lars: 0; signum: 0.9
  std::optional<double> beta1 = {};     ///< adam, adamw, adamax, nadam, lamb: 0.9; ftml: 0.6
  std::optional<double> beta2 = {};     ///< of the same, and ftml: 0.999
  std::optional<double> epsilon =
      {};                   ///< adam, ftml, nadam, rmsprop: 1e-8; adamw, lamb: 1e-6; adadelta: 1e-5
  double wd = 0;            ///< weight decay: times the weight, added to the gradient
  double rescale_grad = 1;  ///< of the gradients; Trainer divides it by the batch size
  std::optional<double> clip_gradient = {};  ///< gradients are clipped to [-clip_gradient, clip_gradient]
  /// The rate of each update number; its base_lr is learning_rate unless it has its own.
  lr_scheduler::Schedule lr_scheduler = {};
  std::int64_t begin_num_update = 0;  ///< the count of updates begins there
  /// Keeps a float32 copy of float16 and bfloat16 weights, which the rule updates, and float32 states.
  bool multi_precision = false;
  /// Names by the position of a parameter. A parameter with a name here does not decay unless it ends in
  /// _weight or _gamma. Without names all parameters decay, biases too.
  std::map<std::int64_t, std::string> param_idx2name = {};

  std::optional<bool> lazy_update = {};          ///< sgd, adam, lars: no effect, gradients are dense
  std::optional<double> wd_lh = {};              ///< signum: decay of the weight itself, default 0
  std::optional<double> lower_bound = {};        ///< lamb: of the weight's norm
  std::optional<double> upper_bound = {};        ///< lamb
  std::optional<bool> bias_correction = {};      ///< lamb: default true
  std::optional<bool> correct_bias = {};         ///< adamw: default true
  std::optional<double> eta = {};                ///< lars: default 0.001
  std::optional<double> eps = {};                ///< adagrad: 1e-7; lars: 0
  std::optional<bool> momentum_correction = {};  ///< lars: default true
  std::optional<double> gamma1 = {};             ///< rmsprop: default 0.9
  std::optional<double> gamma2 = {};             ///< rmsprop, centered: default 0.9
  std::optional<bool> centered = {};             ///< rmsprop: default false
  std::optional<double> clip_weights = {};       ///< rmsprop: weights are clipped after each update
  std::optional<double> rho = {};                ///< adadelta: default 0.9
  std::optional<double> lamda1 = {};             ///< ftrl: default 0.01
  std::optional<double> beta = {};               ///< ftrl: default 1
  std::optional<double> schedule_decay = {};     ///< nadam: default 0.004
};

/// The place of an update in the training of one parameter.
struct Progress {
  std::int64_t count = 1;       ///< updates of the parameter, this one included
  std::int64_t num_update = 1;  ///< the largest count of all parameters
  double base_rate = 0;         ///< the learning rate, without the parameter's lr_mult
  double rate = 0;              ///< with it
  double decay = 0;             ///< wd times the parameter's wd_mult
};

/// Numbers that an optimizer carries on the host from one update to the next, by name; saved with the states.
using Memory = std::map<std::string, double, std::less<>>;

/// The update of one parameter, as an optimizer's rule sees it. `weight`, `gradient` and `states` have the
/// parameter's shape, (1,) for a scalar, and dtype float32, or float64 for parameters of float64. The rule
/// assigns the new values to `weight` and `states`. The numbers have the shape (1,) and the same dtype.
struct Update {
  Tensor weight;                ///< the parameter's values
  Tensor gradient;              ///< as backward() computed it, not yet rescaled
  std::vector<Tensor> states;   ///< in the order of Optimizer::states()
  Tensor rate;                  ///< learning rate, with lr_mult
  Tensor decay;                 ///< wd, with wd_mult
  Tensor rescale;               ///< of the gradient: rescale_grad / batch size
  std::vector<Tensor> numbers;  ///< in the order of Optimizer::numbers()
  std::string name;             ///< by Options::param_idx2name; empty without
};

/// A rule that updates parameters. Trainers may share an optimizer: it has no states and counts, only options
/// and the learning rate. Derive from it to write another: states(), numbers() and update().
///
/// ```
/// struct SignDescent : optimizer::Optimizer {
///   explicit SignDescent(const optimizer::Options& o) : Optimizer("sign_descent", o) {}
///   void update(optimizer::Update& u) const override {
///     u.weight = u.weight - u.rate * F::sign(u.gradient);
///   }
/// };
/// ```
///
/// Thread rule: the program orders set_learning_rate() and steps.
class KILN_API Optimizer {
 public:
  virtual ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// "sgd": the name in create() and in files of states.
  const std::string& name() const { return name_; }
  const Options& options() const { return options_; }  ///< as given, completed by defaults
  /// The rate of update number `num_update`: the schedule's, or the learning rate.
  double learning_rate(std::int64_t num_update) const;
  /// Throws if there is a schedule, and for a rate below 0.
  void set_learning_rate(double rate, std::source_location where = std::source_location::current());

  /// Names of the arrays that the rule keeps for each parameter. They have its shape and begin with zeros.
  virtual std::vector<std::string> states() const { return {}; }
  /// Appends to `out` the numbers that the rule needs of an update besides Update::rate, decay and rescale:
  /// bias corrections, say. Their count is always the same. Called once for each update of a parameter, in
  /// the order of the parameters.
  virtual void numbers(const Progress& progress, Memory& memory, std::vector<double>& out) const;
  /// The rule. Called while the update is traced: it sees shapes and dtypes, and no elements. Arrays that are
  /// members of the class are inputs of the executable; other members are constants in it.
  virtual void update(Update& u) const = 0;

 protected:
  /// `own`: options that it has besides the options of every optimizer. `default_rate`: without
  /// learning_rate. `where`: the line that makes it, for errors.
  Optimizer(std::string name, const Options& options, const std::vector<std::string_view>& own = {},
            double default_rate = 0.01)
      : Optimizer(std::move(name), options, std::source_location(), own, default_rate) {}
  Optimizer(std::string name, const Options& options, std::source_location where,
            const std::vector<std::string_view>& own = {}, double default_rate = 0.01);

  /// The gradient, rescaled and clipped.
  Tensor rescaled(const Update& u) const;
  /// The gradient, rescaled, with the decay added.
  Tensor decayed(const Update& u) const;
  /// t clipped to [-clip_gradient, clip_gradient], if that is given.
  Tensor clipped(const Tensor& t) const;

 private:
  std::string name_;
  Options options_;
  double rate_;
};

/// An optimizer by its name, in any case: sgd, nag, signum, ftml, lars, lamb, adam, adamw, adagrad, rmsprop,
/// adadelta, ftrl, adamax, nadam, sgld. Throws kiln::Error for an unknown name and for options that the
/// optimizer does not have, and names the nearest ones, and for numbers outside of their ranges.
KILN_API std::shared_ptr<Optimizer> create(std::string_view name, const Options& options = {},
                                           std::source_location where = std::source_location::current());

}  // namespace kiln::optimizer

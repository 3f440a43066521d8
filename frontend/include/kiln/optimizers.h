// MXNet's optimizers.
#pragma once
#include <kiln/export.h>
#include <kiln/optimizer.h>

#include <source_location>

/// MXNet's optimizers. In the formulas, w is the weight, g the gradient times the rescaling, clipped if
/// clip_gradient is given, t the count of the parameter's updates. "g includes the decay" means g + wd w,
/// clipped after that.
namespace kiln::optimizer {

using Where = std::source_location;

/// m = momentum m - lr (g + wd w); w += m. Without momentum: w -= lr (g + wd w).
class KILN_API SGD : public Optimizer {
 public:
  explicit SGD(const Options& options = {}, Where where = Where::current());
  std::vector<std::string> states() const override;
  void update(Update& u) const override;

 private:
  double momentum_;
};

/// Nesterov's momentum: n = momentum m; w += momentum (n - lr (g + wd w)) - lr (g + wd w).
/// Then m = n - lr (g + wd w), with the new w as in MXNet.
class KILN_API NAG : public Optimizer {
 public:
  explicit NAG(const Options& options = {}, Where where = Where::current());
  std::vector<std::string> states() const override;
  void update(Update& u) const override;

 private:
  double momentum_;
};

/// m = momentum m - (1 - momentum) (g + wd w); w = (1 - lr wd_lh) w + lr sign(m). Without momentum:
/// w = (1 - lr wd) w - lr sign(g).
class KILN_API Signum : public Optimizer {
 public:
  explicit Signum(const Options& options = {}, Where where = Where::current());
  std::vector<std::string> states() const override;
  void update(Update& u) const override;

 private:
  double momentum_, wd_lh_;
};

/// SGD with momentum. The rate is scaled by eta |w| / (|g| + wd |w| + eps) for each parameter, except
/// parameters whose names in param_idx2name end in gamma, beta or bias. `momentum_correction` scales the
/// momentum by the ratio of the new learning rate to the old one; as in MXNet, only for the first parameter
/// that is updated after a change.
class KILN_API LARS : public Optimizer {
 public:
  explicit LARS(const Options& options = {}, Where where = Where::current());
  std::vector<std::string> states() const override;
  void numbers(const Progress& progress, Memory& memory, std::vector<double>& out) const override;
  void update(Update& u) const override;

 private:
  double momentum_, eta_, eps_;
  bool momentum_correction_;
};

/// w += -lr/2 (g + wd w) + a normal random number of standard deviation sqrt(lr).
class KILN_API SGLD : public Optimizer {
 public:
  explicit SGLD(const Options& options = {}, Where where = Where::current());
  void numbers(const Progress& progress, Memory& memory, std::vector<double>& out) const override;
  void update(Update& u) const override;
};

/// FTML (Zheng and Kwok 2017); g includes the decay.
class KILN_API FTML : public Optimizer {
 public:
  explicit FTML(const Options& options = {}, Where where = Where::current());
  std::vector<std::string> states() const override;
  void numbers(const Progress& progress, Memory& memory, std::vector<double>& out) const override;
  void update(Update& u) const override;

 private:
  double beta1_, beta2_, epsilon_;
};

/// LAMB (You and others 2019).
class KILN_API LAMB : public Optimizer {
 public:
  explicit LAMB(const Options& options = {}, Where where = Where::current());
  std::vector<std::string> states() const override;
  void numbers(const Progress& progress, Memory& memory, std::vector<double>& out) const override;
  void update(Update& u) const override;

 private:
  double beta1_, beta2_, epsilon_;
  bool bias_correction_;
};

/// Adam (Kingma and Ba 2014); g includes the decay.
class KILN_API Adam : public Optimizer {
 public:
  explicit Adam(const Options& options = {}, Where where = Where::current());
  std::vector<std::string> states() const override;
  void numbers(const Progress& progress, Memory& memory, std::vector<double>& out) const override;
  void update(Update& u) const override;

 private:
  double beta1_, beta2_, epsilon_;
};

/// Adam with decoupled decay (Loshchilov and Hutter 2017): w -= lr (corrected m / (sqrt(v) + epsilon)) +
/// lr wd w. `correct_bias` as in Adam.
class KILN_API AdamW : public Optimizer {
 public:
  explicit AdamW(const Options& options = {}, Where where = Where::current());
  std::vector<std::string> states() const override;
  void numbers(const Progress& progress, Memory& memory, std::vector<double>& out) const override;
  void update(Update& u) const override;

 private:
  double beta1_, beta2_, epsilon_;
  bool correct_bias_;
};

/// Adamax: Adam with the infinity norm; g includes the decay.
class KILN_API Adamax : public Optimizer {
 public:
  explicit Adamax(const Options& options = {}, Where where = Where::current());
  std::vector<std::string> states() const override;
  void numbers(const Progress& progress, Memory& memory, std::vector<double>& out) const override;
  void update(Update& u) const override;

 private:
  double beta1_, beta2_;
};

/// Adam with Nesterov's momentum (Dozat 2016); g includes the decay. As in MXNet, all parameters of a Trainer
/// share one product of momentum factors, which each update of a parameter multiplies.
class KILN_API Nadam : public Optimizer {
 public:
  explicit Nadam(const Options& options = {}, Where where = Where::current());
  std::vector<std::string> states() const override;
  void numbers(const Progress& progress, Memory& memory, std::vector<double>& out) const override;
  void update(Update& u) const override;

 private:
  double beta1_, beta2_, epsilon_, schedule_decay_;
};

/// h += g^2; w -= lr (g / sqrt(h + eps) + wd w).
class KILN_API AdaGrad : public Optimizer {
 public:
  explicit AdaGrad(const Options& options = {}, Where where = Where::current());
  std::vector<std::string> states() const override;
  void update(Update& u) const override;

 private:
  double eps_;
};

/// n = gamma1 n + (1 - gamma1) g^2; w -= lr g / sqrt(n + epsilon). `centered`: Graves' form with the mean of
/// the gradient and momentum gamma2. g includes the decay.
class KILN_API RMSProp : public Optimizer {
 public:
  explicit RMSProp(const Options& options = {}, Where where = Where::current());
  std::vector<std::string> states() const override;
  void update(Update& u) const override;

 private:
  double gamma1_, gamma2_, epsilon_;
  bool centered_;
};

/// AdaDelta (Zeiler 2012). As in MXNet, the learning rate has no effect, and the decay is wd w.
class KILN_API AdaDelta : public Optimizer {
 public:
  explicit AdaDelta(const Options& options = {}, Where where = Where::current());
  std::vector<std::string> states() const override;
  void update(Update& u) const override;

 private:
  double rho_, epsilon_;
};

/// Follow the regularised leader (McMahan and others 2013).
class KILN_API Ftrl : public Optimizer {
 public:
  explicit Ftrl(const Options& options = {}, Where where = Where::current());
  std::vector<std::string> states() const override;
  void numbers(const Progress& progress, Memory& memory, std::vector<double>& out) const override;
  void update(Update& u) const override;

 private:
  double lamda1_, beta_;
};

}  // namespace kiln::optimizer

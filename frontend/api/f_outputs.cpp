// F's output layers.
#include "frontend/api/f_call.h"

namespace kiln {
namespace {

CallAttributes<1> attributes(const RegressionOutputOptions& o) {
  CallAttributes<1> given;
  given.set("grad_scale", o.grad_scale);
  return given;
}

}  // namespace

Tensor F::LinearRegressionOutput(const Tensor& x, const Tensor& label, const RegressionOutputOptions& o,
                                 Where where) {
  return call<"LinearRegressionOutput">({&x, &label}, attributes(o), where, o.name);
}
Tensor F::MAERegressionOutput(const Tensor& x, const Tensor& label, const RegressionOutputOptions& o,
                              Where where) {
  return call<"MAERegressionOutput">({&x, &label}, attributes(o), where, o.name);
}
Tensor F::LogisticRegressionOutput(const Tensor& x, const Tensor& label, const RegressionOutputOptions& o,
                                   Where where) {
  return call<"LogisticRegressionOutput">({&x, &label}, attributes(o), where, o.name);
}

Tensor F::smooth_l1(const Tensor& x, const SmoothL1Options& o, Where where) {
  CallAttributes<1> given;
  given.set("scalar", o.scalar);
  return call<"smooth_l1">({&x}, given, where, o.name);
}

}  // namespace kiln

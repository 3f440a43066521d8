// F's softmax family and output layers.
#include "frontend/api/f_call.h"

namespace kiln {
namespace {

CallAttributes<1> attributes(const RegressionOutputOptions& o) {
  CallAttributes<1> given;
  given.set("grad_scale", o.grad_scale);
  return given;
}

}  // namespace

Tensor F::softmin(const Tensor& x, const SoftmaxOptions& o, Where where) {
  CallAttributes<3> given;
  given.set("axis", o.axis);
  given.set("temperature", o.temperature);
  given.set("dtype", o.dtype);
  return call<"softmin">({&x}, given, where, o.name);
}

Tensor F::SoftmaxActivation(const Tensor& x, const SoftmaxActivationOptions& o, Where where) {
  CallAttributes<1> given;
  given.set("mode", o.mode);
  return call<"SoftmaxActivation">({&x}, given, where, o.name);
}

Tensor F::hard_sigmoid(const Tensor& x, const HardSigmoidOptions& o, Where where) {
  CallAttributes<2> given;
  given.set("alpha", o.alpha);
  given.set("beta", o.beta);
  return call<"hard_sigmoid">({&x}, given, where, o.name);
}

Tensor F::SoftmaxOutput(const Tensor& x, const Tensor& label, const SoftmaxOutputOptions& o, Where where) {
  CallAttributes<8> given;
  given.set("grad_scale", o.grad_scale);
  given.set("ignore_label", o.ignore_label);
  given.set("multi_output", o.multi_output);
  given.set("use_ignore", o.use_ignore);
  given.set("preserve_shape", o.preserve_shape);
  given.set("normalization", o.normalization);
  given.set("out_grad", o.out_grad);
  given.set("smooth_alpha", o.smooth_alpha);
  return call<"SoftmaxOutput">({&x, &label}, given, where, o.name);
}

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

Tensor F::softmax_cross_entropy(const Tensor& x, const Tensor& label, Where where) {
  return call<"softmax_cross_entropy">({&x, &label}, where);
}

Tensor F::smooth_l1(const Tensor& x, const SmoothL1Options& o, Where where) {
  CallAttributes<1> given;
  given.set("scalar", o.scalar);
  return call<"smooth_l1">({&x}, given, where, o.name);
}

}  // namespace kiln

// Gradients of the normalisations in closed form.
#pragma once
#include "frontend/ops/own_gradient.h"

/// Closed forms, for accuracy and speed. By the primitives' rules the gradient of a scale would be sum(g x) -
/// mean sum(g), which cancels, and each statistic would need separate passes over memory. Means and
/// deviations are composed again from the data, so that the gradients can be differentiated.
namespace kiln::ops {

/// As in MXNet, the gradients of the shown outputs mean and variance are dropped.
Values batch_norm_gradient(Primitives& p, const GradientArgs& args);
Values batch_norm_relu_gradient(Primitives& p, const GradientArgs& args);
Values layer_norm_gradient(Primitives& p, const GradientArgs& args);
Values instance_norm_gradient(Primitives& p, const GradientArgs& args);
Values group_norm_gradient(Primitives& p, const GradientArgs& args);
Values l2_normalization_gradient(Primitives& p, const GradientArgs& args);

}  // namespace kiln::ops

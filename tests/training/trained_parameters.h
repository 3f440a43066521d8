// Parameters with values and gradients, for tests of a Trainer.
#pragma once
#include <kiln/kiln.h>

#include <string>

/// Parameters with values and gradients, for tests of a Trainer's updates.
namespace training {

using namespace kiln;

/// A parameter with these values.
inline Parameter parameter(const ParameterDict& params, const std::string& name, const Tensor& values) {
  Parameter p = params.get(name, values.shape(), {.dtype = values.dtype()});
  p.initialize(init::Zero());
  p.set_data(values);
  return p;
}

/// Leaves the gradient in the parameter, as a backward pass does.
inline void give_gradient(const Parameter& p, const Tensor& gradient) {
  Tensor sum;
  {
    const autograd::Record record;
    sum = F::sum(p.data() * gradient);
  }
  sum.backward();
}

/// One parameter, "w", that begins as (1, 2), and its gradient (1, -1).
struct One {
  ParameterDict params;
  Parameter w = parameter(params, "w", Tensor{1, 2});
  void give(Tensor gradient = Tensor{1, -1}) { give_gradient(w, gradient); }
};

}  // namespace training

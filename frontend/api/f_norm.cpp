// F's normalisations.
#include "frontend/api/f_call.h"

namespace kiln {

Tensor F::GroupNorm(const Tensor& x, const Tensor& gamma, const Tensor& beta, const GroupNormOptions& o,
                    Where where) {
  CallAttributes<2> given;
  given.set("num_groups", o.num_groups);
  given.set("eps", o.eps);
  return call<"GroupNorm">({&x, &gamma, &beta}, given, where, o.name);
}

Tensor F::InstanceNorm(const Tensor& x, const Tensor& gamma, const Tensor& beta, const InstanceNormOptions& o,
                       Where where) {
  CallAttributes<1> given;
  given.set("eps", o.eps);
  return call<"InstanceNorm">({&x, &gamma, &beta}, given, where, o.name);
}

F::Tensors F::moments(const Tensor& x, const MomentsOptions& o, Where where) {
  CallAttributes<2> given;
  given.set("axes", o.axes);
  given.set("keepdims", o.keepdims);
  return call_all<"moments">({&x}, given, where, o.name);
}

}  // namespace kiln

// The operators that are methods too; numpy's in a program in numpy mode, where it has them.
#include "frontend/numpy_scope.h"
#include "runtime/fail.h"

#include <kiln/f_numpy.h>

namespace kiln {
namespace {

bool numpy() { return NumpyScope::program(); }

NumpyReduceOptions numpy_options(const ReduceOptions& o) {
  if (o.exclude.value_or(false)) fail("exclude=True is not one of numpy's options: name the axes that go");
  return {.axis = o.axis, .keepdims = o.keepdims, .name = o.name};
}
NumpyExtremeOptions extreme_options(const ReduceOptions& o) {
  const NumpyReduceOptions n = numpy_options(o);
  return {.axis = n.axis, .keepdims = n.keepdims, .name = n.name};
}

}  // namespace

using Where = std::source_location;

Tensor Tensor::transpose(Where where) const {
  return numpy() ? np::transpose(*this, where) : F::transpose(*this, where);
}
// numpy's is one row of all elements.
Tensor Tensor::flatten(Where where) const {
  return numpy() ? np::reshape(*this, {-1}, where) : F::flatten(*this, where);
}
Tensor Tensor::relu(Where where) const { return F::relu(*this, where); }
Tensor Tensor::sigmoid(Where where) const { return F::sigmoid(*this, where); }
Tensor Tensor::tanh(Where where) const { return F::tanh(*this, where); }
Tensor Tensor::exp(Where where) const { return numpy() ? np::exp(*this, where) : F::exp(*this, where); }
Tensor Tensor::log(Where where) const { return numpy() ? np::log(*this, where) : F::log(*this, where); }
Tensor Tensor::sqrt(Where where) const { return numpy() ? np::sqrt(*this, where) : F::sqrt(*this, where); }
Tensor Tensor::square(Where where) const {
  return numpy() ? np::square(*this, where) : F::square(*this, where);
}
Tensor Tensor::abs(Where where) const { return numpy() ? np::abs(*this, where) : F::abs(*this, where); }
Tensor Tensor::sign(Where where) const { return numpy() ? np::sign(*this, where) : F::sign(*this, where); }
Tensor Tensor::round(Where where) const { return F::round(*this, where); }
Tensor Tensor::floor(Where where) const { return numpy() ? np::floor(*this, where) : F::floor(*this, where); }
Tensor Tensor::ceil(Where where) const { return numpy() ? np::ceil(*this, where) : F::ceil(*this, where); }
Tensor Tensor::transpose(const Shape& axes, Where where) const {
  return numpy() ? np::transpose(*this, axes, where) : F::transpose(*this, axes, where);
}
Tensor Tensor::swapaxes(int dim1, int dim2, Where where) const {
  return F::swapaxes(*this, {.dim1 = dim1, .dim2 = dim2}, where);
}
Tensor Tensor::expand_dims(int axis, Where where) const { return F::expand_dims(*this, axis, where); }
Tensor Tensor::squeeze(Where where) const {
  return numpy() ? np::squeeze(*this, {}, where) : F::squeeze(*this, {}, where);
}
Tensor Tensor::squeeze(const Axes& axis, Where where) const {
  return numpy() ? np::squeeze(*this, axis, where) : F::squeeze(*this, {.axis = axis}, where);
}
Tensor Tensor::broadcast_to(const Shape& shape, Where where) const {
  return numpy() ? np::broadcast_to(*this, shape, where) : F::broadcast_to(*this, shape, where);
}
Tensor Tensor::clip(Number a_min, Number a_max, Where where) const {
  return F::clip(*this, a_min, a_max, where);
}
Tensor Tensor::dot(const Tensor& other, Where where) const {
  return numpy() ? np::dot(*this, other, where) : F::dot(*this, other, {}, where);
}
Tensor Tensor::slice_axis(const SliceAxisOptions& o, Where where) const {
  return F::slice_axis(*this, o, where);
}
Tensor Tensor::softmax(const SoftmaxOptions& o, Where where) const { return F::softmax(*this, o, where); }
Tensor Tensor::log_softmax(const SoftmaxOptions& o, Where where) const {
  return F::log_softmax(*this, o, where);
}
Tensor Tensor::sum(const ReduceOptions& o, Where where) const {
  return numpy() ? np::sum(*this, numpy_options(o), where) : F::sum(*this, o, where);
}
Tensor Tensor::mean(const ReduceOptions& o, Where where) const {
  return numpy() ? np::mean(*this, numpy_options(o), where) : F::mean(*this, o, where);
}
Tensor Tensor::prod(const ReduceOptions& o, Where where) const {
  return numpy() ? np::prod(*this, numpy_options(o), where) : F::prod(*this, o, where);
}
Tensor Tensor::max(const ReduceOptions& o, Where where) const {
  return numpy() ? np::max(*this, extreme_options(o), where) : F::max(*this, o, where);
}
Tensor Tensor::min(const ReduceOptions& o, Where where) const {
  return numpy() ? np::min(*this, extreme_options(o), where) : F::min(*this, o, where);
}
Tensor Tensor::argmax(const ArgReduceOptions& o, Where where) const {
  return numpy() ? np::argmax(*this, o, where) : F::argmax(*this, o, where);
}
Tensor Tensor::argmin(const ArgReduceOptions& o, Where where) const {
  return numpy() ? np::argmin(*this, o, where) : F::argmin(*this, o, where);
}
Tensor Tensor::sort(const SortOptions& o, Where where) const { return F::sort(*this, o, where); }
Tensor Tensor::argsort(const ArgsortOptions& o, Where where) const { return F::argsort(*this, o, where); }
Tensor Tensor::topk(const TopkOptions& o, Where where) const { return F::topk(*this, o, where); }
Tensor Tensor::cumsum(const CumsumOptions& o, Where where) const { return F::cumsum(*this, o, where); }
Tensor Tensor::norm(const NormOptions& o, Where where) const { return F::norm(*this, o, where); }

}  // namespace kiln

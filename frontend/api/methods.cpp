// Operators that are also methods of Tensor; in numpy mode numpy's, if it has them. A Self converts to the
// Tensor that F takes.
#include "frontend/call/numpy_scope.h"
#include "frontend/tensor/array.h"
#include "runtime/fail.h"

#include <kiln/f_numpy.h>

namespace kiln {

using Where = std::source_location;

namespace {

bool numpy() { return NumpyScope::program(); }

NumpyReduceOptions numpy_options(const ReduceOptions& o) {
  if (o.exclude.value_or(false)) fail("exclude=True is not supported in numpy mode: name the reduced axes");
  return {.axis = o.axis, .keepdims = o.keepdims, .name = o.name};
}
NumpyExtremeOptions extreme_options(const ReduceOptions& o) {
  const NumpyReduceOptions n = numpy_options(o);
  return {.axis = n.axis, .keepdims = n.keepdims, .name = n.name};
}

template <class Self>
const Self& self(const TensorMethods<Self>& methods) {
  return static_cast<const Self&>(methods);
}

}  // namespace

template <class Self>
Tensor TensorMethods<Self>::transpose(Where where) const {
  return numpy() ? np::transpose(self(*this), where) : F::transpose(self(*this), where);
}
template <class Self>
Tensor TensorMethods<Self>::T(Where where) const {
  return transpose(where);
}
template <class Self>
Tensor TensorMethods<Self>::flatten(Where where) const {
  return numpy() ? np::reshape(self(*this), {-1}, where) : F::flatten(self(*this), where);
}
// Functions of the array alone: numpy's in numpy mode, or the same in both modes.
#define KILN_NUMPY_METHOD(NAME)                                                  \
  template <class Self>                                                          \
  Tensor TensorMethods<Self>::NAME(Where where) const {                          \
    return numpy() ? np::NAME(self(*this), where) : F::NAME(self(*this), where); \
  }
#define KILN_METHOD(NAME)                               \
  template <class Self>                                 \
  Tensor TensorMethods<Self>::NAME(Where where) const { \
    return F::NAME(self(*this), where);                 \
  }
// methods: written by tools/reference, from the definitions.
KILN_NUMPY_METHOD(abs)
KILN_NUMPY_METHOD(arccos)
KILN_NUMPY_METHOD(arccosh)
KILN_NUMPY_METHOD(arcsin)
KILN_NUMPY_METHOD(arcsinh)
KILN_NUMPY_METHOD(arctan)
KILN_NUMPY_METHOD(arctanh)
KILN_METHOD(argmax_channel)
KILN_NUMPY_METHOD(cbrt)
KILN_NUMPY_METHOD(ceil)
KILN_NUMPY_METHOD(cos)
KILN_NUMPY_METHOD(cosh)
KILN_NUMPY_METHOD(degrees)
KILN_METHOD(erf)
KILN_METHOD(erfinv)
KILN_NUMPY_METHOD(exp)
KILN_NUMPY_METHOD(expm1)
KILN_NUMPY_METHOD(fix)
KILN_NUMPY_METHOD(floor)
KILN_METHOD(gamma)
KILN_METHOD(gammaln)
KILN_METHOD(identity)
KILN_NUMPY_METHOD(log)
KILN_NUMPY_METHOD(log10)
KILN_NUMPY_METHOD(log1p)
KILN_NUMPY_METHOD(log2)
KILN_METHOD(logical_not)
KILN_METHOD(make_loss)
KILN_NUMPY_METHOD(negative)
KILN_NUMPY_METHOD(ones_like)
KILN_NUMPY_METHOD(radians)
KILN_METHOD(rcbrt)
KILN_NUMPY_METHOD(reciprocal)
KILN_METHOD(relu)
KILN_NUMPY_METHOD(rint)
KILN_METHOD(round)
KILN_METHOD(rsqrt)
KILN_METHOD(shape_array)
KILN_METHOD(shuffle)
KILN_METHOD(sigmoid)
KILN_NUMPY_METHOD(sign)
KILN_NUMPY_METHOD(sin)
KILN_NUMPY_METHOD(sinh)
KILN_METHOD(size_array)
KILN_METHOD(softsign)
KILN_NUMPY_METHOD(sqrt)
KILN_NUMPY_METHOD(square)
KILN_METHOD(stop_gradient)
KILN_NUMPY_METHOD(tan)
KILN_NUMPY_METHOD(tanh)
KILN_NUMPY_METHOD(trunc)
KILN_NUMPY_METHOD(zeros_like)
// end of what tools/reference writes.
#undef KILN_METHOD
#undef KILN_NUMPY_METHOD
template <class Self>
Tensor TensorMethods<Self>::transpose(const Shape& axes, Where where) const {
  return numpy() ? np::transpose(self(*this), axes, where) : F::transpose(self(*this), axes, where);
}
template <class Self>
Tensor TensorMethods<Self>::swapaxes(int dim1, int dim2, Where where) const {
  return F::swapaxes(self(*this), {.dim1 = dim1, .dim2 = dim2}, where);
}
template <class Self>
Tensor TensorMethods<Self>::expand_dims(int axis, Where where) const {
  return F::expand_dims(self(*this), axis, where);
}
template <class Self>
Tensor TensorMethods<Self>::squeeze(Where where) const {
  return numpy() ? np::squeeze(self(*this), {}, where) : F::squeeze(self(*this), {}, where);
}
template <class Self>
Tensor TensorMethods<Self>::squeeze(const Axes& axis, Where where) const {
  return numpy() ? np::squeeze(self(*this), axis, where) : F::squeeze(self(*this), {.axis = axis}, where);
}
template <class Self>
Tensor TensorMethods<Self>::broadcast_to(const Shape& shape, Where where) const {
  if (numpy()) return np::broadcast_to(self(*this), shape, where);
  // As in MXNet, the method adds the axes that the operator wants the array to have.
  Tensor x = self(*this);
  if (x.defined() && detail::TensorAccess::array(x)->shape_known)
    while (x.shape().rank() < shape.rank()) x = F::expand_dims(x, 0, where);
  return F::broadcast_to(x, shape, where);
}
template <class Self>
Tensor TensorMethods<Self>::clip(Number a_min, Number a_max, Where where) const {
  return F::clip(self(*this), a_min, a_max, where);
}
template <class Self>
Tensor TensorMethods<Self>::dot(const Tensor& other, Where where) const {
  return numpy() ? np::dot(self(*this), other, where) : F::dot(self(*this), other, {}, where);
}
template <class Self>
Tensor TensorMethods<Self>::slice_axis(const SliceAxisOptions& o, Where where) const {
  return F::slice_axis(self(*this), o, where);
}
template <class Self>
Tensor TensorMethods<Self>::slice_axis(int axis, std::int64_t begin, std::optional<std::int64_t> end,
                                       Where where) const {
  return F::slice_axis(self(*this), axis, begin, end, where);
}
template <class Self>
Tensor TensorMethods<Self>::softmax(const SoftmaxOptions& o, Where where) const {
  return F::softmax(self(*this), o, where);
}
template <class Self>
Tensor TensorMethods<Self>::log_softmax(const SoftmaxOptions& o, Where where) const {
  return F::log_softmax(self(*this), o, where);
}
template <class Self>
Tensor TensorMethods<Self>::sum(const ReduceOptions& o, Where where) const {
  return numpy() ? np::sum(self(*this), numpy_options(o), where) : F::sum(self(*this), o, where);
}
template <class Self>
Tensor TensorMethods<Self>::mean(const ReduceOptions& o, Where where) const {
  return numpy() ? np::mean(self(*this), numpy_options(o), where) : F::mean(self(*this), o, where);
}
template <class Self>
Tensor TensorMethods<Self>::prod(const ReduceOptions& o, Where where) const {
  return numpy() ? np::prod(self(*this), numpy_options(o), where) : F::prod(self(*this), o, where);
}
template <class Self>
Tensor TensorMethods<Self>::max(const ReduceOptions& o, Where where) const {
  return numpy() ? np::max(self(*this), extreme_options(o), where) : F::max(self(*this), o, where);
}
template <class Self>
Tensor TensorMethods<Self>::min(const ReduceOptions& o, Where where) const {
  return numpy() ? np::min(self(*this), extreme_options(o), where) : F::min(self(*this), o, where);
}
template <class Self>
Tensor TensorMethods<Self>::argmax(const ArgReduceOptions& o, Where where) const {
  return numpy() ? np::argmax(self(*this), o, where) : F::argmax(self(*this), o, where);
}
template <class Self>
Tensor TensorMethods<Self>::argmin(const ArgReduceOptions& o, Where where) const {
  return numpy() ? np::argmin(self(*this), o, where) : F::argmin(self(*this), o, where);
}
template <class Self>
Tensor TensorMethods<Self>::sort(const SortOptions& o, Where where) const {
  return F::sort(self(*this), o, where);
}
template <class Self>
Tensor TensorMethods<Self>::argsort(const ArgsortOptions& o, Where where) const {
  return F::argsort(self(*this), o, where);
}
template <class Self>
Tensor TensorMethods<Self>::topk(const TopkOptions& o, Where where) const {
  return F::topk(self(*this), o, where);
}
template <class Self>
Tensor TensorMethods<Self>::cumsum(const CumsumOptions& o, Where where) const {
  return F::cumsum(self(*this), o, where);
}
template <class Self>
Tensor TensorMethods<Self>::norm(const NormOptions& o, Where where) const {
  return F::norm(self(*this), o, where);
}
template <class Self>
Tensor TensorMethods<Self>::broadcast_axes(const BroadcastAxisOptions& o, Where where) const {
  return F::broadcast_axis(self(*this), o, where);
}
template <class Self>
Tensor TensorMethods<Self>::broadcast_axes(const Axes& axis, const Axes& size, Where where) const {
  return F::broadcast_axis(self(*this), axis, size, where);
}
template <class Self>
Tensor TensorMethods<Self>::broadcast_like(const Tensor& other, Where where) const {
  return F::broadcast_like(self(*this), other, {}, where);
}
template <class Self>
Tensor TensorMethods<Self>::reshape_like(const Tensor& other, Where where) const {
  return F::reshape_like(self(*this), other, {}, where);
}
template <class Self>
Tensor TensorMethods<Self>::tile(const Shape& reps, Where where) const {
  return numpy() ? np::tile(self(*this), reps, where) : F::tile(self(*this), reps, where);
}
template <class Self>
Tensor TensorMethods<Self>::repeat(const RepeatOptions& o, Where where) const {
  if (!numpy()) return F::repeat(self(*this), o, where);
  const auto axis = o.axis ? std::optional(static_cast<int>(*o.axis)) : std::nullopt;
  return np::repeat(self(*this), static_cast<int>(o.repeats), axis, where);
}
template <class Self>
Tensor TensorMethods<Self>::repeat(std::int64_t repeats, std::int64_t axis, Where where) const {
  return repeat(RepeatOptions{.repeats = repeats, .axis = axis}, where);
}
template <class Self>
Tensor TensorMethods<Self>::flip(const Shape& axis, Where where) const {
  return F::flip(self(*this), axis, where);
}
template <class Self>
Tensor TensorMethods<Self>::pad(const PadOptions& o, Where where) const {
  return F::pad(self(*this), o, where);
}
template <class Self>
Tensor TensorMethods<Self>::diag(const DiagOptions& o, Where where) const {
  return F::diag(self(*this), o, where);
}
template <class Self>
Tensor TensorMethods<Self>::depth_to_space(std::int64_t block_size, Where where) const {
  return F::depth_to_space(self(*this), block_size, where);
}
template <class Self>
Tensor TensorMethods<Self>::space_to_depth(std::int64_t block_size, Where where) const {
  return F::space_to_depth(self(*this), block_size, where);
}
template <class Self>
std::vector<Tensor> TensorMethods<Self>::split(const SplitOptions& o, Where where) const {
  return F::split(self(*this), o, where);
}
template <class Self>
std::vector<Tensor> TensorMethods<Self>::split(std::int64_t num_outputs, std::int64_t axis,
                                               Where where) const {
  return F::split(self(*this), num_outputs, axis, where);
}
template <class Self>
std::vector<Tensor> TensorMethods<Self>::split_v2(const SplitV2Options& o, Where where) const {
  return F::split_v2(self(*this), o, where);
}
template <class Self>
Tensor TensorMethods<Self>::slice(const SliceOptions& o, Where where) const {
  return F::slice(self(*this), o, where);
}
template <class Self>
Tensor TensorMethods<Self>::slice_like(const Tensor& shape_like, const Shape& axes, Where where) const {
  return F::slice_like(self(*this), shape_like, axes, where);
}
template <class Self>
Tensor TensorMethods<Self>::take(const Tensor& indices, const TakeOptions& o, Where where) const {
  if (!numpy()) return F::take(self(*this), indices, o, where);
  if (!o.axis) return np::reshape(self(*this), {-1}, where).take(indices, {.axis = 0, .mode = o.mode}, where);
  if (o.mode) return F::take(self(*this), indices, o, where);
  return np::take(self(*this), indices, static_cast<int>(*o.axis), where);
}
template <class Self>
Tensor TensorMethods<Self>::pick(const Tensor& index, const PickOptions& o, Where where) const {
  return F::pick(self(*this), index, o, where);
}
template <class Self>
Tensor TensorMethods<Self>::one_hot(int depth, Where where) const {
  return F::one_hot(self(*this), depth, where);
}
template <class Self>
Tensor TensorMethods<Self>::one_hot(const OneHotOptions& o, Where where) const {
  return F::one_hot(self(*this), o, where);
}
template <class Self>
Tensor TensorMethods<Self>::softmin(const SoftmaxOptions& o, Where where) const {
  return F::softmin(self(*this), o, where);
}
template <class Self>
Tensor TensorMethods<Self>::nansum(const ReduceOptions& o, Where where) const {
  return F::nansum(self(*this), o, where);
}
template <class Self>
Tensor TensorMethods<Self>::nanprod(const ReduceOptions& o, Where where) const {
  return F::nanprod(self(*this), o, where);
}

template class TensorMethods<Tensor>;
template class TensorMethods<IndexedTensor>;

}  // namespace kiln

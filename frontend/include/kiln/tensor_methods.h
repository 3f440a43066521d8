// The operators that tensors have as methods.
#pragma once
#include <kiln/export.h>
#include <kiln/f_options.h>
#include <kiln/shape.h>

#include <source_location>
#include <vector>

namespace kiln {

class IndexedTensor;
class Tensor;

/// MXNet's array methods, named as in F, for Tensor and IndexedTensor: x.take(i, 1) is F::take(x, i, 1). In
/// numpy mode numpy's function of that name, if there is one. Results are new arrays.
template <class Self>
class KILN_API TensorMethods {
 public:
  using Where = std::source_location;
  Tensor transpose(Where where = Where::current()) const;
  Tensor T(Where where = Where::current()) const;
  Tensor flatten(Where where = Where::current()) const;
  Tensor relu(Where where = Where::current()) const;
  Tensor sigmoid(Where where = Where::current()) const;
  Tensor tanh(Where where = Where::current()) const;
  Tensor exp(Where where = Where::current()) const;
  Tensor log(Where where = Where::current()) const;
  Tensor sqrt(Where where = Where::current()) const;
  Tensor square(Where where = Where::current()) const;
  Tensor abs(Where where = Where::current()) const;
  Tensor sign(Where where = Where::current()) const;
  Tensor round(Where where = Where::current()) const;
  Tensor floor(Where where = Where::current()) const;
  Tensor ceil(Where where = Where::current()) const;
  Tensor log2(Where where = Where::current()) const;
  Tensor log10(Where where = Where::current()) const;
  Tensor log1p(Where where = Where::current()) const;
  Tensor expm1(Where where = Where::current()) const;
  Tensor rsqrt(Where where = Where::current()) const;
  Tensor cbrt(Where where = Where::current()) const;
  Tensor rcbrt(Where where = Where::current()) const;
  Tensor reciprocal(Where where = Where::current()) const;
  Tensor rint(Where where = Where::current()) const;
  Tensor fix(Where where = Where::current()) const;
  Tensor trunc(Where where = Where::current()) const;
  Tensor sin(Where where = Where::current()) const;
  Tensor cos(Where where = Where::current()) const;
  Tensor tan(Where where = Where::current()) const;
  Tensor arcsin(Where where = Where::current()) const;
  Tensor arccos(Where where = Where::current()) const;
  Tensor arctan(Where where = Where::current()) const;
  Tensor sinh(Where where = Where::current()) const;
  Tensor cosh(Where where = Where::current()) const;
  Tensor arcsinh(Where where = Where::current()) const;
  Tensor arccosh(Where where = Where::current()) const;
  Tensor arctanh(Where where = Where::current()) const;
  Tensor degrees(Where where = Where::current()) const;
  Tensor radians(Where where = Where::current()) const;
  Tensor zeros_like(Where where = Where::current()) const;
  Tensor ones_like(Where where = Where::current()) const;
  /// The extents, (rank,), and the number of elements, (1,), as int64.
  Tensor shape_array(Where where = Where::current()) const;
  Tensor size_array(Where where = Where::current()) const;
  Tensor transpose(const Shape& axes, Where where = Where::current()) const;
  Tensor swapaxes(int dim1, int dim2, Where where = Where::current()) const;
  Tensor expand_dims(int axis, Where where = Where::current()) const;
  Tensor squeeze(Where where = Where::current()) const;
  Tensor squeeze(const Axes& axis, Where where = Where::current()) const;
  Tensor broadcast_to(const Shape& shape, Where where = Where::current()) const;
  Tensor broadcast_axes(const BroadcastAxisOptions& options, Where where = Where::current()) const;
  Tensor broadcast_axes(const Axes& axis, const Axes& size, Where where = Where::current()) const;
  Tensor broadcast_like(const Tensor& other, Where where = Where::current()) const;
  Tensor reshape_like(const Tensor& other, Where where = Where::current()) const;
  Tensor tile(const Shape& reps, Where where = Where::current()) const;
  Tensor repeat(const RepeatOptions& options, Where where = Where::current()) const;
  auto repeat(Integer auto repeats, Where where = Where::current()) const {
    return repeat(RepeatOptions{.repeats = static_cast<std::int64_t>(repeats)}, where);
  }
  Tensor repeat(std::int64_t repeats, std::int64_t axis, Where where = Where::current()) const;
  Tensor flip(const Shape& axis, Where where = Where::current()) const;
  auto flip(Integer auto axis, Where where = Where::current()) const {
    return flip(Shape{static_cast<std::int64_t>(axis)}, where);
  }
  Tensor pad(const PadOptions& options, Where where = Where::current()) const;
  Tensor diag(const DiagOptions& options = {}, Where where = Where::current()) const;
  auto diag(Integer auto k, Where where = Where::current()) const {
    return diag(DiagOptions{.k = static_cast<std::int64_t>(k)}, where);
  }
  Tensor depth_to_space(std::int64_t block_size, Where where = Where::current()) const;
  Tensor space_to_depth(std::int64_t block_size, Where where = Where::current()) const;
  std::vector<Tensor> split(const SplitOptions& options, Where where = Where::current()) const;
  auto split(Integer auto num_outputs, Where where = Where::current()) const {
    return split(SplitOptions{.num_outputs = static_cast<std::int64_t>(num_outputs)}, where);
  }
  std::vector<Tensor> split(std::int64_t num_outputs, std::int64_t axis,
                            Where where = Where::current()) const;
  std::vector<Tensor> split_v2(const SplitV2Options& options, Where where = Where::current()) const;
  Tensor slice(const SliceOptions& options, Where where = Where::current()) const;
  Tensor slice_like(const Tensor& shape_like, const Shape& axes = {}, Where where = Where::current()) const;
  /// In numpy mode without an axis: of the flattened array.
  Tensor take(const Tensor& indices, const TakeOptions& options = {}, Where where = Where::current()) const;
  auto take(const Tensor& indices, Integer auto axis, Where where = Where::current()) const {
    return take(indices, with_axis<TakeOptions>(axis), where);
  }
  Tensor pick(const Tensor& index, const PickOptions& options = {}, Where where = Where::current()) const;
  auto pick(const Tensor& index, Integer auto axis, Where where = Where::current()) const {
    return pick(index, with_axis<PickOptions>(axis), where);
  }
  Tensor one_hot(int depth, Where where = Where::current()) const;
  Tensor one_hot(const OneHotOptions& options, Where where = Where::current()) const;
  Tensor clip(Number a_min, Number a_max, Where where = Where::current()) const;
  Tensor dot(const Tensor& other, Where where = Where::current()) const;
  Tensor slice_axis(const SliceAxisOptions& options, Where where = Where::current()) const;
  Tensor slice_axis(int axis, std::int64_t begin, std::optional<std::int64_t> end,
                    Where where = Where::current()) const;
  Tensor softmax(const SoftmaxOptions& options = {}, Where where = Where::current()) const;
  auto softmax(Integer auto axis, Where where = Where::current()) const {
    return softmax(with_axis<SoftmaxOptions>(axis), where);
  }
  Tensor softmin(const SoftmaxOptions& options = {}, Where where = Where::current()) const;
  auto softmin(Integer auto axis, Where where = Where::current()) const {
    return softmin(with_axis<SoftmaxOptions>(axis), where);
  }
  Tensor log_softmax(const SoftmaxOptions& options = {}, Where where = Where::current()) const;
  auto log_softmax(Integer auto axis, Where where = Where::current()) const {
    return log_softmax(with_axis<SoftmaxOptions>(axis), where);
  }
  Tensor sum(const ReduceOptions& options = {}, Where where = Where::current()) const;
  auto sum(Integer auto axis, Where where = Where::current()) const {
    return sum(with_axis<ReduceOptions>(axis), where);
  }
  Tensor mean(const ReduceOptions& options = {}, Where where = Where::current()) const;
  auto mean(Integer auto axis, Where where = Where::current()) const {
    return mean(with_axis<ReduceOptions>(axis), where);
  }
  Tensor prod(const ReduceOptions& options = {}, Where where = Where::current()) const;
  auto prod(Integer auto axis, Where where = Where::current()) const {
    return prod(with_axis<ReduceOptions>(axis), where);
  }
  Tensor max(const ReduceOptions& options = {}, Where where = Where::current()) const;
  auto max(Integer auto axis, Where where = Where::current()) const {
    return max(with_axis<ReduceOptions>(axis), where);
  }
  Tensor min(const ReduceOptions& options = {}, Where where = Where::current()) const;
  auto min(Integer auto axis, Where where = Where::current()) const {
    return min(with_axis<ReduceOptions>(axis), where);
  }
  Tensor argmax(const ArgReduceOptions& options = {}, Where where = Where::current()) const;
  auto argmax(Integer auto axis, Where where = Where::current()) const {
    return argmax(with_axis<ArgReduceOptions>(axis), where);
  }
  Tensor argmin(const ArgReduceOptions& options = {}, Where where = Where::current()) const;
  auto argmin(Integer auto axis, Where where = Where::current()) const {
    return argmin(with_axis<ArgReduceOptions>(axis), where);
  }
  Tensor argmax_channel(Where where = Where::current()) const;
  Tensor nansum(const ReduceOptions& options = {}, Where where = Where::current()) const;
  auto nansum(Integer auto axis, Where where = Where::current()) const {
    return nansum(with_axis<ReduceOptions>(axis), where);
  }
  Tensor nanprod(const ReduceOptions& options = {}, Where where = Where::current()) const;
  auto nanprod(Integer auto axis, Where where = Where::current()) const {
    return nanprod(with_axis<ReduceOptions>(axis), where);
  }
  Tensor norm(const NormOptions& options = {}, Where where = Where::current()) const;
  Tensor sort(const SortOptions& options = {}, Where where = Where::current()) const;
  auto sort(Integer auto axis, Where where = Where::current()) const {
    return sort(with_axis<SortOptions>(axis), where);
  }
  Tensor argsort(const ArgsortOptions& options = {}, Where where = Where::current()) const;
  auto argsort(Integer auto axis, Where where = Where::current()) const {
    return argsort(with_axis<ArgsortOptions>(axis), where);
  }
  Tensor topk(const TopkOptions& options = {}, Where where = Where::current()) const;
  auto topk(Integer auto axis, Where where = Where::current()) const {
    return topk(with_axis<TopkOptions>(axis), where);
  }
  Tensor cumsum(const CumsumOptions& options = {}, Where where = Where::current()) const;
  auto cumsum(Integer auto axis, Where where = Where::current()) const {
    return cumsum(with_axis<CumsumOptions>(axis), where);
  }
};

extern template class TensorMethods<Tensor>;
extern template class TensorMethods<IndexedTensor>;

}  // namespace kiln

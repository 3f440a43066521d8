// The operators that tensors have as methods.
#pragma once
#include <kiln/export.h>
#include <kiln/f_options.h>
#include <kiln/shape.h>

#include <source_location>

namespace kiln {

class IndexedTensor;
class Tensor;

/// MXNet's array methods, named as in F, for Tensor and IndexedTensor. Results are new arrays.
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
  Tensor transpose(const Shape& axes, Where where = Where::current()) const;
  Tensor swapaxes(int dim1, int dim2, Where where = Where::current()) const;
  Tensor expand_dims(int axis, Where where = Where::current()) const;
  Tensor squeeze(Where where = Where::current()) const;
  Tensor squeeze(const Axes& axis, Where where = Where::current()) const;
  Tensor broadcast_to(const Shape& shape, Where where = Where::current()) const;
  Tensor clip(Number a_min, Number a_max, Where where = Where::current()) const;
  Tensor dot(const Tensor& other, Where where = Where::current()) const;
  Tensor slice_axis(const SliceAxisOptions& options, Where where = Where::current()) const;
  Tensor slice_axis(int axis, std::int64_t begin, std::optional<std::int64_t> end,
                    Where where = Where::current()) const;
  Tensor softmax(const SoftmaxOptions& options = {}, Where where = Where::current()) const;
  auto softmax(Integer auto axis, Where where = Where::current()) const {
    return softmax(with_axis<SoftmaxOptions>(axis), where);
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

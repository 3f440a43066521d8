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
  // methods: written by tools/reference, from the definitions.
  /// The absolute value of x. As F::abs; `kiln ops abs` has the rest.
  Tensor abs(Where where = Where::current()) const;
  /// The inverse of the cosine, in radians. As F::arccos; `kiln ops arccos` has the rest.
  Tensor arccos(Where where = Where::current()) const;
  /// The inverse of the hyperbolic cosine. As F::arccosh; `kiln ops arccosh` has the rest.
  Tensor arccosh(Where where = Where::current()) const;
  /// The inverse of the sine, in radians. As F::arcsin; `kiln ops arcsin` has the rest.
  Tensor arcsin(Where where = Where::current()) const;
  /// The inverse of the hyperbolic sine. As F::arcsinh; `kiln ops arcsinh` has the rest.
  Tensor arcsinh(Where where = Where::current()) const;
  /// The inverse of the tangent, in radians. As F::arctan; `kiln ops arctan` has the rest.
  Tensor arctan(Where where = Where::current()) const;
  /// The inverse of the hyperbolic tangent. As F::arctanh; `kiln ops arctanh` has the rest.
  Tensor arctanh(Where where = Where::current()) const;
  /// Gives the index of the maximum along axis 1, in the dtype of data. As F::argmax_channel;
  /// `kiln ops argmax_channel` has the rest.
  Tensor argmax_channel(Where where = Where::current()) const;
  /// The cube root of x. As F::cbrt; `kiln ops cbrt` has the rest.
  Tensor cbrt(Where where = Where::current()) const;
  /// Rounds x up to an integer. As F::ceil; `kiln ops ceil` has the rest.
  Tensor ceil(Where where = Where::current()) const;
  /// The cosine of x radians. As F::cos; `kiln ops cos` has the rest.
  Tensor cos(Where where = Where::current()) const;
  /// The hyperbolic cosine of x. As F::cosh; `kiln ops cosh` has the rest.
  Tensor cosh(Where where = Where::current()) const;
  /// Converts an angle from radians to degrees. As F::degrees; `kiln ops degrees` has the rest.
  Tensor degrees(Where where = Where::current()) const;
  /// The error function of x. As F::erf; `kiln ops erf` has the rest.
  Tensor erf(Where where = Where::current()) const;
  /// The inverse of the error function. As F::erfinv; `kiln ops erfinv` has the rest.
  Tensor erfinv(Where where = Where::current()) const;
  /// The exponential function of x. As F::exp; `kiln ops exp` has the rest.
  Tensor exp(Where where = Where::current()) const;
  /// The exponential function of x minus 1, accurate near zero. As F::expm1; `kiln ops expm1` has the rest.
  Tensor expm1(Where where = Where::current()) const;
  /// Rounds x towards zero to an integer; the same function as trunc. As F::fix; `kiln ops fix` has the rest.
  Tensor fix(Where where = Where::current()) const;
  /// Rounds x down to an integer. As F::floor; `kiln ops floor` has the rest.
  Tensor floor(Where where = Where::current()) const;
  /// The gamma function of x. As F::gamma; `kiln ops gamma` has the rest.
  Tensor gamma(Where where = Where::current()) const;
  /// The logarithm of the absolute value of the gamma function. As F::gammaln; `kiln ops gammaln` has the
  /// rest.
  Tensor gammaln(Where where = Where::current()) const;
  /// A copy of x. As F::identity; `kiln ops identity` has the rest.
  Tensor identity(Where where = Where::current()) const;
  /// The natural logarithm of x. As F::log; `kiln ops log` has the rest.
  Tensor log(Where where = Where::current()) const;
  /// The logarithm of x to the base 10. As F::log10; `kiln ops log10` has the rest.
  Tensor log10(Where where = Where::current()) const;
  /// The natural logarithm of 1 + x, accurate near zero. As F::log1p; `kiln ops log1p` has the rest.
  Tensor log1p(Where where = Where::current()) const;
  /// The logarithm of x to the base 2. As F::log2; `kiln ops log2` has the rest.
  Tensor log2(Where where = Where::current()) const;
  /// 1 where x is 0, else 0. As F::logical_not; `kiln ops logical_not` has the rest.
  Tensor logical_not(Where where = Where::current()) const;
  /// x as a loss: its gradient is 1, whatever the gradient of the result is. As F::make_loss;
  /// `kiln ops make_loss` has the rest.
  Tensor make_loss(Where where = Where::current()) const;
  /// The negation of x. As F::negative; `kiln ops negative` has the rest.
  Tensor negative(Where where = Where::current()) const;
  /// Ones of the shape and dtype of x. As F::ones_like; `kiln ops ones_like` has the rest.
  Tensor ones_like(Where where = Where::current()) const;
  /// Converts an angle from degrees to radians. As F::radians; `kiln ops radians` has the rest.
  Tensor radians(Where where = Where::current()) const;
  /// One divided by the cube root of x. As F::rcbrt; `kiln ops rcbrt` has the rest.
  Tensor rcbrt(Where where = Where::current()) const;
  /// One divided by x. As F::reciprocal; `kiln ops reciprocal` has the rest.
  Tensor reciprocal(Where where = Where::current()) const;
  /// x where it is positive, else 0. As F::relu; `kiln ops relu` has the rest.
  Tensor relu(Where where = Where::current()) const;
  /// Rounds x to the nearest integer; halves go down. As F::rint; `kiln ops rint` has the rest.
  Tensor rint(Where where = Where::current()) const;
  /// Rounds x to the nearest integer; halves go away from zero. As F::round; `kiln ops round` has the rest.
  Tensor round(Where where = Where::current()) const;
  /// One divided by the square root of x. As F::rsqrt; `kiln ops rsqrt` has the rest.
  Tensor rsqrt(Where where = Where::current()) const;
  /// The shape of data, as an array. As F::shape_array; `kiln ops shape_array` has the rest.
  Tensor shape_array(Where where = Where::current()) const;
  /// Puts the slices along the first axis in a random order. As F::shuffle; `kiln ops shuffle` has the rest.
  Tensor shuffle(Where where = Where::current()) const;
  /// The logistic function of x. As F::sigmoid; `kiln ops sigmoid` has the rest.
  Tensor sigmoid(Where where = Where::current()) const;
  /// The sign of x: -1, 0 or 1. As F::sign; `kiln ops sign` has the rest.
  Tensor sign(Where where = Where::current()) const;
  /// The sine of x radians. As F::sin; `kiln ops sin` has the rest.
  Tensor sin(Where where = Where::current()) const;
  /// The hyperbolic sine of x. As F::sinh; `kiln ops sinh` has the rest.
  Tensor sinh(Where where = Where::current()) const;
  /// The number of elements of data, as an array. As F::size_array; `kiln ops size_array` has the rest.
  Tensor size_array(Where where = Where::current()) const;
  /// x divided by 1 + |x|. As F::softsign; `kiln ops softsign` has the rest.
  Tensor softsign(Where where = Where::current()) const;
  /// The square root of x. As F::sqrt; `kiln ops sqrt` has the rest.
  Tensor sqrt(Where where = Where::current()) const;
  /// The square of x. As F::square; `kiln ops square` has the rest.
  Tensor square(Where where = Where::current()) const;
  /// x, as a constant for gradients. As F::stop_gradient; `kiln ops stop_gradient` has the rest.
  Tensor stop_gradient(Where where = Where::current()) const;
  /// The tangent of x radians. As F::tan; `kiln ops tan` has the rest.
  Tensor tan(Where where = Where::current()) const;
  /// The hyperbolic tangent of x. As F::tanh; `kiln ops tanh` has the rest.
  Tensor tanh(Where where = Where::current()) const;
  /// Rounds x towards zero to an integer. As F::trunc; `kiln ops trunc` has the rest.
  Tensor trunc(Where where = Where::current()) const;
  /// Zeros of the shape and dtype of x. As F::zeros_like; `kiln ops zeros_like` has the rest.
  Tensor zeros_like(Where where = Where::current()) const;
  // end of what tools/reference writes.

  /// Permutes the axes, by default reverses their order. As F::transpose; `kiln ops transpose` has the rest.
  Tensor transpose(Where where = Where::current()) const;
  /// Permutes the axes, by default reverses their order. Shapes: data (d0, ..., dn) -> (d[axes[0]], ...,
  /// d[axes[n]]). `kiln ops transpose` has the rest.
  Tensor T(Where where = Where::current()) const;
  /// Merges all axes except the first into one. As F::flatten; `kiln ops flatten` has the rest.
  Tensor flatten(Where where = Where::current()) const;
  Tensor transpose(const Shape& axes, Where where = Where::current()) const;
  /// Swaps two axes. As F::swapaxes; `kiln ops swapaxes` has the rest.
  Tensor swapaxes(int dim1, int dim2, Where where = Where::current()) const;
  /// Inserts an axis of extent 1. As F::expand_dims; `kiln ops expand_dims` has the rest.
  Tensor expand_dims(int axis, Where where = Where::current()) const;
  /// Removes axes of extent 1. As F::squeeze; `kiln ops squeeze` has the rest.
  Tensor squeeze(Where where = Where::current()) const;
  Tensor squeeze(const Axes& axis, Where where = Where::current()) const;
  /// Repeats axes of extent 1 to a shape of the same rank. As F::broadcast_to; `kiln ops broadcast_to` has
  /// the rest.
  Tensor broadcast_to(const Shape& shape, Where where = Where::current()) const;
  /// Repeats the named axes, which have extent 1. Shapes: data (..., 1, ...) -> (..., size, ...).
  /// `kiln ops broadcast_axes` has the rest.
  Tensor broadcast_axes(const BroadcastAxisOptions& options, Where where = Where::current()) const;
  Tensor broadcast_axes(const Axes& axis, const Axes& size, Where where = Where::current()) const;
  /// Repeats axes of lhs that have extent 1 to the shape of rhs. As F::broadcast_like;
  /// `kiln ops broadcast_like` has the rest.
  Tensor broadcast_like(const Tensor& other, Where where = Where::current()) const;
  /// Gives the elements of lhs the shape of rhs, or some axes of lhs the extents of some of rhs. As
  /// F::reshape_like; `kiln ops reshape_like` has the rest.
  Tensor reshape_like(const Tensor& other, Where where = Where::current()) const;
  /// Repeats the whole array along each axis. As F::tile; `kiln ops tile` has the rest.
  Tensor tile(const Shape& reps, Where where = Where::current()) const;
  /// Repeats each element, or each slice along an axis. As F::repeat; `kiln ops repeat` has the rest.
  Tensor repeat(const RepeatOptions& options, Where where = Where::current()) const;
  auto repeat(Integer auto repeats, Where where = Where::current()) const {
    return repeat(RepeatOptions{.repeats = static_cast<std::int64_t>(repeats)}, where);
  }
  Tensor repeat(std::int64_t repeats, std::int64_t axis, Where where = Where::current()) const;
  /// Reverses the order of the elements along axes. As F::flip; `kiln ops flip` has the rest.
  Tensor flip(const Shape& axis, Where where = Where::current()) const;
  auto flip(Integer auto axis, Where where = Where::current()) const {
    return flip(Shape{static_cast<std::int64_t>(axis)}, where);
  }
  /// Pads an array with a constant, with its edge elements, or with its reflection. As F::pad; `kiln ops pad`
  /// has the rest.
  Tensor pad(const PadOptions& options, Where where = Where::current()) const;
  /// Extracts a diagonal of matrices, or makes a matrix with a vector as its diagonal. As F::diag;
  /// `kiln ops diag` has the rest.
  Tensor diag(const DiagOptions& options = {}, Where where = Where::current()) const;
  auto diag(Integer auto k, Where where = Where::current()) const {
    return diag(DiagOptions{.k = static_cast<std::int64_t>(k)}, where);
  }
  /// Moves channels into square blocks of pixels. As F::depth_to_space; `kiln ops depth_to_space` has the
  /// rest.
  Tensor depth_to_space(std::int64_t block_size, Where where = Where::current()) const;
  /// Moves square blocks of pixels into channels. As F::space_to_depth; `kiln ops space_to_depth` has the
  /// rest.
  Tensor space_to_depth(std::int64_t block_size, Where where = Where::current()) const;
  /// Splits an array into equal parts along an axis. As F::split; `kiln ops split` has the rest.
  std::vector<Tensor> split(const SplitOptions& options, Where where = Where::current()) const;
  auto split(Integer auto num_outputs, Where where = Where::current()) const {
    return split(SplitOptions{.num_outputs = static_cast<std::int64_t>(num_outputs)}, where);
  }
  std::vector<Tensor> split(std::int64_t num_outputs, std::int64_t axis,
                            Where where = Where::current()) const;
  /// Splits an array along an axis, into equal parts or at given positions. As F::split_v2;
  /// `kiln ops _split_v2` has the rest.
  std::vector<Tensor> split_v2(const SplitV2Options& options, Where where = Where::current()) const;
  /// Takes the slice begin:end:step of the leading axes, as Python's slices. As F::slice; `kiln ops slice`
  /// has the rest.
  Tensor slice(const SliceOptions& options, Where where = Where::current()) const;
  /// Slices data from the first element of each axis to the extents of another array. As F::slice_like;
  /// `kiln ops slice_like` has the rest.
  Tensor slice_like(const Tensor& shape_like, const Shape& axes = {}, Where where = Where::current()) const;
  /// Gathers slices along an axis at indices. As F::take; `kiln ops take` has the rest.
  ///
  /// In numpy mode without an axis: of the flattened array.
  Tensor take(const Tensor& indices, const TakeOptions& options = {}, Where where = Where::current()) const;
  auto take(const Tensor& indices, Integer auto axis, Where where = Where::current()) const {
    return take(indices, with_axis<TakeOptions>(axis), where);
  }
  /// Picks one element along an axis for each index. As F::pick; `kiln ops pick` has the rest.
  Tensor pick(const Tensor& index, const PickOptions& options = {}, Where where = Where::current()) const;
  auto pick(const Tensor& index, Integer auto axis, Where where = Where::current()) const {
    return pick(index, with_axis<PickOptions>(axis), where);
  }
  /// Encodes indices as vectors: on_value at the index, off_value elsewhere. As F::one_hot;
  /// `kiln ops one_hot` has the rest.
  Tensor one_hot(int depth, Where where = Where::current()) const;
  Tensor one_hot(const OneHotOptions& options, Where where = Where::current()) const;
  /// Clips x to the interval from a_min to a_max. As F::clip; `kiln ops clip` has the rest.
  Tensor clip(Number a_min, Number a_max, Where where = Where::current()) const;
  /// The matrix product: contracts the last axis of lhs with the first axis of rhs. As F::dot; `kiln ops dot`
  /// has the rest.
  Tensor dot(const Tensor& other, Where where = Where::current()) const;
  /// Takes the elements begin to end - 1 of one axis. As F::slice_axis; `kiln ops slice_axis` has the rest.
  Tensor slice_axis(const SliceAxisOptions& options, Where where = Where::current()) const;
  Tensor slice_axis(int axis, std::int64_t begin, std::optional<std::int64_t> end,
                    Where where = Where::current()) const;
  /// The softmax of x along an axis. As F::softmax; `kiln ops softmax` has the rest.
  Tensor softmax(const SoftmaxOptions& options = {}, Where where = Where::current()) const;
  auto softmax(Integer auto axis, Where where = Where::current()) const {
    return softmax(with_axis<SoftmaxOptions>(axis), where);
  }
  /// The softmax of -x along an axis. As F::softmin; `kiln ops softmin` has the rest.
  Tensor softmin(const SoftmaxOptions& options = {}, Where where = Where::current()) const;
  auto softmin(Integer auto axis, Where where = Where::current()) const {
    return softmin(with_axis<SoftmaxOptions>(axis), where);
  }
  /// The logarithm of the softmax of x along an axis. As F::log_softmax; `kiln ops log_softmax` has the rest.
  Tensor log_softmax(const SoftmaxOptions& options = {}, Where where = Where::current()) const;
  auto log_softmax(Integer auto axis, Where where = Where::current()) const {
    return log_softmax(with_axis<SoftmaxOptions>(axis), where);
  }
  /// Sums the elements over axes. As F::sum; `kiln ops sum` has the rest.
  Tensor sum(const ReduceOptions& options = {}, Where where = Where::current()) const;
  auto sum(Integer auto axis, Where where = Where::current()) const {
    return sum(with_axis<ReduceOptions>(axis), where);
  }
  /// Averages the elements over axes. As F::mean; `kiln ops mean` has the rest.
  Tensor mean(const ReduceOptions& options = {}, Where where = Where::current()) const;
  auto mean(Integer auto axis, Where where = Where::current()) const {
    return mean(with_axis<ReduceOptions>(axis), where);
  }
  /// Multiplies the elements over axes. As F::prod; `kiln ops prod` has the rest.
  Tensor prod(const ReduceOptions& options = {}, Where where = Where::current()) const;
  auto prod(Integer auto axis, Where where = Where::current()) const {
    return prod(with_axis<ReduceOptions>(axis), where);
  }
  /// Gives the maximum over axes. As F::max; `kiln ops max` has the rest.
  Tensor max(const ReduceOptions& options = {}, Where where = Where::current()) const;
  auto max(Integer auto axis, Where where = Where::current()) const {
    return max(with_axis<ReduceOptions>(axis), where);
  }
  /// Gives the minimum over axes. As F::min; `kiln ops min` has the rest.
  Tensor min(const ReduceOptions& options = {}, Where where = Where::current()) const;
  auto min(Integer auto axis, Where where = Where::current()) const {
    return min(with_axis<ReduceOptions>(axis), where);
  }
  /// Gives the index of the maximum, in the dtype of data. As F::argmax; `kiln ops argmax` has the rest.
  Tensor argmax(const ArgReduceOptions& options = {}, Where where = Where::current()) const;
  auto argmax(Integer auto axis, Where where = Where::current()) const {
    return argmax(with_axis<ArgReduceOptions>(axis), where);
  }
  /// Gives the index of the minimum, in the dtype of data. As F::argmin; `kiln ops argmin` has the rest.
  Tensor argmin(const ArgReduceOptions& options = {}, Where where = Where::current()) const;
  auto argmin(Integer auto axis, Where where = Where::current()) const {
    return argmin(with_axis<ArgReduceOptions>(axis), where);
  }
  /// Sums the elements over axes, NaN as 0. As F::nansum; `kiln ops nansum` has the rest.
  Tensor nansum(const ReduceOptions& options = {}, Where where = Where::current()) const;
  auto nansum(Integer auto axis, Where where = Where::current()) const {
    return nansum(with_axis<ReduceOptions>(axis), where);
  }
  /// Multiplies the elements over axes, NaN as 1. As F::nanprod; `kiln ops nanprod` has the rest.
  Tensor nanprod(const ReduceOptions& options = {}, Where where = Where::current()) const;
  auto nanprod(Integer auto axis, Where where = Where::current()) const {
    return nanprod(with_axis<ReduceOptions>(axis), where);
  }
  /// Gives the 1-norm or the 2-norm over axes. As F::norm; `kiln ops norm` has the rest.
  Tensor norm(const NormOptions& options = {}, Where where = Where::current()) const;
  /// Sorts the elements along an axis. As F::sort; `kiln ops sort` has the rest.
  Tensor sort(const SortOptions& options = {}, Where where = Where::current()) const;
  auto sort(Integer auto axis, Where where = Where::current()) const {
    return sort(with_axis<SortOptions>(axis), where);
  }
  /// Gives the indices that sort an axis; the sort is stable, NaN last. As F::argsort; `kiln ops argsort` has
  /// the rest.
  Tensor argsort(const ArgsortOptions& options = {}, Where where = Where::current()) const;
  auto argsort(Integer auto axis, Where where = Where::current()) const {
    return argsort(with_axis<ArgsortOptions>(axis), where);
  }
  /// Gives the k largest or smallest elements along an axis: their indices, values, both, or a mask. As
  /// F::topk; `kiln ops topk` has the rest.
  Tensor topk(const TopkOptions& options = {}, Where where = Where::current()) const;
  auto topk(Integer auto axis, Where where = Where::current()) const {
    return topk(with_axis<TopkOptions>(axis), where);
  }
  /// Gives the cumulative sum along an axis, added in the order of the axis. As F::cumsum; `kiln ops cumsum`
  /// has the rest.
  Tensor cumsum(const CumsumOptions& options = {}, Where where = Where::current()) const;
  auto cumsum(Integer auto axis, Where where = Where::current()) const {
    return cumsum(with_axis<CumsumOptions>(axis), where);
  }
};

extern template class TensorMethods<Tensor>;
extern template class TensorMethods<IndexedTensor>;

}  // namespace kiln

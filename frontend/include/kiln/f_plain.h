// The functions of F that follow from the definitions of their operators.
#pragma once
#include <kiln/f_options.h>
#include <kiln/tensor.h>

#include <source_location>
#include <vector>

namespace kiln {

/// The functions of F that follow from the definitions of their operators: arrays, then options. All other
/// functions, and the rules that hold for all, are in kiln/f.h; programs write F::relu. Thread rule: as
/// Tensor.
class KILN_API PlainFunctions {
 public:
  using Where = std::source_location;
  using Tensors = std::vector<Tensor>;  ///< lists of inputs, and several results

  // functions: written by tools/reference, from the definitions.
  /// The absolute value of x. `kiln ops abs` has the rest.
  static Tensor abs(const Tensor& data, Where where = Where::current());
  /// Applies relu, sigmoid, tanh, softrelu or softsign to each element. `kiln ops Activation` has the rest.
  static Tensor Activation(const Tensor& data, const ActivationOptions& options,
                           Where where = Where::current());
  /// The sum of arrays of one shape. Shapes: args: num_args arrays (...) -> (...). `kiln ops add_n` has the
  /// rest.
  static Tensor add_n(const Tensors& args, Where where = Where::current());
  /// Converts x to a dtype, as inserted for mixed precision. `kiln ops amp_cast` has the rest.
  static Tensor amp_cast(const Tensor& data, const AmpCastOptions& options, Where where = Where::current());
  /// Converts arrays to the widest of their dtypes, as inserted for mixed precision. Shapes: data:
  /// num_outputs arrays (...) -> num_outputs arrays, each of its input's shape. `kiln ops amp_multicast` has
  /// the rest.
  static Tensors amp_multicast(const Tensors& data, const AmpMulticastOptions& options,
                               Where where = Where::current());
  /// The inverse of the cosine, in radians. `kiln ops arccos` has the rest.
  static Tensor arccos(const Tensor& data, Where where = Where::current());
  /// The inverse of the hyperbolic cosine. `kiln ops arccosh` has the rest.
  static Tensor arccosh(const Tensor& data, Where where = Where::current());
  /// The inverse of the sine, in radians. `kiln ops arcsin` has the rest.
  static Tensor arcsin(const Tensor& data, Where where = Where::current());
  /// The inverse of the hyperbolic sine. `kiln ops arcsinh` has the rest.
  static Tensor arcsinh(const Tensor& data, Where where = Where::current());
  /// The inverse of the tangent, in radians. `kiln ops arctan` has the rest.
  static Tensor arctan(const Tensor& data, Where where = Where::current());
  /// The inverse of the hyperbolic tangent. `kiln ops arctanh` has the rest.
  static Tensor arctanh(const Tensor& data, Where where = Where::current());
  /// Gives the index of the maximum along axis 1, in the dtype of data. Shapes: data (N, C, ...) -> (N, ...).
  /// Of NaN: the index of the first NaN. No gradient: zeros. `kiln ops argmax_channel` has the rest.
  static Tensor argmax_channel(const Tensor& data, Where where = Where::current());
  /// Picks one element from each row of a matrix. Shapes: a (N, D), indices (...) of N elements -> (...). Of
  /// NaN: in a: copied. `kiln ops batch_take` has the rest.
  static Tensor batch_take(const Tensor& a, const Tensor& indices, Where where = Where::current());
  /// x, as a constant for gradients. No gradient passes. `kiln ops BlockGrad` has the rest.
  static Tensor BlockGrad(const Tensor& data, Where where = Where::current());
  /// The sum of lhs and rhs. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each other.
  /// `kiln ops broadcast_add` has the rest.
  static Tensor broadcast_add(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// The quotient of lhs and rhs. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each other.
  /// `kiln ops broadcast_div` has the rest.
  static Tensor broadcast_div(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// 1 where lhs == rhs, else 0. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each other. Of
  /// NaN: 0 if lhs or rhs is NaN. No gradient: zeros. `kiln ops broadcast_equal` has the rest.
  static Tensor broadcast_equal(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// 1 where lhs > rhs, else 0. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each other. Of
  /// NaN: 0 if lhs or rhs is NaN. No gradient: zeros. `kiln ops broadcast_greater` has the rest.
  static Tensor broadcast_greater(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// 1 where lhs >= rhs, else 0. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each other. Of
  /// NaN: 0 if lhs or rhs is NaN. No gradient: zeros. `kiln ops broadcast_greater_equal` has the rest.
  static Tensor broadcast_greater_equal(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// The length of the vector (lhs, rhs). Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each
  /// other. `kiln ops broadcast_hypot` has the rest.
  static Tensor broadcast_hypot(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// 1 where lhs < rhs, else 0. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each other. Of
  /// NaN: 0 if lhs or rhs is NaN. No gradient: zeros. `kiln ops broadcast_lesser` has the rest.
  static Tensor broadcast_lesser(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// 1 where lhs <= rhs, else 0. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each other. Of
  /// NaN: 0 if lhs or rhs is NaN. No gradient: zeros. `kiln ops broadcast_lesser_equal` has the rest.
  static Tensor broadcast_lesser_equal(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// Repeats axes of lhs that have extent 1 to the shape of rhs. Shapes: lhs (a, b, ...), rhs (A, B, ...) ->
  /// (A, B, ...); A = a, or any A if a is 1. `kiln ops broadcast_like` has the rest.
  static Tensor broadcast_like(const Tensor& lhs, const Tensor& rhs, const BroadcastLikeOptions& options = {},
                               Where where = Where::current());
  /// 1 where both lhs and rhs are not 0, else 0. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to
  /// each other. NaN is not 0, so that it counts as true. No gradient: zeros.
  /// `kiln ops broadcast_logical_and` has the rest.
  static Tensor broadcast_logical_and(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// 1 where lhs or rhs is not 0, else 0. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each
  /// other. NaN is not 0, so that it counts as true. No gradient: zeros. `kiln ops broadcast_logical_or` has
  /// the rest.
  static Tensor broadcast_logical_or(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// 1 where exactly one of lhs and rhs is not 0, else 0. Shapes: lhs (L), rhs (R) -> (B); B is L and R
  /// broadcast to each other. NaN is not 0, so that it counts as true. No gradient: zeros.
  /// `kiln ops broadcast_logical_xor` has the rest.
  static Tensor broadcast_logical_xor(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// The greater one of lhs and rhs. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each other.
  /// `kiln ops broadcast_maximum` has the rest.
  static Tensor broadcast_maximum(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// The lesser one of lhs and rhs. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each other.
  /// `kiln ops broadcast_minimum` has the rest.
  static Tensor broadcast_minimum(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// The difference of lhs and rhs. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each other.
  /// `kiln ops broadcast_minus` has the rest.
  static Tensor broadcast_minus(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// The remainder of lhs / rhs, with the sign of rhs. Shapes: lhs (L), rhs (R) -> (B); B is L and R
  /// broadcast to each other. Of NaN: 0 where rhs is 0, of NaN too; else NaN if lhs or rhs is, and if lhs is
  /// infinite. `kiln ops broadcast_mod` has the rest.
  static Tensor broadcast_mod(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// The product of lhs and rhs. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each other.
  /// `kiln ops broadcast_mul` has the rest.
  static Tensor broadcast_mul(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// 1 where lhs != rhs, else 0. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each other. Of
  /// NaN: 1 if lhs or rhs is NaN. No gradient: zeros. `kiln ops broadcast_not_equal` has the rest.
  static Tensor broadcast_not_equal(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// The sum of lhs and rhs. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each other.
  /// `kiln ops broadcast_plus` has the rest.
  static Tensor broadcast_plus(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// lhs to the power of rhs. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each other.
  /// `kiln ops broadcast_power` has the rest.
  static Tensor broadcast_power(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// The difference of lhs and rhs. Shapes: lhs (L), rhs (R) -> (B); B is L and R broadcast to each other.
  /// `kiln ops broadcast_sub` has the rest.
  static Tensor broadcast_sub(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// The cube root of x. `kiln ops cbrt` has the rest.
  static Tensor cbrt(const Tensor& data, Where where = Where::current());
  /// Rounds x up to an integer. No gradient: zeros. `kiln ops ceil` has the rest.
  static Tensor ceil(const Tensor& data, Where where = Where::current());
  /// The cosine of x radians. `kiln ops cos` has the rest.
  static Tensor cos(const Tensor& data, Where where = Where::current());
  /// The hyperbolic cosine of x. `kiln ops cosh` has the rest.
  static Tensor cosh(const Tensor& data, Where where = Where::current());
  /// Crops an image to a given size, or to the size of a second image. Shapes: arg: data (N, C, H, W) -> (N,
  /// C, h, w), (h, w) = h_w; or data and an image (N', C', h, w). `kiln ops Crop` has the rest.
  static Tensor Crop(const Tensors& arg, const CropOptions& options = {}, Where where = Where::current());
  /// Converts an angle from radians to degrees. `kiln ops degrees` has the rest.
  static Tensor degrees(const Tensor& data, Where where = Where::current());
  /// Extracts a diagonal of matrices, or makes a matrix with a vector as its diagonal. Shapes: data (N) -> (N
  /// + |k|, N + |k|). `kiln ops diag` has the rest.
  static Tensor diag(const Tensor& data, const DiagOptions& options = {}, Where where = Where::current());
  /// The matrix product: contracts the last axis of lhs with the first axis of rhs. Shapes: lhs (..., K), rhs
  /// (K, ...) -> the axes of lhs, then the axes of rhs, without K. A NaN in lhs makes its row of the result
  /// NaN, one in rhs its column. `kiln ops dot` has the rest.
  static Tensor dot(const Tensor& lhs, const Tensor& rhs, const DotOptions& options = {},
                    Where where = Where::current());
  /// Sets elements to zero at random, each with probability p, and scales the others by 1 / (1 - p).
  /// `kiln ops Dropout` has the rest.
  static Tensor Dropout(const Tensor& data, const DropoutOptions& options = {},
                        Where where = Where::current());
  /// The sum of arrays of one shape. Shapes: args: num_args arrays (...) -> (...). `kiln ops ElementWiseSum`
  /// has the rest.
  static Tensor ElementWiseSum(const Tensors& args, Where where = Where::current());
  /// The sum of lhs and rhs. Shapes: lhs (...), rhs (...) -> (...). `kiln ops elemwise_add` has the rest.
  static Tensor elemwise_add(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// The quotient of lhs and rhs. Shapes: lhs (...), rhs (...) -> (...). `kiln ops elemwise_div` has the
  /// rest.
  static Tensor elemwise_div(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// The product of lhs and rhs. Shapes: lhs (...), rhs (...) -> (...). `kiln ops elemwise_mul` has the rest.
  static Tensor elemwise_mul(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// The difference of lhs and rhs. Shapes: lhs (...), rhs (...) -> (...). `kiln ops elemwise_sub` has the
  /// rest.
  static Tensor elemwise_sub(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// Looks up the rows of weight that the indices in data name. Shapes: data (...), weight (V, D) -> (...,
  /// D). A NaN in weight stays in its row. `kiln ops Embedding` has the rest.
  static Tensor Embedding(const Tensor& data, const Tensor& weight, const EmbeddingOptions& options,
                          Where where = Where::current());
  /// The error function of x. `kiln ops erf` has the rest.
  static Tensor erf(const Tensor& data, Where where = Where::current());
  /// The inverse of the error function. `kiln ops erfinv` has the rest.
  static Tensor erfinv(const Tensor& data, Where where = Where::current());
  /// The exponential function of x. `kiln ops exp` has the rest.
  static Tensor exp(const Tensor& data, Where where = Where::current());
  /// The exponential function of x minus 1, accurate near zero. `kiln ops expm1` has the rest.
  static Tensor expm1(const Tensor& data, Where where = Where::current());
  /// Rounds x towards zero to an integer; the same function as trunc. No gradient: zeros. `kiln ops fix` has
  /// the rest.
  static Tensor fix(const Tensor& data, Where where = Where::current());
  /// Merges all axes except the first into one. Shapes: data (N, ...) -> (N, M); M is the product of the
  /// other extents, 1 if there are none. Rank 0 throws. `kiln ops Flatten` has the rest.
  static Tensor Flatten(const Tensor& data, Where where = Where::current());
  /// Merges all axes except the first into one. Shapes: data (N, ...) -> (N, M); M is the product of the
  /// other extents, 1 if there are none. Rank 0 throws. `kiln ops flatten` has the rest.
  static Tensor flatten(const Tensor& data, Where where = Where::current());
  /// Rounds x down to an integer. No gradient: zeros. `kiln ops floor` has the rest.
  static Tensor floor(const Tensor& data, Where where = Where::current());
  /// The gamma function of x. `kiln ops gamma` has the rest.
  static Tensor gamma(const Tensor& data, Where where = Where::current());
  /// The logarithm of the absolute value of the gamma function. `kiln ops gammaln` has the rest.
  static Tensor gammaln(const Tensor& data, Where where = Where::current());
  /// Gathers slices at index vectors, which are the columns of indices. Shapes: data (d1, ..., dM, q...),
  /// indices (M, i...) -> (i..., q...). Of NaN: in data: copied. `kiln ops gather_nd` has the rest.
  static Tensor gather_nd(const Tensor& data, const Tensor& indices, Where where = Where::current());
  /// A piecewise linear approximation of sigmoid. `kiln ops hard_sigmoid` has the rest.
  static Tensor hard_sigmoid(const Tensor& data, const HardSigmoidOptions& options = {},
                             Where where = Where::current());
  /// A copy of x. `kiln ops identity` has the rest.
  static Tensor identity(const Tensor& data, Where where = Where::current());
  /// Copies the elements of each position of a sliding window into a column. Shapes: data (N, C, H, W) -> (N,
  /// C kH kW, H' W'). `kiln ops im2col` has the rest.
  static Tensor im2col(const Tensor& data, const Im2colOptions& options, Where where = Where::current());
  /// The Khatri-Rao product: the Kronecker product of matrices, column by column. Shapes: args: matrices (M1,
  /// N), (M2, N), ... -> (M1 M2 ..., N). `kiln ops khatri_rao` has the rest.
  static Tensor khatri_rao(const Tensors& args, Where where = Where::current());
  /// Divides data by its Euclidean norm, of each sample, of each channel or along the channels. Shapes: data
  /// (N, C, ...) -> (N, C, ...). mode=instance takes any data of 1 or more axes, the other modes 3 or more. A
  /// NaN makes all elements that share its norm NaN. `kiln ops L2Normalization` has the rest.
  static Tensor L2Normalization(const Tensor& data, const L2NormalizationOptions& options = {},
                                Where where = Where::current());
  /// The natural logarithm of x. `kiln ops log` has the rest.
  static Tensor log(const Tensor& data, Where where = Where::current());
  /// The logarithm of x to the base 10. `kiln ops log10` has the rest.
  static Tensor log10(const Tensor& data, Where where = Where::current());
  /// The natural logarithm of 1 + x, accurate near zero. `kiln ops log1p` has the rest.
  static Tensor log1p(const Tensor& data, Where where = Where::current());
  /// The logarithm of x to the base 2. `kiln ops log2` has the rest.
  static Tensor log2(const Tensor& data, Where where = Where::current());
  /// 1 where x is 0, else 0. Of NaN: 0. No gradient: zeros. `kiln ops logical_not` has the rest.
  static Tensor logical_not(const Tensor& data, Where where = Where::current());
  /// Local response normalisation: divides each element by a power of the squares of the neighbouring
  /// channels. Shapes: data (N, C, ...) -> (N, C, ...). A NaN makes the elements of the nsize channels around
  /// it NaN, in its place. `kiln ops LRN` has the rest.
  static Tensor LRN(const Tensor& data, const LRNOptions& options, Where where = Where::current());
  /// x as a loss: its gradient is 1, whatever the gradient of the result is. `kiln ops make_loss` has the
  /// rest.
  static Tensor make_loss(const Tensor& data, Where where = Where::current());
  /// x as a loss: its gradient is grad_scale, whatever the gradient of the result is. `kiln ops MakeLoss` has
  /// the rest.
  static Tensor MakeLoss(const Tensor& data, const MakeLossOptions& options = {},
                         Where where = Where::current());
  /// The negation of x. `kiln ops negative` has the rest.
  static Tensor negative(const Tensor& data, Where where = Where::current());
  /// Ones of the shape and dtype of x. No gradient: zeros. `kiln ops ones_like` has the rest.
  static Tensor ones_like(const Tensor& data, Where where = Where::current());
  /// Converts an angle from degrees to radians. `kiln ops radians` has the rest.
  static Tensor radians(const Tensor& data, Where where = Where::current());
  /// One divided by the cube root of x. `kiln ops rcbrt` has the rest.
  static Tensor rcbrt(const Tensor& data, Where where = Where::current());
  /// One divided by x. `kiln ops reciprocal` has the rest.
  static Tensor reciprocal(const Tensor& data, Where where = Where::current());
  /// x where it is positive, else 0. `kiln ops relu` has the rest.
  static Tensor relu(const Tensor& data, Where where = Where::current());
  /// Gives the elements of lhs the shape of rhs, or some axes of lhs the extents of some of rhs. Shapes: lhs
  /// (a..., b..., c...), rhs (d..., e..., f...) -> (a..., e..., c...), as many elements as lhs; b are the
  /// axes lhs_begin to lhs_end, e are rhs_begin to rhs_end. `kiln ops reshape_like` has the rest.
  static Tensor reshape_like(const Tensor& lhs, const Tensor& rhs, const ReshapeLikeOptions& options = {},
                             Where where = Where::current());
  /// Rounds x to the nearest integer; halves go down. No gradient: zeros. `kiln ops rint` has the rest.
  static Tensor rint(const Tensor& data, Where where = Where::current());
  /// Rounds x to the nearest integer; halves go away from zero. No gradient: zeros. `kiln ops round` has the
  /// rest.
  static Tensor round(const Tensor& data, Where where = Where::current());
  /// One divided by the square root of x. `kiln ops rsqrt` has the rest.
  static Tensor rsqrt(const Tensor& data, Where where = Where::current());
  /// The shape of data, as an array. Shapes: data (d0, d1, ...) -> (rank). No gradient: zeros.
  /// `kiln ops shape_array` has the rest.
  static Tensor shape_array(const Tensor& data, Where where = Where::current());
  /// Puts the slices along the first axis in a random order. Shapes: data (N, ...) -> (N, ...).
  /// `kiln ops shuffle` has the rest.
  static Tensor shuffle(const Tensor& data, Where where = Where::current());
  /// The logistic function of x. `kiln ops sigmoid` has the rest.
  static Tensor sigmoid(const Tensor& data, Where where = Where::current());
  /// The sign of x: -1, 0 or 1. Of NaN: +0. No gradient: zeros. `kiln ops sign` has the rest.
  static Tensor sign(const Tensor& data, Where where = Where::current());
  /// The sine of x radians. `kiln ops sin` has the rest.
  static Tensor sin(const Tensor& data, Where where = Where::current());
  /// The hyperbolic sine of x. `kiln ops sinh` has the rest.
  static Tensor sinh(const Tensor& data, Where where = Where::current());
  /// The number of elements of data, as an array. Shapes: data (...) -> (1). No gradient: zeros.
  /// `kiln ops size_array` has the rest.
  static Tensor size_array(const Tensor& data, Where where = Where::current());
  /// Takes the slice begin:end:step of the leading axes, as Python's slices. Shapes: data (D1, ..., Dk, ...)
  /// -> (L1, ..., Lk, ...), k the length of begin. `kiln ops slice` has the rest.
  static Tensor slice(const Tensor& data, const SliceOptions& options, Where where = Where::current());
  /// The cross entropy of softmax(data) with the labels, summed over all samples. Shapes: data (N, C), label
  /// (N) -> (1). A NaN or +inf in data gives NaN. -inf has the probability 0: the result is +inf if a label
  /// names it. `kiln ops softmax_cross_entropy` has the rest.
  static Tensor softmax_cross_entropy(const Tensor& data, const Tensor& label,
                                      Where where = Where::current());
  /// The softmax over all axes but the first, or over the channels. Shapes: data (N, ...) -> (N, ...);
  /// channel: data (N, C, ...) -> (N, C, ...). `kiln ops SoftmaxActivation` has the rest.
  static Tensor SoftmaxActivation(const Tensor& data, const SoftmaxActivationOptions& options = {},
                                  Where where = Where::current());
  /// The softmax of data; its gradient is the gradient of the cross entropy with label. Shapes: data (N, C),
  /// label (N) or (N, C) -> (N, C). A NaN or +inf in data makes its whole distribution NaN. -inf has the
  /// probability 0. `kiln ops SoftmaxOutput` has the rest.
  static Tensor SoftmaxOutput(const Tensor& data, const Tensor& label,
                              const SoftmaxOutputOptions& options = {}, Where where = Where::current());
  /// x divided by 1 + |x|. `kiln ops softsign` has the rest.
  static Tensor softsign(const Tensor& data, Where where = Where::current());
  /// The square root of x. `kiln ops sqrt` has the rest.
  static Tensor sqrt(const Tensor& data, Where where = Where::current());
  /// The square of x. `kiln ops square` has the rest.
  static Tensor square(const Tensor& data, Where where = Where::current());
  /// x, as a constant for gradients. No gradient passes. `kiln ops stop_gradient` has the rest.
  static Tensor stop_gradient(const Tensor& data, Where where = Where::current());
  /// The tangent of x radians. `kiln ops tan` has the rest.
  static Tensor tan(const Tensor& data, Where where = Where::current());
  /// The hyperbolic tangent of x. `kiln ops tanh` has the rest.
  static Tensor tanh(const Tensor& data, Where where = Where::current());
  /// Rounds x towards zero to an integer. No gradient: zeros. `kiln ops trunc` has the rest.
  static Tensor trunc(const Tensor& data, Where where = Where::current());
  /// Zeros of the shape and dtype of x. No gradient: zeros. `kiln ops zeros_like` has the rest.
  static Tensor zeros_like(const Tensor& data, Where where = Where::current());
  // end of what tools/reference writes.
};

}  // namespace kiln

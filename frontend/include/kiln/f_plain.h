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
  using Tensors = std::vector<Tensor>;

  // functions: written by tools/reference, from the definitions.
  /// |x|. `kiln ops abs` has the rest.
  static Tensor abs(const Tensor& data, Where where = Where::current());
  /// relu, sigmoid, tanh, softrelu or softsign. `kiln ops Activation` has the rest.
  static Tensor Activation(const Tensor& data, const ActivationOptions& options,
                           Where where = Where::current());
  /// The sum of arrays of one shape. `kiln ops add_n` has the rest.
  static Tensor add_n(const Tensors& args, Where where = Where::current());
  /// Casts x, for mixed precision. `kiln ops amp_cast` has the rest.
  static Tensor amp_cast(const Tensor& data, const AmpCastOptions& options, Where where = Where::current());
  /// The inverse of cos. `kiln ops arccos` has the rest.
  static Tensor arccos(const Tensor& data, Where where = Where::current());
  /// The inverse of cosh. `kiln ops arccosh` has the rest.
  static Tensor arccosh(const Tensor& data, Where where = Where::current());
  /// The inverse of sin. `kiln ops arcsin` has the rest.
  static Tensor arcsin(const Tensor& data, Where where = Where::current());
  /// The inverse of sinh. `kiln ops arcsinh` has the rest.
  static Tensor arcsinh(const Tensor& data, Where where = Where::current());
  /// The inverse of tan. `kiln ops arctan` has the rest.
  static Tensor arctan(const Tensor& data, Where where = Where::current());
  /// The inverse of tanh. `kiln ops arctanh` has the rest.
  static Tensor arctanh(const Tensor& data, Where where = Where::current());
  /// argmax over axis 1. `kiln ops argmax_channel` has the rest.
  static Tensor argmax_channel(const Tensor& data, Where where = Where::current());
  /// a[i, indices[i]]. `kiln ops batch_take` has the rest.
  static Tensor batch_take(const Tensor& a, const Tensor& indices, Where where = Where::current());
  /// x; its gradient is zero. `kiln ops BlockGrad` has the rest.
  static Tensor BlockGrad(const Tensor& data, Where where = Where::current());
  /// lhs + rhs. `kiln ops broadcast_add` has the rest.
  static Tensor broadcast_add(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// lhs / rhs; integers are truncated. `kiln ops broadcast_div` has the rest.
  static Tensor broadcast_div(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// 1 where lhs == rhs, else 0. `kiln ops broadcast_equal` has the rest.
  static Tensor broadcast_equal(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// 1 where lhs > rhs, else 0. `kiln ops broadcast_greater` has the rest.
  static Tensor broadcast_greater(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// 1 where lhs >= rhs, else 0. `kiln ops broadcast_greater_equal` has the rest.
  static Tensor broadcast_greater_equal(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// sqrt(lhs^2 + rhs^2). `kiln ops broadcast_hypot` has the rest.
  static Tensor broadcast_hypot(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// 1 where lhs < rhs, else 0. `kiln ops broadcast_lesser` has the rest.
  static Tensor broadcast_lesser(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// 1 where lhs <= rhs, else 0. `kiln ops broadcast_lesser_equal` has the rest.
  static Tensor broadcast_lesser_equal(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// 1 where both are not 0. `kiln ops broadcast_logical_and` has the rest.
  static Tensor broadcast_logical_and(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// 1 where one is not 0. `kiln ops broadcast_logical_or` has the rest.
  static Tensor broadcast_logical_or(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// 1 where just one is not 0. `kiln ops broadcast_logical_xor` has the rest.
  static Tensor broadcast_logical_xor(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// The greater of both. `kiln ops broadcast_maximum` has the rest.
  static Tensor broadcast_maximum(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// The lesser of both. `kiln ops broadcast_minimum` has the rest.
  static Tensor broadcast_minimum(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// lhs - rhs. `kiln ops broadcast_minus` has the rest.
  static Tensor broadcast_minus(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// The remainder of lhs / rhs, with the divisor's sign. `kiln ops broadcast_mod` has the rest.
  static Tensor broadcast_mod(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// lhs * rhs. `kiln ops broadcast_mul` has the rest.
  static Tensor broadcast_mul(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// 1 where lhs != rhs, else 0. `kiln ops broadcast_not_equal` has the rest.
  static Tensor broadcast_not_equal(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// lhs + rhs. `kiln ops broadcast_plus` has the rest.
  static Tensor broadcast_plus(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// lhs to the power of rhs. `kiln ops broadcast_power` has the rest.
  static Tensor broadcast_power(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// lhs - rhs. `kiln ops broadcast_sub` has the rest.
  static Tensor broadcast_sub(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// The cube root. `kiln ops cbrt` has the rest.
  static Tensor cbrt(const Tensor& data, Where where = Where::current());
  /// The least integer not below x. `kiln ops ceil` has the rest.
  static Tensor ceil(const Tensor& data, Where where = Where::current());
  /// The cosine. `kiln ops cos` has the rest.
  static Tensor cos(const Tensor& data, Where where = Where::current());
  /// The hyperbolic cosine. `kiln ops cosh` has the rest.
  static Tensor cosh(const Tensor& data, Where where = Where::current());
  /// Crops an image to a given size or to the size of a second image. `kiln ops Crop` has the rest.
  static Tensor Crop(const Tensors& arg, const CropOptions& options = {}, Where where = Where::current());
  /// Converts radians to degrees. `kiln ops degrees` has the rest.
  static Tensor degrees(const Tensor& data, Where where = Where::current());
  /// A diagonal of matrices, or a matrix with a vector as its diagonal. `kiln ops diag` has the rest.
  static Tensor diag(const Tensor& data, const DiagOptions& options = {}, Where where = Where::current());
  /// Matrix product; contracts the last axis of lhs with the first of rhs. `kiln ops dot` has the rest.
  static Tensor dot(const Tensor& lhs, const Tensor& rhs, const DotOptions& options = {},
                    Where where = Where::current());
  /// In training zero with probability p, else x / (1 - p). `kiln ops Dropout` has the rest.
  static Tensor Dropout(const Tensor& data, const DropoutOptions& options = {},
                        Where where = Where::current());
  /// The sum of arrays of one shape. `kiln ops ElementWiseSum` has the rest.
  static Tensor ElementWiseSum(const Tensors& args, Where where = Where::current());
  /// lhs + rhs. `kiln ops elemwise_add` has the rest.
  static Tensor elemwise_add(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// lhs / rhs; integers are truncated. `kiln ops elemwise_div` has the rest.
  static Tensor elemwise_div(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// lhs * rhs. `kiln ops elemwise_mul` has the rest.
  static Tensor elemwise_mul(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// lhs - rhs. `kiln ops elemwise_sub` has the rest.
  static Tensor elemwise_sub(const Tensor& lhs, const Tensor& rhs, Where where = Where::current());
  /// Gathers rows of the weight by indices. `kiln ops Embedding` has the rest.
  static Tensor Embedding(const Tensor& data, const Tensor& weight, const EmbeddingOptions& options,
                          Where where = Where::current());
  /// The error function. `kiln ops erf` has the rest.
  static Tensor erf(const Tensor& data, Where where = Where::current());
  /// The inverse of erf. `kiln ops erfinv` has the rest.
  static Tensor erfinv(const Tensor& data, Where where = Where::current());
  /// e to the x. `kiln ops exp` has the rest.
  static Tensor exp(const Tensor& data, Where where = Where::current());
  /// exp(x) - 1. `kiln ops expm1` has the rest.
  static Tensor expm1(const Tensor& data, Where where = Where::current());
  /// The nearest integer towards zero. `kiln ops fix` has the rest.
  static Tensor fix(const Tensor& data, Where where = Where::current());
  /// Merges all axes but the first. `kiln ops Flatten` has the rest.
  static Tensor Flatten(const Tensor& data, Where where = Where::current());
  /// Merges all axes but the first. `kiln ops flatten` has the rest.
  static Tensor flatten(const Tensor& data, Where where = Where::current());
  /// The greatest integer not above x. `kiln ops floor` has the rest.
  static Tensor floor(const Tensor& data, Where where = Where::current());
  /// The gamma function. `kiln ops gamma` has the rest.
  static Tensor gamma(const Tensor& data, Where where = Where::current());
  /// The logarithm of the gamma function's magnitude. `kiln ops gammaln` has the rest.
  static Tensor gammaln(const Tensor& data, Where where = Where::current());
  /// Gathers slices by index vectors: data[indices[0], indices[1], ...]. `kiln ops gather_nd` has the rest.
  static Tensor gather_nd(const Tensor& data, const Tensor& indices, Where where = Where::current());
  /// max(0, min(1, alpha * x + beta)). `kiln ops hard_sigmoid` has the rest.
  static Tensor hard_sigmoid(const Tensor& data, const HardSigmoidOptions& options = {},
                             Where where = Where::current());
  /// x. `kiln ops identity` has the rest.
  static Tensor identity(const Tensor& data, Where where = Where::current());
  /// The elements under each position of a sliding window, as columns. `kiln ops im2col` has the rest.
  static Tensor im2col(const Tensor& data, const Im2colOptions& options, Where where = Where::current());
  /// The Kronecker product of the matrices, column by column. `kiln ops khatri_rao` has the rest.
  static Tensor khatri_rao(const Tensors& args, Where where = Where::current());
  /// x / sqrt(sum(x^2) + eps). `kiln ops L2Normalization` has the rest.
  static Tensor L2Normalization(const Tensor& data, const L2NormalizationOptions& options = {},
                                Where where = Where::current());
  /// The natural logarithm. `kiln ops log` has the rest.
  static Tensor log(const Tensor& data, Where where = Where::current());
  /// The logarithm to base 10. `kiln ops log10` has the rest.
  static Tensor log10(const Tensor& data, Where where = Where::current());
  /// log(1 + x). `kiln ops log1p` has the rest.
  static Tensor log1p(const Tensor& data, Where where = Where::current());
  /// The logarithm to base 2. `kiln ops log2` has the rest.
  static Tensor log2(const Tensor& data, Where where = Where::current());
  /// 1 where x is 0, else 0. `kiln ops logical_not` has the rest.
  static Tensor logical_not(const Tensor& data, Where where = Where::current());
  /// Local response normalisation over neighbouring channels. `kiln ops LRN` has the rest.
  static Tensor LRN(const Tensor& data, const LRNOptions& options, Where where = Where::current());
  /// x; its gradient is 1. `kiln ops make_loss` has the rest.
  static Tensor make_loss(const Tensor& data, Where where = Where::current());
  /// -x. `kiln ops negative` has the rest.
  static Tensor negative(const Tensor& data, Where where = Where::current());
  /// Ones of the shape and dtype of x. `kiln ops ones_like` has the rest.
  static Tensor ones_like(const Tensor& data, Where where = Where::current());
  /// Converts degrees to radians. `kiln ops radians` has the rest.
  static Tensor radians(const Tensor& data, Where where = Where::current());
  /// 1 / cbrt(x). `kiln ops rcbrt` has the rest.
  static Tensor rcbrt(const Tensor& data, Where where = Where::current());
  /// 1 / x. `kiln ops reciprocal` has the rest.
  static Tensor reciprocal(const Tensor& data, Where where = Where::current());
  /// max(x, 0). `kiln ops relu` has the rest.
  static Tensor relu(const Tensor& data, Where where = Where::current());
  /// The nearest integer, halves down. `kiln ops rint` has the rest.
  static Tensor rint(const Tensor& data, Where where = Where::current());
  /// The nearest integer, halves away from zero. `kiln ops round` has the rest.
  static Tensor round(const Tensor& data, Where where = Where::current());
  /// 1 / sqrt(x). `kiln ops rsqrt` has the rest.
  static Tensor rsqrt(const Tensor& data, Where where = Where::current());
  /// The shape of data. `kiln ops shape_array` has the rest.
  static Tensor shape_array(const Tensor& data, Where where = Where::current());
  /// Shuffles along the first axis. `kiln ops shuffle` has the rest.
  static Tensor shuffle(const Tensor& data, Where where = Where::current());
  /// 1 / (1 + exp(-x)). `kiln ops sigmoid` has the rest.
  static Tensor sigmoid(const Tensor& data, Where where = Where::current());
  /// -1, 0 or 1. `kiln ops sign` has the rest.
  static Tensor sign(const Tensor& data, Where where = Where::current());
  /// The sine. `kiln ops sin` has the rest.
  static Tensor sin(const Tensor& data, Where where = Where::current());
  /// The hyperbolic sine. `kiln ops sinh` has the rest.
  static Tensor sinh(const Tensor& data, Where where = Where::current());
  /// The number of elements of data. `kiln ops size_array` has the rest.
  static Tensor size_array(const Tensor& data, Where where = Where::current());
  /// begin:end:step of the leading axes. `kiln ops slice` has the rest.
  static Tensor slice(const Tensor& data, const SliceOptions& options, Where where = Where::current());
  /// The sum of -log softmax(data) at the labels. `kiln ops softmax_cross_entropy` has the rest.
  static Tensor softmax_cross_entropy(const Tensor& data, const Tensor& label,
                                      Where where = Where::current());
  /// Softmax over all axes but the first, or over the channels. `kiln ops SoftmaxActivation` has the rest.
  static Tensor SoftmaxActivation(const Tensor& data, const SoftmaxActivationOptions& options = {},
                                  Where where = Where::current());
  /// Softmax; its gradient is that of the cross entropy with label. `kiln ops SoftmaxOutput` has the rest.
  static Tensor SoftmaxOutput(const Tensor& data, const Tensor& label,
                              const SoftmaxOutputOptions& options = {}, Where where = Where::current());
  /// x / (1 + |x|). `kiln ops softsign` has the rest.
  static Tensor softsign(const Tensor& data, Where where = Where::current());
  /// The square root. `kiln ops sqrt` has the rest.
  static Tensor sqrt(const Tensor& data, Where where = Where::current());
  /// x * x. `kiln ops square` has the rest.
  static Tensor square(const Tensor& data, Where where = Where::current());
  /// x; its gradient is zero. `kiln ops stop_gradient` has the rest.
  static Tensor stop_gradient(const Tensor& data, Where where = Where::current());
  /// The tangent. `kiln ops tan` has the rest.
  static Tensor tan(const Tensor& data, Where where = Where::current());
  /// The hyperbolic tangent. `kiln ops tanh` has the rest.
  static Tensor tanh(const Tensor& data, Where where = Where::current());
  /// Truncates x towards zero. `kiln ops trunc` has the rest.
  static Tensor trunc(const Tensor& data, Where where = Where::current());
  /// Zeros of the shape and dtype of x. `kiln ops zeros_like` has the rest.
  static Tensor zeros_like(const Tensor& data, Where where = Where::current());
  // end of what tools/reference writes.
};

}  // namespace kiln

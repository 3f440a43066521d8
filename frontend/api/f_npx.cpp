// F.npx(): F's layers in MXNet's numpy mode, and the few operators under their own names.
#include "frontend/api/f_call.h"
#include "frontend/call/numpy_scope.h"

#include <kiln/f_numpy.h>

namespace kiln {

using Npx = struct F::npx;
using Where = F::Where;

Tensor Npx::reshape(const Tensor& a, const Shape& newshape, Where where) {
  const NumpyScope scope;
  CallAttributes<1> given;
  given.set("newshape", ir::AttrValue(newshape));
  return call<"_npx_reshape">({&a}, given, where);
}
Tensor Npx::fully_connected(const Tensor& x, const Tensor& weight, const Tensor& bias,
                            const FullyConnectedOptions& o, Where where) {
  const NumpyScope scope("fully_connected");
  return F::FullyConnected(x, weight, bias, o, where);
}
Tensor Npx::fully_connected(const Tensor& x, const Tensor& weight, const FullyConnectedOptions& o,
                            Where where) {
  const NumpyScope scope("fully_connected");
  return F::FullyConnected(x, weight, o, where);
}
Tensor Npx::convolution(const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const ConvolutionOptions& o, Where where) {
  const NumpyScope scope;
  return F::Convolution(x, weight, bias, o, where);
}
Tensor Npx::convolution(const Tensor& x, const Tensor& weight, const ConvolutionOptions& o, Where where) {
  const NumpyScope scope;
  return F::Convolution(x, weight, o, where);
}
Tensor Npx::pooling(const Tensor& x, const PoolingOptions& o, Where where) {
  const NumpyScope scope;
  return F::Pooling(x, o, where);
}
Tensor Npx::batch_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& moving_mean,
                       const Tensor& moving_var, const BatchNormOptions& o, Where where) {
  const NumpyScope scope("batch_norm");
  return F::BatchNorm(x, gamma, beta, moving_mean, moving_var, o, where);
}
Tensor Npx::layer_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, const LayerNormOptions& o,
                       Where where) {
  const NumpyScope scope("layer_norm");
  return F::LayerNorm(x, gamma, beta, o, where);
}
Tensor Npx::dropout(const Tensor& x, const DropoutOptions& o, Where where) {
  const NumpyScope scope;
  return F::Dropout(x, o, where);
}
Tensor Npx::activation(const Tensor& x, const ActivationOptions& o, Where where) {
  const NumpyScope scope;
  return F::Activation(x, o, where);
}
Tensor Npx::leaky_relu(const Tensor& x, const LeakyReLUOptions& o, Where where) {
  const NumpyScope scope("leaky_relu");
  return F::LeakyReLU(x, o, where);
}
Tensor Npx::softmax(const Tensor& x, const SoftmaxOptions& o, Where where) {
  const NumpyScope scope;
  return F::softmax(x, o, where);
}
Tensor Npx::softmax(const Tensor& x, const ArrayArgument& length, const SoftmaxOptions& o, Where where) {
  const NumpyScope scope;
  return F::softmax(x, length, o, where);
}
Tensor Npx::log_softmax(const Tensor& x, const SoftmaxOptions& o, Where where) {
  const NumpyScope scope;
  return F::log_softmax(x, o, where);
}
Tensor Npx::log_softmax(const Tensor& x, const ArrayArgument& length, const SoftmaxOptions& o, Where where) {
  const NumpyScope scope;
  return F::log_softmax(x, length, o, where);
}
Tensor Npx::embedding(const Tensor& x, const Tensor& weight, const EmbeddingOptions& o, Where where) {
  const NumpyScope scope;
  return F::Embedding(x, weight, o, where);
}
Tensor Npx::one_hot(const Tensor& indices, int depth, Where where) {
  const NumpyScope scope;
  return F::one_hot(indices, depth, where);
}
Tensor Npx::pick(const Tensor& x, const Tensor& index, const PickOptions& o, Where where) {
  const NumpyScope scope;
  return F::pick(x, index, o, where);
}
Tensor Npx::batch_dot(const Tensor& a, const Tensor& b, const DotOptions& o, Where where) {
  const NumpyScope scope;
  return F::batch_dot(a, b, o, where);
}
Tensor Npx::batch_flatten(const Tensor& x, Where where) {
  const NumpyScope scope("batch_flatten");
  return F::Flatten(x, where);
}
Tensor Npx::arange_like(const Tensor& x, std::optional<int> axis, Where where) {
  const NumpyScope scope;
  CallAttributes<1> given;
  if (axis) given.set("axis", ir::AttrValue(std::int64_t{*axis}));
  return call<"_npx_arange_like">({&x}, given, where);
}

}  // namespace kiln

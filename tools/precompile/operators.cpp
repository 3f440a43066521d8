// Operators whose kernels are installed.
#include "tools/precompile/calls.h"

#include <kiln/kiln.h>

using namespace kiln;
using Where = F::Where;

namespace precompile {
namespace {

using Unary = Tensor (*)(const Tensor&, Where);
constexpr Unary functions[] = {
    F::relu,      F::sigmoid,  F::tanh,    F::softsign, F::exp,        F::log,         F::log2,
    F::log10,     F::log1p,    F::expm1,   F::sqrt,     F::rsqrt,      F::cbrt,        F::square,
    F::abs,       F::sign,     F::floor,   F::ceil,     F::round,      F::rint,        F::trunc,
    F::sin,       F::cos,      F::tan,     F::arcsin,   F::arccos,     F::arctan,      F::sinh,
    F::cosh,      F::erf,      F::gammaln, F::negative, F::reciprocal, F::logical_not, F::zeros_like,
    F::ones_like, F::identity,
};

using Binary = Tensor (*)(const Operand&, const Operand&, Where);
constexpr Binary arithmetic[] = {
    F::add,     F::subtract, F::multiply,  F::divide,  F::modulo,        F::power,  F::maximum,
    F::minimum, F::equal,    F::not_equal, F::greater, F::greater_equal, F::lesser, F::lesser_equal,
};

using Reduction = Tensor (*)(const Tensor&, const ReduceOptions&, Where);
constexpr Reduction reductions[] = {F::sum, F::mean, F::max, F::min, F::prod};

void call_pointwise(const Tensor& x, const Tensor& row, const Tensor& column) {
  const Where here = Where::current();
  for (const Unary f : functions) f(x, here);
  for (const Binary f : arithmetic) {
    for (const Tensor& other : {x, row, column}) f(x, other, here);
    for (const double number : {0.0, 0.5, 1.0, 2.0}) f(x, number, here);
    f(1.0, x, here);
  }
  F::clip(x, 0.0, 1.0);
  F::where(x > 0.5, x, x);
  F::LeakyReLU(x, {.act_type = "gelu"});
  F::LeakyReLU(x, {.act_type = "leaky", .slope = 0.01});
  F::LeakyReLU(x, {.act_type = "elu"});
  F::Activation(x, {.act_type = "softrelu"});
  for (const DType dtype : {DType::i32, DType::i64, DType::u8, DType::f64, DType::f16}) {
    const Tensor other = x.astype(dtype);
    other.astype(DType::f32);
    other + other;
    other* other;
  }
}

void call_rows(const Tensor& x) {
  const Where here = Where::current();
  for (const Reduction f : reductions) {
    f(x, {}, here);
    for (const std::int64_t axis : {0, 1})
      for (const bool keepdims : {false, true}) f(x, {.axis = axis, .keepdims = keepdims}, here);
  }
  F::norm(x);
  F::softmax(x);
  F::log_softmax(x);
  for (const std::int64_t axis : {0, 1}) {
    F::argmax(x, {.axis = axis});
    F::argmin(x, {.axis = axis});
    F::cumsum(x, {.axis = axis});
  }
  F::topk(x, {.k = 5});
  F::topk(x, {.k = 5, .ret_typ = "value"});
  F::sort(x);
  F::argsort(x);
  const Tensor scale = ones({x.shape()[1]}), shift = zeros({x.shape()[1]});
  F::LayerNorm(x, scale, shift);
}

void call_movement(const Tensor& x) {
  const std::int64_t rows = x.shape()[0], columns = x.shape()[1];
  x.copy();
  F::transpose(x).copy();
  F::concat({x, x}, 0).copy();
  F::concat({x, x}, 1).copy();
  F::stack({x, x}).copy();
  F::tile(x, {.reps = {2, 2}}).copy();
  F::flip(x, 1).copy();
  x.slice_axis({.axis = 1, .begin = 1, .end = columns}).copy();
  const Tensor images = x.reshape({1, rows, columns / 8, 8});
  F::transpose(images, {.axes = {0, 2, 3, 1}}).copy();
  F::transpose(images, {.axes = {0, 3, 1, 2}}).copy();
  const Tensor labels = arange(0, static_cast<double>(rows)).astype(DType::i32);
  F::take(x, labels);
  F::take(x, labels.astype(DType::f32));
  F::Embedding(labels, x, {.input_dim = rows, .output_dim = columns});
  F::one_hot(labels, {.depth = 10});
  F::pick(x, labels);
}

void call_products(const Tensor& x) {
  // Of several sizes, so that there are generic kernels.
  for (const std::int64_t rows : {40, 33, 26}) {
    const Tensor part = x.slice_axis({.axis = 0, .begin = 0, .end = rows}).copy();
    const Tensor square = F::dot(part, part, {.transpose_b = true}), wide = F::dot(square, part);
    F::dot(part, wide, {.transpose_a = true});
    const Tensor batch = F::stack({square, square});
    F::batch_dot(batch, batch);
    F::batch_dot(batch, batch, {.transpose_b = true});
  }
}

void call_creation(const Shape& shape) {
  zeros(shape);
  ones(shape);
  full(shape, 0.5);
  arange(0, 10);
  random::uniform(0, 1, shape);
  random::normal(0, 1, shape);
  random::randint(0, 10, shape);
}

}  // namespace

void call_operators() {
  // Rows that registers divide, and others.
  for (const Shape& shape : {Shape{40, 64}, Shape{40, 56}}) {
    call_creation(shape);
    const Tensor x = random::uniform(0.25, 0.75, shape);
    call_pointwise(x, x.slice_axis({.axis = 0, .begin = 0, .end = 1}),
                   x.slice_axis({.axis = 1, .begin = 0, .end = 1}));
    call_rows(x);
    call_movement(x);
    call_products(x);
  }
}

}  // namespace precompile

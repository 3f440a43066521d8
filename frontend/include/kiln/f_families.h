// The operators of MXNet's submodules: F.random(), F.linalg(), ...
#pragma once
#include <kiln/f.h>

namespace kiln {

/// Operators of MXNet's submodules. Otherwise as F.

/// `F.random().uniform(...)`, `nd::random::uniform(...)`.
struct KILN_API F::random {
  static Tensor uniform(Number low = 0, Number high = 1, const Shape& shape = {1}, DType dtype = DType::f32,
                        Where where = Where::current()) {
    return random_uniform(low, high, shape, dtype, where);
  }
  static Tensor normal(Number loc = 0, Number scale = 1, const Shape& shape = {1}, DType dtype = DType::f32,
                       Where where = Where::current()) {
    return random_normal(loc, scale, shape, dtype, where);
  }
  static Tensor exponential(Number scale = 1, const Shape& shape = {1}, DType dtype = DType::f32,
                            Where where = Where::current()) {
    return random_exponential(scale, shape, dtype, where);
  }
  static Tensor gamma(Number alpha = 1, Number beta = 1, const Shape& shape = {1}, DType dtype = DType::f32,
                      Where where = Where::current()) {
    return random_gamma(alpha, beta, shape, dtype, where);
  }
  static Tensor poisson(Number lam = 1, const Shape& shape = {1}, DType dtype = DType::f32,
                        Where where = Where::current()) {
    return random_poisson(lam, shape, dtype, where);
  }
  static Tensor randint(std::int64_t low, std::int64_t high, const Shape& shape = {1},
                        DType dtype = DType::i32, Where where = Where::current()) {
    return random_randint(low, high, shape, dtype, where);
  }
  static Tensor shuffle(const Tensor& data, Where where = Where::current()) {
    return F::shuffle(data, where);
  }
  // With the shape and dtype of data.
  static Tensor uniform_like(const Tensor& data, Number low = 0, Number high = 1,
                             Where where = Where::current());
  static Tensor normal_like(const Tensor& data, Number loc = 0, Number scale = 1,
                            Where where = Where::current());
};
inline struct F::random F::random() { return {}; }

/// `F.contrib().div_sqrt_dim(x)`: the operators of F.contrib(); it has loops and branches too.
struct KILN_API F::contrib_operators {
  /// x / sqrt(last extent of x)
  static Tensor div_sqrt_dim(const Tensor& data, Where where = Where::current());
  static Tensor arange_like(const Tensor& data, const ArangeLikeOptions& options = {},
                            Where where = Where::current());
  /// Averages images (N, C, H, W) to (N, C, output_size).
  static Tensor AdaptiveAvgPooling2D(const Tensor& data, const Shape& output_size = {},
                                     Where where = Where::current());
  static Tensor BilinearResize2D(const Tensor& data, const BilinearResize2DOptions& options,
                                 Where where = Where::current());
  /// Resizes to the size of another image; mode: like.
  static Tensor BilinearResize2D(const Tensor& data, const Tensor& like,
                                 const BilinearResize2DOptions& options, Where where = Where::current());
  /// The identity; scales gradients.
  static Tensor gradientmultiplier(const Tensor& data, Number scalar, Where where = Where::current());
  /// old_tensor with the rows index_vector replaced by new_tensor.
  static Tensor index_copy(const Tensor& old_tensor, const Tensor& index_vector, const Tensor& new_tensor,
                           Where where = Where::current());
  /// Self attention of interleaved projections (length, batch, heads * 3 * head_dim).
  static Tensor interleaved_matmul_selfatt_qk(const Tensor& queries_keys_values, std::int64_t heads,
                                              Where where = Where::current());
  static Tensor interleaved_matmul_selfatt_valatt(const Tensor& queries_keys_values, const Tensor& attention,
                                                  std::int64_t heads, Where where = Where::current());
  /// a x^2 + b x + c
  static Tensor quadratic(const Tensor& data, const QuadraticOptions& options = {},
                          Where where = Where::current());
};
/// `F.linalg().gemm2(a, b)`, `nd::linalg::gemm2(a, b)`: matrices in the last two axes.
struct KILN_API F::linalg {
  /// alpha A B + beta C
  static Tensor gemm(const Tensor& A, const Tensor& B, const Tensor& C, const GemmOptions& options = {},
                     Where where = Where::current());
  /// alpha A B
  static Tensor gemm2(const Tensor& A, const Tensor& B, const GemmOptions& options = {},
                      Where where = Where::current());
  /// alpha A A^T
  static Tensor syrk(const Tensor& A, const SyrkOptions& options = {}, Where where = Where::current());
};
inline struct F::linalg F::linalg() { return {}; }

}  // namespace kiln

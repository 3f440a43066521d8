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
  /// Uniform in [low, high), of the shape and dtype of data. `kiln ops _random_uniform_like` has the rest.
  static Tensor uniform_like(const Tensor& data, Number low = 0, Number high = 1,
                             Where where = Where::current());
  /// Normal, of the shape and dtype of data. `kiln ops _random_normal_like` has the rest.
  static Tensor normal_like(const Tensor& data, Number loc = 0, Number scale = 1,
                            Where where = Where::current());
};
inline struct F::random F::random() { return {}; }

/// `F.contrib().div_sqrt_dim(x)`: the operators of F.contrib(); it has loops and branches too.
struct KILN_API F::contrib_operators {
  // functions of contrib: written by tools/reference, from the definitions.
  /// A range with as many elements as data, or as one axis of data. `kiln ops _contrib_arange_like` has the
  /// rest.
  static Tensor arange_like(const Tensor& data, const ArangeLikeOptions& options = {},
                            Where where = Where::current());
  /// x / sqrt(its last extent). `kiln ops _contrib_div_sqrt_dim` has the rest.
  static Tensor div_sqrt_dim(const Tensor& data, Where where = Where::current());
  /// A copy with some rows replaced. `kiln ops _contrib_index_copy` has the rest.
  static Tensor index_copy(const Tensor& old_tensor, const Tensor& index_vector, const Tensor& new_tensor,
                           Where where = Where::current());
  /// a x^2 + b x + c. `kiln ops _contrib_quadratic` has the rest.
  static Tensor quadratic(const Tensor& data, const QuadraticOptions& options = {},
                          Where where = Where::current());
  // end of what tools/reference writes.

  /// Adaptive average pooling to an output size. `kiln ops _contrib_AdaptiveAvgPooling2D` has the rest.
  ///
  /// Averages images (N, C, H, W) to (N, C, output_size).
  static Tensor AdaptiveAvgPooling2D(const Tensor& data, const Shape& output_size = {},
                                     Where where = Where::current());
  /// Resizes images by bilinear interpolation. `kiln ops _contrib_BilinearResize2D` has the rest.
  static Tensor BilinearResize2D(const Tensor& data, const BilinearResize2DOptions& options,
                                 Where where = Where::current());
  /// Resizes to the size of another image; mode: like.
  static Tensor BilinearResize2D(const Tensor& data, const Tensor& like,
                                 const BilinearResize2DOptions& options, Where where = Where::current());
  /// x; its gradient is multiplied. `kiln ops _contrib_gradientmultiplier` has the rest.
  ///
  /// The identity; scales gradients.
  static Tensor gradientmultiplier(const Tensor& data, Number scalar, Where where = Where::current());
  /// Scores of self attention: queries times keys over the root of their length.
  /// `kiln ops _contrib_interleaved_matmul_selfatt_qk` has the rest.
  ///
  /// Self attention of interleaved projections (length, batch, heads * 3 * head_dim).
  static Tensor interleaved_matmul_selfatt_qk(const Tensor& queries_keys_values, std::int64_t heads,
                                              Where where = Where::current());
  /// Values of self attention: the attention times the values.
  /// `kiln ops _contrib_interleaved_matmul_selfatt_valatt` has the rest.
  static Tensor interleaved_matmul_selfatt_valatt(const Tensor& queries_keys_values, const Tensor& attention,
                                                  std::int64_t heads, Where where = Where::current());
};
/// `F.linalg().gemm2(a, b)`, `nd::linalg::gemm2(a, b)`: matrices in the last two axes.
struct KILN_API F::linalg {
  // functions of linalg: written by tools/reference, from the definitions.
  // end of what tools/reference writes.

  /// alpha * A B + beta * C. `kiln ops _linalg_gemm` has the rest.
  ///
  /// alpha A B + beta C
  static Tensor gemm(const Tensor& A, const Tensor& B, const Tensor& C, const GemmOptions& options = {},
                     Where where = Where::current());
  /// alpha * A B. `kiln ops _linalg_gemm2` has the rest.
  ///
  /// alpha A B
  static Tensor gemm2(const Tensor& A, const Tensor& B, const GemmOptions& options = {},
                      Where where = Where::current());
  /// alpha * A A^T. `kiln ops _linalg_syrk` has the rest.
  ///
  /// alpha A A^T
  static Tensor syrk(const Tensor& A, const SyrkOptions& options = {}, Where where = Where::current());
};
inline struct F::linalg F::linalg() { return {}; }

}  // namespace kiln

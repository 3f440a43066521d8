// The operators of MXNet's submodules: F.random(), F.linalg(), ...
#pragma once
#include <kiln/f.h>

namespace kiln {

/// Operators of MXNet's submodules. Otherwise as F.

/// `F.random().uniform(...)`, `nd::random::uniform(...)`.
struct KILN_API F::random {
  /// Random numbers that are uniform in [low, high). Shapes: -> shape. `kiln ops uniform` has the rest.
  static Tensor uniform(Number low = 0, Number high = 1, const Shape& shape = {1}, DType dtype = DType::f32,
                        Where where = Where::current()) {
    return random_uniform(low, high, shape, dtype, where);
  }
  /// Random numbers of the normal distribution with mean loc and standard deviation scale. Shapes: -> shape.
  /// `kiln ops normal` has the rest.
  static Tensor normal(Number loc = 0, Number scale = 1, const Shape& shape = {1}, DType dtype = DType::f32,
                       Where where = Where::current()) {
    return random_normal(loc, scale, shape, dtype, where);
  }
  /// Random numbers of the exponential distribution with rate lam. Shapes: -> shape.
  /// `kiln ops _random_exponential` has the rest.
  static Tensor exponential(Number scale = 1, const Shape& shape = {1}, DType dtype = DType::f32,
                            Where where = Where::current()) {
    return random_exponential(scale, shape, dtype, where);
  }
  /// Random numbers of the gamma distribution with shape parameter alpha and scale beta. Shapes: -> shape.
  /// `kiln ops _random_gamma` has the rest.
  static Tensor gamma(Number alpha = 1, Number beta = 1, const Shape& shape = {1}, DType dtype = DType::f32,
                      Where where = Where::current()) {
    return random_gamma(alpha, beta, shape, dtype, where);
  }
  /// Random numbers of the Poisson distribution with mean lam. Shapes: -> shape. `kiln ops _random_poisson`
  /// has the rest.
  static Tensor poisson(Number lam = 1, const Shape& shape = {1}, DType dtype = DType::f32,
                        Where where = Where::current()) {
    return random_poisson(lam, shape, dtype, where);
  }
  /// Random integers that are uniform in [low, high). Shapes: -> shape. `kiln ops _random_randint` has the
  /// rest.
  static Tensor randint(std::int64_t low, std::int64_t high, const Shape& shape = {1},
                        DType dtype = DType::i32, Where where = Where::current()) {
    return random_randint(low, high, shape, dtype, where);
  }
  /// Puts the slices along the first axis in a random order. Shapes: data (N, ...) -> (N, ...).
  /// `kiln ops shuffle` has the rest.
  static Tensor shuffle(const Tensor& data, Where where = Where::current()) {
    return F::shuffle(data, where);
  }
  // With the shape and dtype of data.
  /// Random numbers that are uniform in [low, high), of the shape and dtype of data. A NaN as low or high
  /// throws. No gradient: zeros. `kiln ops _random_uniform_like` has the rest.
  static Tensor uniform_like(const Tensor& data, Number low = 0, Number high = 1,
                             Where where = Where::current());
  /// Random numbers of the normal distribution, of the shape and dtype of data. A NaN as loc gives NaN; as
  /// scale it throws. No gradient: zeros. `kiln ops _random_normal_like` has the rest.
  static Tensor normal_like(const Tensor& data, Number loc = 0, Number scale = 1,
                            Where where = Where::current());
};
inline struct F::random F::random() { return {}; }

/// `F.contrib().div_sqrt_dim(x)`: the operators of F.contrib(); it has loops and branches too.
struct KILN_API F::contrib_operators {
  // functions of contrib: written by tools/reference, from the definitions.
  /// A range with as many elements as data, or as one axis of data. Shapes: data (...) -> (...); with axis:
  /// data (..., n, ...) -> (n). A NaN as start or step gives NaN, in integers 0, in int64 its least number.
  /// No gradient: zeros. `kiln ops _contrib_arange_like` has the rest.
  static Tensor arange_like(const Tensor& data, const ArangeLikeOptions& options = {},
                            Where where = Where::current());
  /// The threshold of the quantised range that loses the least information about a histogram. Shapes: hist
  /// (N), hist_edges (M) -> threshold (1), divergence (1). N is odd, M = N + 1. A NaN in hist gives the first
  /// threshold and the divergence 3.4028235e38. No gradient: zeros. `kiln ops _contrib_calibrate_entropy` has
  /// the rest.
  static Tensors calibrate_entropy(const Tensor& hist, const Tensor& hist_edges,
                                   const CalibrateEntropyOptions& options = {},
                                   Where where = Where::current());
  /// The numbers that 8-bit integers with a range stand for. Shapes: data (...), min_range (1), max_range (1)
  /// -> (...). Dtypes: int8 or uint8; the range and the result are float32. Of NaN: there is none in
  /// integers. No gradient: zeros. `kiln ops _contrib_dequantize` has the rest.
  static Tensor dequantize(const Tensor& data, const Tensor& min_range, const Tensor& max_range,
                           Where where = Where::current());
  /// Divides x by the square root of its last extent. Shapes: data (..., d) -> (..., d).
  /// `kiln ops _contrib_div_sqrt_dim` has the rest.
  static Tensor div_sqrt_dim(const Tensor& data, Where where = Where::current());
  /// Returns a copy of an array with some rows replaced; of equal indices the last wins. Shapes: old_tensor
  /// (R, q...), index_vector (N), new_tensor (N, q...) -> (R, q...); N <= R. Of NaN: in a row: copied.
  /// `kiln ops _contrib_index_copy` has the rest.
  static Tensor index_copy(const Tensor& old_tensor, const Tensor& index_vector, const Tensor& new_tensor,
                           Where where = Where::current());
  /// The quadratic polynomial a x^2 + b x + c. `kiln ops _contrib_quadratic` has the rest.
  static Tensor quadratic(const Tensor& data, const QuadraticOptions& options = {},
                          Where where = Where::current());
  /// Quantises numbers to 8-bit integers, by a range that is an input. Shapes: data (...), min_range (1),
  /// max_range (1) -> (...), min (1), max (1). Dtypes: float32, all inputs; the result is int8 or uint8, its
  /// range float32. A NaN, or an infinity of an infinite range, is 127 in int8 and 0 in uint8. No gradient:
  /// zeros. `kiln ops _contrib_quantize` has the rest.
  static Tensors quantize(const Tensor& data, const Tensor& min_range, const Tensor& max_range,
                          const QuantizeOptions& options = {}, Where where = Where::current());
  /// Quantises numbers to 8-bit integers, by a calibrated range or by their own. Shapes: data (...) -> (...),
  /// min (1), max (1). Dtypes: float32, int8 or uint8; the result is int8 or uint8, its range float32. Of
  /// NaN: 127 in int8 and 0 in uint8, as an infinity of an infinite range is. No gradient: zeros.
  /// `kiln ops _contrib_quantize_v2` has the rest.
  static Tensors quantize_v2(const Tensor& data, const QuantizeV2Options& options = {},
                             Where where = Where::current());
  /// Sets negative 8-bit integers to 0; their range stays. Shapes: data (...), min_data (1), max_data (1) ->
  /// (...), min (1), max (1). Dtypes: int8 or uint8; the result has the dtype of data. Of NaN: there is none
  /// in integers. No gradient: zeros. `kiln ops _contrib_quantized_act` has the rest.
  static Tensors quantized_act(const Tensor& data, const Tensor& min_data, const Tensor& max_data,
                               const QuantizedActOptions& options, Where where = Where::current());
  /// Concatenates arrays of 8-bit integers, rescaled to a common range. Dtypes: int8 or uint8; the result is
  /// uint8 if all arrays are, else int8. Of NaN: there is none in integers. No gradient: zeros.
  /// `kiln ops _contrib_quantized_concat` has the rest.
  static Tensors quantized_concat(const Tensors& data, const QuantizedConcatOptions& options = {},
                                  Where where = Where::current());
  /// The sum of two arrays of 8-bit integers, by their ranges. Shapes: lhs (...), rhs (...), lhs_min (1),
  /// lhs_max (1), rhs_min (1), rhs_max (1) -> (...), min (1), max (1). Dtypes: int8 or uint8, lhs and rhs
  /// independently; ranges are float32. Of NaN: there is none in integers. No gradient: zeros.
  /// `kiln ops _contrib_quantized_elemwise_add` has the rest.
  static Tensors quantized_elemwise_add(const Tensor& lhs, const Tensor& rhs, const Tensor& lhs_min,
                                        const Tensor& lhs_max, const Tensor& rhs_min, const Tensor& rhs_max,
                                        const QuantizedElemwiseAddOptions& options = {},
                                        Where where = Where::current());
  /// The product of two arrays of 8-bit integers, by their ranges. Shapes: lhs (...), rhs (...), lhs_min (1),
  /// lhs_max (1), rhs_min (1), rhs_max (1) -> (...), min (1), max (1); with enable_float_output (...) alone.
  /// Dtypes: int8, lhs and rhs; ranges are float32. Of NaN: there is none in integers. No gradient: zeros.
  /// `kiln ops _contrib_quantized_elemwise_mul` has the rest.
  static Tensors quantized_elemwise_mul(const Tensor& lhs, const Tensor& rhs, const Tensor& lhs_min,
                                        const Tensor& lhs_max, const Tensor& rhs_min, const Tensor& rhs_max,
                                        const QuantizedElemwiseMulOptions& options = {},
                                        Where where = Where::current());
  /// Looks up the rows of a quantised weight that the indices in data name. Shapes: data (...), weight (V,
  /// D), min_weight (1), max_weight (1) -> (..., D), min (1), max (1). A NaN index is taken for 0. No
  /// gradient: zeros. `kiln ops _contrib_quantized_embedding` has the rest.
  static Tensors quantized_embedding(const Tensor& data, const Tensor& weight, const Tensor& min_weight,
                                     const Tensor& max_weight, const QuantizedEmbeddingOptions& options,
                                     Where where = Where::current());
  /// Flatten of an array with a range: all axes after the first one become one. Shapes: data (N, ...),
  /// min_data (1), max_data (1) -> (N, K), min (1), max (1). K is the number of elements of a row of data. No
  /// gradient: zeros. `kiln ops _contrib_quantized_flatten` has the rest.
  static Tensors quantized_flatten(const Tensor& data, const Tensor& min_data, const Tensor& max_data,
                                   Where where = Where::current());
  /// Pooling of 8-bit integers to maxima or averages; their range stays. Shapes: data (N, C, H, W), min_data
  /// (1), max_data (1) -> (N, C, H', W'), min (1), max (1). Dtypes: int8 or uint8; the result has the dtype
  /// of data. Of NaN: there is none in integers. No gradient: zeros. `kiln ops _contrib_quantized_pooling`
  /// has the rest.
  static Tensors quantized_pooling(const Tensor& data, const Tensor& min_data, const Tensor& max_data,
                                   const QuantizedPoolingOptions& options = {},
                                   Where where = Where::current());
  /// Quantises int32 sums of products of quantised arrays to 8-bit integers. Shapes: data (...), min_range
  /// (1), max_range (1) -> (...), min (1), max (1). Dtypes: int32; the range is float32. Of NaN: there is
  /// none in integers. No gradient: zeros. `kiln ops _contrib_requantize` has the rest.
  static Tensors requantize(const Tensor& data, const Tensor& min_range, const Tensor& max_range,
                            const RequantizeOptions& options = {}, Where where = Where::current());
  // end of what tools/reference writes.

  /// Averages an image over windows whose number is given, so that every size of image gives one size of
  /// result. Shapes: data (N, C, H, W) -> (N, C, H', W'). Of NaN: a window with a NaN gives NaN.
  /// `kiln ops _contrib_AdaptiveAvgPooling2D` has the rest.
  static Tensor AdaptiveAvgPooling2D(const Tensor& data, const Shape& output_size = {},
                                     Where where = Where::current());
  /// Resizes images by bilinear interpolation between the nearest elements. Shapes: data (N, C, H, W) -> (N,
  /// C, H', W'). With mode=like also like (N', C', H', W'). Of NaN: an element of the result is NaN if one of
  /// the four elements around its place is, whatever its share. `kiln ops _contrib_BilinearResize2D` has the
  /// rest.
  static Tensor BilinearResize2D(const Tensor& data, const BilinearResize2DOptions& options,
                                 Where where = Where::current());
  /// Resizes to the size of another image; mode: like.
  static Tensor BilinearResize2D(const Tensor& data, const Tensor& like,
                                 const BilinearResize2DOptions& options, Where where = Where::current());
  /// x, with its gradient multiplied by scalar. `kiln ops _contrib_gradientmultiplier` has the rest.
  static Tensor gradientmultiplier(const Tensor& data, Number scalar, Where where = Where::current());
  /// The scores of self attention: queries times keys, over the square root of their length. Shapes:
  /// queries_keys_values (T, N, H 3 D) -> (N H, T, T). H heads; each has D queries, D keys and D values side
  /// by side. A NaN in a query makes its row of scores NaN, one in a key its column.
  /// `kiln ops _contrib_interleaved_matmul_selfatt_qk` has the rest.
  static Tensor interleaved_matmul_selfatt_qk(const Tensor& queries_keys_values, std::int64_t heads,
                                              Where where = Where::current());
  /// The results of self attention: the sums of the values, weighted by the attention. Shapes:
  /// queries_keys_values (T, N, H 3 D), attention (N H, T, T) -> (T, N, H D). A NaN in a value makes element
  /// d of all results of its head NaN, one in attention the row of its query.
  /// `kiln ops _contrib_interleaved_matmul_selfatt_valatt` has the rest.
  static Tensor interleaved_matmul_selfatt_valatt(const Tensor& queries_keys_values, const Tensor& attention,
                                                  std::int64_t heads, Where where = Where::current());
  /// FullyConnected of 8-bit integers, with int32 sums. Shapes: data (N, ...), weight (O, K), bias (O),
  /// min_data (1), max_data (1), min_weight (1), max_weight (1), min_bias (1), max_bias (1) -> (N, O), min
  /// (1), max (1). Dtypes: int8 or uint8 for data; weight and bias are int8, ranges float32. Of NaN: there is
  /// none in integers. No gradient: zeros. `kiln ops _contrib_quantized_fully_connected` has the rest.
  static Tensors quantized_fully_connected(const Tensors& inputs, const FullyConnectedOptions& options,
                                           Where where = Where::current());
  /// Convolution of 8-bit integers, with int32 sums. Dtypes: int8 or uint8 for data; weight and bias are
  /// int8, ranges float32. Of NaN: there is none in integers. No gradient: zeros.
  /// `kiln ops _contrib_quantized_conv` has the rest.
  static Tensors quantized_conv(const Tensors& inputs, const ConvolutionOptions& options,
                                Where where = Where::current());
  /// BatchNorm of 8-bit integers by moving statistics, with a calibrated result. Shapes: data (N, C, ...),
  /// gamma (C), beta (C), moving_mean (C), moving_var (C), min_data (1), max_data (1) -> (N, C, ...), min
  /// (1), max (1). axis names the axis C. Dtypes: int8 or uint8 for data; the other inputs are float32. A NaN
  /// in a parameter, a statistic or the range of data gives 127 in its channel, or in all. No gradient:
  /// zeros. `kiln ops _contrib_quantized_batch_norm` has the rest.
  static Tensors quantized_batch_norm(const Tensor& data, const Tensor& gamma, const Tensor& beta,
                                      const Tensor& moving_mean, const Tensor& moving_var,
                                      const Tensor& min_data, const Tensor& max_data,
                                      const QuantizedBatchNormOptions& options,
                                      Where where = Where::current());
};
/// `F.linalg().gemm2(a, b)`, `nd::linalg::gemm2(a, b)`: matrices in the last two axes.
struct KILN_API F::linalg {
  // functions of linalg: written by tools/reference, from the definitions.
  // end of what tools/reference writes.

  /// The matrix product of each pair of matrices in two batches, times a number, plus a multiple of C.
  /// Shapes: A (..., M, K), B (..., K, N), C (..., M, N) -> (..., M, N), with equal batch axes. A NaN in A
  /// makes its row of its matrix NaN, one in B its column, one in C its element, with beta = 0 too.
  /// `kiln ops _linalg_gemm` has the rest.
  static Tensor gemm(const Tensor& A, const Tensor& B, const Tensor& C, const GemmOptions& options = {},
                     Where where = Where::current());
  /// The matrix product of each pair of matrices in two batches, times a number. Shapes: A (..., M, K), B
  /// (..., K, N) -> (..., M, N), with equal batch axes. A NaN in A makes its row of its matrix NaN, one in B
  /// its column. `kiln ops _linalg_gemm2` has the rest.
  static Tensor gemm2(const Tensor& A, const Tensor& B, const GemmOptions& options = {},
                      Where where = Where::current());
  /// The product of each matrix of a batch and its transpose, times a number. Shapes: A (..., M, K) -> (...,
  /// M, M). With transpose A is (..., K, M). A NaN makes its row and its column of the result NaN.
  /// `kiln ops _linalg_syrk` has the rest.
  static Tensor syrk(const Tensor& A, const SyrkOptions& options = {}, Where where = Where::current());
};
inline struct F::linalg F::linalg() { return {}; }

}  // namespace kiln

// Random numbers: the seed, the stream and its state.
#pragma once
#include <kiln/f.h>

namespace kiln {

/// Random numbers from one stream per process. Every call that draws advances its counter, in program order,
/// eagerly and hybridized alike: the seed determines all numbers. Any thread. A network whose hybrid_forward
/// calls seed(), state() or restore() runs eagerly.
namespace random {

/// Restarts the stream: equal draws after equal seeds give equal numbers.
KILN_API void seed(std::uint64_t seed);

/// Where the streams are: the program's, and the one that initializers draw from.
struct State {
  /// A stream of random numbers.
  struct Stream {
    std::uint64_t seed = 0;     ///< as given to seed()
    std::uint64_t counter = 0;  ///< the draws so far
    bool operator==(const Stream&) const = default;
  };
  Stream program, initializer;  ///< of operators, and of initializers
  bool operator==(const State&) const = default;
};
/// The state now.
KILN_API State state();
/// The next draws are the draws that followed state().
KILN_API void restore(const State& state);

/// F::random_uniform: values in [low, high).
inline Tensor uniform(Number low = 0, Number high = 1, const Shape& shape = {1}, DType dtype = DType::f32,
                      std::source_location where = std::source_location::current()) {
  return F::random_uniform(low, high, shape, dtype, where);
}
/// F::random_normal: mean `loc`, standard deviation `scale`.
inline Tensor normal(Number loc = 0, Number scale = 1, const Shape& shape = {1}, DType dtype = DType::f32,
                     std::source_location where = std::source_location::current()) {
  return F::random_normal(loc, scale, shape, dtype, where);
}
/// Mean `scale`.
inline Tensor exponential(Number scale = 1, const Shape& shape = {1}, DType dtype = DType::f32,
                          std::source_location where = std::source_location::current()) {
  return F::random_exponential(scale, shape, dtype, where);
}
/// Shape parameter alpha, scale beta: mean alpha * beta.
inline Tensor gamma(Number alpha = 1, Number beta = 1, const Shape& shape = {1}, DType dtype = DType::f32,
                    std::source_location where = std::source_location::current()) {
  return F::random_gamma(alpha, beta, shape, dtype, where);
}
/// Poisson, mean `lam`.
inline Tensor poisson(Number lam = 1, const Shape& shape = {1}, DType dtype = DType::f32,
                      std::source_location where = std::source_location::current()) {
  return F::random_poisson(lam, shape, dtype, where);
}
/// Integers, low <= x < high.
inline Tensor randint(std::int64_t low, std::int64_t high, const Shape& shape = {1}, DType dtype = DType::i32,
                      std::source_location where = std::source_location::current()) {
  return F::random_randint(low, high, shape, dtype, where);
}
/// A random permutation along the first axis of data.
inline Tensor shuffle(const Tensor& data, std::source_location where = std::source_location::current()) {
  return F::shuffle(data, where);
}

}  // namespace random

/// F::random_uniform: values in [low, high).
inline Tensor random_uniform(Number low, Number high, const Shape& shape, DType dtype = DType::f32,
                             std::source_location where = std::source_location::current()) {
  return F::random_uniform(low, high, shape, dtype, where);
}
/// F::random_normal: mean `loc`, standard deviation `scale`.
inline Tensor random_normal(Number loc, Number scale, const Shape& shape, DType dtype = DType::f32,
                            std::source_location where = std::source_location::current()) {
  return F::random_normal(loc, scale, shape, dtype, where);
}

}  // namespace kiln

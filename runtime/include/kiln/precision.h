// The precision of matrix products and convolutions.
#pragma once
#include <kiln/export.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace kiln {

/// How matrix products and convolutions are computed, forward and in gradients. All other operators have the
/// CPU's bits on every device. On the CPU, `fast`, `exact` and `tf32` are one.
enum class Precision : std::uint8_t {
  /// On NVIDIA GPUs, products of f16 and bf16 run on tensor cores. These sum the products of 16 values of k
  /// at once, in an order and with roundings that NVIDIA does not specify. Bits depend on the GPU's
  /// architecture; eager and compiled code agree. All else as `exact`.
  fast,
  /// On every device the CPU's bits; on GPUs many times slower.
  exact,
  /// As `fast`, and products of f32 too: tensor cores read 10 of the 23 fraction bits of an operand.
  tf32,
  /// On every device products and convolutions of f32 round both operands to bfloat16 (nearest, ties to
  /// even) and sum in f32. GPUs have the bits of the CPU, and use no tensor cores. Operators of other dtypes
  /// as `exact`.
  bf16,
};

/// "fast", "exact", "tf32" or "bf16"; nothing for any other name.
KILN_API std::optional<Precision> precision_of(std::string_view name);
/// "fast", "exact", "tf32" or "bf16".
KILN_API std::string_view name_of(Precision precision);

/// During its lifetime, operators that this thread calls have this precision: eager operators, and blocks and
/// models whose options name none. The default is the environment variable KILN_PRECISION, or `fast`. Scopes
/// nest. Within hybrid_forward a scope holds for the operators that are called in it, compiled too, whatever
/// the options of the block say.
class KILN_API PrecisionScope {
 public:
  /// Begins the scope on this thread.
  [[nodiscard]] explicit PrecisionScope(Precision precision);
  ~PrecisionScope();
  PrecisionScope(const PrecisionScope&) = delete;
  /// That of this thread now. Throws kiln::Error if KILN_PRECISION is not known.
  static Precision current();

 private:
  std::optional<Precision> outer_;
};

}  // namespace kiln

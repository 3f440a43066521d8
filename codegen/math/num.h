// Formulas over MLIR values.
#pragma once
#include "codegen/target/isa.h"

#include <llvm/ADT/STLFunctionalExtras.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/BuiltinTypes.h>
#include <mlir/IR/Location.h>
#include <mlir/IR/TypeUtilities.h>
#include <mlir/IR/Value.h>

#include <concepts>
#include <cstdint>
#include <initializer_list>
/// Formulas over MLIR values. A Num is a scalar or a vector of one of f32, f64, i1, i8, i16, i32, i64. Its
/// operators emit exactly the one IEEE or two's complement operation that they name, without fast-math flags
/// or contraction. No folder of MLIR or LLVM turns their results into other bits (NaNs count as one).
/// Operands of an operator have one type; a C++ number on either side becomes a constant of the other
/// operand's type. It does not know Kiln's dtypes: math.h does.
namespace kiln::codegen {

class Num {
 public:
  /// A wider `isa` allows shorter code for the same bits.
  Num(mlir::OpBuilder& b, mlir::Location loc, mlir::Value v, Isa isa = Isa::scalar)
      : b_(&b), loc_(loc), v_(v), isa_(isa) {}

  mlir::OpBuilder& builder() const { return *b_; }
  mlir::Location loc() const { return loc_; }
  Isa isa() const { return isa_; }
  mlir::Value value() const { return v_; }
  operator mlir::Value() const { return v_; }

  mlir::Type element() const { return mlir::getElementTypeOrSelf(v_.getType()); }
  bool is_float() const { return mlir::isa<mlir::FloatType>(element()); }
  /// Bits of one element.
  int width() const { return static_cast<int>(element().getIntOrFloatBitWidth()); }

  int lanes() const {
    auto vector = mlir::dyn_cast<mlir::VectorType>(v_.getType());
    return vector ? static_cast<int>(vector.getNumElements()) : 1;
  }

  /// The type with the same number of lanes and another element type.
  mlir::Type with_element(mlir::Type element) const;
  mlir::Type float_type(int width) const;
  mlir::Type int_type(int width) const;

  /// Constants of this value's type: the number nearest to x; for integers the low bits of x.
  Num constant(double x) const;
  Num constant(std::int64_t x) const;
  template <std::integral T>
  Num constant(T x) const {
    return constant(static_cast<std::int64_t>(x));
  }
  Num make(mlir::Value v) const { return Num(*b_, loc_, v, isa_); }

 private:
  mlir::OpBuilder* b_;
  mlir::Location loc_;
  mlir::Value v_;
  Isa isa_;
};

// Float or integer by the operands' type; integers wrap, and >> keeps the sign.
Num operator+(Num a, Num b);
Num operator-(Num a, Num b);
Num operator*(Num a, Num b);
Num operator/(Num a, Num b);  ///< floats only
Num operator-(Num a);
Num operator&(Num a, Num b);
Num operator|(Num a, Num b);
Num operator^(Num a, Num b);
Num operator~(Num a);
Num operator<<(Num a, int bits);
Num operator>>(Num a, int bits);
Num shift_right_logical(Num a, int bits);

// Comparisons give i1. Floats: false for NaN, but ne, which is true for it. Integers: signed, or unsigned by
// the name.
Num lt(Num a, Num b);
Num le(Num a, Num b);
Num gt(Num a, Num b);
Num ge(Num a, Num b);
Num eq(Num a, Num b);
Num ne(Num a, Num b);
Num lt_unsigned(Num a, Num b);
Num le_unsigned(Num a, Num b);
Num is_nan(Num x);

template <class T>
concept Arithmetic = std::integral<T> || std::floating_point<T>;
#define KILN_WITH_CONSTANT(f)   \
  template <Arithmetic T>       \
  Num f(Num a, T b) {           \
    return f(a, a.constant(b)); \
  }                             \
  template <Arithmetic T>       \
  Num f(T a, Num b) {           \
    return f(b.constant(a), b); \
  }
KILN_WITH_CONSTANT(operator+)
KILN_WITH_CONSTANT(operator-)
KILN_WITH_CONSTANT(operator*)
KILN_WITH_CONSTANT(operator/)
KILN_WITH_CONSTANT(operator&)
KILN_WITH_CONSTANT(operator|)
KILN_WITH_CONSTANT(operator^)
KILN_WITH_CONSTANT(lt)
KILN_WITH_CONSTANT(le)
KILN_WITH_CONSTANT(gt)
KILN_WITH_CONSTANT(ge)
KILN_WITH_CONSTANT(eq)
KILN_WITH_CONSTANT(ne)
KILN_WITH_CONSTANT(lt_unsigned)
KILN_WITH_CONSTANT(le_unsigned)
#undef KILN_WITH_CONSTANT

Num select(Num condition, Num a, Num b);
template <Arithmetic T>
Num select(Num condition, Num a, T b) {
  return select(condition, a, a.constant(b));
}
template <Arithmetic T>
Num select(Num condition, T a, Num b) {
  return select(condition, b.constant(a), b);
}

/// a * b + c with one rounding, on every target (a call of fma where there is no instruction).
Num fma(Num a, Num b, Num c);
template <Arithmetic T>
Num fma(Num a, T b, Num c) {
  return fma(a, a.constant(b), c);
}
template <Arithmetic T>
Num fma(Num a, Num b, T c) {
  return fma(a, b, a.constant(c));
}
template <Arithmetic T, Arithmetic U>
Num fma(Num a, T b, U c) {
  return fma(a, a.constant(b), a.constant(c));
}

// Exact, or rounded correctly, by IEEE 754.
Num sqrt(Num x);
Num abs(Num x);
Num copysign(Num magnitude, Num sign);
Num floor(Num x);
Num ceil(Num x);
Num trunc(Num x);
Num round_to_even(Num x);

/// The remainder of C's fmod, which is exact.
Num fmod(Num a, Num b);
/// The remainder and the quotient of two's complement or unsigned integers; the divisor must not be zero, nor
/// the quotient overflow.
Num divide_signed(Num a, Num b);
Num divide_unsigned(Num a, Num b);
Num remainder_signed(Num a, Num b);
Num remainder_unsigned(Num a, Num b);

/// The same bits as an integer, as a float.
Num bits(Num x);
Num from_bits(Num x);

// Conversions of the element type.
Num to_f32(Num x);  ///< from f64, to the nearest
Num to_f64(Num x);  ///< from f32, exact
Num f16_from_f32(
    Num x);  ///< these two only where the target has F16C, or LLVM calls functions that may be missing
Num f32_from_f16(Num x);
Num float_from_signed(Num x, int width);
/// Toward zero. The truncated value must fit (else poison).
Num signed_from_float(Num x, int width);
/// Truncates, or extends by the sign or with zeros.
Num resize_signed(Num x, int width);
Num resize_unsigned(Num x, int width);

/// Broadcasts a scalar to the lanes of `lanes`.
Num broadcast(Num scalar, Num lanes);

/// Applies f to each group of `lanes` consecutive lanes of a and b, for operations on single registers.
Num by_registers(Num a, Num b, int lanes, llvm::function_ref<Num(Num, Num)> f);

/// Whether a condition holds in any lane, as a scalar.
Num any(Num condition);
/// x = step(x) in the lanes where active(x) holds, until it holds in none.
Num repeat_while(Num x, llvm::function_ref<Num(Num)> active, llvm::function_ref<Num(Num)> step);

/// rare(x) in the lanes where `is_rare` holds, `common` in the others. It is computed only if there are such
/// lanes.
Num replace_rare(Num common, Num is_rare, Num x, llvm::function_ref<Num(Num)> rare);

/// c[0] + c[1] x + c[2] x^2 + ..., Horner's scheme with fma. At least one coefficient.
Num polynomial(Num x, std::initializer_list<double> c);

}  // namespace kiln::codegen

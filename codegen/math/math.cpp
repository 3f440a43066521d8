// The formula of each operation and type.
#include "codegen/math/math.h"

#include "codegen/math/casts.h"
#include "codegen/math/functions.h"
#include "codegen/math/integer.h"
#include "codegen/math/x86.h"
#include "runtime/dtype_table.h"

#include <mlir/IR/Matchers.h>

#include <optional>

namespace kiln::codegen {
namespace {

using ir::Binary;
using ir::Compare;
using ir::Unary;

/// A function of floats that is computed in f64.
template <class F>
Num through_f64(Num x, F f) {
  return to_f32(f(to_f64(x)));
}

/// 0 of NaN and of both zeros.
Num sign(Num x) { return select(gt(x, 0), 1, select(lt(x, 0), -1, x.constant(0))); }

/// Operations with one formula for f32 and f64, whose results fit in a narrower type that x fits in.
std::optional<Num> exact_unary(Unary op, Num x) {
  switch (op) {
    case Unary::neg:
      return -x;
    case Unary::abs:
      return abs(x);
    case Unary::sign:
      return sign(x);
    case Unary::ceil:
      return ceil(x);
    case Unary::floor:
      return floor(x);
    case Unary::round:
      return round_half_away(x);
    case Unary::rint:
      return round_to_even(x);
    case Unary::trunc:
      return trunc(x);
    case Unary::logical_not:
      return select(eq(x, 0), 1, x.constant(0));
    default:
      return std::nullopt;
  }
}

Num f64_unary(Unary op, Num x, Digits digits) {
  switch (op) {
    case Unary::cbrt:
      return cbrt(x, digits);
    case Unary::exp:
    case Unary::exp_nonpositive:
      return exp(x);
    case Unary::exp2:
      return exp2(x);
    case Unary::expm1:
      return expm1(x, digits);
    case Unary::log:
      return log(x, digits);
    case Unary::log2:
      return log2(x, digits);
    case Unary::log10:
      return log10(x, digits);
    case Unary::log1p:
      return log1p(x, digits);
    case Unary::sin:
      return sin(x);
    case Unary::cos:
      return cos(x);
    case Unary::tan:
      return digits == Digits::single ? tan_of_f32(x) : tan(x);
    case Unary::asin:
      return asin(x, digits);
    case Unary::acos:
      return acos(x, digits);
    case Unary::atan:
      return atan(x, digits);
    case Unary::sinh:
      return sinh(x, digits);
    case Unary::cosh:
      return cosh(x, digits);
    case Unary::tanh:
      return tanh(x);
    case Unary::asinh:
      return asinh(x, digits);
    case Unary::acosh:
      return acosh(x, digits);
    case Unary::atanh:
      return atanh(x, digits);
    default:
      return erf(x);
  }
}

Num float_unary(Unary op, Num x) {
  if (auto exact = exact_unary(op, x)) return *exact;
  if (op == Unary::sqrt) return sqrt(x);
  if (op == Unary::rsqrt) return 1 / sqrt(x);
  if (x.width() == 64) return f64_unary(op, x, Digits::full);
  switch (op) {
    case Unary::exp:
      return exp_f32(x);
    case Unary::exp_nonpositive:
      return exp_nonpositive_f32(x);
    case Unary::exp2:
      return exp2_f32(x);
    case Unary::log:
      return log_f32(x);
    case Unary::log2:
      return log2_f32(x);
    case Unary::log10:
      return log10_f32(x);
    case Unary::log1p:
      return log1p_f32(x);
    case Unary::sin:
      return sin_f32(x);
    case Unary::cos:
      return cos_f32(x);
    case Unary::tan:
      return tan_f32(x);
    case Unary::asin:
      return asin_f32(x);
    case Unary::acos:
      return acos_f32(x);
    case Unary::atan:
      return atan_f32(x);
    case Unary::tanh:
      return tanh_f32(x);
    case Unary::erf:
      return erf_f32(x);
    default:
      return through_f64(x, [&](Num y) { return f64_unary(op, y, Digits::single); });
  }
}

Num integer_unary(Unary op, Num x, DType dtype, Isa isa) {
  switch (op) {
    case Unary::neg:
      return dtype == DType::boolean ? x : -x;
    case Unary::abs:
      return is_unsigned_integer(dtype) ? x : abs(x);
    case Unary::sign:
      return is_unsigned_integer(dtype) ? resize_unsigned(ne(x, 0), x.width()) : sign(x);
    case Unary::ceil:
    case Unary::floor:
    case Unary::round:
    case Unary::rint:
    case Unary::trunc:
      return x;
    case Unary::logical_not:
      return resize_unsigned(eq(x, 0), x.width());
    default:  // as MXNet: in f32
      return cast(float_unary(op, cast(x, dtype, DType::f32, isa)), DType::f32, dtype, isa);
  }
}

/// A constant that is no NaN.
bool is_number(Num x) {
  llvm::APFloat value(0.0);
  return mlir::matchPattern(x.value(), mlir::m_ConstantFloat(&value)) && !value.isNaN();
}
/// One instruction: b for zeros of both signs, and if either operand is NaN.
Num greater_or_right(Num a, Num b) {
  return has_extremes(a) ? greater_or_second(a, b) : select(gt(a, b), a, b);
}
Num less_or_right(Num a, Num b) { return has_extremes(a) ? less_or_second(a, b) : select(lt(a, b), a, b); }
/// NaN wins; of zeros of both signs, b. One comparison will do where a or b is a number.
Num greater(Num a, Num b) {
  if (is_number(a)) return greater_or_right(a, b);
  if (is_number(b)) return select(le(a, b), b, a);
  return select(is_nan(a), a, greater_or_right(a, b));
}
Num less(Num a, Num b) {
  if (is_number(a)) return less_or_right(a, b);
  if (is_number(b)) return select(ge(a, b), b, a);
  return select(is_nan(a), a, less_or_right(a, b));
}

Num truth(Num condition, Num like) {
  if (like.is_float()) return select(condition, 1, like.constant(0));
  return resize_unsigned(condition, like.width());
}
Num logical(Binary op, Num a, Num b) {
  Num x = ne(a, 0), y = ne(b, 0);
  return truth(op == Binary::logical_and ? x & y : op == Binary::logical_or ? x | y : x ^ y, a);
}

Num f64_binary(Binary op, Num a, Num b, Digits digits) {
  switch (op) {
    case Binary::mod:
      return floor_mod(a, b);
    case Binary::pow:
      return pow(a, b, digits);
    default:
      return hypot(a, b, digits);
  }
}

Num float_binary(Binary op, Num a, Num b) {
  switch (op) {
    case Binary::add:
      return a + b;
    case Binary::sub:
      return a - b;
    case Binary::mul:
      return a * b;
    case Binary::div:
      return a / b;
    case Binary::max:
      return greater(a, b);
    case Binary::max_nnan:
      return greater_or_right(a, b);
    case Binary::min:
      return less(a, b);
    case Binary::mod:
    case Binary::pow:
    case Binary::hypot:
      if (a.width() == 64) return f64_binary(op, a, b, Digits::full);
      return to_f32(f64_binary(op, to_f64(a), to_f64(b), Digits::single));
    default:
      return logical(op, a, b);
  }
}

Num integer_binary(Binary op, Num a, Num b, DType dtype, Isa isa) {
  bool no_sign = is_unsigned_integer(dtype);
  switch (op) {
    case Binary::add:
      return a + b;
    case Binary::sub:
      return a - b;
    case Binary::mul:
      return a * b;
    case Binary::div:
      return integer_divide(a, b, no_sign);
    case Binary::mod:
      return integer_mod(a, b, no_sign);
    case Binary::max:
    case Binary::max_nnan:
      return select(no_sign ? lt_unsigned(b, a) : lt(b, a), a, b);
    case Binary::min:
      return select(no_sign ? lt_unsigned(a, b) : lt(a, b), a, b);
    case Binary::pow:
    case Binary::hypot: {  // as MXNet: in f32
      Num x = cast(a, dtype, DType::f32, isa), y = cast(b, dtype, DType::f32, isa);
      return cast(float_binary(op, x, y), DType::f32, dtype, isa);
    }
    default:
      return logical(op, a, b);
  }
}

/// Numbers 0 and 1: sums and products are true when they are not 0, as C's bool is.
Num bool_binary(Binary op, Num a, Num b) {
  switch (op) {
    case Binary::add:
    case Binary::max:
    case Binary::max_nnan:
    case Binary::hypot:
    case Binary::logical_or:
      return a | b;
    case Binary::sub:
    case Binary::logical_xor:
      return a ^ b;
    case Binary::pow:
      return a | ~b;
    case Binary::mod:  // x mod 1 and x mod 0
      return a.constant(0);
    default:  // x / 0 = 0
      return a & b;
  }
}

}  // namespace

mlir::Value emit_unary(mlir::OpBuilder& b, mlir::Location loc, Unary op, DType dtype, mlir::Value v,
                       Isa isa) {
  Num x(b, loc, v, isa);
  if (!is_floating(dtype)) return integer_unary(op, x, dtype, isa);
  Num y = float_unary(op, x);
  bool exact = op == Unary::neg || op == Unary::abs || op == Unary::sign || op == Unary::logical_not;
  return exact ? y.value() : round_to(b, loc, dtype, y, isa);
}

int registers_at_once(Unary op, DType dtype) {
  constexpr int through_f64 = 1;  // too many constants and values for the registers
  switch (op) {
    case Unary::neg:
    case Unary::abs:
    case Unary::sign:
    case Unary::ceil:
    case Unary::floor:
    case Unary::round:
    case Unary::rint:
    case Unary::trunc:
    case Unary::logical_not:
    case Unary::sqrt:
    case Unary::rsqrt:
      return 0;
    case Unary::exp:
    case Unary::exp_nonpositive:
    case Unary::exp2:
    case Unary::log:
    case Unary::log2:
    case Unary::log10:
    case Unary::log1p:
    case Unary::erf:
    case Unary::tanh:
      return dtype == DType::f64 ? through_f64 : 4;
    case Unary::expm1:
    case Unary::sin:
    case Unary::cos:
    case Unary::tan:
    case Unary::asin:
    case Unary::acos:
    case Unary::atan:
      return dtype == DType::f64 ? through_f64 : 2;
    default:
      return through_f64;
  }
}
int registers_at_once(Binary op) {
  return op == Binary::pow || op == Binary::hypot || op == Binary::mod ? 1 : 0;
}

mlir::Value emit_binary(mlir::OpBuilder& builder, mlir::Location loc, Binary op, DType dtype,
                        mlir::Value left, mlir::Value right, Isa isa) {
  Num a(builder, loc, left, isa), b(builder, loc, right, isa);
  if (dtype == DType::boolean) return bool_binary(op, a, b);
  if (!is_floating(dtype)) return integer_binary(op, a, b, dtype, isa);
  Num y = float_binary(op, a, b);
  bool exact = (op >= Binary::max && op <= Binary::min) || op >= Binary::logical_and;
  return exact ? y.value() : round_to(builder, loc, dtype, y, isa);
}

mlir::Value emit_fma(mlir::OpBuilder& builder, mlir::Location loc, DType dtype, mlir::Value x, mlir::Value y,
                     mlir::Value z, Isa isa) {
  Num a(builder, loc, x, isa), b(builder, loc, y, isa), c(builder, loc, z, isa);
  if (dtype == DType::boolean) return (a & b) | c;
  if (!is_floating(dtype)) return a * b + c;
  return round_to(builder, loc, dtype, fma(a, b, c), isa);
}

mlir::Value emit_compare(mlir::OpBuilder& builder, mlir::Location loc, Compare op, DType dtype,
                         mlir::Value left, mlir::Value right) {
  Num a(builder, loc, left), b(builder, loc, right);
  bool no_sign = is_unsigned_integer(dtype);
  switch (op) {
    case Compare::eq:
      return eq(a, b);
    case Compare::ne:
      return ne(a, b);
    case Compare::lt:
      return no_sign ? lt_unsigned(a, b) : lt(a, b);
    case Compare::le:
      return no_sign ? le_unsigned(a, b) : le(a, b);
    case Compare::gt:
      return no_sign ? lt_unsigned(b, a) : gt(a, b);
    default:
      return no_sign ? le_unsigned(b, a) : ge(a, b);
  }
}

mlir::Value emit_select(mlir::OpBuilder& builder, mlir::Location loc, mlir::Value condition, mlir::Value a,
                        mlir::Value b) {
  return select(Num(builder, loc, condition), Num(builder, loc, a), Num(builder, loc, b));
}

mlir::Value emit_cast(mlir::OpBuilder& b, mlir::Location loc, DType from, DType to, mlir::Value x, Isa isa) {
  return cast(Num(b, loc, x), from, to, isa);
}

mlir::Value round_to(mlir::OpBuilder& b, mlir::Location loc, DType dtype, mlir::Value x, Isa isa) {
  return is_narrow_float(dtype) ? mlir::Value(round_to(Num(b, loc, x), dtype, isa)) : x;
}

mlir::Value load_convert(mlir::OpBuilder& b, mlir::Location loc, DType dtype, mlir::Value memory, Isa isa) {
  if (dtype == DType::boolean) return ne(Num(b, loc, memory), 0);
  return is_narrow_float(dtype) ? mlir::Value(from_narrow_bits(Num(b, loc, memory), dtype, isa)) : memory;
}

mlir::Value store_convert(mlir::OpBuilder& b, mlir::Location loc, DType dtype, mlir::Value value, Isa isa) {
  if (dtype == DType::boolean) return resize_unsigned(Num(b, loc, value), 8);
  return is_narrow_float(dtype) ? mlir::Value(narrow_bits(Num(b, loc, value), dtype, isa)) : value;
}

}  // namespace kiln::codegen

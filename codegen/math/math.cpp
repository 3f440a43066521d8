// The formula of each operation of two or three elements and type.
#include "codegen/math/math.h"

#include "codegen/math/casts.h"
#include "codegen/math/functions.h"
#include "codegen/math/integer.h"
#include "codegen/math/x86.h"
#include "runtime/dtype_table.h"

#include <mlir/IR/Matchers.h>

namespace kiln::codegen {
namespace {

using ir::Binary;
using ir::Compare;

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

// Casts between dtypes in registers.
#include "codegen/math/casts.h"

#include <limits>

namespace kiln::codegen {
namespace {

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

int width_of(DType t) { return static_cast<int>(size_of(t)) * 8; }

Num cast_float(Num x, DType to, Isa isa) {
  if (to == DType::boolean) return ne(x, 0);
  if (!is_floating(to)) return wrapped_from_float(x, width_of(to));
  if (is_narrow_float(to)) return round_to(x, to, isa);
  return to == DType::f64 ? to_f64(x) : to_f32(x);
}

/// An f64 that rounds to any float of at most 40 bits as x itself would: bits that f64 cannot hold are kept
/// as a sticky bit.
Num f64_with_sticky(Num x) {
  Num sticky = select(ne(x & 0x3ff, 0), 0x400, x.constant(0));
  Num large = lt(x, -(std::int64_t{1} << 53)) | gt(x, std::int64_t{1} << 53);
  return float_from_signed(select(large, (x & -0x400) | sticky, x), 64);
}

Num cast_integer(Num x, DType from, DType to, Isa isa) {
  bool no_sign = is_unsigned_integer(from);
  if (to == DType::boolean) return from == DType::boolean ? x : ne(x, 0);
  if (!is_floating(to)) return no_sign ? resize_unsigned(x, width_of(to)) : resize_signed(x, width_of(to));
  if (no_sign) x = resize_unsigned(x, 32);
  if (to == DType::f64) return float_from_signed(x, 64);
  if (to == DType::f32) return float_from_signed(x, 32);
  // One rounding: bytes are exact in f32, i32 in f64.
  if (x.width() == 64) return round_to(f64_with_sticky(x), to, isa);
  return round_to(float_from_signed(x, width_of(from) == 32 ? 64 : 32), to, isa);
}

}  // namespace

Num wrapped_from_float(Num x, int width) {
  if (width == 8 && x.width() == 32) {
    // Numbers of f32 from 2^31 on are multiples of 256, and so is the least i64: their low 8 bits are 0.
    const Num safe = select(lt(abs(x), 0x1p31), x, 0);
    return resize_signed(signed_from_float(safe, 32), 8);
  }
  Num fits = ge(x, -0x1p63) & lt(x, 0x1p63);
  Num safe = select(fits, x, 0);
  if (width == 64) return select(fits, signed_from_float(safe, 64), kLeast);
  // The low 32 bits, without 64-bit conversions (which are scalar code below AVX-512): all steps are exact. A
  // value that i64 cannot hold counts as its least value, whose low bits are 0.
  Num whole = trunc(safe);
  Num low = whole - trunc(whole * 0x1p-32) * 0x1p32;
  low = select(ge(low, 0x1p31), low - 0x1p32, low);
  low = select(lt(low, -0x1p31), low + 0x1p32, low);
  return resize_signed(signed_from_float(low, 32), width);
}

Num cast(Num x, DType from, DType to, Isa isa) {
  if (from == to) return x;
  return is_floating(from) ? cast_float(x, to, isa) : cast_integer(x, from, to, isa);
}

}  // namespace kiln::codegen

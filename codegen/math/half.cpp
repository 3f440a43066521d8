// f16 and bf16 in f32 registers. The instructions of F16C are used where the target has them; elsewhere
// integer operations give the same bits. bf16 always takes integer operations: AVX512_BF16 would flush
// subnormals.
#include "codegen/math/casts.h"
#include "codegen/math/functions.h"

#include <cmath>

namespace kiln::codegen {
namespace {

/// A binary format by the bits of its significand (with the hidden one) and its least normal exponent.
struct Format {
  int digits;
  int least_exponent;
  double greatest;
};
constexpr Format kHalf{11, -14, 65504};
constexpr Format kBfloat{8, -126, 0x1.fep127};

/// The nearest value of a narrower format, ties to even, in the type of x: by integer arithmetic on the
/// significand, and below the normal range by adding and subtracting a number whose last place is the
/// format's.
Num round_to_format(Num x, const Format& f) {
  int digits = x.width() == 64 ? 53 : 24;
  int drop = digits - f.digits;
  Num b = bits(x);
  Num even = shift_right_logical(b, drop) & 1;
  Num normal = from_bits((b + even + ((std::int64_t{1} << (drop - 1)) - 1)) & -(std::int64_t{1} << drop));
  normal = select(gt(abs(normal), f.greatest), copysign(x.constant(kInf), x), normal);
  Num magic = x.constant(std::ldexp(1.5, digits - 1 + f.least_exponent - (f.digits - 1)));
  Num subnormal = copysign((abs(x) + magic) - magic, x);
  Num rounded = select(lt(abs(x), std::ldexp(1, f.least_exponent)), subnormal, normal);
  return select(is_nan(x), x.constant(kNaN), rounded);
}

bool has_f16c(Isa isa) { return isa == Isa::avx2 || isa == Isa::avx512; }

}  // namespace

Num round_to(Num x, DType type, Isa isa) {
  if (type == DType::f16) {
    if (x.width() == 32 && has_f16c(isa)) return f32_from_f16(f16_from_f32(x));
    return to_f32(round_to_format(x, kHalf));
  }
  if (x.width() == 64) return to_f32(round_to_format(x, kBfloat));
  // f32 has bf16's exponents: subnormals and overflow come out right by themselves.
  Num b = bits(x);
  Num rounded = (b + (shift_right_logical(b, 16) & 1) + 0x7fff) & -0x10000;
  return from_bits(select(is_nan(x), 0x7fc00000, rounded));
}

Num half_bits(Num x, Isa isa) {
  if (has_f16c(isa)) return bits(f16_from_f32(x));
  Num b = bits(x);
  Num size = b & 0x7fffffff;
  Num normal = shift_right_logical(size - (112 << 23), 13);
  Num subnormal = bits(abs(x) + 0.5) - 0x3f000000;
  Num h = select(lt(size, 0x38800000), subnormal, select(lt(size, 0x7f800000), normal, 0x7c00));
  h = select(is_nan(x), 0x7e00, h);
  return resize_signed(h | (shift_right_logical(b, 16) & 0x8000), 16);
}

Num half_from_bits(Num h, Isa isa) {
  if (has_f16c(isa)) return f32_from_f16(from_bits(h));
  Num b = resize_unsigned(h, 32);
  Num size = (b & 0x7fff) << 13;
  Num normal = size + (112 << 23);
  Num special = size + (224 << 23);
  Num subnormal = bits(from_bits(size + (113 << 23)) - 0x1p-14);
  Num f = select(lt(size, 0x400 << 13), subnormal, select(lt(size, 0x7c00 << 13), normal, special));
  return from_bits(f | ((b & 0x8000) << 16));
}

Num bfloat_bits(Num x) { return resize_signed(shift_right_logical(bits(x), 16), 16); }
Num bfloat_from_bits(Num b) { return from_bits(resize_unsigned(b, 32) << 16); }

}  // namespace kiln::codegen

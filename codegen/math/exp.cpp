// e^x and 2^x: x = n ln 2 + r with |r| <= ln 2 / 2, a polynomial in r, and 2^n put into the exponent. The
// polynomials are minimax fits (Remez, 140 bits, relative to the function), rounded to the type they are used
// in.
#include "codegen/math/functions.h"
#include "codegen/math/x86.h"

namespace kiln::codegen {
namespace {

constexpr double kMagic32 = 0x1.8p23;  // adding it rounds to an integer, which then stands in the low bits
constexpr double kMagic64 = 0x1.8p52;
constexpr double kLog2E = 0x1.71547652b82fep+0;
constexpr double kLn2High = 0x1.62e42fefa39efp-1;
constexpr double kLn2Low = 0x1.abc9e3b39803fp-56;
constexpr std::int64_t kOne64 = 0x3ff0000000000000;

/// An integer n, |n| <= 2000, as a float and as the bits of n + magic.
struct Rounded {
  Num n;
  Num with_magic;
};
Rounded round_f64(Num x, double factor) {
  Num t = fma(x, factor, kMagic64);
  return {t - kMagic64, bits(t)};
}
/// 2^(n + shift), which must be a normal number.
Num power_of_two(const Rounded& n, int shift = 0) {
  return from_bits((n.with_magic << 52) + (kOne64 + (static_cast<std::int64_t>(shift) << 52)));
}
/// p 2^n by two factors that are both normal, unless there is an instruction.
Num scale_f64(Num p, const Rounded& n) {
  if (has_scalef(p)) return scalef(p, n.n);
  Num half = (n.with_magic - bits(p.constant(kMagic64))) >> 1;
  Num first = half << 52;
  Num second = (n.with_magic << 52) - first;
  return p * from_bits(first + kOne64) * from_bits(second + kOne64);
}
Num scale_f32(Num p, const Rounded& n) {
  if (has_scalef(p)) return scalef(p, n.n);
  Num first = ((n.with_magic - 0x4b400000) >> 1) << 23;
  Num second = (n.with_magic << 23) - first;
  return p * from_bits(first + 0x3f800000) * from_bits(second + 0x3f800000);
}
Num reduce_f64(Num x, const Rounded& n) { return fma(n.n, -kLn2Low, fma(n.n, -kLn2High, x)); }

/// (e^r - 1 - r) / r^2
Num exp_tail(Num r, Digits digits) {
  if (digits == Digits::single)  // 2^-37 of expm1
    return polynomial(r,
                      {0.49999999999730199, 0.16666666754324203, 0.041666666956404898, 0.0083332890070958402,
                       0.0013888809013758276, 0.0001990493414114838, 2.48826918601429e-05});
  return polynomial(
      r, {0.5, 0.16666666666666677, 0.041666666666666699, 0.0083333333333216152,  // 2^-60
          0.0013888888888866813, 0.0001984126988616098, 2.4801587360603678e-05, 2.7557244179362739e-06,
          2.7557242719950007e-07, 2.5109045795579919e-08, 2.0924455033736701e-09});
}

/// `scale(p, n)` gives p 2^n.
Num exp_f32(Num x, llvm::function_ref<Num(Num, const Rounded&)> scale) {
  Num t = fma(x, kLog2E, kMagic32);
  Num n = t - kMagic32;
  Num r = fma(n, -0x1.62e4p-1, x);  // exact: the constant has 15 bits
  r = fma(n, -0x1.7f7d1cp-20, r);
  Num q = polynomial(
      r, {0.5, 0.166666657, 0.0416662954, 0.00833349861, 0.00139446545, 0.000197897214});  // 2^-29.8
  return scale(fma(r * r, q, r) + 1, {n, bits(t)});
}

}  // namespace

Num clamp(Num x, double low, double high) {
  x = select(gt(x, high), high, x);
  return select(lt(x, low), low, x);
}

Num exp_f32(Num x) { return exp_f32(clamp(x, -104, 89), scale_f32); }
Num exp_moderate_f32(Num x) {
  return exp_f32(x, [](Num p, const Rounded& n) {
    return has_scalef(p) ? scalef(p, n.n) : p * from_bits((n.with_magic << 23) + 0x3f800000);
  });
}

Num exp2_f32(Num x) {
  x = clamp(x, -151, 129);
  Num t = x + kMagic32;
  Num n = t - kMagic32, r = x - n;
  Num g = polynomial(r, {0.693147182, 0.240226507, 0.0555041023, 0.00961803831, 0.00133339362, 0.000154667679,
                         1.51960203e-05});
  return scale_f32(fma(r, g, 1), {n, bits(t)});
}

Num exp(Num x) {
  x = clamp(x, -746, 710);
  Rounded n = round_f64(x, kLog2E);
  Num r = reduce_f64(x, n);
  return scale_f64(fma(r * r, exp_tail(r, Digits::full), r) + 1, n);
}

Num exp2(Num v, Num tail, Digits digits) {
  Num clamped = clamp(v, -1080, 1030);
  Rounded n = round_f64(clamped, 1);
  Num r = (clamped - n.n) + select(eq(clamped, v), tail, 0);
  Num g = digits == Digits::single  // (2^r - 1) / r: 2^-40, 2^-64
              ? polynomial(r, {0.69314718054820745, 0.2402265069810931, 0.055504109352839212,
                               0.0096181286164860741, 0.0013333454845067241, 0.00015403825186209276,
                               1.5309160044319118e-05, 1.3178995335889513e-06})
              : polynomial(r, {0.69314718055994529, 0.24022650695910072, 0.055504108664821687,
                               0.0096181291076283294, 0.0013333558146392682, 0.00015403530393640844,
                               1.5252733854327841e-05, 1.3215486594847476e-06, 1.0178051937744464e-07,
                               7.0549744913131439e-09, 4.4565711777688364e-10, 2.5625415116775229e-11});
  return scale_f64(fma(r, g, 1), n);
}
Num exp2(Num x) { return exp2(x, x.constant(0), Digits::full); }

Num expm1_quarter(Num x, Digits digits) {
  x = clamp(x, -40, 710.5);
  Rounded n = round_f64(x, kLog2E);
  Num r = reduce_f64(x, n);
  Num s = power_of_two(n, -2);
  return fma(s, fma(r * r, exp_tail(r, digits), r), s - 0.25);
}
Num expm1(Num x, Digits digits) {
  Num tiny = lt(abs(x), 0x1p-54);  // also keeps -0, and subnormals from losing bits in the quarter
  return select(tiny, x, expm1_quarter(x, digits) * 4);
}

}  // namespace kiln::codegen

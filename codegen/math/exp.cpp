// e^x and 2^x: x = n ln 2 + r with |r| <= ln 2 / 2, a polynomial in r, and 2^n put into the exponent. The
// polynomials are minimax fits (Remez, 140 bits, relative to the function), rounded to the type they are used
// in.
#include "codegen/math/functions.h"
#include "codegen/math/unary.h"
#include "codegen/math/x86.h"

#include <utility>

namespace kiln::codegen {
namespace {

constexpr double kLog2E = 0x1.71547652b82fep+0;
constexpr double kLn2High = 0x1.62e42fefa39efp-1;
constexpr double kLn2Low = 0x1.abc9e3b39803fp-56;

int mantissa_bits(Num x) { return x.width() == 32 ? 23 : 52; }
/// The exponent bias of 2^n.
int exponent_bias(Num x) { return x.width() == 32 ? 127 : 1023; }

/// An integer n as a float, and n + a bias in the low bits of an integer.
struct Rounded {
  Num n;
  Num biased;
};
/// x * factor, which must be less than a million, to the nearest.
Rounded round(Num x, double factor, int bias) {
  // Adding it rounds to an integer, which is then in the low bits.
  const double magic = (x.width() == 32 ? 0x1.8p23 : 0x1.8p52) + bias;
  Num t = factor == 1 ? x + magic : fma(x, factor, magic);
  return {t - magic, bits(t)};
}
/// 2^n of n + exponent_bias. 2^n must be normal, or n one below the least such n, which gives 0.
Num power_of_two(const Rounded& n) { return from_bits(n.biased << mantissa_bits(n.n)); }
/// The same of n + 2 exponent_bias, also where 2^n is not normal: as two factors that are.
std::pair<Num, Num> two_factors(const Rounded& n) {
  Num first = shift_right_logical(n.biased, 1) << mantissa_bits(n.n);
  return {from_bits(first), from_bits((n.biased << mantissa_bits(n.n)) - first)};
}
/// p 2^n of n + 2 exponent_bias.
Num scale(Num p, const Rounded& n) {
  if (has_scalef(p)) return scalef(p, n.n);
  auto [first, second] = two_factors(n);
  return p * first * second;
}
/// (1 + y) 2^n of n + 2 exponent_bias. 1 + y is rounded as such: powers of two commute with that.
Num scale_one_plus(Num y, const Rounded& n) {
  if (has_scalef(y)) return scalef(1 + y, n.n);
  auto [first, second] = two_factors(n);
  return fma(y, first, first) * second;
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

Num expm1_of_rest(Num x, Num n) {
  Num r = fma(n, -0x1.62e4p-1, x);  // exact: the constant has 15 bits
  r = fma(n, -0x1.7f7d1cp-20, r);
  // 2^-28; its last bits are chosen so that exp stays within an ULP.
  Num q = polynomial(r, {0.5, 0.166665226, 0.0416685045, 0.00837045629, 0.00138109364});
  return fma(r * r, q, r);
}

}  // namespace

Num clamp(Num x, double low, double high) {
  x = select(gt(x, high), high, x);
  return select(lt(x, low), low, x);
}

static Num exp_f32(Num x) {
  x = clamp(x, -104, 89);
  Rounded n = round(x, kLog2E, 2 * exponent_bias(x));
  return scale_one_plus(expm1_of_rest(x, n.n), n);
}
Num exp_moderate_f32(Num x) {
  Rounded n = round(x, kLog2E, exponent_bias(x));
  Num power = power_of_two(n);
  return fma(expm1_of_rest(x, n.n), power, power);
}
static Num exp_nonpositive_f32(Num x) { return exp_moderate_f32(select(lt(x, -88), -88, x)); }

static Num exp2_f32(Num x) {
  x = clamp(x, -151, 129);
  Rounded n = round(x, 1, 2 * exponent_bias(x));
  Num r = x - n.n;
  Num g = polynomial(r, {0.693147182, 0.240226507, 0.0555041023, 0.00961803831, 0.00133339362, 0.000154667679,
                         1.51960203e-05});
  return scale(fma(r, g, 1), n);
}

Num exp(Num x) {
  x = clamp(x, -746, 710);
  Rounded n = round(x, kLog2E, 2 * exponent_bias(x));
  Num r = reduce_f64(x, n);
  return scale_one_plus(fma(r * r, exp_tail(r, Digits::full), r), n);
}

Num exp2(Num v, Num tail, Digits digits) {
  Num clamped = clamp(v, -1080, 1030);
  Rounded n = round(clamped, 1, 2 * exponent_bias(clamped));
  Num r = (clamped - n.n) + select(eq(clamped, v), tail, 0);
  Num g = digits == Digits::single  // (2^r - 1) / r: 2^-40, 2^-64
              ? polynomial(r, {0.69314718054820745, 0.2402265069810931, 0.055504109352839212,
                               0.0096181286164860741, 0.0013333454845067241, 0.00015403825186209276,
                               1.5309160044319118e-05, 1.3178995335889513e-06})
              : polynomial(r, {0.69314718055994529, 0.24022650695910072, 0.055504108664821687,
                               0.0096181291076283294, 0.0013333558146392682, 0.00015403530393640844,
                               1.5252733854327841e-05, 1.3215486594847476e-06, 1.0178051937744464e-07,
                               7.0549744913131439e-09, 4.4565711777688364e-10, 2.5625415116775229e-11});
  return scale(fma(r, g, 1), n);
}
static Num exp2(Num x) { return exp2(x, x.constant(0), Digits::full); }

Num expm1_quarter(Num x, Digits digits) {
  x = clamp(x, -40, 710.5);
  Rounded n = round(x, kLog2E, exponent_bias(x) - 2);
  Num r = reduce_f64(x, n);
  Num s = power_of_two(n);  // 2^n / 4
  return fma(s, fma(r * r, exp_tail(r, digits), r), s - 0.25);
}
static Num expm1(Num x, Digits digits) {
  Num tiny = lt(abs(x), 0x1p-54);  // also keeps -0, and subnormals from losing bits in the quarter
  return select(tiny, x, expm1_quarter(x, digits) * 4);
}

std::span<const UnaryFormula> exp_formulas() {
  using ir::Unary;
  static constexpr UnaryFormula formulas[] = {
      {Unary::exp, [](Num x, Digits) { return exp(x); }, exp_f32, 4},
      {Unary::exp_nonpositive, [](Num x, Digits) { return exp(x); }, exp_nonpositive_f32, 4},
      {Unary::exp2, [](Num x, Digits) { return exp2(x); }, exp2_f32, 4},
      {Unary::expm1, expm1, nullptr, 2},
  };
  return formulas;
}

}  // namespace kiln::codegen

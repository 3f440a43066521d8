// sin, cos and tan: x = (n + r) pi/2, |r| <= 1/2, for every finite x. In f32, for moderate x, by Cody and
// Waite's method. In f64 the product x * 2/pi is formed with as many bits of 2/pi as matter: for |x| in the
// k-th window, x = M 2^s, whole multiples of 4 drop out of 2^s * 2/pi, and the rest stands in the table as a
// sum of short pieces (Payne and Hanek's method without a table look-up per bit).
#include "codegen/math/functions.h"
#include "codegen/math/unary.h"

#include <cmath>
#include <span>
#include <vector>

namespace kiln::codegen {
namespace {

constexpr double kMagic = 0x1.8p52;

/// (2^(24 k) * 2/pi) mod 4 in pieces of 29, 29 and 53 bits: their products with the 24 bits of a float are
/// exact.
constexpr double kTwoOverPi24[5][3] = {
    {0x1.45f306c000000p-1, 0x1.c9c882a000000p-29, 0x1.4fe13abe8fa9ap-59},
    {0x1.b727220000000p+1, 0x1.529fc27000000p-28, 0x1.5f47d4d377037p-58},
    {0x1.529fc20000000p-4, 0x1.d5f47d4000000p-30, 0x1.a6ee06db14acdp-59},
    {0x1.3abe8f0000000p-3, 0x1.534ddc0000000p-28, 0x1.b6c52b3278872p-57},
    {0x1.f534ddc000000p+0, 0x1.b6c52a0000000p-33, 0x1.3278872083fcap-57},
};

/// (2^(64 k) * 2/pi) mod 4 in pieces of 53 bits, the first with the weight 2^-51 in its last place.
constexpr double kTwoOverPi64[15][5] = {
    {0x1.45f306dc9c880p-1, 0x1.529fc2757d1f5p-52, 0x1.a6ee06db14accp-107, 0x1.3c439041fe514p-160,
     0x1.1d5ef5de2b0dcp-211},
    {0x1.fc2757d1f534cp+0, 0x1.dc0db6295993cp-52, 0x1.0e4107f9458eap-106, 0x1.ef5de2b0db922p-159,
     0x1.71d2126e97003p-211},
    {0x1.b6c52b3278870p-1, 0x1.041fe5163abdep-52, 0x1.778ac36e48dc7p-105, 0x1.2126e97003248p-159,
     0x1.77504e8c90e7fp-211},
    {0x1.fe5163abdebbcp+0, 0x1.586dc91b8e908p-54, 0x1.374b801924bbap-106, 0x1.04e8c90e7f0eep-159,
     0x1.58e5894d39f74p-211},
    {0x1.b7246e3a424dcp+0, 0x1.2e006492eea09p-52, 0x1.a32439fc3bd63p-105, 0x1.2c4a69cfba208p-158,
     0x1.afa975da24275p-211},
    {0x1.924bba8274600p-6, 0x1.21cfe1deb1cb1p-52, 0x1.4d39f74411af8p-107, 0x1.4baed1213a671p-158,
     0x1.8135a2fbf209dp-211},
    {0x1.fc3bd63962534p-1, 0x1.cfba208d7d4b8p-54, 0x1.768909d338e04p-105, 0x1.ad17df904e647p-158,
     0x1.639835339f49dp-212},
    {0x1.74411afa975dap+1, 0x1.213a671c09ad0p-54, 0x1.7df904e64758ep-106, 0x1.835339f49c844p-160,
     0x1.f8bbdf9283b20p-212},
    {0x1.d338e04d68becp-1, 0x1.e413991d63983p-52, 0x1.4ce7d272117e2p-106, 0x1.defc941d8ffc4p-159,
     0x1.7ffde05980fefp-212},
    {0x1.3991d63983532p+0, 0x1.9f49c845f8bbdp-52, 0x1.f250763ff12ffp-105, 0x1.f7816603fbcbcp-158,
     0x1.18b5a0a6d1f6dp-212},
    {0x1.3908bf177bf24p-1, 0x1.0763ff12fffbcp-53, 0x1.6603fbcbc4620p-110, 0x1.ad05368fb69b2p-159,
     0x1.f6793e584dba8p-211},
    {0x1.8ffc4bffef02cp+1, 0x1.80fef2f118b5ap-52, 0x1.4da3eda6cfd90p-109, 0x1.c9f2c26dd3d18p-158,
     0x1.fb34f2ff516bbp-211},
    {0x1.f79788c5ad053p+1, 0x1.a3eda6cfd9e4ep-53, 0x1.96136e9e8c7ecp-105, 0x1.a797fa8b5d49ep-158,
     0x1.d63f5f2f8bd9fp-211},
    {0x1.b69b3f6793e58p+1, 0x1.36e9e8c7ecd3cp-53, 0x1.7fa8b5d49eeb0p-106, 0x1.faf97c5ecf41cp-158,
     0x1.cfbc529497536p-211},
    {0x1.a7a31fb34f2ffp+1, 0x1.45aea4f758fd6p-53, 0x1.cbe2f67a0e73ep-105, 0x1.e294a4ba9afedp-158,
     0x1.fb11f8d5d0856p-212},
};

/// x = (quadrant + r) pi/2 with y + y_low = r pi/2.
struct Reduced {
  Num quadrant;  ///< an integer, right modulo 4
  Num y, y_low;
};

/// M and the pieces of the window that |x| lies in: the k-th ends at 2^(24 + (k+1) step) for floats, 2^(52 +
/// ...) for doubles.
template <std::size_t windows, std::size_t pieces>
std::vector<Num> window(Num x, const double (&table)[windows][pieces], int step, int first_end) {
  Num size = abs(x);
  std::vector<Num> c;
  for (double piece : table[0]) c.push_back(x.constant(piece));
  Num scale = x.constant(1);
  for (std::size_t k = 1; k < windows; ++k) {
    Num beyond = ge(size, std::ldexp(1, first_end + step * (static_cast<int>(k) - 1)));
    scale = select(beyond, std::ldexp(1, -step * static_cast<int>(k)), scale);
    for (std::size_t i = 0; i < pieces; ++i) c[i] = select(beyond, table[k][i], c[i]);
  }
  c.push_back(x * scale);
  return c;
}

/// x modulo 1; adds the integer to the quadrant.
Num fraction(Num x, Num& quadrant) {
  Num t = x + kMagic;
  quadrant = quadrant + bits(t);
  return x - (t - kMagic);
}

Reduced reduce_single(Num x) {
  auto c = window(x, kTwoOverPi24, 24, 48);
  Num m = c[3];
  Num quadrant = bits(x.constant(0));
  Num r0 = fraction(m * c[0], quadrant);
  Num r1 = fraction(m * c[1], quadrant);
  Num r = fraction(r0 + r1, quadrant) + m * c[2];
  return {quadrant, r * kHalfPi, x.constant(0)};
}

Pair product(Num a, Num b) {
  Num p = a * b;
  return {p, fma(a, b, -p)};
}
Pair sum(Num a, Num b) {
  Num s = a + b;
  Num back = s - a;
  return {s, (a - (s - back)) + (b - back)};
}
Num modulo_4(Num x) { return x - round_to_even(x * 0.25) * 4; }

Reduced reduce_full(Num x) {
  auto c = window(x, kTwoOverPi64, 64, 116);
  Num m = c[5];
  Num quadrant = bits(x.constant(0));
  Pair p0 = product(m, c[0]), p1 = product(m, c[1]), p2 = product(m, c[2]), p3 = product(m, c[3]);
  Num high = fraction(modulo_4(p0.high), quadrant);
  Num low = p3.low + m * c[4];
  // Terms from large to small; after each the integer part is taken out, so that the remainder keeps its low
  // bits.
  for (Num term :
       {modulo_4(p0.low), modulo_4(p1.high), modulo_4(p1.low), modulo_4(p2.high), p2.low, p3.high}) {
    Pair s = sum(high, term);
    high = fraction(s.high, quadrant);
    Pair again = sum(high, s.low);
    high = again.high;
    low = low + again.low;
  }
  high = fraction(high, quadrant);
  Num y = high * kHalfPi;
  Num y_low = fma(high, kHalfPi, -y) + fma(high, kHalfPiLow, low * kHalfPi);
  return {quadrant, y, y_low};
}

// sin and cos of y + y_low, |y| <= pi/4. Minimax fits: 2^-37, 2^-58 and 2^-43, 2^-60.
Num sin_kernel(const Reduced& a, Digits digits) {
  Num w = a.y * a.y;
  Num s = digits == Digits::single
              ? polynomial(w, {-0.16666666641630604, 0.0083333293858418762, -0.00019839334624649612,
                               2.7183080275271271e-06})
              : polynomial(w, {-0.16666666666666632, 0.0083333333333224253, -0.00019841269829815015,
                               2.7557313693953635e-06, -2.505075837022966e-08, 1.5896807309556274e-10});
  Num cube = a.y * w * s;
  return digits == Digits::single ? a.y + cube : a.y + (cube + fma(w, a.y_low * -0.5, a.y_low));
}
/// 1 - w/2 + small.
Num one_minus_half(Num w, Num small) {
  Num half = w * 0.5;
  Num one = 1 - half;
  Num rest = (1 - one) - half;  // the rounding error of 1 - w/2
  return one + (rest + small);
}
Num cos_kernel(const Reduced& a, Digits digits) {
  Num w = a.y * a.y;
  Num c = digits == Digits::single
              ? polynomial(w, {0.041666666622794793, -0.0013888883750241613, 2.4799519125927027e-05,
                               -2.7210162378792563e-07})
              : polynomial(w, {0.041666666666666602, -0.0013888888888874131, 2.4801587289486924e-05,
                               -2.7557314353652337e-07, 2.0875723446255197e-09, -1.1359656448348675e-11});
  if (digits == Digits::single) return fma(w * w, c, fma(w, -0.5, 1));
  return one_minus_half(w, fma(w * w, c, -(a.y * a.y_low)));
}

/// sin(x) = tan(x) = x to the last bit; keeps -0 and subnormals.
Num tiny(Num x) { return lt(abs(x), 0x1p-27); }

Num odd(Num quadrant) { return ne(quadrant & 1, 0); }
Num negate_if(Num condition, Num x) { return select(condition, -x, x); }

/// sin of x, from sin and cos of its remainder in the quadrant.
Num sin_of(Num x, Num quadrant, Num s, Num c) {
  return select(tiny(x), x, negate_if(ne(quadrant & 2, 0), select(odd(quadrant), c, s)));
}
Num cos_of(Num quadrant, Num s, Num c) {
  return negate_if(ne((quadrant + 1) & 2, 0), select(odd(quadrant), s, c));
}
Num sin_of(Num x, const Reduced& a, Digits digits) {
  return sin_of(x, a.quadrant, sin_kernel(a, digits), cos_kernel(a, digits));
}
Num cos_of(const Reduced& a, Digits digits) {
  return cos_of(a.quadrant, sin_kernel(a, digits), cos_kernel(a, digits));
}
Num tan_of(Num x, const Reduced& a, Digits digits) {
  Num s = sin_kernel(a, digits), c = cos_kernel(a, digits);
  Num swap = odd(a.quadrant);
  return select(tiny(x), x, select(swap, -c, s) / select(swap, s, c));
}

/// For |x| <= kMostInF32, in f32.
Reduced reduce_f32(Num x) {
  constexpr double kHigh = 0x1.921fb6p0, kMiddle = -0x1.777a5cp-25,
                   kLow = -0x1.ee59dap-50;  // pi/2, their sum
  const Num t = fma(x, 0x1.45f306p-1, 0x1.8p23), n = t - 0x1.8p23;
  // Exact: a multiple of the last place of kHigh, or of x, below 1.
  const Num high = fma(n, -kHigh, x);
  const Num y = fma(n, -kMiddle, high);
  // The rounding error of y. The difference, below 2^-12, is exact unless y is smaller; the rest of pi/2
  // matters there.
  const Num lost = fma(n, -kMiddle, high - y);
  return {bits(t), y, select(gt(abs(y), 0x1p-13), lost, n * -kLow)};
}
constexpr double kMostInF32 = 8192;

/// sin and cos of y + y_low in f32, |y| <= pi/4. Minimax fits: 2^-27.9 and 2^-33.
Num sin_kernel_f32(const Reduced& a) {
  const Num w = a.y * a.y;
  const Num s = polynomial(w, {-0x1.555546p-3, 0x1.110730p-7, -0x1.994062p-13});
  return a.y + fma(a.y * w, s, a.y_low);
}
Num cos_kernel_f32(const Reduced& a) {
  const Num w = a.y * a.y;
  const Num c = polynomial(w, {0x1.55554ap-5, -0x1.6c0c28p-10, 0x1.99e86cp-16});
  return one_minus_half(w, fma(w * w, c, -(a.y * a.y_low)));
}

/// tan in f32 of y + y_low in an even quadrant, and -1/tan in an odd one.
Num tan_kernel_f32(const Reduced& a) {
  const Num w = a.y * a.y;
  const Num p = polynomial(w, {0.333333492, 0.133326754, 0.054058902, 0.021286346, 0.0108268708,
                               9.92302739e-05, 0.00437209522});  // 2^-29.5 (Lawson's method)
  // The derivative is about 1 + 1.5 y^2.
  const Num tail = fma(a.y * w, p, fma(w * a.y_low, 1.5, a.y_low));
  const Num high = a.y + tail, low = (a.y - high) + tail;
  const Num inverse = -1 / high;
  // -1 / (high + low) = inverse (1 + error), to the first order.
  const Num error = fma(inverse, low, fma(inverse, high, 1));
  return select(odd(a.quadrant), fma(inverse, error, inverse), high);
}

Num beyond_f32(Num x) { return ~le(abs(x), kMostInF32); }  // NaN too

}  // namespace

// Functions of an x that was converted from f32.
static Num sin_of_f32(Num x) { return sin_of(x, reduce_single(x), Digits::single); }
static Num cos_of_f32(Num x) { return cos_of(reduce_single(x), Digits::single); }
static Num tan_of_f32(Num x) { return tan_of(x, reduce_single(x), Digits::single); }

static Num sin_f32(Num x) {
  const Reduced a = reduce_f32(x);
  const Num common = sin_of(x, a.quadrant, sin_kernel_f32(a), cos_kernel_f32(a));
  return replace_rare(common, beyond_f32(x), x, [](Num y) { return to_f32(sin_of_f32(to_f64(y))); });
}
static Num cos_f32(Num x) {
  const Reduced a = reduce_f32(x);
  const Num common = cos_of(a.quadrant, sin_kernel_f32(a), cos_kernel_f32(a));
  return replace_rare(common, beyond_f32(x), x, [](Num y) { return to_f32(cos_of_f32(to_f64(y))); });
}
static Num tan_f32(Num x) {
  const Num common = select(tiny(x), x, tan_kernel_f32(reduce_f32(x)));
  return replace_rare(common, beyond_f32(x), x, [](Num y) { return to_f32(tan_of_f32(to_f64(y))); });
}
static Num sin(Num x) { return sin_of(x, reduce_full(x), Digits::full); }
static Num cos(Num x) { return cos_of(reduce_full(x), Digits::full); }
static Num tan(Num x) { return tan_of(x, reduce_full(x), Digits::full); }

std::span<const UnaryFormula> trig_formulas() {
  using ir::Unary;
  static constexpr UnaryFormula formulas[] = {
      {Unary::sin, [](Num x, Digits) { return sin(x); }, sin_f32, 2},
      {Unary::cos, [](Num x, Digits) { return cos(x); }, cos_f32, 2},
      {Unary::tan, [](Num x, Digits) { return tan(x); }, tan_f32, 2},
  };
  return formulas;
}

}  // namespace kiln::codegen

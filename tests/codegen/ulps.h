// Errors in units of the last place, and the arguments that tests of arithmetic share.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

/// Errors in units of the last place, and the arguments that tests of arithmetic share.
namespace ulp {

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

/// The distance in units of the last place of the reference; infinite when one is NaN or infinite, or has
/// another sign, and the other has not.
template <class T>
inline double ulps(T got, long double want) {
  constexpr double kWrong = std::numeric_limits<double>::infinity();
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : kWrong;
  T nearest = static_cast<T>(want);
  if (std::signbit(got) != std::signbit(nearest)) return kWrong;
  if (std::isinf(nearest) || std::isinf(got)) return got == nearest ? 0 : kWrong;
  if (want == 0) return got == 0 ? 0 : kWrong;
  using Limits = std::numeric_limits<T>;
  int exponent;
  std::frexp(want, &exponent);
  int unit = std::max(exponent - Limits::digits, Limits::min_exponent - Limits::digits);
  return static_cast<double>(std::abs(static_cast<long double>(got) - want) / std::ldexp(1.0L, unit));
}

template <class T>
inline std::vector<T> special_values() {
  using L = std::numeric_limits<T>;
  std::vector<T> v = {0,
                      0.5,
                      1,
                      2,
                      3,
                      8,
                      10,
                      27,
                      100,
                      1000,
                      1024,
                      L::infinity(),
                      L::max(),
                      L::min(),
                      L::denorm_min(),
                      1 + L::epsilon(),
                      1 - L::epsilon() / 2,
                      T(88.722839),
                      T(88.72284),
                      T(103.97),
                      T(103.98),
                      T(709.78271),
                      T(709.7828),
                      T(745.133),
                      T(745.134),
                      T(710.4758),
                      T(128),
                      T(149.5),
                      T(1e-30),
                      T(1e20),
                      L::min() * T(0.75)};
  for (std::size_t i = 0, n = v.size(); i < n; ++i) v.push_back(-v[i]);
  v.push_back(L::quiet_NaN());
  return v;
}

/// The powers of two of the type, subnormal ones too, with the numbers next to them and those between, of
/// both signs.
template <class T>
inline std::vector<T> every_exponent() {
  using L = std::numeric_limits<T>;
  std::vector<T> v;
  for (int e = L::min_exponent - L::digits; e < L::max_exponent; ++e) {
    const T power = std::ldexp(T(1), e);
    for (const T x : {power, std::nextafter(power, T(0)), std::nextafter(power, L::infinity()),
                      power * T(1.5), power * T(1.2), power * T(1.9)})
      v.push_back(x), v.push_back(-x);
  }
  return v;
}

}  // namespace ulp

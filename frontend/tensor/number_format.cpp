// numpy/core/arrayprint.py, class FloatingFormat. The shortest digits that distinguish an element from its
// neighbours in its dtype, at most `precision` of them after the point; exponents if the magnitudes differ by
// more than a factor of a thousand.
#include "frontend/tensor/number_format.h"

#include "frontend/tensor/convert.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <vector>

namespace kiln {
namespace {

template <class... Args>
std::string chars(Args... args) {
  char buffer[400];  // a double in positional form has at most 309 digits before the point
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, args...).ptr);
}

// The shortest digits in exponent form that read back as the element: "1.4285715e-01".
std::string shortest(double v, DType dtype) {
  if (dtype == DType::f64) return chars(v, std::chars_format::scientific);
  if (dtype == DType::f32) return chars(static_cast<float>(v), std::chars_format::scientific);
  for (int digits = 0;; ++digits) {
    std::string s = chars(v, std::chars_format::scientific, digits);
    double back = 0;
    std::from_chars(s.data(), s.data() + s.size(), back);
    if (round_to(dtype, back) == v || digits == 17) return s;
  }
}

void strip_zeros(std::string& s) {
  while (s.back() == '0') s.pop_back();
}

// The digits of an exponent form as (digits without a point, exponent).
struct Digits {
  std::string digits;
  int exponent;
};
Digits split(std::string_view s) {
  const std::size_t e = s.find('e');
  Digits d{std::string(1, s[0]), 0};
  if (e > 2) d.digits += s.substr(2, e - 2);
  std::string_view exponent = s.substr(e + 1);
  if (exponent.front() == '+') exponent.remove_prefix(1);
  std::from_chars(exponent.data(), exponent.data() + exponent.size(), d.exponent);
  return d;
}

double quotient(double a, double b, DType dtype) {
  if (dtype == DType::f64) return a / b;
  if (dtype == DType::f32) return static_cast<float>(a) / static_cast<float>(b);
  return round_to(dtype, a / b);
}

}  // namespace

NumberFormat::NumberFormat(std::span<const double> values, DType dtype, const PrintOptions& options)
    : dtype_(dtype), precision_(options.precision) {
  double largest = 0;
  double least = INFINITY;
  bool any_finite = false;
  bool any_other = false;
  bool minus_infinity = false;
  for (double v : values) {
    if (!std::isfinite(v)) {
      any_other = true;
      minus_infinity |= v < 0;
      continue;
    }
    any_finite = true;
    if (v != 0) {
      largest = std::max(largest, std::fabs(v));
      least = std::min(least, std::fabs(v));
    }
  }
  const bool spread = largest > 0 && (least < 0.0001 || quotient(largest, least, dtype) > 1000);
  exponent_ = largest >= 1e8 || (spread && !options.suppress);
  if (any_finite) {
    int fraction = 0;  // 0 until all elements are known: scientific() then gives the shortest digits
    for (double v : values) {
      if (!std::isfinite(v)) continue;
      const std::string s = exponent_ ? scientific(v) : positional(v);
      const int point = static_cast<int>(s.find('.'));
      pad_left_ = std::max(pad_left_, point);
      if (exponent_) {
        const int e = static_cast<int>(s.find('e'));
        fraction = std::max(fraction, e - point - 1);
        exponent_size_ = std::max(exponent_size_, static_cast<int>(s.size()) - e - 2);
      } else {
        pad_right_ = std::max(pad_right_, static_cast<int>(s.size()) - point - 1);
      }
    }
    fraction_ = fraction;
    if (exponent_) pad_right_ = exponent_size_ + 2 + fraction_;
  }
  if (any_other) {
    const int offset = pad_right_ + 1;
    pad_left_ = std::max({pad_left_, 3 - offset, 3 + (minus_infinity ? 1 : 0) - offset});
  }
}

std::string NumberFormat::positional(double v) const {
  const std::string sign = std::signbit(v) ? "-" : "";
  const double magnitude = std::fabs(v);
  const Digits d = split(shortest(magnitude, dtype_));
  const int decimals = static_cast<int>(d.digits.size()) - 1 - d.exponent;
  std::string s;
  if (decimals > precision_) {
    s = chars(magnitude, std::chars_format::fixed, precision_);
    if (precision_ == 0) s += '.';
    strip_zeros(s);
  } else if (d.exponent < 0) {
    s = "0." + std::string(static_cast<std::size_t>(-d.exponent - 1), '0') + d.digits;
  } else {
    s = d.digits;
    const auto whole = static_cast<std::size_t>(d.exponent + 1);
    if (s.size() < whole) s.append(whole - s.size(), '0');
    s.insert(whole, ".");
  }
  if (s.find('.') != std::string::npos && s.find('.') + 1 < s.size()) strip_zeros(s);
  return sign + s;
}

std::string NumberFormat::scientific(double v) const {
  const std::string sign = std::signbit(v) ? "-" : "";
  const double magnitude = std::fabs(v);
  Digits d = split(shortest(magnitude, dtype_));
  const int decimals = static_cast<int>(d.digits.size()) - 1;
  // After the shortest digits follow the digits of the exact value, not zeros.
  if (decimals > precision_) d = split(chars(magnitude, std::chars_format::scientific, precision_));
  if (decimals < fraction_) d = split(chars(magnitude, std::chars_format::scientific, fraction_));
  while (d.digits.size() > 1 + static_cast<std::size_t>(fraction_) && d.digits.back() == '0')
    d.digits.pop_back();
  std::string e = std::to_string(std::abs(d.exponent));
  if (e.size() < 2) e.insert(0, "0");
  return sign + d.digits.substr(0, 1) + "." + d.digits.substr(1) + (d.exponent < 0 ? "e-" : "e+") + e;
}

std::string NumberFormat::operator()(double value) const {
  if (!std::isfinite(value)) {
    std::string s = std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
    const auto width = static_cast<std::size_t>(pad_left_ + pad_right_ + 1);
    if (s.size() < width) s.insert(0, width - s.size(), ' ');
    return s;
  }
  std::string s = exponent_ ? scientific(value) : positional(value);
  const auto point = s.find('.');
  if (exponent_) {
    const auto e = s.find('e');
    const auto exponent_digits = s.size() - e - 2;
    s.insert(e + 2, static_cast<std::size_t>(exponent_size_) - exponent_digits, '0');
    s.insert(e, static_cast<std::size_t>(fraction_) - (e - point - 1), '0');
  } else {
    s.append(static_cast<std::size_t>(pad_right_) - (s.size() - point - 1), ' ');
  }
  s.insert(0, static_cast<std::size_t>(pad_left_) - point, ' ');
  return s;
}

}  // namespace kiln

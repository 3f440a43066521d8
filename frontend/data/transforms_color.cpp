// Transforms of colours, with MXNet's formulas (src/operator/image/image_random-inl.h).
#include "frontend/call/line.h"
#include "frontend/data/image.h"
#include "runtime/fail.h"

#include <kiln/random.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace kiln::data::vision::transforms {
namespace {

using Color = std::array<float, 3>;

float brightness_of(const Color& c) { return 0.299f * c[0] + 0.587f * c[1] + 0.114f * c[2]; }

/// The colour of the pixel at `pixel`; the three numbers of an image of one channel are equal.
template <class T>
Color color_at(const T* pixel, const ImageShape& s) {
  if (s.channels == 1)
    return {static_cast<float>(*pixel), static_cast<float>(*pixel), static_cast<float>(*pixel)};
  return {static_cast<float>(pixel[0]), static_cast<float>(pixel[1]), static_cast<float>(pixel[2])};
}

/// Each pixel by fn(colour).
template <class Fn>
Tensor each_pixel(const Tensor& x, const ImageShape& s, Fn fn) {
  return made_of(x, x.shape(), [&]<class T>(const T* from, T* to) {
    for (std::int64_t i = 0; i < s.image(); i += s.channels) {
      const Color c = fn(color_at(from + i, s));
      for (std::int64_t k = 0; k < s.channels; ++k) to[i + k] = saturated<T>(c[static_cast<std::size_t>(k)]);
    }
  });
}

/// The mean brightness of the pixels.
float mean_brightness(const Tensor& x, const ImageShape& s) {
  double sum = 0;
  with_elements(x, [&](const auto* from) {
    for (std::int64_t i = 0; i < s.image(); i += s.channels) {
      const Color c = color_at(from + i, s);
      sum += static_cast<double>(s.channels == 1 ? c[0] : brightness_of(c));
    }
  });
  return static_cast<float>(sum / static_cast<double>(std::max<std::int64_t>(s.height * s.width, 1)));
}

/// x * a + (1 - a) * m.
Color blended(const Color& c, float a, float m) {
  Color out;
  for (std::size_t k = 0; k < 3; ++k) out[k] = c[k] * a + (1 - a) * m;
  return out;
}

float drawn_factor(double amount) {
  return static_cast<float>(between(std::max(0.0, 1 - amount), 1 + amount, drawn(1)[0]));
}

double checked(double amount, std::string_view what, Where where) {
  if (!(amount >= 0 && amount < std::numeric_limits<double>::infinity()))
    fail("{}{}: the amount is {}: it must be 0 or more", line_prefix(where), what, amount);
  return amount;
}

struct HueLightness {
  float hue, lightness, saturation;  // hue in sixths of the circle
};

/// The hexagonal model of colour: hue, lightness and saturation of red, green and blue from 0 to 1.
HueLightness to_hls(const Color& c) {
  const float high = std::max({c[0], c[1], c[2]}), low = std::min({c[0], c[1], c[2]}), range = high - low;
  HueLightness out{0, (high + low) / 2, 0};
  if (!(range > std::numeric_limits<float>::epsilon())) return out;
  out.saturation = out.lightness < 0.5f ? range / (high + low) : range / (2 - high - low);
  if (high == c[0])
    out.hue = (c[1] - c[2]) / range;
  else if (high == c[1])
    out.hue = (c[2] - c[0]) / range + 2;
  else
    out.hue = (c[0] - c[1]) / range + 4;
  return out;
}

Color from_hls(const HueLightness& c) {
  const float top = c.lightness <= 0.5f ? c.lightness * (1 + c.saturation)
                                        : c.lightness + c.saturation - c.lightness * c.saturation;
  const float bottom = 2 * c.lightness - top;
  const auto channel = [&](float sixth) {  // 0 to 6: rises, stays, falls, stays
    sixth -= 6 * std::floor(sixth / 6);
    const float rise = sixth < 1 ? sixth : sixth < 3 ? 1 : sixth < 4 ? 4 - sixth : 0;
    return bottom + (top - bottom) * rise;
  };
  return {channel(c.hue + 2), channel(c.hue), channel(c.hue - 2)};
}

}  // namespace

RandomBrightness::RandomBrightness(double brightness, Where where)
    : Made(where), amount_(checked(brightness, "RandomBrightness", where)) {}

Tensor RandomBrightness::operator()(const Tensor& x) const {
  const ImageShape s = shape_of_colors(x, "RandomBrightness", where_);
  const float a = drawn_factor(amount_);
  return each_pixel(x, s, [&](const Color& c) { return blended(c, a, 0); });
}

RandomContrast::RandomContrast(double contrast, Where where)
    : Made(where), amount_(checked(contrast, "RandomContrast", where)) {}

Tensor RandomContrast::operator()(const Tensor& x) const {
  const ImageShape s = shape_of_colors(x, "RandomContrast", where_);
  const float a = drawn_factor(amount_);
  const float mean = mean_brightness(x, s);
  return each_pixel(x, s, [&](const Color& c) { return blended(c, a, mean); });
}

RandomSaturation::RandomSaturation(double saturation, Where where)
    : Made(where), amount_(checked(saturation, "RandomSaturation", where)) {}

Tensor RandomSaturation::operator()(const Tensor& x) const {
  const ImageShape s = shape_of_colors(x, "RandomSaturation", where_);
  const float a = drawn_factor(amount_);
  if (s.channels == 1) return x.to(cpu());
  return each_pixel(x, s, [&](const Color& c) { return blended(c, a, brightness_of(c)); });
}

RandomHue::RandomHue(double hue, Where where) : Made(where), amount_(checked(hue, "RandomHue", where)) {}

Tensor RandomHue::operator()(const Tensor& x) const {
  const ImageShape s = shape_of_colors(x, "RandomHue", where_);
  const auto turn = static_cast<float>(6 * between(-amount_, amount_, drawn(1)[0]));
  if (s.channels == 1) return x.to(cpu());
  return each_pixel(x, s, [&](Color c) {
    for (float& v : c) v /= 255;
    HueLightness turned = to_hls(c);
    turned.hue += turn;
    Color out = from_hls(turned);
    for (float& v : out) v *= 255;
    return out;
  });
}

RandomColorJitter::RandomColorJitter(const RandomColorJitterOptions& o, Where where)
    : parts_{RandomBrightness(o.brightness, where), RandomContrast(o.contrast, where),
             RandomSaturation(o.saturation, where), RandomHue(o.hue, where)} {}

Tensor RandomColorJitter::operator()(const Tensor& x) const {
  std::array<std::size_t, 4> order;
  std::iota(order.begin(), order.end(), 0);
  const std::vector<float> u = drawn(3);
  for (std::size_t i = 3; i > 0; --i)
    std::swap(order[i], order[static_cast<std::size_t>(u[i - 1] * static_cast<float>(i + 1))]);
  Tensor out = x;
  for (const std::size_t i : order) out = parts_[i](out);
  return out;
}

RandomLighting::RandomLighting(double alpha, Where where)
    : Made(where), alpha_(checked(alpha, "RandomLighting", where)) {}

Tensor RandomLighting::operator()(const Tensor& x) const {
  const ImageShape s = shape_of_colors(x, "RandomLighting", where_);
  // The deviations along the components, and the components of red, green and blue
  constexpr double deviation[] = {55.46, 4.794, 1.148};
  constexpr double component[3][3] = {
      {-0.5675, 0.7192, 0.4009}, {-0.5808, -0.0045, -0.8140}, {-0.5836, -0.6948, 0.4203}};
  const std::vector<float> normal = random::normal(0, 1, {3}).to_vector<float>();
  if (s.channels == 1) return x.to(cpu());
  Color shift;
  for (std::size_t k = 0; k < 3; ++k) {
    double sum = 0;
    for (std::size_t i = 0; i < 3; ++i)
      sum += component[k][i] * deviation[i] * alpha_ * static_cast<double>(normal[i]);
    shift[k] = static_cast<float>(sum);
  }
  return each_pixel(x, s, [&](Color c) {
    for (std::size_t k = 0; k < 3; ++k) c[k] += shift[k];
    return c;
  });
}

}  // namespace kiln::data::vision::transforms

// Transforms of images: their checks, and the conversions to inputs of networks.
#include "frontend/call/line.h"
#include "frontend/call/readable.h"
#include "frontend/data/image.h"
#include "runtime/fail.h"

#include <kiln/random.h>
#include <kiln/transforms.h>

#include <algorithm>
#include <cmath>

namespace kiln::data::vision::transforms {

Shape ImageShape::with(std::int64_t new_height, std::int64_t new_width) const {
  return several ? Shape{images, new_height, new_width, channels} : Shape{new_height, new_width, channels};
}

ImageShape shape_of_image(const Tensor& x, std::string_view what, Where where, bool may_be_several) {
  check_readable(x, "a transform", where);
  const Shape& s = x.shape();
  const bool several = may_be_several && s.rank() == 4;
  if (s.rank() != 3 && !several)
    fail("{}{} takes images (height, width, channels), got shape {}", line_prefix(where), what, s.str());
  if (x.dtype() != DType::u8 && x.dtype() != DType::f32)
    fail("{}{} takes images of uint8 or float32, got {}", line_prefix(where), what, name_of(x.dtype()));
  const std::size_t i = several ? 1 : 0;
  return {several ? s[0] : 1, s[i], s[i + 1], s[i + 2], several};
}

ImageShape shape_of_colors(const Tensor& x, std::string_view what, Where where) {
  const ImageShape s = shape_of_image(x, what, where);
  if (s.channels != 1 && s.channels != 3)
    fail("{}{} takes images of 1 or 3 channels, got shape {}", line_prefix(where), what, x.shape().str());
  return s;
}

std::vector<float> drawn(std::int64_t count) { return random::uniform(0, 1, {count}).to_vector<float>(); }

Compose::Compose(std::vector<Transform> transforms, Where where) : transforms_(std::move(transforms)) {
  for (std::size_t i = 0; i < transforms_.size(); ++i)
    if (!transforms_[i]) fail("{}transform {} of Compose is an empty function", line_prefix(where), i);
}

Tensor Compose::operator()(const Tensor& x) const {
  Tensor out = x;
  for (const Transform& t : transforms_) out = t(out);
  return out;
}

Tensor ToTensor::operator()(const Tensor& x) const {
  const ImageShape s = shape_of_image(x, "ToTensor", where_, true);
  Tensor out = kiln::detail::TensorAccess::empty(
      s.several ? Shape{s.images, s.channels, s.height, s.width} : Shape{s.channels, s.height, s.width},
      DType::f32);
  auto* to = reinterpret_cast<float*>(kiln::detail::TensorAccess::data(out));
  with_elements(x, [&](const auto* from) {
    for (std::int64_t n = 0; n < s.images; ++n, from += s.image())
      for (std::int64_t c = 0; c < s.channels; ++c)
        for (std::int64_t i = 0; i < s.height * s.width; ++i)
          *to++ = static_cast<float>(from[i * s.channels + c]) / 255.0f;
  });
  return out;
}

Normalize::Normalize(std::vector<double> mean, std::vector<double> std, Where where)
    : Made(where), mean_(std::move(mean)), std_(std::move(std)) {
  if (mean_.empty() || std_.empty() || (mean_.size() != std_.size() && mean_.size() != 1 && std_.size() != 1))
    fail("{}Normalize takes one number or one for each channel, got {} means and {} deviations",
         line_prefix(where), mean_.size(), std_.size());
  for (const double m : mean_)
    if (!std::isfinite(m)) fail("{}Normalize: a mean is {}: it is a finite number", line_prefix(where), m);
  for (const double s : std_)
    if (!(s > 0 && std::isfinite(s)))
      fail("{}Normalize: a deviation is {}: it is a finite number above 0", line_prefix(where), s);
}

Tensor Normalize::operator()(const Tensor& x) const {
  check_readable(x, "a transform", where_);
  const Shape& s = x.shape();
  if (x.dtype() != DType::f32 || (s.rank() != 3 && s.rank() != 4))
    fail(
        "{}Normalize takes images of float32 (channels, height, width), as ToTensor makes them, got {} of "
        "shape {}",
        line_prefix(where_), name_of(x.dtype()), s.str());
  const auto axis = static_cast<std::size_t>(s.rank() - 3);
  const std::size_t given = std::max(mean_.size(), std_.size());
  if (given != 1 && static_cast<std::int64_t>(given) != s[axis])
    fail("{}Normalize has {} means or deviations, and the image of shape {} {} channels", line_prefix(where_),
         given, s.str(), s[axis]);
  const std::int64_t plane = s[axis + 1] * s[axis + 2], planes = (axis == 0 ? 1 : s[0]) * s[axis];
  return made_of(x, s, [&]<class T>(const T* from, T* to) {
    for (std::int64_t p = 0; p < planes; ++p) {
      const auto c = static_cast<std::size_t>(p % s[axis]);
      const auto mean = static_cast<float>(mean_[mean_.size() == 1 ? 0 : c]);
      const auto deviation = static_cast<float>(std_[std_.size() == 1 ? 0 : c]);
      for (std::int64_t i = p * plane; i < (p + 1) * plane; ++i)
        to[i] = saturated<T>((static_cast<float>(from[i]) - mean) / deviation);
    }
  });
}

}  // namespace kiln::data::vision::transforms

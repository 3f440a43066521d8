// Transforms that move pixels: sizes, parts, mirror images.
#include "frontend/call/line.h"
#include "frontend/data/image.h"
#include "runtime/fail.h"

#include <algorithm>
#include <cmath>

namespace kiln::data::vision::transforms {
namespace {

struct Part {
  std::int64_t x, y, width, height;
};

/// The source pixels of one axis: `first`, and the following one, which has the weight.
struct Source {
  std::int64_t first, second;
  float weight;
};

std::vector<Source> sources(std::int64_t from, std::int64_t to, Interpolation interpolation) {
  std::vector<Source> out(static_cast<std::size_t>(to));
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  for (std::int64_t i = 0; i < to; ++i) {
    Source& s = out[static_cast<std::size_t>(i)];
    if (interpolation == Interpolation::nearest) {
      s.first = s.second = std::min(static_cast<std::int64_t>(static_cast<double>(i) * scale), from - 1);
      s.weight = 0;
      continue;
    }
    const double centre =
        std::clamp((static_cast<double>(i) + 0.5) * scale - 0.5, 0.0, static_cast<double>(from - 1));
    s.first = static_cast<std::int64_t>(centre);
    s.second = std::min(s.first + 1, from - 1);
    s.weight = static_cast<float>(centre - static_cast<double>(s.first));
  }
  return out;
}

template <class T>
T rounded(float v) {
  if constexpr (std::is_same_v<T, std::uint8_t>)
    return static_cast<T>(std::nearbyint(v));  // a mean of values from 0 to 255
  else
    return v;
}

/// The part of the images, which is within them, in another size.
Tensor resized(const Tensor& x, const ImageShape& s, const Part& part, Size size, Interpolation interpolation,
               Where where) {
  if (part.width < 1 || part.height < 1)
    fail("{}an image of shape {} has no pixels that could be resized", line_prefix(where), x.shape().str());
  const std::vector<Source> rows = sources(part.height, size.height, interpolation);
  const std::vector<Source> columns = sources(part.width, size.width, interpolation);
  return made_of(x, s.with(size.height, size.width), [&]<class T>(const T* from, T* to) {
    for (std::int64_t n = 0; n < s.images; ++n)
      for (const Source& r : rows) {
        const T* const begin = from + n * s.image() + part.y * s.row() + part.x * s.channels;
        const T* const upper = begin + r.first * s.row();
        const T* const lower = begin + r.second * s.row();
        for (const Source& c : columns)
          for (std::int64_t k = 0; k < s.channels; ++k) {
            const auto mean = [&](const T* row) {
              const auto a = static_cast<float>(row[c.first * s.channels + k]);
              return a + (static_cast<float>(row[c.second * s.channels + k]) - a) * c.weight;
            };
            const float above = mean(upper);
            // Without a weight the value alone, for which an infinity beside it must not count
            *to++ = rounded<T>(r.weight == 0 ? above : above + (mean(lower) - above) * r.weight);
          }
      }
  });
}

Size checked(Size size, std::string_view what, Where where) {
  if (size.width < 1 || size.height < 1)
    fail("{}{}: the size is {} x {}: both are 1 or more", line_prefix(where), what, size.width, size.height);
  return size;
}

Tensor center_crop(const Tensor& x, const ImageShape& s, Size size, Interpolation interpolation,
                   Where where) {
  auto width = static_cast<double>(size.width), height = static_cast<double>(size.height);
  const auto w = static_cast<double>(s.width), h = static_cast<double>(s.height);
  if (h < height) width = width * h / height, height = h;
  if (w < width) height = height * w / width, width = w;
  const auto part_width = static_cast<std::int64_t>(width), part_height = static_cast<std::int64_t>(height);
  const Part part{(s.width - part_width) / 2, (s.height - part_height) / 2, part_width, part_height};
  return resized(x, s, part, size, interpolation, where);
}

}  // namespace

Resize::Resize(Size size, const ResizeOptions& options, Where where)
    : Made(where), size_(checked(size, "Resize", where)), options_(options) {
  if (options.keep_ratio && size.width != size.height)
    fail("{}Resize with keep_ratio takes one number as size, that of the shorter side", line_prefix(where));
}

Tensor Resize::operator()(const Tensor& x) const {
  const ImageShape s = shape_of_image(x, "Resize", where_, true);
  Size size = size_;
  if (options_.keep_ratio && s.width > 0 && s.height > 0) {
    if (s.height > s.width)
      size.height = size_.height * s.height / s.width;
    else
      size.width = size_.width * s.width / s.height;
  }
  return resized(x, s, {0, 0, s.width, s.height}, size, options_.interpolation, where_);
}

CropResize::CropResize(std::int64_t x, std::int64_t y, std::int64_t width, std::int64_t height,
                       std::optional<Size> size, Interpolation interpolation, Where where)
    : Made(where),
      x_(x),
      y_(y),
      part_(checked({width, height}, "CropResize", where)),
      size_(checked(size.value_or(part_), "CropResize", where)),
      interpolation_(interpolation) {
  if (x < 0 || y < 0)
    fail("{}CropResize: the corner ({}, {}) is outside of an image", line_prefix(where), x, y);
}

Tensor CropResize::operator()(const Tensor& x) const {
  const ImageShape s = shape_of_image(x, "CropResize", where_, true);
  if (part_.width > s.width - x_ || part_.height > s.height - y_)
    fail("{}CropResize: the part of {} x {} pixels at ({}, {}) is not within the image of shape {}",
         line_prefix(where_), part_.width, part_.height, x_, y_, x.shape().str());
  return resized(x, s, {x_, y_, part_.width, part_.height}, size_, interpolation_, where_);
}

CenterCrop::CenterCrop(Size size, Interpolation interpolation, Where where)
    : Made(where), size_(checked(size, "CenterCrop", where)), interpolation_(interpolation) {}

Tensor CenterCrop::operator()(const Tensor& x) const {
  return center_crop(x, shape_of_image(x, "CenterCrop", where_), size_, interpolation_, where_);
}

RandomResizedCrop::RandomResizedCrop(Size size, const RandomResizedCropOptions& options, Where where)
    : Made(where), size_(checked(size, "RandomResizedCrop", where)), options_(options) {
  const auto check = [&](const std::pair<double, double>& range, std::string_view name) {
    if (!(range.first > 0 && range.first <= range.second && std::isfinite(range.second)))
      fail("{}RandomResizedCrop: the {} is from {} to {}, and must be above 0, rising and finite",
           line_prefix(where), name, range.first, range.second);
  };
  check(options.scale, "scale");
  check(options.ratio, "ratio");
}

Tensor RandomResizedCrop::operator()(const Tensor& x) const {
  const ImageShape s = shape_of_image(x, "RandomResizedCrop", where_);
  for (int tries = 0; tries < 10; ++tries) {
    const std::vector<float> u = drawn(4);
    const double area =
        between(options_.scale.first, options_.scale.second, u[0]) * static_cast<double>(s.width * s.height);
    const double ratio =
        std::exp(between(std::log(options_.ratio.first), std::log(options_.ratio.second), u[1]));
    const double wide = std::nearbyint(std::sqrt(area * ratio)),
                 high = std::nearbyint(std::sqrt(area / ratio));
    if (!(wide >= 1 && high >= 1 && wide <= static_cast<double>(s.width) &&
          high <= static_cast<double>(s.height)))
      continue;
    const auto width = static_cast<std::int64_t>(wide), height = static_cast<std::int64_t>(high);
    const auto place = [](std::int64_t room, float part) {  // 0 to room
      return std::min(static_cast<std::int64_t>(between(0, static_cast<double>(room + 1), part)), room);
    };
    return resized(x, s, {place(s.width - width, u[2]), place(s.height - height, u[3]), width, height}, size_,
                   options_.interpolation, where_);
  }
  return center_crop(x, s, size_, options_.interpolation, where_);
}

Tensor RandomFlipLeftRight::operator()(const Tensor& x) const {
  const ImageShape s = shape_of_image(x, "RandomFlipLeftRight", where_);
  if (drawn(1)[0] >= 0.5f) return x.to(cpu());
  return made_of(x, x.shape(), [&]<class T>(const T* from, T* to) {
    for (std::int64_t pixel = 0; pixel < s.height * s.width; ++pixel) {
      const std::int64_t mirrored = pixel + s.width - 1 - 2 * (pixel % s.width);
      std::copy_n(from + mirrored * s.channels, s.channels, to + pixel * s.channels);
    }
  });
}

Tensor RandomFlipTopBottom::operator()(const Tensor& x) const {
  const ImageShape s = shape_of_image(x, "RandomFlipTopBottom", where_);
  if (drawn(1)[0] >= 0.5f) return x.to(cpu());
  return made_of(x, x.shape(), [&]<class T>(const T* from, T* to) {
    for (std::int64_t row = 0; row < s.height; ++row)
      std::copy_n(from + (s.height - 1 - row) * s.row(), s.row(), to + row * s.row());
  });
}

}  // namespace kiln::data::vision::transforms

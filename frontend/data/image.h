// Helpers of the transforms of images. They compute on the host: sizes of images differ, and each would need
// other kernels.
#pragma once
#include "frontend/tensor/array.h"
#include "frontend/tensor/elements.h"
#include "runtime/float_env.h"

#include <kiln/transforms.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

namespace kiln::data::vision::transforms {

/// The extents of an image, or of several.
struct ImageShape {
  std::int64_t images, height, width, channels;
  bool several;  ///< whether there is an axis of images

  std::int64_t row() const { return width * channels; }
  std::int64_t image() const { return height * row(); }
  Shape with(std::int64_t new_height, std::int64_t new_width) const;
};

/// Throws, naming the transform `what` and its line, for anything but u8 or f32 of three axes, or four if
/// `may_be_several`.
ImageShape shape_of_image(const Tensor& x, std::string_view what, Where where, bool may_be_several = false);
/// The same, for an image of 1 or 3 channels.
ImageShape shape_of_colors(const Tensor& x, std::string_view what, Where where);

template <class T>
T saturated(float v) {
  if constexpr (std::is_same_v<T, std::uint8_t>)
    return static_cast<T>(v > 0 ? (v < 255 ? v : 255) : 0);  // NaN: 0
  else
    return v;
}

/// Calls fn with a pointer to x's elements, in x's type.
template <class Fn>
void with_elements(const Tensor& x, Fn fn) {
  const FloatEnv env;
  const HostElements elements(x);
  if (x.dtype() == DType::u8)
    fn(reinterpret_cast<const std::uint8_t*>(elements.data()));
  else
    fn(reinterpret_cast<const float*>(elements.data()));
}

/// A new array of this shape and x's dtype, filled by fill(from, to): the elements of both, in x's type.
template <class Fill>
Tensor made_of(const Tensor& x, const Shape& shape, Fill fill) {
  Tensor out = kiln::detail::TensorAccess::empty(shape, x.dtype());
  with_elements(x, [&]<class T>(const T* from) {
    fill(from, reinterpret_cast<T*>(kiln::detail::TensorAccess::data(out)));
  });
  return out;
}

/// `count` numbers from 0 to 1, which exclude 1.
std::vector<float> drawn(std::int64_t count);
/// The number between both ends that is at `u` of the way.
inline double between(double low, double high, float u) {
  return low + (high - low) * static_cast<double>(u);
}

}  // namespace kiln::data::vision::transforms

// Windows and sums as ir/KilnOps.td defines them, in plain C++.
#pragma once
#include <kiln/kiln.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

/// Windows and sums as ir/KilnOps.td defines them, in plain C++.
namespace window_definitions {

using namespace kiln;

/// Every array has three spatial axes here; missing ones come first.
using Triple = std::array<std::int64_t, 3>;
inline Triple triple(const Shape& of, std::int64_t absent) {
  Triple t{absent, absent, absent};
  std::copy_backward(of.begin(), of.end(), t.end());
  return t;
}
inline std::int64_t count(const Triple& t) { return t[0] * t[1] * t[2]; }
inline Triple place_of(std::int64_t i, const Triple& extents) {
  return {i / (extents[1] * extents[2]), i / extents[2] % extents[1], i % extents[2]};
}

/// A window that slides over the spatial axes of an array.
struct Window {
  Shape extents, kernel;
  Shape stride = {}, dilate = {}, pad = {};

  Triple in() const { return triple(extents, 1); }
  Triple taps() const { return triple(kernel, 1); }
  Triple out() const {
    const Triple n = in(), k = taps(), step = triple(stride, 1), apart = triple(dilate, 1),
                 p = triple(pad, 0);
    Triple o;
    for (std::size_t i = 0; i < 3; ++i) o[i] = (n[i] + 2 * p[i] - apart[i] * (k[i] - 1) - 1) / step[i] + 1;
    return o;
  }
  /// The shape of results of `n` pictures with `c` channels.
  Shape shape(std::int64_t n, std::int64_t c, const Triple& spatial) const {
    Shape s{n, c};
    for (std::size_t i = 3 - extents.size(); i < 3; ++i) s.push_back(spatial[i]);
    return s;
  }
  /// The element of a map that tap `tap` at result `at` sees; -1 in the padding.
  std::int64_t seen(const Triple& at, const Triple& tap) const {
    const Triple n = in(), step = triple(stride, 1), apart = triple(dilate, 1), p = triple(pad, 0);
    std::int64_t element = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      const std::int64_t place = at[i] * step[i] + tap[i] * apart[i] - p[i];
      if (place < 0 || place >= n[i]) return -1;
      element = element * n[i] + place;
    }
    return element;
  }
};

/// A product's sum: chains of 512 fused multiply-adds from +0, which are added in order.
template <class T>
class Chunks {
 public:
  void take(T a, T b) {
    if (length_ == 512) close();
    chain_ = std::fma(a, b, chain_);
    ++length_;
  }
  T sum() {
    close();
    return *total_;
  }

 private:
  void close() {
    total_ = total_ ? *total_ + chain_ : chain_;
    chain_ = 0;
    length_ = 0;
  }
  std::optional<T> total_;
  T chain_ = 0;
  std::int64_t length_ = 0;
};

struct Convolution {
  std::int64_t batch, groups, in, out;  // channels of a group
  Window window;

  Shape input() const { return window.shape(batch, groups * in, window.in()); }
  Shape weights() const { return window.shape(groups * out, in, window.taps()); }
};

/// Of the operator.
inline ConvolutionOptions options(const Convolution& c) {
  return {.kernel = c.window.kernel,
          .stride = c.window.stride,
          .dilate = c.window.dilate,
          .pad = c.window.pad,
          .num_filter = c.groups * c.out,
          .num_group = c.groups,
          .no_bias = true};
}

/// Uniform numbers in [-1, 1).
inline Tensor drawn(const Shape& shape, DType dtype = DType::f32) {
  return random::uniform(-1, 1, shape, DType::f64).astype(dtype);
}

}  // namespace window_definitions

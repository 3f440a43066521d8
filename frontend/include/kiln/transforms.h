// Transforms of images.
#pragma once
#include <kiln/export.h>
#include <kiln/tensor.h>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <source_location>
#include <utility>
#include <vector>

/// Transforms of images for Dataset::transform_first(), as mxnet.gluon.data.vision.transforms. An image is u8
/// or f32 of shape (height, width, channels), u8 from 0 to 255. Results on u8 are clamped, then rounded
/// towards 0, unless said otherwise. They throw kiln::Error for other shapes and dtypes, and while tracing,
/// with the line that made the transform. Results are on the CPU.
///
/// The random ones draw by kiln::random: within a DataLoader numbers of the sample, else of the program's
/// stream. The count of draws does not depend on the numbers, except in RandomResizedCrop. Any thread.
namespace kiln::data::vision::transforms {

/// A function of one image, and of several where a transform says so.
using Transform = std::function<Tensor(const Tensor&)>;
using Where = std::source_location;

/// The line that made a transform, for its errors: a call, by a dataset's function, has none.
class KILN_API Made {
 protected:
  explicit Made(Where where) : where_(where) {}
  Where where_;
};

/// One after another.
class KILN_API Compose {
 public:
  explicit Compose(std::vector<Transform> transforms, Where where = Where::current());
  Tensor operator()(const Tensor& x) const;

 private:
  std::vector<Transform> transforms_;
};

/// Converts the elements to `dtype`.
class KILN_API Cast : Made {
 public:
  explicit Cast(DType dtype = DType::f32, Where where = Where::current()) : Made(where), dtype_(dtype) {}
  Tensor operator()(const Tensor& x) const { return x.astype(dtype_, where_); }

 private:
  DType dtype_;
};

/// Images (height, width, channels) to f32 (channels, height, width), divided by 255; also several,
/// (images, height, width, channels).
class KILN_API ToTensor : Made {
 public:
  explicit ToTensor(Where where = Where::current()) : Made(where) {}
  Tensor operator()(const Tensor& x) const;
};

/// (x - mean) / std in f32, one number each or one for each channel; of f32 (channels, height, width), or
/// several of these.
class KILN_API Normalize : Made {
 public:
  /// The same numbers for all channels.
  explicit Normalize(double mean = 0, double std = 1, Where where = Where::current())
      : Normalize(std::vector{mean}, std::vector{std}, where) {}
  /// Throws for a deviation that is not above 0, and for two lists of several numbers and different lengths.
  Normalize(std::vector<double> mean, std::vector<double> std, Where where = Where::current());
  Tensor operator()(const Tensor& x) const;

 private:
  std::vector<double> mean_, std_;
};

/// Of an image, in pixels.
struct Size {
  std::int64_t width, height;  ///< the columns and rows
  /// A square, or width and height.
  /// @{
  Size(std::int64_t both) : width(both), height(both) {}
  Size(std::int64_t w, std::int64_t h) : width(w), height(h) {}
  /// @}
};

/// Pixels are squares; positions refer to their centres, as in OpenCV.
enum class Interpolation {
  /// The element at the nearest position.
  nearest,
  /// In f32; u8 is rounded to nearest. OpenCV's fixed-point arithmetic for u8 differs by at most 1.
  bilinear
};

/// Options of Resize.
struct ResizeOptions {
  /// The shorter side becomes `size`, one number, and the other keeps the ratio.
  bool keep_ratio = false;
  Interpolation interpolation = Interpolation::bilinear;  ///< how an element between others is computed
};
/// One image or several, (images, height, width, channels).
class KILN_API Resize : Made {
 public:
  explicit Resize(Size size, const ResizeOptions& options = {}, Where where = Where::current());
  Tensor operator()(const Tensor& x) const;

 private:
  Size size_;
  ResizeOptions options_;
};

/// The part of an image with the left upper corner (x, y), resized if a size is given. One image or several.
class KILN_API CropResize : Made {
 public:
  CropResize(std::int64_t x, std::int64_t y, std::int64_t width, std::int64_t height,
             std::optional<Size> size = {}, Interpolation interpolation = Interpolation::bilinear,
             Where where = Where::current());
  /// Throws for a part that is not within the image.
  Tensor operator()(const Tensor& x) const;

 private:
  std::int64_t x_, y_;
  Size part_, size_;
  Interpolation interpolation_;
};

/// The middle of an image; of a smaller image the largest part of this ratio, made larger.
class KILN_API CenterCrop : Made {
 public:
  explicit CenterCrop(Size size, Interpolation interpolation = Interpolation::bilinear,
                      Where where = Where::current());
  Tensor operator()(const Tensor& x) const;

 private:
  Size size_;
  Interpolation interpolation_;
};

/// Options of RandomResizedCrop.
struct RandomResizedCropOptions {
  std::pair<double, double> scale = {0.08, 1};           ///< of the part's area to the image's
  std::pair<double, double> ratio = {3. / 4., 4. / 3.};  ///< of the part's width to its height
  Interpolation interpolation = Interpolation::bilinear;
};
/// A random part, resized. After ten that are not within the image, CenterCrop.
class KILN_API RandomResizedCrop : Made {
 public:
  explicit RandomResizedCrop(Size size, const RandomResizedCropOptions& options = {},
                             Where where = Where::current());
  Tensor operator()(const Tensor& x) const;

 private:
  Size size_;
  RandomResizedCropOptions options_;
};

/// Mirrors half of the images.
class KILN_API RandomFlipLeftRight : Made {
 public:
  explicit RandomFlipLeftRight(Where where = Where::current()) : Made(where) {}
  Tensor operator()(const Tensor& x) const;
};
/// Turns the image upside down with probability 1/2.
class KILN_API RandomFlipTopBottom : Made {
 public:
  explicit RandomFlipTopBottom(Where where = Where::current()) : Made(where) {}
  Tensor operator()(const Tensor& x) const;
};

/// x * a, with a random factor a from max(0, 1 - brightness) to 1 + brightness.
class KILN_API RandomBrightness : Made {
 public:
  explicit RandomBrightness(double brightness, Where where = Where::current());
  Tensor operator()(const Tensor& x) const;

 private:
  double amount_;
};

/// x * a + (1 - a) * m, with such a factor, and m the mean brightness 0.299 r + 0.587 g + 0.114 b of the
/// image.
class KILN_API RandomContrast : Made {
 public:
  explicit RandomContrast(double contrast, Where where = Where::current());
  Tensor operator()(const Tensor& x) const;

 private:
  double amount_;
};

/// x * a + (1 - a) * m, with m the brightness of each pixel. (MXNet 1.9.1 takes 0.114 b for it.) An image of
/// one channel is unchanged.
class KILN_API RandomSaturation : Made {
 public:
  explicit RandomSaturation(double saturation, Where where = Where::current());
  Tensor operator()(const Tensor& x) const;

 private:
  double amount_;
};

/// Turns the hue by a random part of the circle, up to `hue` to both sides. An image of one channel stays as
/// it is.
class KILN_API RandomHue : Made {
 public:
  explicit RandomHue(double hue, Where where = Where::current());
  Tensor operator()(const Tensor& x) const;

 private:
  double amount_;
};

/// Options of RandomColorJitter: by the numbers that the four constructors take; 0 for no change.
struct RandomColorJitterOptions {
  double brightness = 0, contrast = 0, saturation = 0, hue = 0;  ///< the largest change of each
};
/// The four above, in a random order.
class KILN_API RandomColorJitter {
 public:
  explicit RandomColorJitter(const RandomColorJitterOptions& options, Where where = Where::current());
  Tensor operator()(const Tensor& x) const;

 private:
  std::array<Transform, 4> parts_;
};

/// AlexNet's noise: adds the principal components of ImageNet's colours, each times a normal number of this
/// deviation. Images of three channels.
class KILN_API RandomLighting : Made {
 public:
  explicit RandomLighting(double alpha, Where where = Where::current());
  Tensor operator()(const Tensor& x) const;

 private:
  double alpha_;
};

}  // namespace kiln::data::vision::transforms

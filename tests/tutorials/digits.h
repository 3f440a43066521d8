// Images of digits that the program draws, in place of MNIST.
#pragma once
#include <kiln/kiln.h>

#include <array>
#include <string_view>
#include <utility>

/// Images of digits that the program draws: they stand for the MNIST that Gluon's tutorials download.

/// `count` images (count, 1, 8, 8) and their labels (count,): glyphs at random places, with noise. The labels
/// 0 to `classes` - 1 mean the digits from `first`.
inline std::pair<kiln::Tensor, kiln::Tensor> digits(std::int64_t count, int first = 0, int classes = 10) {
  using namespace kiln;
  constexpr int height = 7, width = 5, side = 8;
  constexpr std::array<std::string_view, 10> glyphs = {
      " ### #   ##   ##   ##   ##   # ### ", "  #   ##    #    #    #    #   ### ",
      " ### #   #    #  ##  #   #    #####", " ### #   #    #  ##     ##   # ### ",
      "   #   ##  # # #  # #####   #    # ", "######    ####     #    ##   # ### ",
      " ### #    #    #### #   ##   # ### ", "#####    #   #   #    #    #    #  ",
      " ### #   ##   # ### #   ##   # ### ", " ### #   ##   # ####    #    # ### "};
  const Tensor labels = random::randint(0, classes, {count});
  const auto digit = labels.to_vector<int>();
  const auto top = random::randint(0, side - height + 1, {count}).to_vector<int>();
  const auto left = random::randint(0, side - width + 1, {count}).to_vector<int>();

  std::vector<float> pixels;
  for (std::size_t i = 0; i < digit.size(); ++i) {
    const std::string_view glyph = glyphs.at(static_cast<std::size_t>(first + digit[i]));
    for (int y = -top[i]; y < side - top[i]; ++y)
      for (int x = -left[i]; x < side - left[i]; ++x) {
        const bool inside = y >= 0 && y < height && x >= 0 && x < width;
        pixels.push_back(inside && glyph[static_cast<std::size_t>(y * width + x)] == '#' ? 1.0f : 0.0f);
      }
  }
  const Tensor images = Tensor(pixels, {count, 1, side, side});
  return {images + random::normal(0, 0.25, images.shape()), labels.astype(DType::f32)};
}

/// The share of images whose largest score is their label's.
inline double accuracy(const kiln::Tensor& scores, const kiln::Tensor& labels) {
  kiln::metric::Accuracy metric;
  metric.update(labels, scores);
  return metric.value();
}

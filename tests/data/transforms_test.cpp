// Transforms of images, by definition.
#include <kiln/data.h>
#include <kiln/kiln.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <set>

using namespace kiln;
using namespace kiln::data::vision::transforms;
using Catch::Matchers::Contains;

namespace {

using Floats = std::vector<float>;
using Bytes = std::vector<std::uint8_t>;

/// An image whose elements are 0, 1, 2, ...
Tensor image(std::int64_t height, std::int64_t width, std::int64_t channels = 3, DType dtype = DType::u8) {
  return arange(static_cast<double>(height * width * channels))
      .reshape({height, width, channels})
      .astype(dtype);
}
Tensor pixel(const Floats& color, DType dtype = DType::f32) {
  return Tensor(color, {1, 1, static_cast<std::int64_t>(color.size())}).astype(dtype);
}
Bytes bytes_of(const Tensor& x) {
  CHECK(x.dtype() == DType::u8);
  return x.to_vector<std::uint8_t>();
}
Floats floats_of(const Tensor& x) { return x.to_vector<float>(); }

/// The results of many calls.
std::set<Floats> results(const Transform& transform, const Tensor& x, int calls = 60) {
  random::seed(1);
  std::set<Floats> out;
  for (int i = 0; i < calls; ++i) out.insert(floats_of(transform(x)));
  return out;
}

}  // namespace

TEST_CASE("ToTensor, Normalize, Cast and Compose", "[transforms]") {
  const Tensor x = image(2, 2);
  const Tensor t = ToTensor()(x);
  CHECK(t.shape() == Shape{3, 2, 2});
  CHECK(t.dtype() == DType::f32);
  CHECK(floats_of(t * 255) == Floats{0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11});
  CHECK(floats_of(t)[11] == 11.0f / 255.0f);
  const Tensor two = ToTensor()(image(2, 2).reshape({2, 1, 2, 3}));
  CHECK(two.shape() == Shape{2, 3, 1, 2});
  CHECK(floats_of(two * 255) == Floats{0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11});

  const Tensor planes = image(2, 1, 2, DType::f32);  // 2 channels of (1, 2)
  CHECK(floats_of(Normalize(1, 2)(planes)) == Floats{-0.5f, 0, 0.5f, 1});
  CHECK(floats_of(Normalize({0, 2}, {1, 0.5})(planes)) == Floats{0, 1, 0, 2});
  CHECK(floats_of(Normalize({1}, {1, 2})(planes)) == Floats{-1, 0, 0.5f, 1});
  CHECK(floats_of(Normalize({0, 1}, {1, 1})(planes.reshape({1, 2, 1, 2}))) == Floats{0, 1, 1, 2});
  CHECK(Cast()(x).dtype() == DType::f32);
  CHECK(Cast(DType::i32)(x).dtype() == DType::i32);
  CHECK(floats_of(Compose({ToTensor(), Normalize(0, 1 / 255.0), [](const Tensor& y) { return y + 1; }})(x)) ==
        floats_of(t / static_cast<float>(1 / 255.0) + 1));

  CHECK_THROWS_WITH(ToTensor()(ones({4, 4})), Contains("ToTensor takes images (height, width, channels)"));
  CHECK_THROWS_WITH(ToTensor()(ones({4, 4, 3}, DType::i32)), Contains("uint8 or float32, got int32"));
  CHECK_THROWS_WITH(Normalize()(x), Contains("as ToTensor makes them"));
  CHECK_THROWS_WITH(Normalize({1, 2, 3}, {1})(planes),
                    Contains("3 means or deviations") && Contains("2 channels"));
  CHECK_THROWS_WITH(Normalize(0, 0), Contains("a deviation is 0") && Contains("transforms_test.cpp"));
  CHECK_THROWS_WITH(Normalize({1, 2, 3}, {1, 2}), Contains("3 means and 2 deviations"));
  CHECK_THROWS_WITH(Compose({ToTensor(), Transform()}), Contains("transform 1 of Compose"));
}

TEST_CASE("Resize compares the centres of pixels", "[transforms]") {
  const Tensor row = Tensor{0, 100, 200, 44}.reshape({1, 4, 1}).astype(DType::u8);
  CHECK(bytes_of(Resize({4, 1})(row)) == Bytes{0, 100, 200, 44});
  CHECK(bytes_of(Resize({2, 1})(row)) == Bytes{50, 122});
  CHECK(bytes_of(Resize({8, 1})(row)) == Bytes{0, 25, 75, 125, 175, 161, 83, 44});
  CHECK(bytes_of(Resize({2, 1}, {.interpolation = Interpolation::nearest})(row)) == Bytes{0, 200});
  CHECK(bytes_of(Resize({6, 1}, {.interpolation = Interpolation::nearest})(row)) ==
        Bytes{0, 0, 100, 200, 200, 44});
  const Tensor column = row.reshape({4, 1, 1}).astype(DType::f32);
  CHECK(floats_of(Resize({1, 8})(column)) == Floats{0, 25, 75, 125, 175, 161, 83, 44});
  const Tensor x = image(6, 4);
  CHECK(bytes_of(Resize({4, 6})(x)) == bytes_of(x));
  CHECK(Resize(2, {.keep_ratio = true})(x).shape() == Shape{3, 2, 3});
  CHECK(Resize(8, {.keep_ratio = true})(image(2, 5)).shape() == Shape{8, 20, 3});
  const Tensor two = Resize({3, 2})(image(4, 2).reshape({2, 2, 2, 3}));
  CHECK(two.shape() == Shape{2, 2, 3, 3});
  CHECK(bytes_of(two[1]) == bytes_of(Resize({3, 2})(image(4, 2).reshape({2, 2, 2, 3})[1].copy())));

  CHECK_THROWS_WITH(Resize({0, 4}), Contains("the size is 0 x 4"));
  CHECK_THROWS_WITH(Resize({3, 4}, {.keep_ratio = true}), Contains("keep_ratio takes one number"));
  CHECK_THROWS_WITH(Resize(4)(zeros({0, 3, 3}, DType::u8)), Contains("no pixels"));
}

TEST_CASE("parts of images", "[transforms]") {
  const Tensor x = image(4, 5, 1);
  CHECK(bytes_of(CropResize(1, 2, 3, 2)(x)) == Bytes{11, 12, 13, 16, 17, 18});
  CHECK(bytes_of(CropResize(0, 0, 2, 2, Size(1))(x)) == Bytes{3});
  CHECK(bytes_of(CenterCrop({3, 2})(x)) == Bytes{6, 7, 8, 11, 12, 13});
  CHECK(CenterCrop(8)(x).shape() == Shape{8, 8, 1});
  CHECK(bytes_of(CenterCrop({4, 8}, Interpolation::nearest)(image(2, 2, 1))) ==
        bytes_of(Resize({4, 8},
                        {.interpolation = Interpolation::nearest})(CropResize(0, 0, 1, 2)(image(2, 2, 1)))));
  CHECK_THROWS_WITH(CropResize(3, 0, 3, 2)(x), Contains("3 x 2 pixels at (3, 0)"));
  CHECK_THROWS_WITH(CropResize(-1, 0, 3, 2), Contains("the corner (-1, 0)"));

  // Of the whole area only the whole image; of a quarter, each place
  const Tensor square = image(4, 4, 1);
  CHECK(results(RandomResizedCrop(4, {.scale = {1, 1}, .ratio = {1, 1}}), square).size() == 1);
  const auto quarters = results(RandomResizedCrop(2, {.scale = {0.25, 0.25}, .ratio = {1, 1}}), square, 300);
  CHECK(quarters.size() == 9);
  CHECK(quarters.contains(Floats{10, 11, 14, 15}));
  CHECK(results(RandomResizedCrop({3, 5}), image(20, 30), 30).size() > 20);
  // No such part: the middle
  CHECK(floats_of(RandomResizedCrop(2, {.scale = {1, 1}, .ratio = {4, 4}})(square)) == Floats{5, 6, 9, 10});
  CHECK_THROWS_WITH(RandomResizedCrop(4, {.scale = {0.5, 0.1}}), Contains("the scale is from 0.5 to 0.1"));
}

TEST_CASE("mirror images", "[transforms]") {
  const Tensor x = image(2, 3, 2);
  const auto sideways = results(RandomFlipLeftRight(), x);
  CHECK(sideways == std::set<Floats>{floats_of(x), {4, 5, 2, 3, 0, 1, 10, 11, 8, 9, 6, 7}});
  const auto upside = results(RandomFlipTopBottom(), x);
  CHECK(upside == std::set<Floats>{floats_of(x), {6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5}});
  CHECK(RandomFlipLeftRight()(zeros({0, 3, 3})).shape() == Shape{0, 3, 3});
}

TEST_CASE("factors of brightness, contrast and saturation", "[transforms]") {
  const Tensor two = Tensor{100, 50, 20, 10, 30, 200}.reshape({1, 2, 3});
  const auto bright = [](float r, float g, float b) { return 0.299f * r + 0.587f * g + 0.114f * b; };
  const float first = bright(100, 50, 20), second = bright(10, 30, 200), mean = (first + second) / 2;
  const Floats from = floats_of(two);
  float least = 2, most = 0;
  random::seed(3);
  for (int i = 0; i < 200; ++i) {
    const Floats b = floats_of(RandomBrightness(0.4)(two));
    const float a = b[0] / 100;
    least = std::min(least, a), most = std::max(most, a);
    for (std::size_t k = 0; k < 6; ++k) CHECK(b[k] == Approx(from[k] * a));
    const Floats c = floats_of(RandomContrast(0.4)(two));
    const float ac = (c[0] - c[1]) / 50;
    CHECK((ac > 0.599f && ac < 1.401f));
    for (std::size_t k = 0; k < 6; ++k) CHECK(c[k] == Approx(from[k] * ac + (1 - ac) * mean).margin(1e-3));
    const Floats s = floats_of(RandomSaturation(0.4)(two));
    const float as = (s[0] - s[1]) / 50;
    CHECK((as > 0.599f && as < 1.401f));
    for (std::size_t k = 0; k < 6; ++k)
      CHECK(s[k] == Approx(from[k] * as + (1 - as) * (k < 3 ? first : second)).margin(1e-3));
  }
  CHECK(least >= 0.6f);
  CHECK(least < 0.62f);
  CHECK(most <= 1.4f);
  CHECK(most > 1.38f);
  // Above 1 the factor begins at 0; u8 stays within its range.
  for (const Floats& f : results(RandomBrightness(4), pixel({255, 100, 0}, DType::u8)))
    CHECK((f[0] <= 255 && f[2] == 0 && (f[1] < 100 || f[0] == 255)));
  const Tensor gray = pixel({7}, DType::u8);
  CHECK(results(RandomSaturation(1), gray) == std::set<Floats>{{7}});
  CHECK_THROWS_WITH(RandomBrightness(-1), Contains("the amount is -1"));
  CHECK_THROWS_WITH(RandomContrast(1)(ones({2, 2, 2})), Contains("1 or 3 channels"));
}

TEST_CASE("hue turns colours", "[transforms]") {
  // Whole turns and none change nothing; the corners of the hexagon are known.
  const Tensor x = pixel({200, 100, 50});
  for (const float v : floats_of(RandomHue(0)(x) - x.to(cpu()))) CHECK(std::abs(v) < 1e-3f);
  int near_green = 0;
  random::seed(2);
  for (int i = 0; i < 400; ++i) {
    const Floats c = floats_of(RandomHue(0.5)(pixel({255, 0, 0})));
    // Red stays a pure colour: one channel full, one empty.
    CHECK(std::max({c[0], c[1], c[2]}) == Approx(255));
    CHECK(std::min({c[0], c[1], c[2]}) == Approx(0).margin(1e-3));
    near_green += c[1] > 254.9f && c[2] < 1;
  }
  CHECK(near_green > 50);  // a sixth of the circle
  for (const Floats& f : results(RandomHue(0.2), pixel({90, 90, 90})))
    for (const float v : f) CHECK(v == Approx(90));
  CHECK(results(RandomHue(0.05), pixel({255, 0, 0})).size() > 50);
}

TEST_CASE("jitter is the four in any order; lighting is normal noise", "[transforms]") {
  const Tensor x = Tensor{100, 50, 20, 10, 30, 200}.reshape({1, 2, 3});
  for (const Floats& f : results(RandomColorJitter({}), x, 10))
    for (std::size_t k = 0; k < 6; ++k) CHECK(f[k] == Approx(floats_of(x)[k]).margin(1e-3));
  CHECK(results(RandomColorJitter({.brightness = 0.1, .contrast = 0.1, .saturation = 0.1, .hue = 0.1}), x)
            .size() == 60);

  const RandomLighting lighting(0.1);
  random::seed(4);
  double sum[3] = {}, squares[3] = {};
  constexpr int draws = 2000;
  for (int i = 0; i < draws; ++i) {
    const Floats f = floats_of(lighting(x) - x.to(cpu()));
    for (std::size_t k = 0; k < 3; ++k) {
      CHECK(f[k] == Approx(f[k + 3]).margin(1e-3));  // each pixel alike
      sum[k] += f[k], squares[k] += static_cast<double>(f[k]) * static_cast<double>(f[k]);
    }
  }
  const double deviation[] = {std::hypot(55.46 * 0.5675, 4.794 * 0.7192, 1.148 * 0.4009),
                              std::hypot(55.46 * 0.5808, 4.794 * 0.0045, 1.148 * 0.8140),
                              std::hypot(55.46 * 0.5836, 4.794 * 0.6948, 1.148 * 0.4203)};
  for (std::size_t k = 0; k < 3; ++k) {
    CHECK(std::abs(sum[k] / draws) < 0.4);  // five standard errors
    CHECK(std::sqrt(squares[k] / draws) == Approx(0.1 * deviation[k]).epsilon(0.1));
  }
}

TEST_CASE("random transforms in a loader depend on the sample, not on the workers", "[transforms]") {
  const Compose augment(
      {RandomResizedCrop(4), RandomFlipLeftRight(), RandomFlipTopBottom(),
       RandomColorJitter({.brightness = 0.3, .contrast = 0.3, .saturation = 0.3, .hue = 0.1}),
       RandomLighting(0.1), ToTensor()});
  const Tensor images = random::randint(0, 256, {12, 6, 7, 3}).astype(DType::u8);
  const auto dataset = data::ArrayDataset(images).transform_first(augment);
  const auto run = [&](int workers) {
    std::vector<Floats> epochs;
    data::DataLoader loader(dataset, {.batch_size = 5, .num_workers = workers, .seed = 6});
    for (int epoch = 0; epoch < 2; ++epoch) {
      epochs.emplace_back();
      for (const data::Batch& b : loader)
        for (const float v : floats_of(b.data())) epochs.back().push_back(v);
    }
    return epochs;
  };
  const auto alone = run(0);
  CHECK(alone[0] != alone[1]);
  CHECK(run(1) == alone);
  CHECK(run(3) == alone);
}

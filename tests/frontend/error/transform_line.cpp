// Errors of transforms of images, with the line that made them.
#include "expect.h"

#include <kiln/data.h>

TEST_CASE("images that a transform does not take, with the line that made the transform", "[error]") {
  using namespace data::vision::transforms;
  const Tensor image = ones({4, 4, 3}, DType::u8), flat = ones({4, 4});
  std::string line = line_below();
  CHECK_THAT(message_of([&] { ToTensor()(flat); }), Contains(line + "ToTensor takes images"));
  line = line_below();
  const auto resize = Resize(2);
  CHECK_THAT(message_of([&] { resize(flat); }), Contains(line + "Resize takes images"));
  CHECK_THAT(message_of([&] { resize(ones({4, 4, 3}, DType::i32)); }), Contains(line) && Contains("int32"));
  CHECK_THAT(message_of([&] { resize(zeros({0, 4, 3})); }), Contains(line) && Contains("no pixels"));
  CHECK_THAT(message_of([&] { resize(Tensor()); }), Contains(line));
  line = line_below(2);
  const Compose several(
      {RandomHue(0.1), CenterCrop(2), RandomFlipLeftRight(), ToTensor(), Normalize({0, 0}, {1, 1})});
  CHECK_THAT(message_of([&] { several(flat); }), Contains(line + "RandomHue takes images"));
  CHECK_THAT(message_of([&] { several(image); }), Contains(line + "Normalize has 2 means"));
  line = line_below();
  CHECK_THAT(message_of([&] { CropResize(3, 0, 2, 2)(image); }), Contains(line + "CropResize: the part"));
  line = line_below();
  const auto images = data::ArrayDataset(ones({2, 4, 4})).transform_first(RandomBrightness(0.5));
  const auto loop = [&] {
    for ([[maybe_unused]] const data::Batch& b : data::DataLoader(images, {.batch_size = 1})) {
    }
  };
  const std::string loop_line = line_below(-3u);
  CHECK_THAT(message_of(loop),
             Contains(loop_line + "DataLoader: sample 0: " + line + "RandomBrightness takes images"));
}

TEST_CASE("transforms with options without sense", "[error]") {
  using namespace data::vision::transforms;
  const std::string line = line_below();
  CHECK_THAT(message_of([] { Normalize(0, -1); }), Contains(line + "Normalize: a deviation is -1"));
  CHECK_THAT(message_of([] { Normalize({0, std::nan("")}, {1, 1}); }), Contains("a mean is nan"));
  CHECK_THAT(message_of([] {
               RandomResizedCrop(4, {.scale = {0.5, std::numeric_limits<double>::infinity()}});
             }),
             Contains("finite"));
  CHECK_THAT(message_of([] { RandomLighting(-1); }), Contains("RandomLighting: the amount is -1"));
  // Parts of more pixels than there are integers are not within the image.
  CHECK(RandomResizedCrop(2, {.scale = {1e300, 1e300}})(ones({4, 4, 3})).shape() == Shape{2, 2, 3});
}

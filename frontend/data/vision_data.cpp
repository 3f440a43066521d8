// MNIST and CIFAR.
#include "frontend/call/line.h"
#include "frontend/formats/bytes.h"
#include "frontend/formats/file_io.h"
#include "runtime/fail.h"

#include <kiln/vision_data.h>

#include <filesystem>
#include <initializer_list>
#include <string_view>

namespace kiln::data::vision {
namespace {

std::string in_folder(const std::string& root, std::string_view name) {
  return (std::filesystem::path(root) / name).string();
}

/// The array of the IDX file of this name, packed or not.
Tensor idx_of(const std::string& root, const std::string& name) {
  std::error_code ignored;
  for (const char* const ending : {"", ".gz"})
    if (const std::string path = in_folder(root, name + ending); std::filesystem::exists(path, ignored))
      return load_idx(path, {});
  fail("{}: there is neither this file nor one with .gz; Kiln downloads nothing", in_folder(root, name));
}

Dataset mnist(const std::string& root, bool train) {
  const std::string part = train ? "train" : "t10k", images_name = part + "-images-idx3-ubyte",
                    labels_name = part + "-labels-idx1-ubyte";
  const Tensor images = idx_of(root, images_name), labels = idx_of(root, labels_name);
  const auto check = [&](const Tensor& array, const std::string& name, int rank) {
    if (array.dtype() != DType::u8 || array.shape().rank() != rank)
      fail("{}: it has {} of shape {}, and MNIST's file uint8 of {} ax{}s", in_folder(root, name),
           name_of(array.dtype()), array.shape().str(), rank, rank == 1 ? "i" : "e");
  };
  check(images, images_name, 3);
  check(labels, labels_name, 1);
  const Shape& s = images.shape();
  const std::vector<std::int32_t> classes = labels.to_vector<std::int32_t>();
  return ArrayDataset(images.reshape({s[0], s[1], s[2], 1}), Tensor(classes, labels.shape()));
}

/// Records of label bytes, then an image of three planes.
Dataset cifar(const std::string& root, std::initializer_list<const char*> names, std::size_t labels,
              std::size_t label) {
  constexpr std::size_t side = 32, channels = 3, plane = side * side, image = channels * plane;
  const std::size_t record = labels + image;
  std::vector<std::byte> pixels;
  std::vector<std::int32_t> classes;
  for (const char* const name : names) {
    const std::string path = in_folder(root, name);
    const std::vector<std::byte> file = read_file(path, "CIFAR file");
    if (file.size() % record != 0)
      fail(
          "{}: it has {} bytes, which is no multiple of {}, the bytes of an image and its label: it is cut "
          "short "
          "at byte {}, or another file",
          path, file.size(), record, file.size() / record * record);
    pixels.reserve(pixels.size() + file.size() / record * image);
    for (const std::byte* at = file.data(); at != file.data() + file.size(); at += record) {
      classes.push_back(std::to_integer<std::int32_t>(at[label]));
      for (std::size_t i = 0; i < plane; ++i)
        for (std::size_t c = 0; c < channels; ++c) pixels.push_back(at[labels + c * plane + i]);
    }
  }
  const auto n = static_cast<std::int64_t>(classes.size());
  return ArrayDataset(make_array({n, side, side, channels}, DType::u8, pixels), Tensor(classes, {n}));
}

}  // namespace

MNIST::MNIST(const std::string& root, bool train, Where where)
    : Dataset(at_line(where, [&] { return mnist(root, train); })) {}

CIFAR10::CIFAR10(const std::string& root, bool train, Where where)
    : Dataset(at_line(where, [&] {
        return train ? cifar(root,
                             {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
                              "data_batch_5.bin"},
                             1, 0)
                     : cifar(root, {"test_batch.bin"}, 1, 0);
      })) {}

CIFAR100::CIFAR100(const std::string& root, bool fine_label, bool train, Where where)
    : Dataset(at_line(
          where, [&] { return cifar(root, {train ? "train.bin" : "test.bin"}, 2, fine_label ? 1 : 0); })) {}

}  // namespace kiln::data::vision

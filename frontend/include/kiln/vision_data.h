// Datasets of images in local files.
#pragma once
#include <kiln/dataset.h>
#include <kiln/export.h>
#include <kiln/tensor.h>

#include <source_location>
#include <string>

/// Datasets of images in local files, as mxnet.gluon.data.vision. Kiln downloads nothing: a missing file is
/// an error that names it.
///
/// A sample is an image, u8 of shape (height, width, channels), and its class, i32 of shape (). Readers throw
/// kiln::Error, naming the file, for files that are missing, cut short or damaged, and allocate in proportion
/// to the unpacked bytes.
namespace kiln::data::vision {

/// Handwritten digits, images (28, 28, 1). The files are `train-images-idx3-ubyte` and
/// `train-labels-idx1-ubyte` in the folder `root`, or `t10k-...` without `train`, plain or packed with the
/// extension .gz.
class KILN_API MNIST : public Dataset {
 public:
  explicit MNIST(const std::string& root, bool train = true, Where where = Where::current());
};

/// Clothes, in files of MNIST's names and form.
class KILN_API FashionMNIST : public MNIST {
 public:
  using MNIST::MNIST;
};

/// Pictures of ten classes, images (32, 32, 3): the files `data_batch_1.bin` to `data_batch_5.bin` in the
/// folder `root`, or `test_batch.bin` without `train`, of the binary version.
class KILN_API CIFAR10 : public Dataset {
 public:
  explicit CIFAR10(const std::string& root, bool train = true, Where where = Where::current());
};

/// Pictures of a hundred classes in twenty groups: `train.bin` or `test.bin`. The label is the group, or the
/// class with `fine_label`.
class KILN_API CIFAR100 : public Dataset {
 public:
  explicit CIFAR100(const std::string& root, bool fine_label = false, bool train = true,
                    Where where = Where::current());
};

/// The array of an IDX file, MNIST's form for arrays: u8, i8, i32, f32 and f64; packed by gzip or not.
KILN_API Tensor load_idx(const std::string& path,
                         std::source_location where = std::source_location::current());

}  // namespace kiln::data::vision

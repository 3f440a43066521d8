// Elements a few apart: elements between them are read, too, but nothing before the first or after the last.
#include "function_net.h"

#include <sys/mman.h>
#include <unistd.h>

using namespace kiln;

namespace {

/// An array whose last element is the last one of a page, and the next page may not be touched.
class Guarded {
 public:
  Guarded(const Shape& shape, DType dtype) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE)),
               bytes = static_cast<std::size_t>(shape.elements()) * size_of(dtype);
    size_ = (bytes + page - 1) / page * page + page;
    memory_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory_ != MAP_FAILED);
    char* end = static_cast<char*>(memory_) + size_ - page;
    REQUIRE(mprotect(end, page, PROT_NONE) == 0);
    tensor = Tensor::wrap(end - bytes, shape, dtype);
    tensor.copy_from((nd::arange(shape.elements()) % 101).astype(dtype).data(), dtype);
  }
  ~Guarded() { munmap(memory_, size_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  Tensor tensor;

 private:
  void* memory_;
  std::size_t size_;
};

}  // namespace

TEST_CASE("slices with steps, to the end of memory", "[step]") {
  const DType dtype = GENERATE(DType::f32, DType::f64, DType::f16, DType::u8, DType::i64, DType::boolean);
  const std::int64_t step = GENERATE(2, 3, 4, 5), width = GENERATE(5, 16, 31, 64, 131, 1000),
                     rows = GENERATE(1, 3);
  CAPTURE(dtype, step, width, rows);
  const Guarded x({rows, width}, dtype);
  const std::vector<double> all = x.tensor.to_vector<double>();
  for (std::int64_t from = 0; from < std::min(step, width); ++from) {
    const auto every = [&](F& f, const Tensors& in) {
      return Tensors{f.slice(in[0], {.begin = {0, from}, .end = {rows, width}, .step = {1, step}})};
    };
    std::vector<double> expected;
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t i = from; i < width; i += step)
        expected.push_back(all[static_cast<std::size_t>(r * width + i)]);
    CHECK(everywhere(every, {x.tensor})[0].to_vector<double>() == expected);
  }
}

TEST_CASE("operands with steps", "[step]") {
  const Guarded x({3, 4, 30, 42}, DType::f32), image({2, 33, 3}, DType::f32);
  const auto mixed = [](F& f, const Tensors& in) {
    const auto points = [&](std::int64_t from) {
      return f.slice_axis(in[0], {.axis = 3, .begin = from, .end = 40 + from});
    };
    const auto every = [&](std::int64_t from, std::int64_t step) {
      return f.slice(in[0],
                     {.begin = {0, 0, 0, from}, .end = {3, 4, 30, from + 8 * step}, .step = {1, 1, 1, step}});
    };
    return Tensors{f.relu(every(1, 2) - every(0, 3)) * every(2, 4),
                   f.exp(every(0, 4)) + every(7, 2),
                   f.sum(every(3, 2) * every(1, 3), {.axis = 3}),
                   points(0) + points(2),
                   f.transpose(in[1], {2, 0, 1}) * 0.5,
                   f.Pooling(in[0], {.kernel = {2, 2}, .pool_type = "max", .stride = {2, 2}}),
                   f.Pooling(in[0], {.kernel = {3, 3}, .pool_type = "avg", .stride = {3, 3}, .pad = {1, 1}})};
  };
  everywhere(mixed, {x.tensor, image.tensor});
}

TEST_CASE("repeated elements and lines of a convolution, to the end of memory", "[step]") {
  for (const std::int64_t width : {5, 16, 23, 40}) {
    CAPTURE(width);
    const Guarded x({2, 3, 9, width}, DType::f32), w({4, 3, 3, 3}, DType::f32);
    const auto read = [](F& f, const Tensors& in) {
      return Tensors{f.UpSampling({in[0]}, {.scale = 2, .sample_type = "nearest"}),
                     f.Convolution(in[0], in[1], {.kernel = {3, 3}, .num_filter = 4, .no_bias = true})};
    };
    everywhere(read, {x.tensor, w.tensor});
  }
}

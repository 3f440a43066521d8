// Gradients of max pooling: each window's gradient goes to the first of its largest elements, and an element
// of several windows adds them up. Windows overlap, touch, leave gaps, hang over the border, or are one.
#include "function_net.h"
#include "same_bits.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <random>

using namespace kiln;

namespace {

struct Windows {
  std::int64_t kernel, stride, pad;
  bool full;  // of pooling_convention

  std::int64_t count(std::int64_t extent) const {
    const std::int64_t room = extent + 2 * pad - kernel;
    return (full ? (room + stride - 1) / stride : room / stride) + 1;
  }
};

/// By definition. Arrays are (images, height, width).
std::vector<float> expected(const std::vector<float>& x, const Shape& shape, const Windows& w,
                            const std::vector<float>& head) {
  std::vector<float> dx(x.size(), 0.0F);
  const std::int64_t height = shape[2], width = shape[3], rows = w.count(height), columns = w.count(width);
  std::size_t next = 0;
  for (std::int64_t image = 0; image < shape[0] * shape[1]; ++image)
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t column = 0; column < columns; ++column, ++next) {
        std::optional<std::size_t> first;
        bool has_nan = false;
        for (std::int64_t i = row * w.stride - w.pad; i < row * w.stride - w.pad + w.kernel; ++i)
          for (std::int64_t j = column * w.stride - w.pad; j < column * w.stride - w.pad + w.kernel; ++j) {
            if (i < 0 || i >= height || j < 0 || j >= width) continue;
            const auto at = static_cast<std::size_t>((image * height + i) * width + j);
            has_nan = has_nan || std::isnan(x[at]);
            if (!first || x[at] > x[*first]) first = at;
          }
        if (first && !has_nan) dx[*first] += head[next];
      }
  return dx;
}

Tensor gradient(Net& net, const Tensor& x, const Tensor& head) {
  Tensor variable = x.copy();
  variable.attach_grad();
  Tensor y;
  {
    const autograd::Record record;
    y = net({variable})[0];
  }
  y.backward(head);
  return variable.grad();
}

}  // namespace

TEST_CASE("max pooling sends each window's gradient to its first maximum") {
  std::mt19937 generator(3);
  std::uniform_int_distribution<int> value(-2, 2), part(1, 8);
  int cases = 0;
  for (const Shape& shape : {Shape{2, 3, 5, 7}, Shape{1, 17, 6, 4}, Shape{1, 1, 1, 9}, Shape{1, 2, 3, 3}})
    for (std::int64_t kernel : {1, 2, 3, 5})
      for (std::int64_t stride : {1, 2, 3, 4})
        for (std::int64_t pad : {0, 1})
          for (const bool full : {false, true}) {
            const Windows w{kernel, stride, pad, full};
            if (pad >= kernel || shape[2] + 2 * pad < kernel || shape[3] + 2 * pad < kernel) continue;
            // A last window of padding alone has no maximum; MXNet has no such windows.
            if (full && ((w.count(shape[2]) - 1) * stride >= shape[2] + pad ||
                         (w.count(shape[3]) - 1) * stride >= shape[3] + pad))
              continue;
            std::vector<float> x, head;
            for (std::int64_t i = 0; i < shape.elements(); ++i)
              x.push_back(static_cast<float>(value(generator)));
            x[x.size() / 2] = NAN;
            const Shape places{shape[0], shape[1], w.count(shape[2]), w.count(shape[3])};
            for (std::int64_t i = 0; i < places.elements(); ++i)
              head.push_back(static_cast<float>(part(generator)));
            const auto pool = [=](F& F, const Tensors& in) -> Tensors {
              return {F.Pooling(in[0], {.kernel = {kernel, kernel},
                                        .pool_type = "max",
                                        .pooling_convention = full ? "full" : "valid",
                                        .stride = {stride, stride},
                                        .pad = {pad, pad}})};
            };
            INFO(fmt::format("{} kernel {} stride {} pad {} {}", shape.str(), kernel, stride, pad, full));
            Net eager(pool), compiled(pool);
            compiled.hybridize();
            const Tensor by_call = gradient(eager, {x, shape}, {head, places});
            CHECK(by_call.to_vector<float>() == expected(x, shape, w, head));
            CHECK(same_bits(by_call, gradient(compiled, {x, shape}, {head, places})));
            ++cases;
          }
  CHECK(cases > 100);
}

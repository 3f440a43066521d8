// Reductions, selections and scans: along short and long rows, the first axis, and all axes but the channels.
#include "bench/kinds.h"

using namespace kiln;

namespace bench {
namespace {

Sizes short_rows(Draw& d) {
  const std::int64_t length = d.extent(1, 32);
  return {{"shape", {d.count(length, 1 << 20), length}}};
}
/// The scores of a vocabulary.
Sizes long_rows(Draw& d) {
  const std::int64_t rows = d.extent(1, 32);
  return {{"shape", {rows, d.extent(30'000, 60'000)}}};
}
Sizes matrix(Draw& d) {
  const std::int64_t columns = d.extent(64, 4096);
  return {{"shape", {d.count(columns, 1 << 22), columns}}};
}
Sizes cube(Draw& d) {
  const std::int64_t rows = d.extent(8, 512), columns = d.extent(8, 512);
  return {{"shape", {d.count(rows * columns, 1 << 21), rows, columns}}};
}
Kind top() {
  const auto draw = [](Draw& d) -> Sizes {
    const std::int64_t length = d.extent(5'000, 1'000'000);
    return {{"shape", {d.count(length, 1 << 21), length}}, {"k", d.extent(1, 1000)}};
  };
  return unary("topk", draw, [](F& f, const Tensor& x, const Sizes& sizes) {
    return f.topk_both(x, {.k = sizes.at("k").get<std::int64_t>()})[0];
  });
}

Kind layer_norm() {
  return {"layer_norm_short", short_rows, [](const Sizes& sizes) {
            const Shape shape = shape_of(sizes);
            return function([](F& f, const Tensors& in) { return f.LayerNorm(in[0], in[1], in[2]); },
                            {randn(shape), randn({shape[1]}), randn({shape[1]})});
          }};
}

}  // namespace

std::vector<Kind> row_kinds() {
  const auto sort = [](Draw& d) -> Sizes {
    const std::int64_t length = d.extent(16, 100'000);
    return {{"shape", {d.count(length, 1 << 18), length}}};
  };
  return {
      unary("sum_short", short_rows, [](F& f, const Tensor& x, const Sizes&) { return f.sum(x, 1); }),
      unary("max_short", short_rows, [](F& f, const Tensor& x, const Sizes&) { return f.max(x, 1); }),
      unary("softmax_short", short_rows, [](F& f, const Tensor& x, const Sizes&) { return f.softmax(x, 1); }),
      layer_norm(),
      unary("softmax_long", long_rows, [](F& f, const Tensor& x, const Sizes&) { return f.softmax(x, 1); }),
      top(),
      unary("sort", sort, [](F& f, const Tensor& x, const Sizes&) { return f.sort(x, 1); }),
      unary("argmax_first", matrix, [](F& f, const Tensor& x, const Sizes&) { return f.argmax(x, 0); }),
      unary("argmax_last", matrix, [](F& f, const Tensor& x, const Sizes&) { return f.argmax(x, 1); }),
      unary("argmin_first", matrix, [](F& f, const Tensor& x, const Sizes&) { return f.argmin(x, 0); }),
      unary("argmin_last", matrix, [](F& f, const Tensor& x, const Sizes&) { return f.argmin(x, 1); }),
      unary("cumsum_first", matrix, [](F& f, const Tensor& x, const Sizes&) { return f.cumsum(x, 0); }),
      unary("cumsum_middle", cube, [](F& f, const Tensor& x, const Sizes&) { return f.cumsum(x, 1); }),
      unary("sum_channels", draw_images,
            [](F& f, const Tensor& x, const Sizes&) {
              return f.sum(x, {.axis = {0, 2, 3}});
            }),
      unary("max_channels", draw_images,
            [](F& f, const Tensor& x, const Sizes&) {
              return f.max(x, {.axis = {0, 2, 3}});
            }),
  };
}

}  // namespace bench

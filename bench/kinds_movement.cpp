// Elements that only move: padding, transposes, rows of a table.
#include "bench/kinds.h"

using namespace kiln;

namespace bench {
namespace {

Kind reflection() {
  const auto draw = [](Draw& d) -> Sizes {
    Sizes sizes = draw_images(d);
    sizes["pad"] = d.one_of({1, 2, 3});
    return sizes;
  };
  return unary("reflect_pad", draw, [](F& f, const Tensor& x, const Sizes& sizes) {
    const std::int64_t p = sizes.at("pad");
    return f.pad(x, {.mode = "reflect", .pad_width = {0, 0, 0, 0, p, p, p, p}});
  });
}

/// Of images, or of attention's (batch, time, heads, width).
Kind permutation(const char* name, std::vector<std::int64_t> axes, bool heads = false) {
  const auto draw = [=](Draw& d) -> Sizes {
    Sizes sizes = draw_images(d);
    if (heads) {
      const std::int64_t time = d.extent(16, 512), width = d.extent(16, 128), count = d.extent(2, 16);
      sizes = {{"shape", {d.count(time * width * count, 1 << 21), time, count, width}}};
    }
    sizes["axes"] = axes;
    return sizes;
  };
  return unary(name, draw, [](F& f, const Tensor& x, const Sizes& sizes) {
    return f.transpose(x, shape_of(sizes, "axes"));
  });
}

Kind transpose() {
  const auto draw = [](Draw& d) -> Sizes {
    const std::int64_t columns = d.extent(16, 4096);
    return {{"shape", {d.count(columns, 1 << 22), columns}}};
  };
  return unary("transpose", draw, [](F& f, const Tensor& x, const Sizes&) { return f.transpose(x); });
}

Kind gather() {
  const auto draw = [](Draw& d) -> Sizes {
    const std::int64_t width = d.extent(256, 2048);
    return {{"table", {d.count(width, 1 << 24), width}}, {"rows", d.extent(32, 1024)}};
  };
  return {"gather", draw, [](const Sizes& sizes) {
            const Shape table = shape_of(sizes, "table");
            const std::int64_t rows = sizes.at("rows");
            // With a stride, so that successive rows are far apart.
            std::vector<float> indices;
            for (std::int64_t i = 0; i < rows; ++i)
              indices.push_back(static_cast<float>(i * 7919 % table[0]));
            return function(
                [=](F& f, const Tensors& in) {
                  return f.Embedding(in[0], in[1], {.input_dim = table[0], .output_dim = table[1]});
                },
                {Tensor(indices, {rows}), randn(table)});
          }};
}

}  // namespace

std::vector<Kind> movement_kinds() {
  return {
      reflection(),
      transpose(),
      permutation("transpose_to_channels_last", {0, 2, 3, 1}),
      permutation("transpose_to_channels_first", {0, 3, 1, 2}),
      permutation("transpose_heads", {0, 2, 1, 3}, true),
      gather(),
  };
}

}  // namespace bench

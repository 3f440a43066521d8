// Poolings that are the end of a convolution's kernel, which has all points of a window at once.
#include "function_net.h"

#include <algorithm>
#include <limits>

using namespace kiln;

namespace {

struct Layer {
  Shape x;  // batch, channels, extents
  std::int64_t filters;
  Shape kernel, stride = {}, pad = {};
  std::int64_t groups = 1;
};

Tensor convolve(F& f, const Tensors& in, const Layer& l) {
  return f.Convolution(in[0], in[1],
                       {.kernel = l.kernel,
                        .stride = l.stride,
                        .pad = l.pad,
                        .num_filter = l.filters,
                        .num_group = l.groups,
                        .no_bias = true,
                        .name = "c"});
}

Tensor drawn(const Shape& shape, DType dtype = DType::f32) {
  return random::uniform(-1, 1, shape).astype(dtype);
}

Tensors operands(const Layer& l, DType dtype = DType::f32) {
  Shape w{l.filters, l.x[1] / l.groups};
  for (const std::int64_t extent : l.kernel) w.push_back(extent);
  return {drawn(l.x, dtype), drawn(w, dtype)};
}

/// Whether one kernel has both, in a compiled call with the bits of the eager one.
bool pools_in_kernel(const Net::Body& body, const Tensors& in) {
  const auto names = kernels_of(body, in);
  return std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return name.find("c+") != std::string::npos && name.find("+net_p") != std::string::npos;
  });
}

}  // namespace

TEST_CASE("windows side by side are part of the convolution before them") {
  const auto layer = GENERATE(
      // by Winograd's algorithm: even and odd extents, borders of tiles and of panels, several tile blocks
      // and chunks
      Layer{{1, 16, 16, 16}, 16, {3, 3}, {}, {1, 1}}, Layer{{2, 64, 28, 28}, 64, {3, 3}, {}, {1, 1}},
      Layer{{3, 17, 15, 12}, 50, {3, 3}, {}, {1, 1}}, Layer{{1, 20, 13, 17}, 33, {3, 3}},
      Layer{{1, 530, 10, 9}, 40, {3, 3}},
      // by its definition: few rows and many, in images of any extents
      Layer{{1, 3, 29, 28}, 6, {5, 5}, {2, 2}}, Layer{{5, 6, 12, 12}, 16, {5, 5}},
      Layer{{2, 3, 9, 31}, 70, {3, 3}}, Layer{{1, 8, 4, 4}, 24, {1, 1}}, Layer{{2, 40, 23, 22}, 48, {1, 1}},
      Layer{{1, 8, 40, 40}, 20, {7, 7}, {2, 2}, {3, 3}}, Layer{{1, 12, 10, 10}, 18, {3, 3}, {}, {1, 1}, 3},
      // more than one chunk of sums; rows a multiple of a page apart
      Layer{{1, 600, 6, 6}, 40, {1, 1}}, Layer{{1, 1024, 14, 14}, 32, {1, 1}},
      Layer{{1, 64, 8, 8}, 17, {4, 4}});
  CAPTURE(layer.x, layer.filters, layer.kernel);
  const Tensors in = operands(layer);
  const auto max = [&](F& f, const Tensors& in) {
    return Tensors{f.Pooling(f.relu(convolve(f, in, layer)), {.kernel = {2, 2}, .stride = {2, 2}})};
  };
  CHECK(pools_in_kernel(max, in));
  const auto average = [&](F& f, const Tensors& in) {
    return Tensors{
        f.Pooling(convolve(f, in, layer), {.kernel = {2, 2}, .pool_type = "avg", .stride = {2, 2}})};
  };
  CHECK(pools_in_kernel(average, in));
}

TEST_CASE("what is between a convolution and its pooling, and behind, is in the kernel") {
  const auto layer =
      GENERATE(Layer{{2, 16, 14, 18}, 24, {3, 3}, {}, {1, 1}}, Layer{{2, 3, 14, 18}, 24, {3, 3}, {}, {1, 1}});
  CAPTURE(layer.x);
  Tensors in = operands(layer);
  in.push_back(drawn({2, 24, 14, 18}));  // a residual
  in.push_back(drawn({1, 24, 1, 1}));    // a scale
  in.push_back(drawn({2, 24, 7, 9}));    // of what is pooled
  in.push_back(drawn({8, 24, 3, 3}));
  const auto block = [&](F& f, const Tensors& in) {
    const Tensor y = f.sigmoid(convolve(f, in, layer) * in[3] + in[2] * 2);
    const Tensor z = f.Pooling(y * y, {.kernel = {2, 2}, .stride = {2, 2}, .name = "p"}) + in[4];
    // The next convolution's border is written around it.
    return Tensors{
        f.Convolution(f.relu(z), in[5], {.kernel = {3, 3}, .pad = {2, 2}, .num_filter = 8, .no_bias = true})};
  };
  CHECK(pools_in_kernel(block, in));
}

TEST_CASE("every type and every small window") {
  const Layer layer{{2, 5, 16, 16}, 19, {3, 3}, {}, {1, 1}};
  const Shape window = GENERATE(Shape{1, 2}, Shape{2, 1}, Shape{2, 2}, Shape{4, 1}, Shape{1, 3});
  for (const DType dtype : {DType::f32, DType::f64, DType::f16}) {
    CAPTURE(window, dtype);
    const auto pooled = [&](F& f, const Tensors& in) {
      return Tensors{f.Pooling(convolve(f, in, layer), {.kernel = window, .stride = window})};
    };
    CHECK(pools_in_kernel(pooled, operands(layer, dtype)));
  }
}

TEST_CASE("NaN and infinities go where an eager pooling takes them") {
  for (const std::int64_t channels : {3, 16}) {
    const Layer layer{{1, channels, 12, 12}, 16, {3, 3}, {}, {1, 1}};
    Tensors in = operands(layer);
    in[0][0][0][3][4] = std::numeric_limits<float>::quiet_NaN();
    in[0][0][1][8][9] = -std::numeric_limits<float>::infinity();
    const auto pooled = [&](F& f, const Tensors& in) {
      return Tensors{f.Pooling(f.relu(convolve(f, in, layer)), {.kernel = {2, 2}, .stride = {2, 2}})};
    };
    CHECK(pools_in_kernel(pooled, in));
  }
}

TEST_CASE("other windows, and what is needed elsewhere, stay kernels of their own") {
  const Layer transformed{{1, 16, 12, 12}, 16, {3, 3}, {}, {1, 1}},
      direct{{1, 3, 12, 12}, 16, {3, 3}, {}, {1, 1}};
  for (const Layer& layer : {transformed, direct}) {
    CAPTURE(layer.x);
    const Tensors in = operands(layer);
    const auto pooled = [&](PoolingOptions options) {
      return pools_in_kernel(
          [&](F& f, const Tensors& in) {
            return Tensors{f.Pooling(f.relu(convolve(f, in, layer)), options)};
          },
          in);
    };
    CHECK_FALSE(pooled({.kernel = {3, 3}, .stride = {2, 2}}));                 // overlap
    CHECK_FALSE(pooled({.kernel = {2, 2}, .stride = {2, 2}, .pad = {1, 1}}));  // reach outside
    CHECK_FALSE(pooled({.kernel = {2, 2}, .stride = {3, 3}}));                 // gaps
    CHECK_FALSE(pooled({.kernel = {3, 3}, .stride = {3, 3}}));                 // too many points
    CHECK_FALSE(pools_in_kernel(
        [&](F& f, const Tensors& in) {
          const Tensor y = f.relu(convolve(f, in, layer));
          return Tensors{f.Pooling(y, {.kernel = {2, 2}, .stride = {2, 2}}), f.exp(y)};
        },
        in));
  }
}

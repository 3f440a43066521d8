// Transposed convolutions and their gradients, on numbers whose sums are exact in any order. Each output is
// the sum of the definition, whatever strides, dilations, borders and groups do to its phases.
#include "function_net.h"
#include "window_definitions.h"

#include <functional>

using namespace kiln;
using window_definitions::Triple;
using window_definitions::triple;

namespace {

struct Layer {
  std::int64_t batch, channels, filters;
  Shape extents, kernel;
  Shape stride = {}, dilate = {}, pad = {}, adj = {};
  std::int64_t groups = 1;
};

DeconvolutionOptions options(const Layer& l) {
  return {.kernel = l.kernel,
          .stride = l.stride,
          .dilate = l.dilate,
          .pad = l.pad,
          .adj = l.adj,
          .num_filter = l.filters,
          .num_group = l.groups,
          .no_bias = true};
}

/// Whole numbers from -4 to 4.
Tensor whole_numbers(const Shape& shape, DType dtype = DType::f32) {
  return F::random::randint(-4, 5, shape).astype(dtype);
}

Shape data_shape(const Layer& l) {
  Shape s{l.batch, l.channels};
  for (const std::int64_t e : l.extents) s.push_back(e);
  return s;
}
Shape weight_shape(const Layer& l) {
  Shape s{l.channels, l.filters / l.groups};
  for (const std::int64_t k : l.kernel) s.push_back(k);
  return s;
}

/// Calls `visit(element of data, of weight, of the result)` for each product.
void for_each_product(const Layer& l, const Triple& out,
                      const std::function<void(std::size_t, std::size_t, std::size_t)>& visit) {
  const Triple in = triple(l.extents, 1), k = triple(l.kernel, 1), step = triple(l.stride, 1),
               apart = triple(l.dilate, 1), pad = triple(l.pad, 0);
  const std::int64_t of_group = l.channels / l.groups, filters = l.filters / l.groups;
  for (std::int64_t n = 0; n < l.batch; ++n)
    for (std::int64_t c = 0; c < l.channels; ++c)
      for (std::int64_t f = 0; f < filters; ++f)
        for (std::int64_t e = 0; e < in[0] * in[1] * in[2]; ++e)
          for (std::int64_t t = 0; t < k[0] * k[1] * k[2]; ++t) {
            const Triple at{e / (in[1] * in[2]), e / in[2] % in[1], e % in[2]};
            const Triple tap{t / (k[1] * k[2]), t / k[2] % k[1], t % k[2]};
            std::int64_t place = n * l.filters + c / of_group * filters + f;
            bool inside = true;
            for (std::size_t i = 0; i < 3; ++i) {
              const std::int64_t o = at[i] * step[i] + tap[i] * apart[i] - pad[i];
              inside = inside && 0 <= o && o < out[i];
              place = place * out[i] + o;
            }
            if (!inside) continue;
            visit(static_cast<std::size_t>((n * l.channels + c) * in[0] * in[1] * in[2] + e),
                  static_cast<std::size_t>((c * filters + f) * k[0] * k[1] * k[2] + t),
                  static_cast<std::size_t>(place));
          }
}

Triple output_extents(const Layer& l) {
  const Triple in = triple(l.extents, 1), k = triple(l.kernel, 1), step = triple(l.stride, 1),
               apart = triple(l.dilate, 1), pad = triple(l.pad, 0), adj = triple(l.adj, 0);
  Triple out;
  for (std::size_t i = 0; i < 3; ++i)
    out[i] = step[i] * (in[i] - 1) + apart[i] * (k[i] - 1) + 1 - 2 * pad[i] + adj[i];
  return out;
}

using Doubles = std::vector<double>;

/// The result, and the gradients of data and weight where `head` is the result's gradient.
std::array<Doubles, 3> expected(const Layer& l, const Doubles& x, const Doubles& w, const Doubles& head) {
  std::array<Doubles, 3> all{Doubles(head.size()), Doubles(x.size()), Doubles(w.size())};
  for_each_product(l, output_extents(l), [&](std::size_t i, std::size_t j, std::size_t o) {
    all[0][o] += x[i] * w[j];
    all[1][i] += head[o] * w[j];
    all[2][j] += head[o] * x[i];
  });
  return all;
}

void check(const Layer& l, DType dtype = DType::f32) {
  random::seed(11);
  const Triple out = output_extents(l);
  Shape shape{l.batch, l.filters};
  for (std::size_t i = 3 - l.extents.size(); i < 3; ++i) shape.push_back(out[i]);
  CAPTURE(data_shape(l).str(), weight_shape(l).str(), l.stride.str(), l.dilate.str(), l.pad.str(),
          l.adj.str());
  Tensor x = whole_numbers(data_shape(l), dtype), w = whole_numbers(weight_shape(l), dtype);
  const Tensor head = whole_numbers(shape, dtype);
  const auto all = expected(l, x.to_vector<double>(), w.to_vector<double>(), head.to_vector<double>());
  const auto y = everywhere(
      [&](F& f, const Tensors& in) { return Tensors{f.Deconvolution(in[0], in[1], options(l))}; }, {x, w});
  CHECK(y[0].shape() == shape);
  CHECK(y[0].to_vector<double>() == all[0]);

  Net net([&](F& f, const Tensors& in) { return Tensors{f.Deconvolution(in[0], in[1], options(l))}; });
  for (const bool hybridized : {false, true}) {
    net.hybridize(hybridized);
    x.attach_grad();
    w.attach_grad();
    Tensor result;
    {
      const autograd::Record record;
      result = net({x, w})[0];
    }
    result.backward(head);
    CHECK(x.grad().to_vector<double>() == all[1]);
    CHECK(w.grad().to_vector<double>() == all[2]);
  }
}

}  // namespace

TEST_CASE("a convolution for each phase") {
  check({2, 3, 4, {5, 6}, {3, 3}, {2, 2}, {}, {1, 1}});
  check({2, 3, 4, {5, 6}, {3, 3}, {2, 2}, {}, {1, 1}, {1, 1}});
  check({1, 32, 24, {4, 4}, {4, 4}, {2, 2}, {}, {1, 1}});
  check({1, 2, 3, {4, 5}, {5, 2}, {3, 2}, {}, {2, 0}, {2, 1}});
  check({1, 2, 2, {7}, {4}, {2}, {}, {1}});
  check({1, 2, 2, {3, 2, 3}, {3, 2, 3}, {2, 2, 2}, {}, {1, 0, 1}});
  check({2, 3, 4, {5, 6}, {3, 4}, {1, 4}, {}, {1, 1}});
}

TEST_CASE("phases that no tap reaches are zero") {
  check({1, 2, 3, {3, 4}, {1, 1}, {2, 2}});
  check({1, 2, 3, {3, 4}, {2, 1}, {3, 4}, {}, {}, {2, 3}});
  check({1, 2, 3, {3, 4}, {2, 2}, {4, 4}, {2, 2}, {}, {3, 3}});
}

TEST_CASE("dilated taps meet the phases that they have a common divisor with") {
  check({1, 2, 3, {4, 4}, {3, 3}, {2, 2}, {2, 2}, {1, 1}});
  check({1, 2, 3, {4, 5}, {3, 2}, {2, 3}, {3, 2}, {2, 1}, {1, 0}});
  check({1, 2, 3, {3, 3}, {3, 3}, {4, 4}, {6, 2}, {3, 1}, {2, 2}});
  check({1, 2, 3, {3, 3}, {3, 3}, {5, 4}, {2, 2}, {3, 1}, {2, 2}});  // of many phases: zeros between elements
}

TEST_CASE("one element, and borders that cut") {
  check({1, 1, 1, {1, 1}, {3, 3}, {2, 2}, {}, {1, 1}});
  check({1, 1, 1, {1, 1}, {1, 1}, {5, 5}, {}, {}, {4, 4}});
  check({1, 2, 1, {2, 3}, {7, 7}, {2, 2}, {}, {3, 3}});
  check({1, 2, 2, {3, 3}, {2, 2}, {3, 3}, {}, {3, 3}});
  check({1, 2, 2, {4, 4}, {9, 9}, {4, 4}, {}, {9, 10}});
  check({3, 1, 1, {1, 1}, {2, 2}, {2, 2}, {}, {}, {1, 1}});
}

TEST_CASE("of images of one element only the taps that have an output") {
  check({3, 5, 4, {1, 1}, {4, 4}});
  check({3, 5, 4, {1, 1}, {4, 3}, {}, {}, {1, 1}});
  check({2, 5, 4, {1, 1}, {3, 3}, {}, {}, {1, 1}});
  check({2, 5, 4, {1, 1}, {3, 4}, {2, 3}, {2, 3}, {1, 2}, {1, 2}});
  check({2, 5, 4, {1, 1}, {3, 1}, {5, 6}, {2, 1}, {3, 0}, {4, 5}});
  check({1, 2, 1, {1}, {3}, {9}, {}, {4}, {8}});  // no tap has one
  check({2, 3, 4, {1, 1, 1}, {2, 3, 2}, {}, {}, {0, 1, 0}});
  check({2, 3, 4, {1, 2}, {3, 3}});
  check({2, 4, 6, {1, 1}, {3, 3}, {}, {}, {1, 0}, {}, 2});
}

TEST_CASE("few filters are sums of the products of taps") {
  for (const std::int64_t filters : {1, 3, 4, 5})
    for (const std::int64_t channels : {7, 8, 33}) {
      check({2, channels, filters, {5, 6}, {4, 4}, {2, 2}, {}, {1, 1}});
      check({1, channels, filters, {3, 1}, {3, 2}, {2, 3}, {}, {1, 0}, {1, 2}});
    }
  check({2, 9, 3, {5, 6}, {3, 3}, {2, 2}, {}, {1, 1}, {1, 1}});
  check({1, 9, 3, {3, 4}, {1, 1}, {2, 2}});                          // phases that no tap reaches
  check({1, 9, 3, {3, 4}, {3, 2}, {3, 4}, {2, 3}, {2, 1}, {2, 3}});  // dilated
  check({1, 9, 2, {2, 3}, {7, 7}, {2, 2}, {}, {3, 3}});              // borders that cut
  check({1, 9, 2, {4, 4}, {9, 9}, {4, 4}, {}, {9, 10}});
  check({3, 9, 1, {1, 2}, {2, 2}, {2, 2}, {}, {}, {1, 1}});  // of one line
  check({1, 600, 2, {2, 3}, {3, 3}, {2, 2}, {}, {1, 1}});    // chunks
  check({2, 9, 2, {7}, {4}, {2}, {}, {1}});
  check({1, 9, 2, {3, 2, 3}, {3, 2, 3}, {2, 2, 2}, {}, {1, 0, 1}});
  check({2, 18, 4, {4, 3}, {3, 3}, {2, 2}, {}, {1, 1}, {}, 2});  // groups are phases
  check({1, 9, 3, {5, 4}, {4, 4}, {2, 2}, {}, {1, 1}}, DType::f64);
  check({1, 9, 3, {5, 4}, {4, 4}, {2, 2}, {}, {1, 1}}, DType::f16);
  check({1, 9, 3, {5, 4}, {4, 4}, {2, 2}, {}, {1, 1}}, DType::bf16);
}

TEST_CASE("outputs of one tap each are products in another order") {
  for (const std::int64_t filters : {3, 9, 17})
    for (const std::int64_t width : {1, 7, 8, 23}) {
      check({2, 8, filters, {3, width}, {2, 2}, {2, 2}});
      check({1, 9, filters, {4, width}, {3, 2}, {3, 2}, {}, {}, {2, 1}});  // zeros after the last ones
    }
  check({2, 9, 12, {5, 9}, {2, 2}, {2, 2}, {}, {1, 0}, {0, 1}});  // borders that cut
  check({1, 33, 9, {2, 8}, {4, 4}, {4, 4}, {}, {3, 2}, {3, 1}});
  check({2, 8, 9, {11}, {2}, {2}});
  check({1, 8, 9, {2, 3, 7}, {2, 2, 2}, {2, 2, 2}, {}, {0, 1, 0}, {1, 0, 1}});
  check({1, 600, 9, {2, 7}, {2, 2}, {2, 2}});  // chunks
  check({1, 8, 9, {3, 8}, {2, 2}, {2, 2}}, DType::f64);
  check({1, 8, 9, {3, 8}, {2, 2}, {2, 2}}, DType::f16);
}

TEST_CASE("groups, and a filter of its own for each channel") {
  check({2, 4, 6, {4, 3}, {3, 3}, {2, 2}, {}, {1, 1}, {}, 2});
  check({1, 40, 40, {4, 4}, {4, 4}, {2, 2}, {}, {1, 1}, {}, 40});
  check({1, 4, 8, {3, 3}, {10, 10}, {5, 5}, {}, {2, 3}, {1, 0}, 4});
}

TEST_CASE("many phases are one convolution") {
  check({1, 2, 3, {3, 4}, {16, 16}, {8, 8}, {}, {4, 4}});
  check({2, 3, 2, {3, 2}, {9, 7}, {5, 6}, {}, {2, 1}, {3, 2}});
  check({1, 2, 2, {2, 3}, {3, 4}, {5, 7}, {}, {1, 0}, {4, 1}});
  check({1, 2, 2, {3, 3}, {5, 11}, {1, 20}, {}, {2, 3}});
  check({1, 1, 2, {2, 2, 2}, {3, 4, 5}, {3, 2, 3}, {}, {1, 1, 1}, {1, 0, 2}});
  check({1, 2, 2, {3}, {64}, {32}, {}, {40}});
}

TEST_CASE("other dtypes") {
  check({1, 3, 4, {3, 4}, {3, 3}, {2, 2}, {}, {1, 1}}, DType::f64);
  check({1, 3, 4, {3, 4}, {3, 3}, {2, 2}, {}, {1, 1}}, DType::f16);
  check({1, 2, 2, {2, 2}, {10, 10}, {5, 5}, {}, {3, 3}}, DType::bf16);
}

TEST_CASE("packed phases follow weights that change") {
  random::seed(13);
  nn::Conv2DTranspose layer(5, {.kernel_size = 4, .strides = 2, .padding = 1, .in_channels = 20});
  layer.initialize();
  const Tensor x = whole_numbers({2, 20, 3, 3});
  Parameter weight = layer.collect_params().items().front();
  for (int i = 0; i < 3; ++i) {
    weight.set_data(whole_numbers(weight.shape()));
    layer.hybridize(false);
    const auto expected = layer(x).to_vector<float>();
    layer.hybridize();
    for (int again = 0; again < 2; ++again) CHECK(layer(x).to_vector<float>() == expected);
  }
}

TEST_CASE("an image has its bits in any batch") {
  // The products of all taps of these images have more than 2^24 elements.
  const Tensor x = random::uniform(-1, 1, {57, 8, 64, 64}), w = random::uniform(-1, 1, {8, 8, 3, 3});
  const Net::Body convolved = [](F& f, const Tensors& in) {
    return Tensors{f.Deconvolution(in[0], in[1],
                                   {.kernel = {3, 3}, .stride = {2, 2}, .num_filter = 8, .no_bias = true})};
  };
  const Tensor alone = everywhere(convolved, {x[slice(0, 1)].copy(), w})[0];
  CHECK(same_bits(everywhere(convolved, {x, w})[0][slice(0, 1)].copy(), alone));
}

TEST_CASE("the gradients of convolutions with strides") {
  // A convolution's data gradient is the transposed convolution of its head.
  random::seed(12);
  for (const Shape& stride : {Shape{2, 2}, Shape{3, 1}, Shape{5, 4}}) {
    Tensor x = whole_numbers({2, 3, 11, 9}), w = whole_numbers({4, 3, 3, 3});
    Net net([&](F& f, const Tensors& in) {
      return Tensors{f.Convolution(
          in[0], in[1],
          ConvolutionOptions{
              .kernel = {3, 3}, .stride = stride, .pad = {1, 1}, .num_filter = 4, .no_bias = true})};
    });
    for (const bool hybridized : {false, true}) {
      net.hybridize(hybridized);
      x.attach_grad();
      Tensor y;
      {
        const autograd::Record record;
        y = net({x, w})[0];
      }
      const Tensor head = whole_numbers(y.shape());
      y.backward(head);
      const Layer l{
          2,
          4,
          3,
          {y.shape()[2], y.shape()[3]},
          {3, 3},
          stride,
          {},
          {1, 1},
          {11 + 2 - 3 - stride[0] * (y.shape()[2] - 1), 9 + 2 - 3 - stride[1] * (y.shape()[3] - 1)}};
      Doubles result(static_cast<std::size_t>(x.size()));
      const auto h = head.to_vector<double>(), weight = w.to_vector<double>();
      for_each_product(l, {1, 11, 9},
                       [&](std::size_t i, std::size_t j, std::size_t o) { result[o] += h[i] * weight[j]; });
      CHECK(x.grad().to_vector<double>() == result);
    }
  }
}

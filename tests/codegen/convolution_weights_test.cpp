// Gradients of the weights of convolutions against the definition of kiln.convolution_weights in
// ir/KilnOps.td, and what else meets them.
#include "block_gradients.h"
#include "window_definitions.h"

using namespace kiln;
using namespace window_definitions;

namespace {

/// Channels of one group, or a group for each channel.
bool is_depthwise(const Convolution& c) { return c.groups > 1; }

/// The sum over the places of all images, in C order.
template <class T>
Tensor defined(const Convolution& c, const Tensor& x, const Tensor& g) {
  const auto values = x.to_vector<T>(), heads = g.to_vector<T>();
  const Window& window = c.window;
  const std::int64_t maps = count(window.in()), places = count(window.out()), taps = count(window.taps()),
                     channels = c.groups * c.in, filters = c.groups * c.out;
  std::vector<T> results;
  for (std::int64_t o = 0; o < filters; ++o)
    for (std::int64_t i = 0; i < c.in; ++i)
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        Chunks<T> chunks;
        for (std::int64_t n = 0; n < c.batch; ++n)
          for (std::int64_t at = 0; at < places; ++at) {
            const std::int64_t seen = window.seen(place_of(at, window.out()), place_of(tap, window.taps())),
                               channel = is_depthwise(c) ? o : i;
            chunks.take(
                seen < 0 ? T(0) : values[static_cast<std::size_t>((n * channels + channel) * maps + seen)],
                heads[static_cast<std::size_t>((n * filters + o) * places + at)]);
          }
        results.push_back(chunks.sum());
      }
  return Tensor(results, c.weights());
}

enum class Layout { channels_first, channels_last };

/// The gradient of the weights for a head, eager or hybridized, of an input that lies in memory in a layout.
Tensor gradient(const Convolution& c, const Tensor& x, const Tensor& head, bool hybridized,
                Layout layout = Layout::channels_first) {
  const bool is_last = layout == Layout::channels_last;
  Shape to_last{0}, to_first{0, x.ndim() - 1};
  for (std::int64_t i = 2; i < x.ndim(); ++i) {
    to_last.push_back(i);
    to_first.push_back(i - 1);
  }
  to_last.push_back(1);
  Net net([&](F& f, const Tensors& in) {
    return Tensors{f.Convolution(is_last ? f.transpose(in[0], to_first) : in[0], in[1], options(c))};
  });
  net.hybridize(hybridized);
  Tensor w = drawn(c.weights(), x.dtype());
  w.attach_grad();
  Tensor y;
  {
    const autograd::Record record;
    y = net({is_last ? F::transpose(x, to_last) : x, w})[0];
  }
  y.backward(head);
  return w.grad();
}

template <class T>
void check(const Convolution& c, DType dtype, Layout layout = Layout::channels_first) {
  CAPTURE(layout, c.batch, c.groups, c.in, c.out, c.window.extents.str(), c.window.kernel.str(),
          name_of(dtype));
  const Tensor x = drawn(c.input(), dtype),
               head = drawn(c.window.shape(c.batch, c.groups * c.out, c.window.out()), dtype);
  const Tensor expected = defined<T>(c, x, head).astype(dtype);
  for (const bool hybridized : {false, true})
    for (const int threads : {1, 2}) {
      const ThreadLimit limit(threads);
      CAPTURE(hybridized, threads);
      CHECK(same_bits(gradient(c, x, head, hybridized, layout), expected));
    }
}

const Convolution convolutions[] = {
    // each extent 1 in turn, and all
    {1, 1, 1, 1, {{1}, {1}}},
    {1, 1, 1, 1, {{1, 1}, {1, 1}}},
    {2, 1, 3, 17, {{1, 9}, {1, 3}}},
    {2, 1, 3, 17, {{9, 1}, {3, 1}}},
    {1, 1, 17, 1, {{5, 5}, {3, 3}}},
    {3, 1, 5, 6, {{7, 7}, {7, 7}}},
    // one to three spatial axes, strides, distances, borders
    {2, 1, 3, 5, {{19}, {4}, {3}, {2}, {5}}},
    {1, 1, 20, 9, {{9, 11}, {3, 2}, {2, 1}, {1, 3}, {2, 0}}},
    {2, 1, 5, 33, {{8, 7}, {3, 3}, {1, 1}, {2, 2}, {2, 2}}},
    {1, 1, 4, 6, {{4, 5, 6}, {2, 3, 2}, {1, 2, 1}, {2, 1, 1}, {1, 1, 0}}},
    // one tap, with places that are evenly spaced and that are not
    {2, 1, 19, 35, {{6, 5}, {1, 1}}},
    {2, 1, 19, 35, {{6, 5}, {1, 1}, {2, 2}}},
    // places of several chunks, which end within a line and within an image
    {3, 1, 2, 18, {{19, 23}, {3, 3}, {}, {}, {1, 1}}},
    {1, 1, 33, 50, {{40, 27}, {2, 2}}},
    {2, 1, 3, 6, {{1100}, {3}}},
    // one tap, and more output channels than input channels
    {2, 1, 35, 35, {{6, 5}, {1, 1}}},
    {1, 1, 33, 140, {{23, 25}, {1, 1}, {}, {}, {1, 1}}},
    // depthwise: channels of less than a register, of several, and a rest
    {2, 3, 1, 1, {{1, 1}, {1, 1}}},
    {2, 3, 1, 1, {{9}, {3}, {2}, {}, {1}}},
    {1, 16, 1, 1, {{9, 9}, {5, 3}, {2, 1}, {1, 2}, {2, 2}}},
    {3, 37, 1, 1, {{19, 23}, {3, 3}, {}, {}, {1, 1}}},
    {2, 150, 1, 1, {{8, 7}, {5, 5}, {2, 2}, {}, {2, 2}}},
    {1, 5, 1, 1, {{4, 5, 6}, {2, 3, 2}, {1, 2, 1}, {2, 1, 1}, {1, 1, 0}}},
};

}  // namespace

TEST_CASE("gradients of weights: strides, distances, borders, extents of 1, chunks, depthwise") {
  random::seed(21);
  for (const Convolution& c : convolutions) {
    check<float>(c, DType::f32);
    check<double>(c, DType::f64);
  }
  for (const Convolution& c : {convolutions[7], convolutions[20]})
    for (const DType dtype : {DType::f16, DType::bf16}) check<float>(c, dtype);
}

// Lines of consecutive places map to few sets of a cache, with one tap and with several.
TEST_CASE("gradients of weights of channels that lie last in memory") {
  random::seed(23);
  for (const Convolution& c :
       {Convolution{1, 1, 256, 130, {{30, 20}, {1, 1}}}, Convolution{1, 1, 256, 128, {{20, 20}, {1, 2}}},
        Convolution{2, 1, 17, 19, {{6, 5}, {3, 1}, {2, 1}, {}, {1, 0}}},
        Convolution{2, 7, 1, 1, {{6, 5}, {3, 3}, {}, {}, {1, 1}}}})
    for (const DType dtype : {DType::f32, DType::f16}) check<float>(c, dtype, Layout::channels_last);
}

TEST_CASE("a tap in the border multiplies +0") {
  random::seed(22);
  for (const Convolution& c : {Convolution{1, 1, 2, 3, {{3, 4}, {3, 3}, {}, {}, {1, 1}}},
                               Convolution{1, 2, 1, 1, {{3, 4}, {3, 3}, {}, {}, {1, 1}}}}) {
    const Tensor x = drawn(c.input());
    Tensor head = drawn(c.window.shape(1, c.groups * c.out, c.window.out()));
    head[0][0][0][0] = std::numeric_limits<float>::infinity();
    head[0][1][2][2] = -0.f;
    CHECK(same_bits(gradient(c, x, head, true), defined<float>(c, x, head)));
    CHECK(same_bits(gradient(c, x, head, false), defined<float>(c, x, head)));
  }
}

TEST_CASE("gradients of weights over nothing are zeros") {
  for (const Convolution& c :
       {Convolution{0, 1, 2, 3, {{5, 5}, {3, 3}}}, Convolution{0, 2, 1, 1, {{5, 5}, {3, 3}}}})
    for (const bool hybridized : {false, true}) {
      const Tensor g = gradient(c, zeros(c.input()),
                                zeros(c.window.shape(0, c.groups * c.out, c.window.out())), hybridized);
      CHECK(same_bits(g, zeros(c.weights())));
    }
}

TEST_CASE("gradients of weights of views, of both operands, and of the gradient itself") {
  using block_gradients::same_gradients;
  using block_gradients::values;
  for (const Convolution& c : {Convolution{2, 1, 3, 5, {{7, 6}, {3, 3}, {2, 1}, {}, {1, 1}}},
                               Convolution{2, 4, 1, 1, {{7, 6}, {3, 3}, {2, 1}, {}, {1, 1}}}}) {
    const Tensor x = values(c.input(), DType::f64, 1), w = values(c.weights(), DType::f64, 2);
    // The data transposed and sliced before, the result used twice.
    const Net::Body body = [&](F& f, const Tensors& in) {
      const Tensor turned = f.reverse(f.transpose(in[0], {0, 1, 3, 2}), Shape{2});
      const Tensor y = f.Convolution(f.transpose(turned, {0, 1, 3, 2}), in[1], options(c));
      return Tensors{y * y, f.sum(y, {.axis = {2}})};
    };
    same_gradients(body, {x, w});
    block_gradients::check_derivative(body, {x, w});
  }
}

TEST_CASE("second derivatives go through the gradient of the weights") {
  random::seed(23);
  for (const Convolution& c : {Convolution{2, 1, 3, 4, {{6, 5}, {3, 2}, {2, 1}, {}, {1, 1}}},
                               Convolution{2, 3, 1, 1, {{6, 5}, {3, 2}, {2, 1}, {}, {1, 1}}}}) {
    // Of the sum of squares s of dy/dw, where y = sum(h * convolution(x, w)): s depends on x and h alone.
    const auto s_of = [&](const Tensor& x, const Tensor& h) {
      Tensor w = ones(c.weights(), DType::f64);
      w.attach_grad();
      Tensor s;
      const autograd::Record record;
      const Tensor y = (F::Convolution(x, w, options(c)) * h).sum();
      const Tensors g = autograd::grad({y}, {w}, {.create_graph = true});
      return (g[0] * g[0]).sum();
    };
    Tensor x = drawn(c.input(), DType::f64),
           h = drawn(c.window.shape(c.batch, c.groups * c.out, c.window.out()), DType::f64);
    x.attach_grad();
    h.attach_grad();
    s_of(x, h).backward();
    const Tensor along_x = drawn(x.shape(), DType::f64), along_h = drawn(h.shape(), DType::f64);
    const double step = 1e-5;
    const auto at = [&](double t) {
      return s_of(x.detach() + along_x * t, h.detach() + along_h * t).item<double>();
    };
    const double slope = (at(step) - at(-step)) / (2 * step),
                 expected = ((x.grad() * along_x).sum() + (h.grad() * along_h).sum()).item<double>();
    CHECK(std::abs(slope - expected) <= 1e-6 * (1 + std::abs(expected)));
  }
}

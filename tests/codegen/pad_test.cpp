// Kernels of every kind that write into padded arrays, and products whose rows are short.
#include "function_net.h"

using namespace kiln;

namespace {

/// Every axis, both sides, another number than 0.
Tensor padded(F& f, const Tensor& x) {
  return f.pad(x, {.mode = "constant", .pad_width = {0, 0, 0, 0, 1, 2, 3, 1}, .constant_value = 1.5});
}

Tensor drawn(const Shape& shape) { return random::uniform(-1, 1, shape); }

/// The kernels of a compiled call that only copy.
std::size_t copies(const Net::Body& body, const Tensors& in) {
  Net net(body);
  net.hybridize();
  net(in);
  const Profile profile;
  net(in);
  std::size_t n = 0;
  for (const Profile::Kernel& k : profile.kernels()) n += k.name.find(".copy") != std::string::npos;
  return n;
}

}  // namespace

TEST_CASE("what kernels make is padded where it lies") {
  const Net::Body bodies[] = {
      [](F& f, const Tensors& in) { return Tensors{padded(f, f.exp(in[0]) * in[1])}; },
      [](F& f, const Tensors& in) {
        return Tensors{padded(f, f.sum(in[0], {.axis = 1, .keepdims = true})),
                       padded(f, f.max(in[1], {.axis = 3, .keepdims = true}))};
      },
      [](F& f, const Tensors& in) {
        return Tensors{padded(
            f, f.relu(f.batch_dot(in[0].reshape({6, 5, 7}), in[1].reshape({6, 5, 7}), {.transpose_b = true}))
                   .reshape({2, 3, 5, 5}))};
      },
      [](F& f, const Tensors& in) {
        const Tensor x = f.exp(in[0]);
        return Tensors{x, padded(f, x), padded(f, padded(f, in[0] - in[1]))};
      },
      [](F& f, const Tensors& in) {
        return Tensors{padded(f, in[0] * random::uniform(0, 1, in[0].shape()))};
      }};
  const Tensors in{drawn({2, 3, 5, 7}), drawn({2, 3, 5, 7})};
  for (const Net::Body& body : bodies) everywhere(body, in);
}

TEST_CASE("convolutions write into the padding of the next") {
  const auto [size, batch] = GENERATE(table<std::int64_t, std::int64_t>(
      {{1, 1}, {2, 3}, {3, 1}, {5, 2}, {7, 1}, {7, 4}, {9, 1}, {14, 1}, {15, 2}, {33, 1}}));
  CAPTURE(size, batch);
  const auto inverted_residual = [](F& f, const Tensors& in) {
    const Tensor expanded =
        f.relu(f.Convolution(in[0], in[1], {.kernel = {1, 1}, .num_filter = 40, .no_bias = true}));
    const Tensor deep = f.relu(
        f.Convolution(expanded, in[2],
                      {.kernel = {3, 3}, .pad = {1, 1}, .num_filter = 40, .num_group = 40, .no_bias = true}));
    const Tensor wide = f.Convolution(
        deep, in[3], {.kernel = {3, 3}, .stride = {2, 2}, .pad = {1, 1}, .num_filter = 72, .no_bias = true});
    return Tensors{
        f.Pooling(f.relu(wide), {.kernel = {3, 3}, .pool_type = "max", .stride = {2, 2}, .pad = {1, 1}})};
  };
  const Tensors in{drawn({batch, 24, size, size}), drawn({40, 24, 1, 1}), drawn({40, 1, 3, 3}),
                   drawn({72, 40, 3, 3})};
  everywhere(inverted_residual, in);
  CHECK(copies(inverted_residual, in) == 0);
}

TEST_CASE("a transformed convolution writes into padding") {
  const auto body = [](F& f, const Tensors& in) {
    return Tensors{
        padded(f, f.relu(f.Convolution(
                      in[0], in[1], {.kernel = {3, 3}, .pad = {1, 1}, .num_filter = 20, .no_bias = true})))};
  };
  everywhere(body, {drawn({2, 16, 9, 12}), drawn({20, 16, 3, 3})});
}

TEST_CASE("kernels write their part of a concatenated array") {
  const auto fire = [](F& f, const Tensors& in) {
    const Tensor squeezed =
        f.relu(f.Convolution(in[0], in[1], {.kernel = {1, 1}, .num_filter = 16, .no_bias = true}));
    const Tensor near =
        f.relu(f.Convolution(squeezed, in[2], {.kernel = {1, 1}, .num_filter = 20, .no_bias = true}));
    const Tensor far = f.relu(
        f.Convolution(squeezed, in[3], {.kernel = {3, 3}, .pad = {1, 1}, .num_filter = 24, .no_bias = true}));
    return Tensors{f.relu(f.Convolution(f.concat({near, far}, {.dim = 1}), in[4],
                                        {.kernel = {1, 1}, .num_filter = 8, .no_bias = true}))};
  };
  const Tensors in{drawn({2, 12, 13, 13}), drawn({16, 12, 1, 1}), drawn({20, 16, 1, 1}),
                   drawn({24, 16, 3, 3}), drawn({8, 44, 1, 1})};
  everywhere(fire, in);
  CHECK(copies(fire, in) == 0);

  const Net::Body bodies[] = {
      [](F& f, const Tensors& in) {
        const Tensor a = f.exp(in[0]), b = a + in[1], c = f.sum(in[1], {.axis = 0, .keepdims = true});
        return Tensors{f.concat({a, b, b, in[0], c, a * 2}, {.dim = 0}), a,
                       f.concat({c, in[1]}, {.dim = 0}) * 2};
      },
      [](F& f, const Tensors& in) {
        const Tensor inner = f.concat({f.exp(in[0]), in[1]}, {.dim = 1});
        return Tensors{f.concat({inner, f.tanh(inner)}, {.dim = 1}),
                       f.concat({inner * 3, inner}, {.dim = 0})};
      },
      [](F& f, const Tensors& in) {
        const Tensor s = f.softmax(in[0]);
        return Tensors{padded(f, f.concat({s, f.log_softmax(in[1])}, {.dim = 1}).reshape({1, 1, 40, -1}))};
      }};
  const Tensors rows{drawn({40, 30}), drawn({40, 30})};
  for (const Net::Body& body : bodies) everywhere(body, rows);
}

namespace {

/// The element of an axis of n at offset `i` from its beginning.
std::int64_t mirrored(std::int64_t i, std::int64_t n) { return i < 0 ? -i : i >= n ? 2 * (n - 1) - i : i; }
std::int64_t nearest(std::int64_t i, std::int64_t n) { return std::clamp<std::int64_t>(i, 0, n - 1); }

void check_pad(const Shape& shape, const std::vector<std::int64_t>& widths, const std::string& mode,
               DType dtype = DType::f32) {
  CAPTURE(shape.str(), widths, mode, name_of(dtype));
  const Tensor x = numbered(shape, dtype);
  const auto padded = [&](F& f, const Tensors& in) {
    return Tensors{f.pad(in[0], {.mode = mode, .pad_width = widths})};
  };
  const Tensor y = everywhere(padded, {x})[0];
  const auto values = x.astype(DType::f32).to_vector<float>();
  const auto source = mode == "edge" ? nearest : mirrored;
  std::vector<float> expected;
  for (std::int64_t number = 0; number < y.shape().elements(); ++number) {
    std::int64_t rest = number, offset = 0, step = 1;
    for (int i = shape.rank() - 1; i >= 0; --i) {
      const std::int64_t extent = y.shape()[static_cast<std::size_t>(i)],
                         n = shape[static_cast<std::size_t>(i)];
      offset += step * source(rest % extent - widths[static_cast<std::size_t>(2 * i)], n);
      rest /= extent;
      step *= n;
    }
    expected.push_back(values[static_cast<std::size_t>(offset)]);
  }
  CHECK(y.dtype() == dtype);
  CHECK(y.astype(DType::f32).to_vector<float>() == expected);
}

}  // namespace

TEST_CASE("reflections and edges, along one axis and several") {
  for (const std::string mode : {"reflect", "edge"}) {
    check_pad({2, 3, 5, 6}, {0, 0, 0, 0, 1, 2, 3, 4}, mode);
    check_pad({2, 3, 5, 6}, {0, 0, 0, 0, 0, 2, 3, 0}, mode);
    check_pad({2, 3, 5, 6}, {0, 0, 0, 0, 0, 0, 0, 0}, mode);
    check_pad({2, 3, 1, 17}, {0, 0, 0, 0, 0, 0, 16, 9}, mode);
    check_pad({1, 2, 4, 3, 20}, {0, 0, 0, 0, 2, 1, 1, 2, 3, 3}, mode);
    check_pad({1, 20, 4, 2}, {0, 0, 0, 0, 3, 3, 1, 1}, mode);
  }
  check_pad({2, 3, 1, 1}, {0, 0, 0, 0, 3, 2, 0, 5}, "edge");
  check_pad({2, 0, 3, 3}, {0, 0, 0, 0, 1, 1, 1, 1}, "edge");
  everywhere(
      [](F& f, const Tensors& in) {
        const Tensor turned = f.transpose(in[0], {.axes = {0, 3, 1, 2}}) * 2;
        return Tensors{f.pad(turned, {.mode = "reflect", .pad_width = {0, 0, 0, 0, 2, 2, 1, 3}}) + 1};
      },
      {random::normal(0, 1, {2, 6, 7, 3})});
}

TEST_CASE("extended rows of every form and type") {
  const auto dtype = GENERATE(DType::f32, DType::f64, DType::f16, DType::bf16, DType::i8, DType::u8,
                              DType::i32, DType::i64, DType::boolean);
  for (const std::string mode : {"reflect", "edge"}) {
    check_pad({3, 75}, {0, 0, 70, 33}, mode, dtype);                  // lines, wider than registers
    check_pad({4, 5, 6, 3}, {0, 0, 2, 1, 3, 2, 0, 0}, mode, dtype);   // blocks
    check_pad({2, 4, 5, 66}, {1, 0, 2, 3, 1, 0, 0, 0}, mode, dtype);  // copies
    check_pad({3, 3, 2, 3, 4, 2}, {1, 2, 0, 0, 1, 1, 0, 2, 0, 0, 1, 0}, mode, dtype);
  }
}

TEST_CASE("extended lines of every length") {
  const auto dtype = GENERATE(DType::f32, DType::f64, DType::f16, DType::boolean);
  for (const std::int64_t n : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 70, 140})
    for (const auto& [low, high] : std::vector<std::pair<std::int64_t, std::int64_t>>{
             {0, 1}, {1, 1}, {3, 2}, {2, 7}, {15, 14}, {6, 40}})
      for (const std::string mode : {"reflect", "edge"})
        if (mode == "edge" || std::max(low, high) < n)
          check_pad({1, 4100 / (n + low + high), 2, n}, {0, 0, 0, 0, 1, 0, low, high}, mode, dtype);
}

TEST_CASE("gradients of elements beside an array are those of the elements they are") {
  const auto dtype = GENERATE(DType::f32, DType::f16);
  for (const std::string mode : {"reflect", "edge"})
    for (const auto& widths : std::vector<std::vector<std::int64_t>>{
             {0, 0, 0, 0, 3, 1, 4, 2}, {0, 0, 0, 0, 0, 2, 0, 0}, {0, 0, 0, 0, 2, 3, 5, 5}}) {
      CAPTURE(mode, widths);
      const Shape shape{2, 3, 4, 6};
      const auto pad = [&](const Tensor& x) { return F::pad(x, {.mode = mode, .pad_width = widths}); };
      // Small integers, whose sums are exact in any order.
      const Tensor x = numbered(shape, DType::i64), place = pad(x);
      std::vector<float> expected(static_cast<std::size_t>(shape.elements()));
      std::vector<double> heads;
      for (const std::int64_t i : place.to_vector<std::int64_t>()) {
        heads.push_back(static_cast<double>(heads.size() % 7));
        expected[static_cast<std::size_t>(i)] += static_cast<float>(heads.back());
      }
      Tensor at = x.astype(dtype);
      at.attach_grad();
      const Tensor y = autograd::record([&] { return pad(at); });
      autograd::backward({y}, {Tensor(heads, place.shape()).astype(dtype)});
      CHECK(at.grad().astype(DType::f32).to_vector<float>() == expected);
    }
}

TEST_CASE("a reflection is one kernel of a CPU") {
  for (const std::string mode : {"reflect", "edge"}) {
    const Tensor x = drawn({2, 3, 5, 6});
    const auto names = kernels_of(
        [&](F& f, const Tensors& in) {
          return Tensors{f.pad(in[0], {.mode = mode, .pad_width = {0, 0, 0, 0, 1, 2, 3, 4}})};
        },
        {x});
    if (x.device().is_cpu()) CHECK(names.size() == 1);
  }
}

// Kernels that run a few rows at a time: arrays large enough for that, and bits that do not know of it.
#include "function_net.h"

using namespace kiln;

namespace {

Tensor drawn(const Shape& shape) { return random::uniform(-3, 3, shape); }

}  // namespace

TEST_CASE("softmax and layer norm take a few rows at a time") {
  const auto softmax = [](F& f, const Tensors& in) { return Tensors{f.softmax(in[0])}; };
  CHECK(kernels_of(softmax, {drawn({301, 257})}).size() == 1);
  CHECK(kernels_of(softmax, {drawn({3, 7, 31, 211})}).size() == 1);
  const auto norm = [](F& f, const Tensors& in) { return Tensors{f.LayerNorm(in[0], in[1], in[2])}; };
  CHECK(kernels_of(norm, {drawn({77, 1025}), drawn({1025}), drawn({1025})}).size() == 1);
}

TEST_CASE("what a kernel needs on the stack it takes once, not for each row fusion") {
  const auto centered = [](F& f, const Tensors& in) {
    return Tensors{f.broadcast_sub(in[0], f.mean(in[0], {.axis = 1, .keepdims = true}))};
  };
  CHECK(kernels_of(centered, {drawn({9000, 8, 64})}).size() == 1);
}

TEST_CASE("small arrays are in the cache anyway") {
  const auto softmax = [](F& f, const Tensors& in) { return Tensors{f.softmax(in[0])}; };
  CHECK(kernels_of(softmax, {drawn({8, 16})}).size() > 1);
}

TEST_CASE("what reads other rows is no part of a row fusion") {
  // The second sum goes down the columns of what the first kernels write.
  const auto down = [](F& f, const Tensors& in) {
    const Tensor y = f.softmax(in[0]);
    return Tensors{y, f.sum(y, {.axis = 0}), f.transpose(y) - in[1]};
  };
  CHECK(kernels_of(down, {drawn({303, 301}), drawn({301, 303})}).size() >= 2);
  // A row's maximum, added to the following row.
  const auto shifted = [](F& f, const Tensors& in) {
    const Tensor most = f.max(in[0], {.axis = 1, .keepdims = true});
    return Tensors{f.exp(in[0]) - f.flip(most, {0})};
  };
  CHECK(kernels_of(shifted, {drawn({400, 300})}).size() >= 2);
}

TEST_CASE("an operand that a row fusion overwrites is read by no other kernel of it") {
  const auto twice = [](F& f, const Tensors& in) {
    const Tensor x = f.exp(in[0]) * 2;
    const Tensor most = f.max(x, {.axis = 1, .keepdims = true});
    const Tensor turned = f.transpose(x);
    return Tensors{f.sum(f.broadcast_sub(turned, f.transpose(most)), {.axis = 1}), x - most, most};
  };
  kernels_of(twice, {drawn({300, 300})});
}

TEST_CASE("a row fusion goes through the same rows in each of its kernels") {
  // The transpose could be read in squares, with its outermost axis inside; its user goes row by row.
  const auto turned = [](F& f, const Tensors& in) {
    const Tensor y = f.transpose(in[0], {.axes = {2, 1, 0}});
    return Tensors{f.broadcast_sub(in[1], y), y};
  };
  for (const Shape& shape : {Shape{141, 12, 13}, Shape{64, 12, 32}, Shape{301, 16, 17}, Shape{96, 16, 40}})
    everywhere(turned, {drawn(shape), drawn({1})});
  const auto deeper = [](F& f, const Tensors& in) {
    const Tensor y = f.transpose(in[0], {.axes = {3, 1, 2, 0}});
    return Tensors{f.tanh(y) * 2, y, f.max(y, {.axis = 3})};
  };
  for (const Shape& shape : {Shape{40, 3, 12, 24}, Shape{17, 12, 8, 16}, Shape{33, 2, 24, 40}})
    everywhere(deeper, {drawn(shape)});
}

TEST_CASE("two results of a kernel that end in its row fusion have memory of their own") {
  const auto both = [](F& f, const Tensors& in) {
    const Tensor c = f.softmax(in[0], {.axis = 1});
    const Tensor y = c * (c + c), t = f.tanh(y);
    const auto turned = [&](const Tensor& x) { return f.transpose(x, {.axes = Shape{0, 2, 1}}); };
    return Tensors{turned(t), turned(y)};
  };
  CHECK(kernels_of(both, {drawn({3528, 5, 3})}).size() == 1);
  // Rows of other lengths, more results, other dtypes.
  const auto three = [&](F& f, const Tensors& in) {
    const Tensor x = f.exp(in[0]);
    const Tensor c = f.broadcast_div(x, f.sum(x, {.axis = {1, 2}, .keepdims = true}));
    Tensors results{f.tanh(c), f.square(c), c + x};
    for (Tensor& t : results) t = f.transpose(t, {.axes = Shape{0, 2, 1}});
    return results;
  };
  for (const DType dtype : {DType::f16, DType::f32, DType::f64})
    for (const Shape& shape : {Shape{2000, 7, 5}, Shape{301, 16, 17}, Shape{64, 1, 1031}})
      kernels_of(three, {drawn(shape).astype(dtype)});
}

TEST_CASE("a computed array is normalised group by group") {
  const auto norm = [](F& f, const Tensors& in) {
    return Tensors{f.GroupNorm(f.relu(in[0] + 1), in[1], in[2], {.num_groups = 8})};
  };
  const Tensors in{random::normal(0, 1, {2, 64, 56, 56}), random::normal(0, 1, {8}),
                   random::normal(0, 1, {8})};
  const auto names = kernels_of(norm, in);
  if (in[0].device().is_cpu()) CHECK(names.size() == 1);
}

// Its rows are rows of the last axes, and blocks begin and end within each of the other axes.
TEST_CASE("an operand of the outer axes does not make blocks of rows longer") {
  const auto norm = [](F& f, const Tensors& in) { return Tensors{f.InstanceNorm(in[0], in[1], in[2])}; };
  for (const Shape& shape : {Shape{13, 6, 64, 64}, Shape{3, 31, 37, 41}, Shape{93, 31, 8, 8},
                             Shape{2, 5, 300, 301}, Shape{151, 19, 7, 7}}) {
    CAPTURE(shape);
    const Tensors in{drawn(shape), drawn({shape[1]}), drawn({shape[1]})};
    const auto names = kernels_of(norm, in);
    if (in[0].device().is_cpu()) CHECK(names.size() == 1);
  }
  // One of each of three outer axes; of the first and the third; of the rows' elements, too.
  const auto scaled = [](F& f, const Tensors& in) {
    const Tensor y = f.softmax(in[0]);
    return Tensors{f.broadcast_add(f.broadcast_mul(f.broadcast_mul(y, in[1]), in[2]), in[3])};
  };
  for (const Shape& s : {Shape{7, 3, 5, 1009}, Shape{2, 31, 3, 700}, Shape{60, 5, 7, 33}}) {
    CAPTURE(s);
    const std::int64_t a = s[0], b = s[1], c = s[2], d = s[3];
    kernels_of(scaled, {drawn(s), drawn({1, b, 1, 1}), drawn({a, 1, c, 1}), drawn({1, b, 1, 1})});
    kernels_of(scaled, {drawn(s), drawn({a, 1, 1, 1}), drawn({1, 1, c, 1}), drawn({1, b, 1, d})});
  }
}

// Blocks of rows begin within what the rows of an operand repeat, or share: 15 elements, 8, and 12.
TEST_CASE("rows are parts of what an operand repeats") {
  const auto [groups, columns] =
      GENERATE(table<std::int64_t, std::int64_t>({{5, 3}, {4, 2}, {3, 4}, {7, 1}}));
  for (const DType dtype : {DType::f32, DType::f16}) {
    CAPTURE(groups, columns, name_of(dtype));
    const std::int64_t rows = 100000 / (groups * columns);
    const Tensor x = drawn({rows, groups, columns}).astype(dtype),
                 shared = drawn({1, groups, columns}).astype(dtype),
                 of_row = drawn({rows, 1, 1}).astype(dtype);
    const auto body = [](F& f, const Tensors& in) {
      return Tensors{f.softmax(f.broadcast_maximum(in[0], in[1])), f.softmin(f.broadcast_mul(in[0], in[2]))};
    };
    const Tensors y = everywhere(body, {x, shared, of_row});
    const Shape flat{rows * groups, columns};
    CHECK(same_bits(y[0].reshape(flat), nd::softmax(nd::broadcast_maximum(x, shared).reshape(flat).copy())));
    CHECK(same_bits(y[1].reshape(flat), nd::softmin(nd::broadcast_mul(x, of_row).reshape(flat).copy())));
  }
}

// Windows of a full pooling wholly after the end of an axis: MXNet 1.9.1's numbers.
#include "function_net.h"

#include <limits>

using namespace kiln;

namespace {

constexpr double least = std::numeric_limits<float>::lowest();
constexpr double inf = std::numeric_limits<double>::infinity();

Tensor pooled(const Tensor& x, PoolingOptions options, const char* type) {
  options.pool_type = type;
  options.pooling_convention = "full";
  return everywhere([&](F& f, const Tensors& in) { return Tensors{f.Pooling(in[0], options)}; }, {x})[0];
}

Tensor numbers(const Shape& shape) {
  return nd::arange(1, static_cast<double>(shape.elements()) + 1).reshape(shape);
}

/// Three numbers of a line, nine of an image.
Tensor line(std::initializer_list<double> values) { return Tensor(values).reshape({1, 1, 3}); }
Tensor image(std::initializer_list<double> values) { return Tensor(values).reshape({1, 1, 3, 3}); }

}  // namespace

TEST_CASE("the maximum of a window without elements is the least finite number") {
  const Tensor x = numbers({1, 1, 5}), map = numbers({1, 1, 5, 4}), cube = numbers({1, 1, 3, 3, 3});
  CHECK(same_bits(pooled(x, {.kernel = {1}, .stride = {3}}, "max"), line({1, 4, least})));
  CHECK(same_bits(pooled(x, {.kernel = {2}, .stride = {4}, .pad = {1}}, "max"), line({1, 5, least})));
  CHECK(same_bits(pooled(map, {.kernel = {1, 1}, .stride = {3, 2}}, "max"),
                  image({1, 3, least, 13, 15, least, least, least, least})));
  CHECK(same_bits(pooled(cube, {.kernel = {1, 1, 1}, .stride = {3, 3, 3}}, "max").reshape({8}),
                  Tensor{1, least, least, least, least, least, least, least}));
}

TEST_CASE("of each type") {
  const auto of = [](DType dtype, double number) {
    const Tensor y = pooled(numbers({1, 1, 5}).astype(dtype), {.kernel = {1}, .stride = {3}}, "max");
    CHECK(same_bits(y, Tensor(std::vector<double>{1, 4, number}, {1, 1, 3}).astype(dtype)));
  };
  of(DType::f64, std::numeric_limits<double>::lowest());
  of(DType::f16, -65504);
  of(DType::bf16, -0x1.fep127);
}

TEST_CASE("sums, means and norms of nothing are 0") {
  for (const char* type : {"sum", "avg", "lp"}) {
    CAPTURE(type);
    CHECK(same_bits(pooled(numbers({1, 1, 5}), {.kernel = {1}, .stride = {3}, .p_value = 2}, type),
                    line({1, 4, 0})));
    CHECK(same_bits(pooled(numbers({1, 1, 5, 4}), {.kernel = {1, 1}, .stride = {3, 2}, .p_value = 2}, type),
                    image({1, 3, 0, 13, 15, 0, 0, 0, 0})));
  }
}

TEST_CASE("a window of infinities has that maximum") {
  CHECK(same_bits(
      pooled(Tensor{-inf, -inf, 1, -inf, -inf}.reshape({1, 1, 5}), {.kernel = {2}, .stride = {2}}, "max"),
      line({-inf, 1, -inf})));
}

TEST_CASE("no element has the gradient of a window without elements") {
  Tensor x = numbers({1, 1, 5, 4});
  x.attach_grad();
  Net net([](F& f, const Tensors& in) {
    return Tensors{f.Pooling(
        in[0], {.kernel = {1, 1}, .pool_type = "max", .pooling_convention = "full", .stride = {3, 2}})};
  });
  Tensor wanted = nd::zeros(x.shape());
  for (const auto& [row, column] : {std::pair{0, 0}, {0, 2}, {3, 0}, {3, 2}}) wanted[0][0][row][column] = 1;
  for (const bool hybrid : {false, true}) {
    if (hybrid) net.hybridize();
    Tensors y;
    {
      const autograd::Record record;
      y = net(Tensors{x});
    }
    y[0].backward();
    CHECK(same_bits(x.grad(), wanted));
  }
}

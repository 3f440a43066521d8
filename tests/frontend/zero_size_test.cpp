// Arrays without elements: every operator takes them, eagerly and compiled.
#include "function_net.h"
#include "golden_files.h"

#include <cmath>

using namespace kiln;
using golden::error_of;

namespace {

Tensors run(const std::function<Tensors(const Tensors&)>& body, const Tensors& inputs) {
  return everywhere([&](F&, const Tensors& x) { return body(x); }, inputs);
}
Tensor one(const std::function<Tensor(const Tensors&)>& body, const Tensors& inputs) {
  return run([&](const Tensors& x) { return Tensors{body(x)}; }, inputs)[0];
}

const Tensor& empty() {
  static const Tensor e = nd::zeros({0, 3});
  return e;
}

}  // namespace

TEST_CASE("pointwise operators of no elements", "[zero_size]") {
  CHECK(one([](const Tensors& x) { return nd::relu(nd::exp(x[0]) + 1.0); }, {empty()}).shape() ==
        Shape{0, 3});
  CHECK(one([](const Tensors& x) { return x[0] * x[1] - x[0]; }, {empty(), nd::ones({1, 3})}).shape() ==
        Shape{0, 3});
  CHECK(one([](const Tensors& x) { return x[0] > x[1]; }, {empty(), nd::ones({3})}).shape() == Shape{0, 3});
  CHECK(one([](const Tensors& x) { return nd::where(x[0], x[0], x[0]); }, {empty()}).shape() == Shape{0, 3});
  CHECK(one([](const Tensors& x) { return x[0].astype(DType::f16).astype(DType::i32); }, {empty()}).shape() ==
        Shape{0, 3});
  CHECK_THAT(error_of([] { empty() + nd::ones({2, 3}); }), Catch::Contains("(0, 3)"));
}

TEST_CASE("sums over no elements are the neutral element", "[zero_size]") {
  const auto values = [](const Tensor& t) { return t.to_vector<float>(); };
  using V = std::vector<float>;
  CHECK(values(one([](const Tensors& x) { return nd::sum(x[0], {.axis = 0}); }, {empty()})) == V{0, 0, 0});
  CHECK(values(one([](const Tensors& x) { return nd::sum(x[0]); }, {empty()})) == V{0});
  CHECK(values(one([](const Tensors& x) { return nd::prod(x[0], {.axis = 0}); }, {empty()})) == V{1, 1, 1});
  CHECK(one([](const Tensors& x) { return nd::sum(x[0], {.axis = 1}); }, {empty()}).shape() == Shape{0});
  CHECK(one([](const Tensors& x) { return nd::max(x[0], {.axis = 1}); }, {empty()}).shape() == Shape{0});
  CHECK(one([](const Tensors& x) { return F::np().sum(x[0]); }, {empty()}).item<float>() == 0);
  CHECK(one([](const Tensors& x) { return F::np().prod(x[0]); }, {empty()}).item<float>() == 1);
  CHECK(std::isnan(one([](const Tensors& x) { return F::np().mean(x[0]); }, {empty()}).item<float>()));
  CHECK(one([](const Tensors& x) { return F::np().max(x[0], {.axis = 1}); }, {empty()}).shape() == Shape{0});
  CHECK_THAT(error_of([] { F::np().max(empty()); }), Catch::Contains("no maximum"));
  CHECK_THAT(error_of([] { F::np().min(empty(), {.axis = 0}); }), Catch::Contains("no minimum"));
  CHECK_THAT(error_of([] { F::np().argmax(empty()); }), Catch::Contains("no maximum"));
  CHECK(one([](const Tensors& x) { return nd::softmax(x[0]); }, {empty()}).shape() == Shape{0, 3});
  CHECK(one([](const Tensors& x) { return nd::log_softmax(x[0]); }, {nd::zeros({3, 0})}).shape() ==
        Shape{3, 0});
}

TEST_CASE("products over no elements are zero", "[zero_size]") {
  const Tensor tall = nd::ones({2, 0}), wide = nd::ones({0, 5});
  const std::vector<float> zeros(10);
  CHECK(one([](const Tensors& x) { return nd::dot(x[0], x[1]); }, {tall, wide}).to_vector<float>() == zeros);
  CHECK(one([](const Tensors& x) { return F::np().matmul(x[0], x[1]); }, {tall, wide}).to_vector<float>() ==
        zeros);
  CHECK(one([](const Tensors& x) { return F::np().dot(x[0], x[1]); }, {wide, nd::ones({5, 2})}).shape() ==
        Shape{0, 2});
  CHECK(one(
            [](const Tensors& x) {
              return F::np().einsum("ij,jk->ik", {x[0], x[1]});
            },
            {tall, wide})
            .to_vector<float>() == zeros);
  CHECK(one([](const Tensors& x) { return nd::batch_dot(x[0], x[1]); },
            {nd::ones({3, 2, 0}), nd::ones({3, 0, 4})})
            .to_vector<float>() == std::vector<float>(24));
  CHECK(one([](const Tensors& x) { return nd::batch_dot(x[0], x[1]); },
            {nd::ones({0, 2, 3}), nd::ones({0, 3, 4})})
            .shape() == Shape{0, 2, 4});
  const Tensor b = nd::arange(5);
  CHECK(one([](const Tensors& x) { return nd::FullyConnected(x[0], x[1], x[2], {.num_hidden = 5}); },
            {nd::ones({2, 0}), nd::ones({5, 0}), b})
            .to_vector<float>() == std::vector<float>{0, 1, 2, 3, 4, 0, 1, 2, 3, 4});
  CHECK(
      one([](const Tensors& x) { return nd::relu(nd::FullyConnected(x[0], x[1], x[2], {.num_hidden = 5})); },
          {empty(), nd::ones({5, 3}), b})
          .shape() == Shape{0, 5});
}

TEST_CASE("layers of an empty batch", "[zero_size]") {
  const Tensor x = nd::zeros({0, 2, 6, 6}), w = nd::ones({4, 2, 3, 3}), c = nd::ones({2});
  CHECK(one(
            [](const Tensors& t) {
              return nd::relu(
                  nd::Convolution(t[0], t[1], {.kernel = {3, 3}, .num_filter = 4, .no_bias = true}));
            },
            {x, w})
            .shape() == Shape{0, 4, 4, 4});
  CHECK(one(
            [](const Tensors& t) {
              return nd::Pooling(t[0], {.kernel = {2, 2}, .stride = {2, 2}});
            },
            {x})
            .shape() == Shape{0, 2, 3, 3});
  CHECK(one(
            [](const Tensors& t) {
              return nd::Pooling(t[0], {.kernel = {2, 2}, .pool_type = "avg", .stride = {2, 2}});
            },
            {x})
            .shape() == Shape{0, 2, 3, 3});
  CHECK(one([](const Tensors& t) { return nd::BatchNorm(t[0], t[1], t[1], t[1], t[1]); }, {x, c}).shape() ==
        x.shape());
  CHECK(one([](const Tensors& t) { return nd::LayerNorm(t[0], t[1], t[1]); }, {empty(), nd::ones({3})})
            .shape() == Shape{0, 3});
  CHECK(one([](const Tensors& t) { return nd::Embedding(t[0], t[1], {.input_dim = 4, .output_dim = 2}); },
            {nd::zeros({0, 5}), nd::ones({4, 2})})
            .shape() == Shape{0, 5, 2});
  CHECK(one([](const Tensors& t) { return nd::Dropout(t[0]); }, {empty()}).shape() == Shape{0, 3});
}

TEST_CASE("copies of no elements", "[zero_size]") {
  const Tensor full = nd::arange(6).reshape({2, 3});
  CHECK(one(
            [](const Tensors& x) {
              return nd::concat({x[0], x[1], x[0]}, {.dim = 0});
            },
            {empty(), full})
            .to_vector<float>() == full.to_vector<float>());
  CHECK(one(
            [](const Tensors& x) {
              return nd::concat({x[0], x[0]}, {.dim = 1});
            },
            {empty()})
            .shape() == Shape{0, 6});
  CHECK(one([](const Tensors& x) { return nd::stack({x[0], x[0]}); }, {empty()}).shape() == Shape{2, 0, 3});
  CHECK(one([](const Tensors& x) { return nd::transpose(x[0]) + 1.0; }, {empty()}).shape() == Shape{3, 0});
  CHECK(one([](const Tensors& x) { return nd::slice(x[0], {.begin = {1}, .end = {1}}); }, {full}).shape() ==
        Shape{0, 3});
  CHECK(one([](const Tensors& x) { return nd::flip(x[0], {0}); }, {empty()}).shape() == Shape{0, 3});
  CHECK(one([](const Tensors& x) { return nd::tile(x[0], {0, 2}); }, {full}).shape() == Shape{0, 6});
  CHECK(
      one([](const Tensors& x) { return nd::repeat(x[0], {.repeats = 2, .axis = 0}); }, {empty()}).shape() ==
      Shape{0, 3});
  CHECK(one(
            [](const Tensors& x) {
              return nd::pad(x[0], {.mode = "constant", .pad_width = {1, 1, 0, 0}});
            },
            {empty()})
            .to_vector<float>() == std::vector<float>(6));
  CHECK(one(
            [](const Tensors& x) {
              return F::np().broadcast_to(x[0], {0, 3});
            },
            {nd::ones({1, 3})})
            .shape() == Shape{0, 3});
  CHECK(one(
            [](const Tensors& x) {
              return F::np().reshape(x[0], {3, 0, 7});
            },
            {empty()})
            .shape() == Shape{3, 0, 7});
  CHECK_THAT(error_of([] { F::np().reshape(empty(), {0, -1}); }), Catch::Contains("do not divide"));
}

TEST_CASE("x[...] that selects no elements", "[zero_size]") {
  const Tensor full = nd::arange(6).reshape({2, 3});
  CHECK(one([](const Tensors& x) { return x[0][slice(2, 2)]; }, {full}).shape() == Shape{0, 3});
  CHECK(one([](const Tensors& x) { return (x[0] * 2)({1, slice(2, 1)}) + 1.0; }, {full}).shape() == Shape{0});
  CHECK(one([](const Tensors& x) { return x[0]({slice(), slice(5, {})}); }, {full}).shape() == Shape{2, 0});
  CHECK(one(
            [](const Tensors& x) {
              return nd::concat({x[0][slice(0, 0)], x[0]}, {.dim = 0});
            },
            {full})
            .to_vector<float>() == full.to_vector<float>());
  CHECK(one(
            [](const Tensors& x) {
              Tensor y = x[0] + 0.0;
              y[slice(2, 2)] = 7;
              return y;
            },
            {full})
            .to_vector<float>() == full.to_vector<float>());
}

TEST_CASE("no indices", "[zero_size]") {
  const Tensor full = nd::arange(6).reshape({2, 3}), none = nd::zeros({0});
  CHECK(one([](const Tensors& x) { return nd::take(x[0], x[1]); }, {full, none}).shape() == Shape{0, 3});
  CHECK(one([](const Tensors& x) { return nd::one_hot(x[0], 4); }, {none}).shape() == Shape{0, 4});
  CHECK(one([](const Tensors& x) { return nd::pick(x[0], x[1]); }, {empty(), none}).shape() == Shape{0});
  CHECK(one([](const Tensors& x) { return nd::gather_nd(x[0], x[1]); }, {full, nd::zeros({2, 0})}).shape() ==
        Shape{0});
  CHECK_THAT(error_of([&] { nd::take(empty(), nd::zeros({1})); }), Catch::Contains("empty"));
}

TEST_CASE("arrays without elements print, and are saved", "[zero_size]") {
  CHECK(to_string(empty()) == "\n[]\n<NDArray 0x3 @cpu(0)>");
  CHECK(empty().to_vector<float>().empty());
  const Tensor scalar = F::np().sum(nd::ones({4}));
  save_arrays("zero_size.params",
              std::vector<NamedArray>{{"e", empty()}, {"s", scalar}, {"x", nd::ones({2})}});
  const auto back = load_arrays("zero_size.params");
  CHECK(back.at(0).array.shape() == Shape{0, 3});
  CHECK(back.at(1).array.shape() == Shape{});
  CHECK(back.at(1).array.item<float>() == 4);
  CHECK(back.at(2).array.shape() == Shape{2});
}

TEST_CASE("products of computed matrices over no elements", "[zero_size]") {
  for (const int rows : {0, 1, 70})
    for (const int columns : {1, 40, 300}) {
      INFO(rows << " rows, " << columns << " columns");
      const Tensor y = one(
          [&](const Tensors& x) {
            return nd::FullyConnected(nd::relu(x[0]), nd::relu(x[1]), x[2], {.num_hidden = columns});
          },
          {nd::zeros({rows, 0}), nd::zeros({columns, 0}), nd::ones({columns})});
      CHECK(y.to_vector<float>() ==
            std::vector<float>(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns), 1));
    }
}

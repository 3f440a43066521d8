// Ways to spell a call that Gluon has too: numbers for axes, methods of x[...], inputs in braces, printing.
#include "function_net.h"

#include <sstream>

using namespace kiln;

namespace {

template <class T>
std::string printed(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

Tensor counted() { return nd::arange(24).reshape({2, 3, 4}); }

/// Gives as many results as it takes inputs, whatever their number.
struct Doubled : HybridBlock {
  Tensors hybrid_forward(F&, const Tensors& in) override {
    Tensors out;
    for (const Tensor& x : in) out.push_back(x * 2);
    return out;
  }
};

/// One result of a vector of inputs.
struct Total : HybridBlock {
  Tensors hybrid_forward(F& F, const Tensors& in) override { return {F.add_n(in)}; }
};

struct Difference : HybridBlock {
  Tensor hybrid_forward(F&, const Tensor& a, const Tensor& b) override { return a - b; }
};

}  // namespace

TEST_CASE("a number for an axis means the option") {
  const Tensor x = counted();
  CHECK(same_bits(x.sum(1), x.sum({.axis = 1})));
  CHECK(same_bits(x.mean(-1), x.mean({.axis = -1})));
  CHECK(same_bits(x.prod(0), x.prod({.axis = 0})));
  CHECK(same_bits(x.max(1), x.max({.axis = 1})));
  CHECK(same_bits(x.min(std::int64_t{2}), x.min({.axis = 2})));
  CHECK(same_bits(x.argmax(1), x.argmax({.axis = 1})));
  CHECK(same_bits(x.argmin(std::size_t{1}), x.argmin({.axis = 1})));
  CHECK(same_bits(x.softmax(0), x.softmax({.axis = 0})));
  CHECK(same_bits(x.log_softmax(0), x.log_softmax({.axis = 0})));
  CHECK(same_bits(x.sort(0), x.sort({.axis = 0})));
  CHECK(same_bits(x.argsort(0), x.argsort({.axis = 0})));
  CHECK(same_bits(x.topk(1), x.topk({.axis = 1})));
  CHECK(same_bits(x.cumsum(1), x.cumsum({.axis = 1})));
  CHECK(same_bits(x.slice_axis(1, 1, 3), x.slice_axis({.axis = 1, .begin = 1, .end = 3})));
  CHECK(same_bits(x.slice_axis(2, 1, {}), x.slice_axis({.axis = 2, .begin = 1})));
}

TEST_CASE("F takes by position whatever Gluon takes so") {
  const Tensor x = counted(), two = Tensor({1, 0});
  F F;
  CHECK(same_bits(F.sum(x, 1), F.sum(x, {.axis = 1})));
  CHECK(same_bits(F.nansum(x, 1), F.nansum(x, {.axis = 1})));
  CHECK(same_bits(F.softmax(x, 1), F.softmax(x, {.axis = 1})));
  CHECK(same_bits(F.log_softmax(x, 1), F.log_softmax(x, {.axis = 1})));
  CHECK(same_bits(F.softmin(x, 1), F.softmin(x, {.axis = 1})));
  CHECK(same_bits(F.norm(x, 1), F.norm(x, {.ord = 1})));
  CHECK(F.concat({x, x}, 0).shape() == Shape{4, 3, 4});
  CHECK(F.Concat({x, x[0].reshape({1, 3, 4})}, 0).shape() == Shape{3, 3, 4});
  CHECK(F.stack({x, x}, 1).shape() == Shape{2, 2, 3, 4});
  CHECK(F.split(x, 3).size() == 3);
  CHECK(F.split(x, 2, 2)[1].shape() == Shape{2, 3, 2});
  CHECK(F.SliceChannel(x, 2, 0)[0].shape() == Shape{1, 3, 4});
  CHECK(F.swapaxes(x, 0, 2).shape() == Shape{4, 3, 2});
  CHECK(F.squeeze(F.expand_dims(x, 1), 1).shape() == x.shape());
  CHECK(same_bits(F.repeat(x, 2, 0), F.repeat(x, {.repeats = 2, .axis = 0})));
  CHECK(same_bits(F.repeat(x, 2), F.repeat(x, {.repeats = 2})));
  CHECK(same_bits(F.flip(x, 1), F.flip(x, {1})));
  CHECK(same_bits(F.take(x, two, 2), F.take(x, two, {.axis = 2})));
  CHECK(same_bits(F.pick(x[0], Tensor({0, 1, 2}), 1), F.pick(x[0], Tensor({0, 1, 2}), {.axis = 1})));
  CHECK(F.broadcast_axis(nd::ones({2, 1}), 1, 3).shape() == Shape{2, 3});
  CHECK(same_bits(F.slice_axis(x, 2, 1, 3), x.slice_axis(2, 1, 3)));
  CHECK(same_bits(F.np().sum(x, 1), F.np().sum(x, {.axis = 1})));
  CHECK(same_bits(F.np().std(x, 1), F.np().std(x, {.axis = 1})));
  CHECK(same_bits(F.npx().softmax(x, 1), F.npx().softmax(x, {.axis = 1})));
  CHECK(same_bits(F.sum(x, {}), F.sum(x)));  // braces are options
}

TEST_CASE("the line of such a call is the program's") {
  const Tensor x = counted();
  CHECK_THROWS_WITH(x.sum(7), Catch::Contains("spelling_test.cpp:" + std::to_string(__LINE__)));
  CHECK_THROWS_WITH(nd::softmax(x, 7), Catch::Contains("spelling_test.cpp:" + std::to_string(__LINE__)));
}

TEST_CASE("x[...] has the methods of a tensor") {
  Tensor x = counted();
  const Tensor& constant = x;
  CHECK(same_bits(x[0].sum(), constant[0].sum()));
  CHECK(same_bits(x[1].sum(1), constant[1].sum(1)));
  CHECK(same_bits(x({slice(), 1}).max({.axis = 0}), constant({slice(), 1}).max(0)));
  CHECK(same_bits(x[0].T(), constant[0].T()));
  CHECK(same_bits(x[0].relu().expand_dims(0), constant[0].relu().expand_dims(0)));
  CHECK(x[0].ndim() == 2);
  CHECK(x[0].dtype() == DType::f32);
  CHECK_FALSE(x[0].is_traced());
  std::vector<double> row(4);
  x[0][1].copy_to(row.data(), DType::f64);
  CHECK(row == std::vector<double>{4, 5, 6, 7});
  CHECK(x[1]({slice(), 2}).to_vector<float>() == std::vector<float>{14, 18, 22});
  x[0] %= 3;
  CHECK(x[0][1].to_vector<float>() == std::vector<float>{1, 2, 0, 1});
}

TEST_CASE("x[...] has them while it is recorded") {
  everywhere(
      [](F&, const Tensors& in) {
        Tensor x = in[0] + 0.0;
        x[0] %= 3;
        return Tensors{x[0].sum(1), x({slice(), 2}).mean(), x[1].T()};
      },
      {counted()});
}

TEST_CASE("inputs in braces are a call with a vector") {
  const Tensor x = Tensor({1, 2}), y = Tensor({3, 5});
  Tensor z = counted();
  for (const bool hybrid : {false, true}) {
    Doubled doubled;
    doubled.hybridize(hybrid);
    const Tensors one = doubled({x});
    REQUIRE(one.size() == 1);
    CHECK(one[0].to_vector<float>() == std::vector<float>{2, 4});
    CHECK(doubled({x, y}).size() == 2);
    CHECK(doubled({z[0]})[0].shape() == Shape{3, 4});
    CHECK(doubled(x).to_vector<float>() == std::vector<float>{2, 4});
    Child<Doubled> child{&doubled, "again"};
    child = Doubled();
    CHECK(child({x})[0].to_vector<float>() == std::vector<float>{2, 4});
  }
}

TEST_CASE("a call with several tensors finds the form that the network has") {
  const Tensor x = Tensor({1, 2}), y = Tensor({3, 5});
  for (const bool hybrid : {false, true}) {
    Total total;
    Difference difference;
    total.hybridize(hybrid);
    difference.hybridize(hybrid);
    CHECK(total(x, y).to_vector<float>() == std::vector<float>{4, 7});
    CHECK(total(x, y, y).to_vector<float>() == std::vector<float>{7, 12});
    CHECK(total({x, y, y, y})[0].to_vector<float>() == std::vector<float>{10, 17});
    CHECK(difference(x, y).to_vector<float>() == std::vector<float>{-2, -3});
    CHECK(difference({x, y})[0].to_vector<float>() == std::vector<float>{-2, -3});
    Doubled doubled;
    doubled.hybridize(hybrid);
    CHECK_THROWS_WITH(doubled(x, y), Catch::Contains("gives 2 tensors"));
  }
}

TEST_CASE("a recurrent layer takes its only state in braces") {
  rnn::GRU gru(3);
  gru.initialize();
  const Tensor x = counted();
  const auto [out, states] = gru(x, {nd::zeros({1, 3, 3})});
  CHECK(out.shape() == Shape{2, 3, 3});
  CHECK(states.size() == 1);
}

TEST_CASE("shapes, dtypes, devices and F print") {
  CHECK(printed(Shape{2, 3}) == "(2, 3)");
  CHECK(printed(counted().shape()) == "(2, 3, 4)");
  CHECK(printed(DType::bf16) == "bfloat16");
  CHECK(printed(counted().dtype()) == "float32");
  CHECK(printed(cpu()) == "cpu(0)");
  std::string seen;
  Net net([&](F& F, const Tensors& in) {
    seen = printed(F);
    return in;
  });
  net(Tensors{counted()});
  CHECK(seen == "mxnet.ndarray");
  net.hybridize();
  net(Tensors{counted()});
  CHECK(seen == "mxnet.symbol");
}

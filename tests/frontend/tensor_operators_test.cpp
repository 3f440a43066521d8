// Operators on tensors and numbers, eagerly.
#include "function_net.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

using namespace kiln;
using Catch::Contains;
using Floats = std::vector<float>;

TEST_CASE("numbers stand on either side", "[tensor][operators]") {
  const Tensor x = {1, 2, 4};
  CHECK((x + 1).to_vector<float>() == Floats{2, 3, 5});
  CHECK((1 + x).to_vector<float>() == Floats{2, 3, 5});
  CHECK((x - 1).to_vector<float>() == Floats{0, 1, 3});
  CHECK((1 - x).to_vector<float>() == Floats{0, -1, -3});
  CHECK((x * 2.5).to_vector<float>() == Floats{2.5, 5, 10});
  CHECK((x / 2).to_vector<float>() == Floats{0.5, 1, 2});
  CHECK((8 / x).to_vector<float>() == Floats{8, 4, 2});
  CHECK((x % 3).to_vector<float>() == Floats{1, 2, 1});
  CHECK((-x).to_vector<float>() == Floats{-1, -2, -4});
  CHECK((-x % 3).to_vector<float>() == Floats{2, 1, 2});  // the sign of the divisor, as in Python
  CHECK((5 % x).to_vector<float>() == Floats{0, 1, 1});
}

TEST_CASE("comparisons give 1 and 0 in the tensors' dtype", "[tensor][operators]") {
  const Tensor x = {1, 2, 4};
  const Tensor y = {1, 5, 3};
  CHECK((x == y).to_vector<float>() == Floats{1, 0, 0});
  CHECK((x != y).to_vector<float>() == Floats{0, 1, 1});
  CHECK((x < y).to_vector<float>() == Floats{0, 1, 0});
  CHECK((x <= 2).to_vector<float>() == Floats{1, 1, 0});
  CHECK((2 < x).to_vector<float>() == Floats{0, 0, 1});
  CHECK((2 >= x).to_vector<float>() == Floats{1, 1, 0});
  CHECK((x > y).dtype() == DType::f32);
}

TEST_CASE("tensors broadcast from the right", "[tensor][operators]") {
  const Tensor x{{1, 2, 3}, {4, 5, 6}};
  CHECK((x + Tensor{10, 20, 30}).to_vector<float>() == Floats{11, 22, 33, 14, 25, 36});
  CHECK((x * Tensor{{1}, {2}}).to_vector<float>() == Floats{1, 2, 3, 8, 10, 12});
  CHECK((Tensor{{1}, {2}} - Tensor{1, 2, 3}).shape() == Shape{2, 3});
  CHECK(nd::maximum(x, 3).to_vector<float>() == Floats{3, 3, 3, 4, 5, 6});
  CHECK(nd::power(2, Tensor{1, 2, 3}).to_vector<float>() == Floats{2, 4, 8});
}

TEST_CASE("shapes that do not fit name both and the line", "[tensor][operators][error]") {
  const Tensor x = ones({2, 3});
  const Tensor y = ones({4});
  const std::string line = std::to_string(__LINE__ + 1);
  CHECK_THROWS_WITH(x + y, Catch::Contains("(2, 3)") && Catch::Contains("(4,)") &&
                               Catch::Contains("tensor_operators_test.cpp:" + line));
}

TEST_CASE("dtypes that differ name both, the line and the remedy", "[tensor][operators][error]") {
  const Tensor x = ones({2});
  const Tensor y = ones({2}, DType::i32);
  const std::string line = std::to_string(__LINE__ + 1);
  CHECK_THROWS_WITH(x + y, Catch::Contains("float32") && Catch::Contains("int32") &&
                               Catch::Contains("astype(DType::f32)") &&
                               Catch::Contains("tensor_operators_test.cpp:" + line));
  CHECK((x + y.astype(DType::f32)).to_vector<float>() == Floats{2, 2});
}

TEST_CASE("integers wrap and divide as C does", "[tensor][operators]") {
  const Tensor a({127, -7, 7}, DType::i8);
  CHECK((a + 1).to_vector<int>() == std::vector<int>{-128, -6, 8});
  CHECK((a / 2).to_vector<int>() == std::vector<int>{63, -3, 3});
  const Tensor b({200, 100}, DType::u8);
  CHECK((b + b).to_vector<int>() == std::vector<int>{144, 200});
}

TEST_CASE("half precision rounds once", "[tensor][operators]") {
  const Tensor a({1, 2048}, DType::f16);
  CHECK((a + 1).to_vector<float>() == Floats{2, 2048});
  const Tensor b({1, 256}, DType::bf16);
  CHECK((b + 1).to_vector<float>() == Floats{2, 256});
}

TEST_CASE("in-place operators change the array, whoever holds it", "[tensor][operators]") {
  Tensor x = {1, 2, 3};
  const Tensor same = x;
  x += 1;
  x *= Tensor{2, 2, 2};
  x -= Tensor{1};
  x /= 2;
  CHECK(same.to_vector<float>() == Floats{1.5, 2.5, 3.5});
  x %= 1;
  CHECK(same.to_vector<float>() == Floats{0.5, 0.5, 0.5});
  x += x;
  CHECK(same.to_vector<float>() == Floats{1, 1, 1});
  CHECK_THROWS_WITH(x += ones({2, 3}), Catch::Contains("in-place") && Catch::Contains("(2, 3)"));
}

namespace {
/// Runs f with many numbers: after the first few, the code takes them as an argument. Each result must have
/// the bits that the hybridized form, with the number compiled in, gives.
template <class Fn>
void check_numbers(Fn f, DType dtype) {
  struct Net : HybridBlock {
    Net(Fn fn, double number) : fn(fn), number(number) {}
    Tensor hybrid_forward(F&, const Tensor& x) override { return fn(x, number); }
    Fn fn;
    double number;
  };
  const Tensor x = Tensor({-3.25, -1, -0.0, 0.1, 2, 100}).astype(dtype);
  for (int i = 0; i < 24; ++i) {
    const double number = (i - 12) * 0.3 + 0.05;
    Net net(f, number);
    net.hybridize();
    const Tensor a = f(x, number);
    const Tensor b = net(x);
    CHECK(a.dtype() == b.dtype());
    CHECK(to_string(a) == to_string(b));
  }
}
}  // namespace

TEST_CASE("numbers that vary give the bits of numbers that are compiled in", "[tensor][operators]") {
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::i32}) {
    check_numbers([](const Tensor& x, double n) { return x + n; }, dtype);
    check_numbers([](const Tensor& x, double n) { return n - x; }, dtype);
    check_numbers([](const Tensor& x, double n) { return x / n; }, dtype);
    check_numbers([](const Tensor& x, double n) { return n < x; }, dtype);
    check_numbers([](const Tensor& x, double n) { return x % n; }, dtype);
  }
}

TEST_CASE("an eager loop over numbers adds up", "[tensor][operators]") {
  Tensor x = {0, 0};
  float sum = 0;
  for (int i = 0; i < 100; ++i) {
    x += i * 0.25;
    sum += static_cast<float>(i) * 0.25f;
  }
  CHECK(x.to_vector<float>() == Floats{sum, sum});
}

TEST_CASE("F's functions are nd's", "[tensor][operators]") {
  const Tensor x{{-1, 2}, {3, -4}};
  CHECK(nd::relu(x).to_vector<float>() == Floats{0, 2, 3, 0});
  CHECK(x.relu().to_vector<float>() == Floats{0, 2, 3, 0});
  CHECK(nd::sum(x, {.axis = 1}).to_vector<float>() == Floats{1, -1});
  CHECK(nd::sum(x).shape() == Shape{1});
  CHECK(nd::dot(x, x, {.transpose_b = true}).to_vector<float>() == Floats{5, -11, -11, 25});
  CHECK(nd::transpose(x).to_vector<float>() == Floats{-1, 3, 2, -4});
  CHECK(nd::concat({x, x}, {.dim = 0}).shape() == Shape{4, 2});
  CHECK(nd::clip(x, -1, 1).to_vector<float>() == Floats{-1, 1, 1, -1});
  CHECK(nd::name() == "ndarray");
}

TEST_CASE("special functions at their ends", "[tensor][operators]") {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const auto expect = [](const Tensor& got, const std::vector<double>& wanted) {
    const std::vector<float> values = got.to_vector<float>();
    REQUIRE(values.size() == wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      CAPTURE(i, values[i], wanted[i]);
      CHECK((std::isnan(wanted[i]) ? std::isnan(values[i]) : values[i] == Approx(wanted[i]).epsilon(1e-6)));
    }
  };
  expect(nd::erfinv(Tensor{-2, -1, -0.5, 0, 0.999, 1, nan}),
         {nan, -inf, -0.4769362762, 0, 2.3267562389, inf, nan});
  expect(nd::gamma(Tensor{-inf, -2, -1, -0.5, -0.0, 0, 0.5, 5, 34, 36, inf}),
         {nan, nan, nan, -3.5449077018, -inf, inf, 1.7724538509, 24, std::tgamma(34.0), inf, inf});
  expect(nd::gammaln(Tensor{-inf, -2, -2.5, 0, 0.5, 5, 1000, inf}),
         {inf, inf, std::lgamma(-2.5), inf, 0.5723649429, std::log(24.0), std::lgamma(1000.0), inf});
}

TEST_CASE("logical operators are those of arrays", "[tensor][operators]") {
  const Tensor a({0, 1, -2, NAN, 0}), b({0, 0, 3, 1, 5});
  const Net::Body body = [](F& F, const Tensors& in) {
    const Tensor &x = in[0], &y = in[1];
    return Tensors{x && y, x || y,       !x,        x && true,          false || y,
                   2 && x, x && (y > 1), !(x == y), F.logical_and(x, y)};
  };
  const Tensors r = everywhere(body, {a, b});
  using V = std::vector<float>;
  CHECK(r[0].to_vector<float>() == V{0, 0, 1, 1, 0});
  CHECK(r[1].to_vector<float>() == V{0, 1, 1, 1, 1});
  CHECK(r[2].to_vector<float>() == V{1, 0, 0, 0, 1});
  CHECK(r[3].to_vector<float>() == V{0, 1, 1, 1, 0});
  CHECK(r[4].to_vector<float>() == V{0, 0, 1, 1, 1});
  CHECK(r[5].to_vector<float>() == V{0, 1, 1, 1, 0});
  CHECK(r[6].to_vector<float>() == V{0, 0, 1, 0, 0});
  CHECK(r[7].to_vector<float>() == V{0, 1, 1, 1, 1});
  CHECK(same_bits(r[8], r[0]));
  CHECK((Tensor({1, 0}, DType::i32) && Tensor({1, 1}, DType::i32)).dtype() == DType::i32);
  const Tensor column{{1}, {0}};
  CHECK((column && Tensor{1, 0}).to_vector<int>() == std::vector<int>{1, 0, 0, 0});
  const std::string line = SourceLocation(std::source_location::current()).str();
  CHECK_THROWS_WITH(a && ones({2}), Contains("tensor_operators_test.cpp:") && Contains("(2,)"));
  CHECK((a[1] && true).item<float>() == 1);
  // Tracked flags stay C++'s.
  struct Flags : HybridBlock {
    Attr<bool> yes{this, true}, no{this, false};
    Tensor hybrid_forward(F&, const Tensor& x) override { return (yes && !no) || (no && yes) ? x && yes : x; }
  };
  Flags flags;
  CHECK(flags(b).to_vector<float>() == V{0, 0, 1, 1, 1});
}

TEST_CASE("where takes numbers", "[tensor][operators]") {
  const Tensor c({1, 0, 1, 0}), x({1.5, -0.0, NAN, 4}), y({5, 6, 7, 8});
  const Net::Body body = [](F& F, const Tensors& in) {
    const Tensor &c = in[0], &x = in[1], &y = in[2];
    return Tensors{F.where(c, x, 0), F.where(c, -0.0, y),     F.where(c, 1, 2),
                   F.where(c, x, y), F.where(c, x, INFINITY), F.where(c, NAN, x)};
  };
  const Tensors r = everywhere(body, {c, x, y});
  CHECK(same_bits(r[0], Tensor({1.5, 0, NAN, 0})));
  CHECK(same_bits(r[1], Tensor({-0.0, 6, -0.0, 8})));
  CHECK(same_bits(r[2], Tensor({1, 2, 1, 2})));
  CHECK(same_bits(r[3], Tensor({1.5, 6, NAN, 8})));
  CHECK(same_bits(r[4], Tensor({1.5, INFINITY, NAN, INFINITY})));
  CHECK(same_bits(r[5], Tensor({NAN, -0.0, NAN, 4})));
  for (const DType dtype :
       {DType::f16, DType::bf16, DType::f64, DType::i32, DType::i64, DType::u8, DType::boolean}) {
    const Tensor v = Tensor({1, 0, 1, 1}).astype(dtype);
    CHECK(same_bits(F::where(c, v, 0), Tensor({1, 0, 1, 0}).astype(dtype)));
    CHECK(same_bits(F::where(c, 1, v), Tensor({1, 0, 1, 1}).astype(dtype)));
  }
  const Tensor rows = arange(6).reshape({2, 3});
  CHECK(F::where(Tensor{1, 0}, rows, 9).to_vector<int>() == std::vector<int>{0, 1, 2, 9, 9, 9});
  Tensor grad_of({1, 2, 3, 4});
  grad_of.attach_grad();
  {
    const autograd::Record record;
    F::where(c, grad_of * 2, 0).backward();
  }
  CHECK(grad_of.grad().to_vector<float>() == std::vector<float>{2, 0, 2, 0});
}

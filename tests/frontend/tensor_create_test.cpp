// Making tensors, and getting their elements to and from the host.
#include <kiln/kiln.h>

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

using namespace kiln;

TEST_CASE("tensors are made from values, vectors and shapes", "[tensor]") {
  const Tensor a = {1, 2, 3};
  CHECK(a.shape() == Shape{3});
  CHECK(a.dtype() == DType::f32);
  const Tensor b{{1, 2}, {3, 4}, {5, 6}};
  CHECK(b.shape() == Shape{3, 2});
  CHECK(b.to_vector<int>() == std::vector<int>{1, 2, 3, 4, 5, 6});
  const Tensor c(std::vector<std::int64_t>{1, 2, 3, 4}, {2, 2});
  CHECK(c.dtype() == DType::i64);
  CHECK(c.size() == 4);
  CHECK(c.ndim() == 2);
  CHECK(nd::full({2, 2}, 3).to_vector<float>() == std::vector<float>(4, 3));
  CHECK(ones({3}, DType::f64).to_vector<double>() == std::vector<double>(3, 1));
  CHECK(zeros({2, 3}).to_vector<float>() == std::vector<float>(6, 0));
}

TEST_CASE("vectors and arrays of C++ make tensors", "[tensor]") {
  using std::vector;
  const Tensor a(vector<long long>{1, 2, 3LL << 40, 4}, {2, 2});
  CHECK(a.dtype() == DType::i64);
  CHECK(a.to_vector<long long>() == vector<long long>{1, 2, 3LL << 40, 4});
  CHECK(a.to_vector<long>() == vector<long>{1, 2, 3L << 40, 4});
  CHECK(a[1][0].item<long long>() == 3LL << 40);
  const Tensor b(std::array{1.5f, 2.5f, 3.5f, 4.5f}, {4, 1});
  CHECK(b.shape() == Shape{4, 1});
  CHECK(b.dtype() == DType::f32);
  CHECK(Tensor(std::array{1.5, 2.5}).dtype() == DType::f64);
  CHECK(Tensor(vector<int>{1, 2, 3}).shape() == Shape{3});
  const Tensor c(vector<vector<long long>>{{1, 2, 3}, {4, 5, 6}});
  CHECK(c.shape() == Shape{2, 3});
  CHECK(c.dtype() == DType::i64);
  CHECK(c.to_vector<int>() == vector<int>{1, 2, 3, 4, 5, 6});
  const Tensor d(vector<std::array<vector<std::array<float, 2>>, 1>>{{{{{1, 2}, {3, 4}, {5, 6}}}},
                                                                     {{{{7, 8}, {9, 10}, {11, 12}}}}});
  CHECK(d.shape() == Shape{2, 1, 3, 2});
  CHECK(d.to_vector<int>() == vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const Tensor e(vector<vector<bool>>{{true, false}, {false, true}});
  CHECK(e.dtype() == DType::boolean);
  CHECK(e.to_vector<int>() == vector<int>{1, 0, 0, 1});
  CHECK(nd::array(vector<vector<double>>{{1, 2}}).dtype() == DType::f64);
  CHECK(Tensor(vector<vector<float>>{}).shape() == Shape{0, 0});
  CHECK(Tensor(vector<vector<float>>{{}, {}}).shape() == Shape{2, 0});
}

TEST_CASE("the numbers of a shape count from both ends", "[tensor]") {
  const Tensor x = arange(24).reshape({2, 3, 4});
  CHECK(x.shape()[-1] == 4);
  CHECK(x.shape()[-3] == 2);
  CHECK(x.shape()[0] == 2);
  CHECK(x.shape()[2u] == 4);
  CHECK(x.reshape({-1, x.shape()[-1]}).shape() == Shape{6, 4});
  Shape s = x.shape();
  s[-2] = 7;
  CHECK(s == Shape{2, 7, 4});
}

TEST_CASE("a shape that the values do not fill is refused", "[tensor]") {
  CHECK_THROWS_WITH(Tensor(std::vector<float>{1, 2, 3}, {2, 2}),
                    Catch::Contains("3 values") && Catch::Contains("(2, 2)"));
  CHECK_THROWS_WITH((Tensor{{1, 2}, {3}}), Catch::Contains("row [1] has 1 values"));
  CHECK_THROWS_WITH(zeros({2, -1}), Catch::Contains("negative") && Catch::Contains("tensor_create_test.cpp"));
}

TEST_CASE("arange counts up to the stop", "[tensor]") {
  CHECK(arange(4).to_vector<float>() == std::vector<float>{0, 1, 2, 3});
  CHECK(nd::arange(1, 3, 0.5).to_vector<double>() == std::vector<double>{1, 1.5, 2, 2.5});
  CHECK(nd::arange(0, 2, 1, 2, DType::i32).to_vector<int>() == std::vector<int>{0, 0, 1, 1});
}

TEST_CASE("elements are converted on the way out and in", "[tensor]") {
  const Tensor a({1.5, -2.5, 300, 1e10}, DType::f64);
  CHECK(a.to_vector<float>() == std::vector<float>{1.5f, -2.5f, 300, 1e10f});
  CHECK(a.to_vector<std::int64_t>() == std::vector<std::int64_t>{1, -2, 300, 10000000000});
  CHECK(a.to_vector<std::uint8_t>()[2] == 44);  // wraps
  Tensor b = zeros({4}, DType::f16);
  b.copy_from(std::vector<float>{1.0f / 3, 65519, 65520, 1e-8f}.data(), DType::f32);
  const std::vector<float> half = b.to_vector<float>();
  CHECK(half[0] == 0.333251953125f);
  CHECK(half[1] == 65504);
  CHECK(std::isinf(half[2]));
  CHECK(half[3] == 0);
  const Tensor c({1.00390625, 1.01171875, -0.0, 3e38}, DType::bf16);  // ties go to even
  CHECK(c.to_vector<float>() ==
        std::vector<float>{1.0f, 1.015625f, -0.0f, Tensor({3e38}, DType::bf16).item<float>()});
  CHECK(Tensor({0, 2, -1}, DType::boolean).to_vector<int>() == std::vector<int>{0, 1, 1});
}

TEST_CASE("item() is the value of one element", "[tensor]") {
  CHECK(Tensor({7}).item<int>() == 7);
  const std::int64_t big = (std::int64_t{1} << 60) + 1;
  CHECK(Tensor(std::vector<std::int64_t>{big}, {1}).item<std::int64_t>() == big);
  CHECK_THROWS_WITH(Tensor({1, 2}).item<float>(),
                    Catch::Contains("(2,)") && Catch::Contains("tensor_create_test.cpp"));
}

TEST_CASE("wrapped memory is used where it is and released with the last handle", "[tensor]") {
  std::vector<float> memory = {1, 2, 3, 4};
  bool released = false;
  {
    Tensor a = Tensor::wrap(memory.data(), {2, 2}, DType::f32, [&] { released = true; });
    CHECK(a.data() == memory.data());
    Tensor b = a[1];
    a = Tensor();
    CHECK_FALSE(released);
    b += 10;
    CHECK(memory == std::vector<float>{1, 2, 13, 14});
    memory[2] = 5;  // the owner may write at any time
    CHECK((b + 1).to_vector<float>() == std::vector<float>{6, 15});
  }
  CHECK(released);
  CHECK_THROWS_WITH(Tensor::wrap(nullptr, {1}, DType::f32), Catch::Contains("null"));
}

TEST_CASE("an undefined tensor says so", "[tensor]") {
  Tensor none;
  CHECK_FALSE(none.defined());
  CHECK_THROWS_WITH(none.shape(), Catch::Contains("undefined"));
  CHECK_THROWS_WITH(none.item<float>(), Catch::Contains("undefined"));
  CHECK_THROWS_WITH(none + none, Catch::Contains("undefined") || Catch::Contains("tensor on one side"));
  CHECK_THROWS_WITH(nd::relu(none),
                    Catch::Contains("undefined") && Catch::Contains("tensor_create_test.cpp"));
}

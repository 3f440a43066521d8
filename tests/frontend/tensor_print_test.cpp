// The printed form of arrays equals MXNet's for an NDArray: tests/golden/transcripts/ndarray_print.txt, line
// for line.
#include <kiln/kiln.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <sstream>

using namespace kiln;

namespace {

// 0, 1, 2, ... divided by `by`.
Tensor counted(int n, float by = 1) {
  std::vector<float> values;
  for (int i = 0; i < n; ++i) values.push_back(static_cast<float>(i) / by);
  return Tensor(values, {n});
}

std::string printed(const Tensor& t) {
  std::ostringstream os;
  os << t;
  return os.str();
}

}  // namespace

TEST_CASE("a Tensor prints as MXNet prints an NDArray", "[tensor][print]") {
  CHECK(printed(nd::zeros({1, 2})) == R"(
[[0. 0.]]
<NDArray 1x2 @cpu(0)>)");
  CHECK(printed(nd::ones({3})) == R"(
[1. 1. 1.]
<NDArray 3 @cpu(0)>)");
  CHECK(printed(nd::array({{1, 2.5}, {-3, 1e10}})) == R"(
[[ 1.0e+00  2.5e+00]
 [-3.0e+00  1.0e+10]]
<NDArray 2x2 @cpu(0)>)");
  CHECK(printed(nd::array({1, 2, 3}, DType::i32)) == R"(
[1 2 3]
<NDArray 3 @cpu(0)>)");
  CHECK(printed(nd::array({{1, 200}}, DType::u8)) == R"(
[[  1 200]]
<NDArray 1x2 @cpu(0)>)");
  CHECK(printed(nd::array({0.1, 1 / 3.0}, DType::f64)) == R"(
[0.1        0.33333333]
<NDArray 2 @cpu(0)>)");
  CHECK(printed(nd::array({0.1, 1 / 3.0}, DType::f16)) == R"(
[0.1    0.3333]
<NDArray 2 @cpu(0)>)");
  CHECK(printed(nd::array({1e-8, 1, 1e8})) == R"(
[1.e-08 1.e+00 1.e+08]
<NDArray 3 @cpu(0)>)");
  CHECK(printed(nd::array({1e-5, 1e-4})) == R"(
[1.e-05 1.e-04]
<NDArray 2 @cpu(0)>)");
  CHECK(printed(nd::array({NAN, INFINITY, -INFINITY, 1})) == R"(
[ nan  inf -inf   1.]
<NDArray 4 @cpu(0)>)");
  CHECK(printed(nd::array({-0.0, 0.5})) == R"(
[-0.   0.5]
<NDArray 2 @cpu(0)>)");
  CHECK(printed(counted(12).reshape({2, 2, 3})) == R"(
[[[ 0.  1.  2.]
  [ 3.  4.  5.]]

 [[ 6.  7.  8.]
  [ 9. 10. 11.]]]
<NDArray 2x2x3 @cpu(0)>)");
  CHECK(printed(counted(2000)) == R"(
[0.000e+00 1.000e+00 2.000e+00 ... 1.997e+03 1.998e+03 1.999e+03]
<NDArray 2000 @cpu(0)>)");
  CHECK(printed(counted(1500).reshape({30, 50})) == R"(
[[0.000e+00 1.000e+00 2.000e+00 ... 4.700e+01 4.800e+01 4.900e+01]
 [5.000e+01 5.100e+01 5.200e+01 ... 9.700e+01 9.800e+01 9.900e+01]
 [1.000e+02 1.010e+02 1.020e+02 ... 1.470e+02 1.480e+02 1.490e+02]
 ...
 [1.350e+03 1.351e+03 1.352e+03 ... 1.397e+03 1.398e+03 1.399e+03]
 [1.400e+03 1.401e+03 1.402e+03 ... 1.447e+03 1.448e+03 1.449e+03]
 [1.450e+03 1.451e+03 1.452e+03 ... 1.497e+03 1.498e+03 1.499e+03]]
<NDArray 30x50 @cpu(0)>)");
  CHECK(printed(counted(24, 7).reshape({2, 3, 2, 2})) == R"(
[[[[0.         0.14285715]
   [0.2857143  0.42857143]]

  [[0.5714286  0.71428573]
   [0.85714287 1.        ]]

  [[1.1428572  1.2857143 ]
   [1.4285715  1.5714285 ]]]


 [[[1.7142857  1.8571428 ]
   [2.         2.142857  ]]

  [[2.2857144  2.4285715 ]
   [2.5714285  2.7142856 ]]

  [[2.857143   3.        ]
   [3.142857   3.2857144 ]]]]
<NDArray 2x3x2x2 @cpu(0)>)");
  CHECK(printed(nd::array({7}, DType::f32)) == R"(
[7.]
<NDArray 1 @cpu(0)>)");
  CHECK(printed(nd::full({1, 1}, 7)) == R"(
[[7.]]
<NDArray 1x1 @cpu(0)>)");
  CHECK(printed(nd::full({2, 3}, 1234567.875)) == R"(
[[1234567.9 1234567.9 1234567.9]
 [1234567.9 1234567.9 1234567.9]]
<NDArray 2x3 @cpu(0)>)");
  CHECK(printed(nd::array({1, 0, 1})) == R"(
[1. 0. 1.]
<NDArray 3 @cpu(0)>)");
  CHECK(printed(nd::array({1, 2}, DType::i64)) == R"(
[1 2]
<NDArray 2 @cpu(0)>)");
  CHECK(printed(nd::array({123456789, 0.001})) == R"(
[1.2345679e+08 1.0000000e-03]
<NDArray 2 @cpu(0)>)");
  CHECK(printed(nd::array({true, false})) == R"(
[1. 0.]
<NDArray 2 @cpu(0)>)");
  CHECK(printed(nd::array({true, false}, DType::boolean)) == R"(
[ True False]
<NDArray 2 @cpu(0)>)");
  CHECK(printed(counted(1001)) == R"(
[   0.    1.    2. ...  998.  999. 1000.]
<NDArray 1001 @cpu(0)>)");
  CHECK(printed(counted(1000)[slice({}, 3)].get()) == R"(
[0. 1. 2.]
<NDArray 3 @cpu(0)>)");
}

TEST_CASE("digits beyond the shortest ones are those of the value", "[tensor][print]") {
  CHECK(printed(nd::array({-34.725159, 72.603951, -0.0033201731})) ==
        "\n[-3.4725159e+01  7.2603951e+01 -3.3201731e-03]\n<NDArray 3 @cpu(0)>");
}

TEST_CASE("long rows wrap at 75 columns", "[tensor][print]") {
  const std::string text = printed(nd::ones({1, 1, 2, 28}));
  CHECK(text ==
        "\n[[[[1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1.\n"
        "    1. 1. 1. 1. 1. 1.]\n"
        "   [1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1.\n"
        "    1. 1. 1. 1. 1. 1.]]]]\n<NDArray 1x1x2x28 @cpu(0)>");
}

TEST_CASE("an array without elements prints brackets", "[tensor][print]") {
  CHECK(printed(nd::zeros({0, 3})) == "\n[]\n<NDArray 0x3 @cpu(0)>");
}

TEST_CASE("bfloat16 prints the digits that it has", "[tensor][print]") {
  CHECK(printed(nd::array({0.1, 1 / 3.0, 3}, DType::bf16)) == "\n[0.1   0.334 3.   ]\n<NDArray 3 @cpu(0)>");
}

TEST_CASE("printing has numpy's options", "[tensor][print]") {
  const Tensor x = nd::array({0.1, 2.345678, -3.5, 1 / 3.0});
  const Tensor small = nd::array({1e-7, 1.5, -2000.25, 0.00012345});
  const Tensor f64 = nd::array({2.5, 3.5, 1e5}, DType::f64);
  const Tensor grid = counted(20).reshape({4, 5}), counts = counted(12).astype(DType::i32);
  const auto elements = [](const Tensor& t, const PrintOptions& options) {
    set_print_options(options);
    std::string text = printed(t);
    set_print_options({});
    return text.substr(1, text.rfind('\n') - 1);
  };
  // numpy 1.23's, under numpy.printoptions.
  CHECK(elements(x, {.precision = 3}) == "[ 0.1    2.346 -3.5    0.333]");
  CHECK(elements(small, {.precision = 3}) == "[ 1.000e-07  1.500e+00 -2.000e+03  1.234e-04]");
  CHECK(elements(x, {.precision = 0}) == "[ 0.  2. -4.  0.]");
  CHECK(elements(small, {.precision = 0}) == "[ 1.e-07  2.e+00 -2.e+03  1.e-04]");
  CHECK(elements(f64, {.precision = 0}) == "[2.e+00 4.e+00 1.e+05]");
  CHECK(elements(grid, {.precision = 0}) == elements(grid, {}));
  CHECK(elements(small, {.suppress = true}) ==
        "[    0.0000001      1.5        -2000.25           0.00012345]");
  CHECK(elements(f64, {.suppress = true}) == "[     2.5      3.5 100000. ]");
  CHECK(elements(nd::array({1e9, 1}, DType::f64), {.suppress = true}) == "[1.e+09 1.e+00]");
  CHECK(elements(small, {.precision = 2, .suppress = true}) == "[    0.       1.5  -2000.25     0.  ]");
  CHECK(elements(grid, {.threshold = 10, .edge_items = 1}) == "[[ 0. ...  4.]\n ...\n [15. ... 19.]]");
  CHECK(elements(grid, {.threshold = 10, .edge_items = 2}) ==
        "[[ 0.  1. ...  3.  4.]\n [ 5.  6. ...  8.  9.]\n [10. 11. ... 13. 14.]\n [15. 16. ... 18. 19.]]");
  CHECK(elements(counts, {.threshold = 0}) == "[ 0  1  2 ...  9 10 11]");
  CHECK(elements(counts, {.line_width = 20}) == "[ 0  1  2  3  4  5\n  6  7  8  9 10 11]");
  CHECK(elements(x, {.line_width = 20}) == "[ 0.1\n  2.345678\n -3.5\n  0.33333334]");
  set_print_options({.precision = 3, .suppress = true});
  CHECK(np::array_str(x) == "[ 0.1    2.346 -3.5    0.333]");
  CHECK(np::array_repr(x) == "array([ 0.1  ,  2.346, -3.5  ,  0.333])");
  CHECK(print_options().precision == 3);
  CHECK_THROWS_WITH(set_print_options({.precision = -1}),
                    Catch::Contains("tensor_print_test.cpp") && Catch::Contains("precision is -1"));
  CHECK_THROWS_WITH(set_print_options({.edge_items = 0}), Catch::Contains("edge_items"));
  CHECK(print_options().suppress);
  set_print_options({});
  CHECK(elements(x, {}) == "[ 0.1         2.345678   -3.5         0.33333334]");
}

// Indexing, slices and reshape: what shares the elements, and what copies.
#include <kiln/kiln.h>

#include <catch2/catch.hpp>

using namespace kiln;
using Floats = std::vector<float>;

namespace {
Tensor counted(const Shape& shape) {
  std::vector<float> values;
  for (int i = 0; i < shape.elements(); ++i) values.push_back(static_cast<float>(i));
  return Tensor(values, shape);
}
}  // namespace

TEST_CASE("a slice of the first axis and reshape write through", "[tensor][view]") {
  Tensor x = counted({3, 2});
  Tensor middle = x[slice(1, 2)];
  CHECK(middle.shape() == Shape{1, 2});
  middle += 10;
  CHECK(x.to_vector<float>() == Floats{0, 1, 12, 13, 4, 5});
  Tensor flat = x.reshape({-1});
  flat[slice(0, 2)] = 7;
  CHECK(x.to_vector<float>() == Floats{7, 7, 12, 13, 4, 5});
  x[2] = Tensor{8, 9};
  CHECK(flat.to_vector<float>() == Floats{7, 7, 12, 13, 8, 9});
  Tensor row = x[-1];
  CHECK(row.shape() == Shape{2});
  x = Tensor();  // the view keeps the array
  CHECK(row.to_vector<float>() == Floats{8, 9});
}

TEST_CASE("views of views share the array", "[tensor][view]") {
  Tensor x = counted({4, 3});
  Tensor tail = x[slice(1)];
  Tensor cell = tail[1][slice(1, 2)];
  CHECK(cell.to_vector<float>() == Floats{7});
  cell *= 100;
  CHECK(x[2].to_vector<float>() == Floats{6, 700, 8});
  tail.reshape({9})[slice(0, 1)] = -1;
  CHECK(x[1].to_vector<float>() == Floats{-1, 4, 5});
}

TEST_CASE("other indexing copies", "[tensor][view]") {
  Tensor x = counted({3, 4});
  Tensor column = x({slice(), 1});
  CHECK(column.shape() == Shape{3});
  CHECK(column.to_vector<float>() == Floats{1, 5, 9});
  column += 100;
  CHECK(x({slice(), 1}).to_vector<float>() == Floats{1, 5, 9});
  Tensor every = x[slice({}, {}, 2)];
  CHECK(every.to_vector<float>() == Floats{0, 1, 2, 3, 8, 9, 10, 11});
  CHECK(x({slice(0, 2), slice(1, 3)}).to_vector<float>() == Floats{1, 2, 5, 6});
  CHECK(x({slice(), slice({}, {}, -1)}).to_vector<float>()[0] == 3);
  CHECK(x({1, 2}).to_vector<float>() == Floats{6});
  CHECK(x[slice(5, 9)].shape() == Shape{0, 4});
}

TEST_CASE("a slice can be written, whatever its form", "[tensor][view]") {
  Tensor x = zeros({3, 4});
  x({slice(), 1}) = 1;
  x({slice(0, 2), slice(2, 4)}) = Tensor{{5, 6}, {7, 8}};
  CHECK(x.to_vector<float>() == Floats{0, 1, 5, 6, 0, 1, 7, 8, 0, 1, 0, 0});
  x({slice({}, {}, 2), 0}) = Tensor{3, 4};
  CHECK(x.to_vector<float>() == Floats{3, 1, 5, 6, 0, 1, 7, 8, 4, 1, 0, 0});
  x({0, slice({}, {}, -1)}) = Tensor{1, 2, 3, 4};  // backwards
  CHECK(x[0].to_vector<float>() == Floats{4, 3, 2, 1});
  x[slice(1, 3)] = Tensor{9, 8, 7, 6};  // broadcast
  CHECK(x[2].to_vector<float>() == Floats{9, 8, 7, 6});
  x[slice()] = Tensor({2}, DType::i32);  // converted
  CHECK(x.to_vector<float>() == Floats(12, 2));
  x({slice(), 3}) += 1;
  x[0] *= 2;
  CHECK(x.to_vector<float>() == Floats{4, 4, 4, 6, 2, 2, 2, 3, 2, 2, 2, 3});
  x[0] = x[1];
  CHECK(x[0].to_vector<float>() == Floats{2, 2, 2, 3});
}

TEST_CASE("overlapping views can be assigned", "[tensor][view]") {
  Tensor x = counted({5});
  x[slice(1, 5)] = x[slice(0, 4)];
  CHECK(x.to_vector<float>() == Floats{0, 0, 1, 2, 3});
  x[slice(1, 5)] += x[slice(0, 4)];
  CHECK(x.to_vector<float>() == Floats{0, 0, 1, 3, 5});
}

TEST_CASE("reshape knows MXNet's codes", "[tensor][view]") {
  const Tensor x = counted({2, 3, 4});
  CHECK(x.reshape({4, 0, 2}).shape() == Shape{4, 3, 2});
  CHECK(x.reshape({0, -1}).shape() == Shape{2, 12});
  CHECK(x.reshape({-1}).shape() == Shape{24});
  CHECK(x.reshape({-2}).shape() == Shape{2, 3, 4});
  CHECK(x.reshape({2, -2}).shape() == Shape{2, 3, 4});
  CHECK(x.reshape({-3, 4}).shape() == Shape{6, 4});
  CHECK(x.reshape({0, -3}).shape() == Shape{2, 12});
  CHECK(x.reshape({-4, 1, 2, -2}).shape() == Shape{1, 2, 3, 4});
  CHECK(x.reshape({2, -4, -1, 3, -2}).shape() == Shape{2, 1, 3, 4});
  CHECK_THROWS_WITH(x.reshape({5, -1}), Catch::Contains("(5, -1)") && Catch::Contains("(2, 3, 4)") &&
                                            Catch::Contains("tensor_view_test.cpp"));
  CHECK_THROWS_WITH(x.reshape({-1, -1}), Catch::Contains("-1"));
  CHECK_THROWS_WITH(x.reshape({7}), Catch::Contains("24 elements cannot become 7"));
  CHECK_THROWS_WITH(x.reshape({0, 0, 0, 0}), Catch::Contains("not there"));
}

TEST_CASE("bad indices name the axis, the shape and the line", "[tensor][view][error]") {
  Tensor x = zeros({2, 3});
  const std::string line = std::to_string(__LINE__ + 1);
  CHECK_THROWS_WITH(x[2].shape(), Catch::Contains("out of range") && Catch::Contains("(2, 3)") &&
                                      Catch::Contains("tensor_view_test.cpp:" + line));
  CHECK_THROWS_WITH(x({0, 0, 0}).shape(), Catch::Contains("3 indices"));
  CHECK_THROWS_WITH(x[slice(0, 2, 0)].shape(), Catch::Contains("step 0"));
  CHECK_THROWS_WITH(x[0] = ones({4}), Catch::Contains("(4,)") && Catch::Contains("(3,)"));
}

TEST_CASE("copies are arrays of their own", "[tensor][view]") {
  Tensor x = {1, 2};
  Tensor y = x.copy();
  y += 1;
  CHECK(x.to_vector<float>() == Floats{1, 2});
  CHECK(x.astype(DType::i32).to_vector<int>() == std::vector<int>{1, 2});
}

TEST_CASE("the rows of a tensor are views", "[tensor][view]") {
  const Tensor x = nd::arange(6).reshape({3, 2});
  std::vector<float> sums;
  for (Tensor row : x) {
    CHECK(row.shape() == Shape{2});
    sums.push_back(row.sum().item<float>());
    row += 10;
  }
  CHECK(sums == std::vector<float>{1, 5, 9});
  CHECK(x.to_vector<float>() == std::vector<float>{10, 11, 12, 13, 14, 15});
  int elements = 0;
  for (const Tensor& element : x[1]) elements += element.item<int>();
  CHECK(elements == 25);
  for (Tensor row : zeros({0, 2})) FAIL("a row of none: " << row);
  const Tensor all = np::array(1.0);
  CHECK_THROWS_WITH(
      [&] {
        for (Tensor row : all) row += 1;
      }(),
      Catch::Contains("tensor_view_test.cpp") && Catch::Contains("rank 0"));

  struct Rows : HybridBlock {
    Tensor hybrid_forward(F& F, const Tensor& in) override {
      Tensor y = F.zeros_like(in);
      int i = 0;
      Tensor last = F.zeros({2});
      for (Tensor row : in) y[i++] = last = last * 2 + row;
      return y;
    }
  };
  Rows eager, compiled;
  compiled.hybridize();
  CHECK(eager(x).to_vector<float>() == std::vector<float>{10, 11, 32, 35, 78, 85});
  CHECK(compiled(x).to_vector<float>() == eager(x).to_vector<float>());
  CHECK(compiled.compiled_calls().at(0).compiled);
}

// Random programs of views and in-place operators: eager and hybridized runs must leave the same bits
// everywhere.
#include <kiln/kiln.h>

#include <catch2/catch.hpp>
#include <functional>
#include <random>

using namespace kiln;

namespace {

/// A program over a growing list of tensors, fixed by its seed and the shapes it meets.
std::vector<Tensor> run_program(unsigned seed, F& F, std::vector<Tensor> pool) {
  std::mt19937 random(seed);
  const auto pick = [&](std::size_t n) { return static_cast<int>(random() % n); };
  const auto any = [&]() -> Tensor& { return pool[static_cast<std::size_t>(pick(pool.size()))]; };
  for (int step = 0; step < 12; ++step) {
    Tensor x = any();
    const Shape shape = x.shape();
    const auto rows = static_cast<int>(shape[0]);
    const int begin = pick(static_cast<std::size_t>(rows));
    const int end = begin + 1 + pick(static_cast<std::size_t>(rows - begin));
    const double number = pick(5) - 2 + 0.5;
    switch (pick(12)) {
      case 0:
        pool.push_back(x[slice(begin, end)]);
        break;
      case 1:
        pool.push_back(x.reshape({-1}));
        break;
      case 2:
        pool.push_back(x[begin]);
        break;
      case 3:
        x += number;
        break;
      case 4:
        x *= x;
        break;
      case 5:
        x[slice(begin, end)] = number;
        break;
      case 6:
        x[slice(begin, end)] -= x[slice(begin, begin + 1)];
        break;
      case 7:
        pool.push_back(x * number + 1);
        break;
      case 8:
        x[begin] = x[rows - 1] + number;
        break;
      case 9:
        if (shape.rank() == 2) x({slice(), pick(static_cast<std::size_t>(shape[1]))}) = number;
        break;
      case 10:
        if (shape.rank() == 2) x({slice({}, {}, -1), 0}) += x({slice(), static_cast<int>(shape[1]) - 1});
        break;
      case 11:
        if (shape.elements() % 2 == 0) pool.push_back(x.reshape({-1, 2}));
        break;
    }
    // Numbers stay small, so that a wrong value is not hidden by infinities.
    if (step % 3 == 2) {
      Tensor& y = any();
      y -= F.clip(y, -50, 50) * 0.5;
    }
  }
  return pool;
}

class Program : public HybridBlock {
 public:
  Program(unsigned seed, Tensor captured) : seed_(seed), captured_(std::move(captured)) {}

 protected:
  Tensors hybrid_forward(F& F, const Tensors& inputs) override {
    return run_program(seed_, F, {inputs[0], inputs[1], captured_});
  }

 private:
  unsigned seed_;
  Tensor captured_;
};

Tensor counted(const Shape& shape, float first) {
  std::vector<float> values;
  for (int i = 0; i < shape.elements(); ++i) values.push_back(first + 0.25f * static_cast<float>(i));
  return Tensor(values, shape);
}

}  // namespace

TEST_CASE("random programs of views and writes agree, eager and hybridized", "[view][trace][fuzz]") {
  for (unsigned seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    std::vector<std::vector<std::vector<float>>> all;
    for (const bool hybrid : {false, true}) {
      Tensor a = counted({4, 3}, -2), b = counted({2, 2}, 1), c = counted({3, 2}, 0.5f);
      Program net(seed, c);
      if (hybrid) net.hybridize();
      std::vector<std::vector<float>> seen;
      for (int call = 0; call < 2; ++call)
        for (const Tensor& t : net({a, b})) seen.push_back(t.to_vector<float>());
      for (const Tensor& t : {a, b, c}) seen.push_back(t.to_vector<float>());
      all.push_back(std::move(seen));
    }
    CHECK(all[0] == all[1]);
  }
}

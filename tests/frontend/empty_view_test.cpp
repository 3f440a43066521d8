// Views of arrays without elements, and of states that operators update, while a network is recorded.
#include "function_net.h"

using namespace kiln;

TEST_CASE("views of an array with an extent 0", "[view]") {
  const Tensor none = nd::zeros({0, 3}), deep = nd::zeros({2, 0, 4});
  everywhere(
      [](F& F, const Tensors& in) {
        const Tensor split = in[0].reshape({0, 3, 1}), flat = in[1].reshape({-1});
        return Tensors{split,
                       split + 1,
                       flat * 1,
                       in[0].reshape({-1, 3}) * 2,
                       in[0].reshape({-4, -1, 5, 0}) * 2,
                       in[1][0] * 2,
                       in[1][slice(1, 2)] + 1,
                       in[1].reshape({0, -2}),
                       in[1].reshape({-3, 4}) * 3,
                       in[1].reshape({2, 0, 2, 2}) * 3,
                       F.concat({in[0].reshape({0, 3}), F.ones({1, 3})}, 0)};
      },
      {none, deep});
}

TEST_CASE("two views of a captured array with an extent 0", "[view]") {
  const Tensor none = nd::zeros({2, 0, 4}), flat = none.reshape({-1}), merged = none.reshape({-3, 4}),
               split = none.reshape({2, 0, 2, 2});
  for (const Tensors& order : {Tensors{none, flat, merged, split}, Tensors{split, merged, none, flat}}) {
    const Tensors r = everywhere(
        [&](F&, const Tensors& in) {
          Tensors out;
          for (const Tensor& t : order) out.push_back(t + in[0]);
          return out;
        },
        {nd::ones({1})});
    for (std::size_t i = 0; i < r.size(); ++i) CHECK(r[i].shape() == order[i].shape());
  }
}

TEST_CASE("writes to views without elements change nothing", "[view]") {
  everywhere(
      [](F& F, const Tensors& in) {
        Tensor x = in[0] + 0.0;
        Tensor view = x.reshape({-1});
        view += 1;
        x *= 2;
        x[slice()] = 3;
        Tensor y = F.ones({4});
        Tensor part = y[slice(2, 2)];
        part += 5;
        return Tensors{x, view, y};
      },
      {nd::zeros({2, 0})});
}

TEST_CASE("the method reshape and F.reshape agree about every code", "[view]") {
  const std::vector<Shape> shapes{{},        {0},    {6},       {2, 3},    {0, 3},      {3, 0},
                                  {2, 0, 4}, {1, 6}, {4, 0, 0}, {2, 3, 4}, {0, 0, 0, 2}};
  const std::int64_t codes[] = {-4, -3, -2, -1, 0, 1, 2, 3};
  std::vector<Shape> specs;
  for (const std::int64_t a : codes) {
    specs.push_back({a});
    for (const std::int64_t b : codes) {
      specs.push_back({a, b});
      for (const std::int64_t c : codes) {
        specs.push_back({a, b, c});
        if (a == -4 || b == -4)
          for (const std::int64_t d : codes) specs.push_back({a, b, c, d});
      }
    }
  }
  const auto shape_or_error = [](const auto& reshape) -> std::string {
    try {
      return reshape().shape().str();
    } catch (const Error& e) {
      return "error";
    }
  };
  for (const Shape& shape : shapes) {
    const Tensor x = nd::zeros(shape);
    for (const Shape& spec : specs) {
      CAPTURE(shape.str(), spec.str());
      CHECK(shape_or_error([&] { return x.reshape(spec); }) ==
            shape_or_error([&] { return F::reshape(x, spec); }));
    }
  }
  CHECK(nd::zeros({0, 3}).reshape({-4, -1, 5, 3}).shape() == Shape{0, 5, 3});
  CHECK(nd::zeros({0, 3}).reshape({-4, 0, 5, 3}).shape() == Shape{0, 5, 3});
}

namespace {

/// BatchNorm on moving statistics that are rows of one parameter.
class RowsOfStatistics final : public HybridBlock {
 public:
  RowsOfStatistics() { statistics_ = params().get("statistics", {2, 3}); }
  Tensor statistics() const { return statistics_.data(); }

 protected:
  Tensors hybrid_forward(F& F, const Tensors& in) override {
    Tensor all = statistics_;
    const Tensor before = all[0] * 1;
    const Tensor out = F.BatchNorm(in[0], F.ones({3}), F.zeros({3}), all[0], all[1]);
    const Tensor again = F.BatchNorm(in[0] * 2, F.ones({3}), F.zeros({3}), all[0], all[1]);
    return {out, again, before, all[0] * 1, all.reshape({-1}) * 1};
  }

 private:
  Parameter statistics_;
};

}  // namespace

TEST_CASE("BatchNorm updates statistics that are views of a parameter", "[view]") {
  RowsOfStatistics net;
  net.initialize(init::One());
  const Tensor x = random::normal(0, 1, {5, 3, 2});
  const autograd::TrainMode train(true);
  const auto run = [&] {
    net.statistics()[slice()] = 1;
    Tensors out = net(Tensors{x});
    out.push_back(net.statistics().copy());
    return out;
  };
  const Tensors eager = run();
  CHECK(eager.back().to_vector<float>()[0] != 1);
  net.hybridize();
  for (const int threads : {1, 2}) {
    const ThreadLimit limit(threads);
    const Tensors compiled = run();
    for (std::size_t i = 0; i < eager.size(); ++i) CHECK(same_bits(compiled[i], eager[i]));
  }
}

TEST_CASE("BatchNorm updates statistics that the network made", "[view]") {
  const autograd::TrainMode train(true);
  everywhere(
      [](F& F, const Tensors& in) {
        const Tensor mean = F.zeros({3}), var = F.ones({3});
        const Tensor out = F.BatchNorm(in[0], F.ones({3}), F.zeros({3}), mean, var);
        return Tensors{out, mean * 1, var};
      },
      {random::normal(0, 1, {5, 3, 2})});
}

TEST_CASE("a view that was read before an operator updated the array reads the update", "[view]") {
  nn::BatchNorm norm;
  norm.initialize();
  const Tensor x = random::normal(0, 1, {5, 4});
  norm(x);
  const autograd::TrainMode train(true);
  Net net([&](F&, const Tensors& in) {
    const Parameter mean = norm.params().get("running_mean");
    const Tensor view = mean.data()[slice(1, 3)];
    const Tensor before = view * 1;
    const Tensor out = norm(in[0]);
    return Tensors{before, out, view * 1};
  });
  const auto run = [&] {
    Tensor mean = norm.params().get("running_mean").data(), var = norm.params().get("running_var").data();
    mean[slice()] = 0;
    var[slice()] = 1;
    return net(Tensors{x});
  };
  const Tensors eager = run();
  net.hybridize();
  const Tensors compiled = run();
  for (std::size_t i = 0; i < eager.size(); ++i) CHECK(same_bits(compiled[i], eager[i]));
  CHECK(eager[2].to_vector<float>() != eager[0].to_vector<float>());
}

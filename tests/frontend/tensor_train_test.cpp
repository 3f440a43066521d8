// Operators that behave otherwise while training, run eagerly.
#include <kiln/kiln.h>

#include <catch2/catch.hpp>

using namespace kiln;
using Floats = std::vector<float>;

TEST_CASE("BatchNorm updates its moving statistics in place, and only while training", "[tensor][train]") {
  const Tensor x{{1, 10}, {3, 30}};
  const Tensor gamma = ones({2}), beta = zeros({2});
  Tensor mean = zeros({2}), var = ones({2});
  const Tensor view = mean[slice(0, 1)];
  const auto run = [&] {
    return nd::BatchNorm(x, gamma, beta, mean, var, {.eps = 1e-5, .momentum = 0.5, .fix_gamma = false});
  };
  run();
  CHECK(mean.to_vector<float>() == Floats{0, 0});
  {
    autograd::TrainMode train;
    CHECK(autograd::is_training());
    const Floats y = run().to_vector<float>();
    CHECK(y[0] == Approx(-1).margin(1e-4));
    CHECK(y[2] == Approx(1).margin(1e-4));
    CHECK(mean.to_vector<float>() == Floats{1, 10});
    CHECK(view.item<float>() == 1);
    CHECK(var.to_vector<float>() == Floats{1, 50.5});
    {
      autograd::TrainMode predict(false);
      run();
      CHECK(view.item<float>() == 1);
    }
  }
  CHECK_FALSE(autograd::is_training());
}

TEST_CASE("Dropout is the identity unless training, and takes new numbers each time", "[tensor][train]") {
  const Tensor x = ones({1000});
  CHECK(nd::Dropout(x, {.p = 0.5}).to_vector<float>() == Floats(1000, 1));
  autograd::TrainMode train;
  random::seed(7);
  const Floats a = nd::Dropout(x, {.p = 0.5}).to_vector<float>();
  const Floats b = nd::Dropout(x, {.p = 0.5}).to_vector<float>();
  random::seed(7);
  CHECK(nd::Dropout(x, {.p = 0.5}).to_vector<float>() == a);
  CHECK(a != b);
  int zeros = 0;
  for (float v : a) {
    CHECK((v == 0 || v == 2));
    zeros += v == 0;
  }
  CHECK(zeros > 400);
  CHECK(zeros < 600);
}

TEST_CASE("an operator with a wrong number of inputs says which it takes", "[tensor][error]") {
  CHECK_THROWS_WITH(nd::FullyConnected(ones({2, 3}), ones({4, 3}), {.num_hidden = 4}),
                    Catch::Contains("data, weight, bias") && Catch::Contains("tensor_train_test.cpp"));
  CHECK_THROWS_WITH(nd::Activation(ones({2}), {.act_type = "swish"}),
                    Catch::Contains("act_type") && Catch::Contains("swish") && Catch::Contains("softrelu"));
  CHECK_THROWS_WITH(nd::concat({}), Catch::Contains("tensor_train_test.cpp"));
}

// Gradients of arrays that a loop or branch may read and does not: in branches that are not taken, and in
// steps that do not run. Each gradient is 7 before, and stays where nothing leads to its array.
#include "block_gradients.h"

#include <stdexcept>

using namespace kiln;
using namespace block_gradients;

TEST_CASE("gradients of what a branch not taken reads") {
  for (const double at : {-9., 9.})
    for (const DType dtype : {DType::f64, DType::f16}) {
      CAPTURE(at, name_of(dtype));
      Tensors in;
      for (const Shape& s : {Shape{3}, Shape{3}, Shape{2, 3}, Shape{3}, Shape{3}})
        in.push_back(values(s, dtype, static_cast<unsigned>(in.size()) + 1));
      const Tensors grads = same_gradients(
          [&](F& f, const Tensors& in) {
            const Tensor y = f.sin(in[1]) * -3, row = in[2][1];
            const Tensors r = f.contrib().cond(
                f.sum(in[0]) > at,
                [&] {
                  return Tensors{in[0] * 2, in[0] - 1};
                },
                [&] {
                  return Tensors{f.tanh(y) * row + f.BlockGrad(in[4]), in[3] * 5};
                });
            return Tensors{r[0]};
          },
          in);
      const bool taken = at > 0;
      CHECK((grads[1].to_vector<double>() == std::vector<double>(3, 0)) == !taken);
      CHECK((grads[2][1].to_vector<double>() == std::vector<double>(3, 0)) == !taken);
      CHECK(grads[2][0].to_vector<double>() == std::vector<double>(3, 0));
      // The result leads to neither.
      CHECK(grads[3].to_vector<double>() == std::vector<double>(3, 7));
      CHECK(grads[4].to_vector<double>() == std::vector<double>(3, 7));
    }
}

TEST_CASE("gradients of a branch that returns what it captures") {
  for (const double at : {-9., 9.}) {
    CAPTURE(at);
    check(
        [&](F& f, const Tensors& in) {
          const Tensor constant = ones({3}, in[0].dtype());
          const Tensors r = f.contrib().cond(
              f.sum(in[0]) > at,
              [&] {
                const Tensor made = constant * 3;
                return Tensors{constant, in[1], in[1], made[slice(0, 2)], made, made};
              },
              [&] { return Tensors{in[2], in[2] * in[1], in[0], in[1][slice(1, 3)], in[2], constant}; });
          return Tensors{r[0] * in[1], r[1] * r[2], r[2] - in[1], in[1] * 2, r[3], r[4] * r[5]};
        },
        {{3}, {3}, {3}});
  }
}

TEST_CASE("a block returns what its branch returns, an array from outside") {
  for (const double at : {-9., 9.}) {
    CAPTURE(at);
    check(
        [&](F& f, const Tensors& in) {
          return f.contrib().cond(
              f.sum(in[0]) > at,
              [&] {
                return Tensors{in[0], in[2][1]};
              },
              [&] {
                return Tensors{in[1] * 2, in[1]};
              });
        },
        {{3}, {3}, {2, 3}});
  }
}

// Both branches return the same arrays, and so does the block. In their memory each result is a separate
// value, whose gradient is added where the branch stands in the program.
TEST_CASE("a block returns what both branches return") {
  const auto body = [](F& f, const Tensors& in) {
    const Tensor y = in[0] * in[1];
    const auto same = [&] { return Tensors{in[0], y, y[slice(0, 2)], y}; };
    Tensors r = f.contrib().cond(f.sum(in[0]) > 0, same, same);
    r.push_back(in[0] * 3);
    r.push_back(y * in[1]);
    r.push_back(y - in[0]);
    return r;
  };
  const std::vector<Shape> shapes{{5}, {5}};
  SECTION("directly") { check(body, shapes); }
  SECTION("from a block in the block") {
    check(
        [&](F& f, const Tensors& in) {
          Net inner(body);
          Tensors r = inner({in[1] + 1, in[0]});
          const Tensors alone = inner(in);
          r.insert(r.end(), alone.begin(), alone.begin() + 2);
          r.push_back(f.sin(in[0]) * r[0]);
          return r;
        },
        shapes);
  }
}

TEST_CASE("gradients of what the steps of a while_loop that do not run read") {
  for (const double limit : {0., 1., 2., 5.}) {
    CAPTURE(limit);
    check(
        [&](F& f, const Tensors& in) {
          const Tensor y = f.sin(in[3]) * -3;
          const Results r = f.contrib().while_loop(
              [&](const Tensors& v) { return v[0] < limit; },
              [&](const Tensors& v) -> Results {
                return {{v[2] - in[1]}, {v[0] + 1, v[2] * -2, v[3] * v[2], y * v[3] + in[4]}};
              },
              {zeros({1}), in[0], in[1], in[2]}, 5);
          return Tensors{r.states[1]};
        },
        {{3}, {3}, {3}, {3}, {3}});
  }
}

TEST_CASE("gradients of branches that do not run in loops") {
  for (const double at : {-9., 0.2, 9.}) {
    CAPTURE(at);
    check(
        [&](F& f, const Tensors& in) {
          const Results r = f.contrib().foreach (
              [&](const Tensors& rows, const Tensors& states) -> Results {
                const Tensors chosen = f.contrib().cond(
                    f.sum(rows[0]) > at,
                    [&] {
                      return f.contrib()
                          .while_loop([&](const Tensors& v) { return f.sum(v[0]) < 0; },
                                      [&](const Tensors& v) -> Results {
                                        return {{}, {v[0] + 1 + in[1] * in[1]}};
                                      },
                                      {states[0]}, 3)
                          .states;
                    },
                    [&] { return Tensors{states[0] - in[2]}; });
                return {{}, {chosen[0] * rows[0]}};
              },
              {in[0]}, {in[3]});
          return Tensors{r.states[0]};
        },
        {{4, 3}, {3}, {3}, {3}});
  }
}

TEST_CASE("a branch not taken may fail in a program that runs step by step") {
  Tensor x({1.f, 2.f});
  x.attach_grad();
  const autograd::Record record;
  const Tensors r = F::contrib::cond(
      F::sum(x) > 0, [&] { return Tensors{x * 2}; },
      [&]() -> Tensors { throw std::runtime_error("not for these numbers"); });
  r[0].backward();
  CHECK(x.grad().to_vector<float>() == std::vector<float>{2, 2});
}

namespace {

/// A layer for each branch. Their parameters get shapes, and numbers, in the first call.
struct Branches : HybridBlock {
  Child<nn::Dense> positive{this, "positive"}, negative{this, "negative"};

  Branches() {
    positive = nn::Dense(4);
    negative = nn::Dense(4);
  }

  Tensor hybrid_forward(F& F, const Tensor& x) override {
    return F.contrib().cond(
        F.sum(x) > 0, [&] { return Tensors{positive(x)}; }, [&] { return Tensors{negative(x)}; })[0];
  }
};

/// The parameters after three steps, on inputs whose sums have these signs.
Tensors trained(bool hybrid, const std::vector<double>& signs) {
  random::seed(5);
  Branches net;
  net.initialize();
  if (hybrid) net.hybridize();
  Trainer trainer(net.collect_params(), "sgd", {.learning_rate = 0.1, .momentum = 0.9, .wd = 0.01});
  for (const double sign : signs) {
    Tensor loss;
    {
      const autograd::Record record;
      loss = F::sum(F::square(net(Tensor({{sign, sign / 3, 0.5}}))));
    }
    loss.backward();
    trainer.step(1);
  }
  Tensors list;
  for (const Parameter& p : net.collect_params()) list.push_back(p.data().copy());
  return list;
}

}  // namespace

TEST_CASE("a Trainer updates the parameters of both branches, whichever runs first") {
  for (const auto& signs : {std::vector<double>{1, 1, 1}, {-1, -1, 1}, {1, -1, 1}}) {
    const Tensors eager = trained(false, signs), hybrid = trained(true, signs);
    REQUIRE(eager.size() == 4);
    for (std::size_t i = 0; i < eager.size(); ++i) CHECK(same_bits(eager[i], hybrid[i]));
  }
}

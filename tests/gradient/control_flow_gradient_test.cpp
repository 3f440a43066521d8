// Gradients through loops and branches: eager and hybridized runs give the same bits, and these are
// derivatives.
#include "block_gradients.h"

using namespace kiln;
using namespace block_gradients;

TEST_CASE("gradients of foreach: data, states and captured arrays that every step uses") {
  for (const std::int64_t steps : {1, 2, 5}) {
    CAPTURE(steps);
    check(
        [](F& f, const Tensors& in) {
          const Tensors r = all_of(f.contrib().foreach (
              [&](const Tensors& rows, const Tensors& s) -> Results {
                const Tensor y = f.tanh(f.dot(rows[0], in[2]) + s[0] * in[3] + f.dot(s[0], in[2]));
                return {{y * rows[0]}, {y}};
              },
              {in[0]}, {in[1]}));
          return Tensors{r[0], r[1], r[0] * 2};
        },
        {{steps, 2, 3}, {2, 3}, {3, 3}, {2, 3}});
  }
}

TEST_CASE("gradients of foreach: final states without a gradient") {
  check(
      [](F& f, const Tensors& in) {
        return f.contrib()
            .foreach (
                [&](const Tensors& rows, const Tensors& s) -> Results {
                  const Tensor c = s[1] * f.sigmoid(rows[0]) + in[3];
                  const Tensor h = f.tanh(c) * in[3] + s[0];
                  return {{h}, {f.relu(h * in[4]), c}};
                },
                {in[0]}, {in[1], in[2]})
            .outputs;
      },
      {{4, 3}, {3}, {3}, {3}, {3}});
}

TEST_CASE("gradients of foreach: one value in several roles") {
  check(
      [](F& f, const Tensors& in) {
        return all_of(f.contrib().foreach (
            [&](const Tensors& rows, const Tensors& s) -> Results {
              const Tensor y = rows[0] * s[0] + rows[1] * f.sum(in[0]) + in[1] * s[0];
              return {{y, y, s[0]}, {y}};
            },
            {in[0], in[0]}, {in[1]}));
      },
      {{3, 4}, {4}});
}

TEST_CASE("gradients of foreach: one value as three outputs, with and without being a state") {
  check(
      [](F& f, const Tensors& in) {
        return all_of(f.contrib().foreach (
            [&](const Tensors& rows, const Tensors& s) -> Results {
              const Tensor y = rows[0] * s[0] + in[2], z = rows[0] * in[2] * s[1];
              return {{y, z, y, z, y * z, z}, {y, rows[0] * y + s[0]}};
            },
            {in[0]}, {in[1], in[1]}));
      },
      {{3, 4}, {4}, {4}});
}

TEST_CASE("gradients of foreach: one array as two states, and a captured array as a state") {
  check(
      [](F& f, const Tensors& in) {
        return all_of(f.contrib().foreach (
            [&](const Tensors& rows, const Tensors& s) -> Results {
              const Tensor y = f.tanh(s[0] * in[2] + rows[0] * s[1] + s[0] * s[1] + s[2] * s[2] * in[2]);
              return {{y * s[0]}, {y, y, in[2]}};
            },
            {in[0]}, {in[1], in[1], in[1]}));
      },
      {{4, 3}, {3}, {3}});
}

TEST_CASE("gradients of foreach: views and in-place writes of the body's own arguments") {
  check(
      [](F& f, const Tensors& in) {
        return all_of(f.contrib().foreach (
            [&](const Tensors& rows, const Tensors& s) -> Results {
              Tensor x = rows[0], h = s[0];
              x[slice(0, 1)] = h[slice(1, 2)] * 2;
              h += x * in[2];
              return {{x * x}, {h}};
            },
            {in[0]}, {in[1]}));
      },
      {{3, 2, 2}, {2, 2}, {2, 2}});
}

TEST_CASE("gradients of foreach: random numbers are those of the forward pass") {
  const auto body = [](F& f, const Tensors& in) -> Tensors {
    return all_of(f.contrib().foreach (
        [&](const Tensors& rows, const Tensors& s) -> Results {
          const Tensor y = f.Dropout(rows[0] * in[2], {.p = 0.5}) + s[0];
          const Tensors inner = all_of(f.contrib().foreach (
              [&](const Tensors& r, const Tensors& t) -> Results {
                return {{}, {t[0] + f.Dropout(r[0] * in[2], {.p = 0.3}) * t[0]}};
              },
              {in[3]}, {y}));
          return {{inner[0]}, {y * in[2]}};
        },
        {in[0]}, {in[1]}));
  };
  check(body, {{3, 4}, {4}, {4}, {2, 4}});
}

TEST_CASE("gradients of cond: only the branch that is taken") {
  for (const double limit : {-100., 100.}) {
    CAPTURE(limit);
    check(
        [&](F& f, const Tensors& in) {
          const Tensors r = f.contrib().cond(
              f.sum(in[0]) < limit,
              [&] {
                return Tensors{in[0] * in[1] + in[1], f.Dropout(in[1], {.p = 0.5})};
              },
              [&] {
                return Tensors{f.tanh(in[1]), in[1] * in[2]};
              });
          return Tensors{r[0] * in[1], r[1], in[0] + in[2]};
        },
        {{3}, {3}, {3}});
  }
}

TEST_CASE("gradients of while_loop: steps that do not run add nothing") {
  for (const double limit : {1., 3., 100.}) {
    CAPTURE(limit);
    check(
        [&](F& f, const Tensors& in) {
          const Results r = f.contrib().while_loop([&](const Tensors& v) { return v[0] < limit; },
                                                   [&](const Tensors& v) -> Results {
                                                     const Tensor y =
                                                         f.tanh(v[1] * in[1] + f.Dropout(in[1], {.p = 0.5}));
                                                     return {{y * v[1]}, {v[0] + 1, y}};
                                                   },
                                                   {zeros({1}), in[0]}, 5);
          return Tensors{r.outputs[0], r.states[1]};
        },
        {{3}, {3}});
  }
}

TEST_CASE("gradients of while_loop: final states without a gradient") {
  check(
      [&](F& f, const Tensors& in) {
        return f.contrib()
            .while_loop([&](const Tensors& v) { return v[0] < 3; },
                        [&](const Tensors& v) -> Results {
                          return {{v[1] + in[1]}, {v[0] + 1, f.relu(v[2] * in[1]), v[1] * in[2]}};
                        },
                        {zeros({1}), in[0], in[0]}, 5)
            .outputs;
      },
      {{3}, {3}, {3}});
}

TEST_CASE("gradients of while_loop: no step runs") {
  check(
      [](F& f, const Tensors& in) {
        const Results r = f.contrib().while_loop([](const Tensors& v) { return v[0] < 0; },
                                                 [&](const Tensors& v) -> Results {
                                                   const Tensor y = f.tanh(v[1] * in[1]);
                                                   return {{y * v[1]}, {v[0] + 1, y}};
                                                 },
                                                 {zeros({1}), in[0]}, 3);
        return Tensors{r.outputs[0] * in[1], r.states[1], r.states[1] * in[1] + in[0]};
      },
      {{3}, {3}});
}

TEST_CASE("gradients of while_loop: one array as two variables, and as one that the body captures") {
  for (const double limit : {0., 1., 3.}) {
    CAPTURE(limit);
    check(
        [&](F& f, const Tensors& in) {
          const Results r = f.contrib().while_loop([&](const Tensors& v) { return v[0] < limit; },
                                                   [&](const Tensors& v) -> Results {
                                                     const Tensor y = f.tanh(v[1] * in[1] + v[2] * in[0]);
                                                     return {{y + v[2]}, {v[0] + 1, y, v[1] * v[2]}};
                                                   },
                                                   {zeros({1}), in[0], in[0]}, 4);
          return Tensors{r.outputs[0] * in[1], r.states[1], r.states[2], in[0] * in[1]};
        },
        {{3}, {3}});
  }
}

TEST_CASE("gradients of while_loop: variables that change places, and one that stays") {
  check(
      [](F& f, const Tensors& in) {
        const Results r = f.contrib().while_loop([](const Tensors& v) { return v[0] < 3; },
                                                 [&](const Tensors& v) -> Results {
                                                   return {{v[1] * v[3]}, {v[0] + 1, v[2], v[1], v[3]}};
                                                 },
                                                 {zeros({1}), in[0], in[1], in[0]}, 5);
        return Tensors{r.outputs[0], r.states[1], r.states[2], r.states[3]};
      },
      {{3}, {3}});
}

TEST_CASE("gradients of loops whose states are views: a step and the next one use one value") {
  // A row of an array, and a part of the row that the step was given.
  const auto row = [](F& f, const Tensor& now, const Tensor& before) {
    return f.stack({f.tanh(before * now) + f.sin(now), now})[0];
  };
  const auto part = [](F& f, const Tensor& now, const Tensor& before) {
    const Tensor all = f.concat({f.tanh(before * now) + f.sin(now), before}, {.dim = 0});
    return Tensor(all[slice(1, 6)]);
  };
  const auto check_states = [](const auto& state) {
    check(
        [=](F& f, const Tensors& in) {
          return all_of(f.contrib().foreach (
              [&](const Tensors& rows, const Tensors& s) -> Results {
                const Tensor next = state(f, s[0], s[1]);
                return {{next * rows[0]}, {next, s[0]}};
              },
              {in[2]}, {in[0], in[1]}));
        },
        {{5}, {5}, {3, 5}});
    check(
        [=](F& f, const Tensors& in) {
          const Results r = f.contrib().while_loop([](const Tensors& v) { return v[0] < 3; },
                                                   [&](const Tensors& v) -> Results {
                                                     return {{}, {v[0] + 1, state(f, v[1], v[2]), v[1]}};
                                                   },
                                                   {f.zeros({1}), in[0], in[1]}, 4);
          return Tensors{r.states[1], r.states[2]};
        },
        {{5}, {5}});
  };
  check_states(row);
  check_states(part);
}

// Steps in turn have a gradient for the one and for the other state. A state without one is no zero: its
// product with a negative derivative would make +0 of a sum that is -0.
TEST_CASE("gradients of loops whose states change places: zeros keep their sign") {
  for (const int steps : {1, 2, 5, 12})
    for (const std::size_t used : {0, 1}) {
      CAPTURE(steps, used);
      const auto next = [](const Tensors& in, const Tensor& a, const Tensor& b) {
        return Tensors{b * (in[2] - 0.5), a * (in[2] - 0.5)};
      };
      const auto repeated = [&](F& f, const Tensors& in) {
        const auto step = [&](const Tensors& rows, const Tensors& s) -> Results {
          const Tensors to = next(in, s[0], s[1]);
          return {{}, {to[0] + rows[0], to[1] - rows[0] * in[2]}};
        };
        return Tensors{f.contrib().foreach (step, {in[3]}, {in[0] + 0.25, in[1] - 0.25}).states[used]};
      };
      const auto conditional = [&](F& f, const Tensors& in) {
        const auto goes_on = [&](const Tensors& v) { return v[0] < steps; };
        const auto step = [&](const Tensors& v) -> Results {
          const Tensors to = next(in, v[1], v[2]);
          return {{}, {v[0] + 1, to[0], to[1]}};
        };
        const Tensors start{zeros({1}), in[0] + 0.25, in[1] - 0.25};
        return Tensors{f.contrib().while_loop(goes_on, step, start, 12).states[used + 1]};
      };
      const Tensors in{values({16}, DType::f32, 1), values({16}, DType::f32, 2), values({16}, DType::f32, 3),
                       values({steps, 16}, DType::f32, 4)};
      same_gradients(repeated, in);
      same_gradients(conditional, in);
    }
}

TEST_CASE("gradients of a cond in a foreach in a while_loop") {
  check(
      [&](F& f, const Tensors& in) {
        const Results r = f.contrib().while_loop(
            [&](const Tensors& v) { return v[0] < 2; },
            [&](const Tensors& v) -> Results {
              const Tensors inner = all_of(f.contrib().foreach (
                  [&](const Tensors& rows, const Tensors& s) -> Results {
                    const Tensors y = f.contrib().cond(
                        f.sum(rows[0]) < 0.5, [&] { return Tensors{s[0] * in[1] + rows[0]}; },
                        [&] { return Tensors{f.Dropout(rows[0], {.p = 0.5}) * s[0]}; });
                    return {{y[0] * v[1]}, {y[0] + in[1]}};
                  },
                  {in[2]}, {v[1]}));
              return {{inner[0]}, {v[0] + 1, f.tanh(inner[1])}};
            },
            {zeros({1}), in[0]}, 3);
        return Tensors{r.outputs[0], r.states[1]};
      },
      {{3}, {3}, {4, 3}});
}

TEST_CASE("gradients of parameters that a loop and the rest of the network use") {
  struct Recurrent final : HybridBlock {
    Recurrent() : HybridBlock({.prefix = "recurrent_"}) { dense = nn::Dense(3, {.in_units = 3}); }
    Tensors hybrid_forward(kiln::F& F, const Tensors& in) override {
      const Results r = F.contrib().foreach (
          [&](const Tensors& rows, const Tensors& s) -> Results {
            const Tensor h = F.tanh(dense(rows[0]) + dense(s[0]));
            return {{h}, {h}};
          },
          {in[0]}, {in[1]});
      return {dense(r.states[0]), r.outputs[0]};
    }
    Child<nn::Dense> dense{this, "dense"};
  };
  const auto run = [&](bool hybrid, int threads) {
    const ThreadLimit limit(threads);
    random::seed(4);
    Recurrent net;
    net.initialize();
    if (hybrid) net.hybridize();
    const Tensors in{values({4, 2, 3}, DType::f32, 1), values({2, 3}, DType::f32, 2)};
    Tensors out;
    {
      const autograd::Record record;
      out = net(in);
    }
    autograd::backward(out, {values({2, 3}, DType::f32, 3), values({4, 2, 3}, DType::f32, 4)});
    Tensors grads;
    for (const Parameter& parameter : net.collect_params()) grads.push_back(parameter.grad().copy());
    return grads;
  };
  const Tensors eager = run(false, 1);
  CHECK(eager.size() == 2);
  for (const int threads : {1, 2}) {
    const Tensors hybrid = run(true, threads);
    for (std::size_t i = 0; i < eager.size(); ++i) CHECK(same_bits(hybrid[i], eager[i]));
  }
}

TEST_CASE("gradients of foreach: integer states, and arrays of no elements") {
  check(
      [](F& f, const Tensors& in) {
        const Results r = f.contrib().foreach (
            [&](const Tensors& rows, const Tensors& s) -> Results {
              return {{rows[0] * in[1]}, {s[0] + 1, s[1] * rows[0]}};
            },
            {in[0]}, {zeros({1}, DType::i32), in[1]});
        return Tensors{r.outputs[0], r.states[1]};
      },
      {{3, 2}, {2}});
  check(
      [](F& f, const Tensors& in) {
        return all_of(f.contrib().foreach (
            [&](const Tensors& rows, const Tensors& s) -> Results {
              return {{rows[0]}, {s[0] * rows[0]}};
            },
            {in[0]}, {in[1]}));
      },
      {{3, 0}, {0}});
}

TEST_CASE("gradients of a foreach of no step: its states are the initial ones") {
  const auto body = [](F& f, const Tensors& in) -> Tensors {
    const Results r = f.contrib().foreach (
        [&](const Tensors& rows, const Tensors& s) -> Results {
          return {{f.dot(rows[0], in[2])}, {s[0] * rows[0]}};
        },
        {in[0]}, {in[1]});
    return {r.states[0] * in[1], f.sum(r.outputs[0]) + f.sum(in[2])};
  };
  check(body, {{0, 2, 3}, {2, 3}, {3, 4}});
}

TEST_CASE("results of foreach are recorded where its steps lead to a variable, in both modes") {
  const auto recorded = [](const Net::Body& body, std::int64_t steps, bool hybrid) {
    Net net(body);
    if (hybrid) net.hybridize();
    Tensors in{values({steps, 3}, DType::f32, 1), values({3}, DType::f32, 2), values({3}, DType::f32, 3)};
    in[1].attach_grad();
    const autograd::Record record;
    std::vector<bool> flags;
    for (const Tensor& t : net(in)) flags.push_back(autograd::is_recorded(t));
    return flags;
  };
  using Flags = std::vector<bool>;
  const Net::Body captured = [](F& f, const Tensors& in) {
    return all_of(f.contrib().foreach (
        [&](const Tensors& rows, const Tensors& s) -> Results {
          return {{rows[0] * f.BlockGrad(in[1]), rows[0] * in[1]}, {s[0] + f.BlockGrad(in[1])}};
        },
        {in[0]}, {in[2]}));
  };
  const Net::Body state = [](F& f, const Tensors& in) {
    return all_of(f.contrib().foreach (
        [&](const Tensors& rows, const Tensors& s) -> Results {
          return {{rows[0] * s[0], rows[0] + s[1]}, {f.BlockGrad(s[0]), s[2], s[1]}};
        },
        {in[0]}, {in[1], in[1], in[2]}));
  };
  const Net::Body nested = [](F& f, const Tensors& in) {
    return all_of(f.contrib().foreach (
        [&](const Tensors& rows, const Tensors& s) -> Results {
          return f.contrib().foreach (
              [&](const Tensors& inner, const Tensors& t) -> Results {
                return {{t[0] * inner[0]}, {f.BlockGrad(t[0]), t[0] + rows[0]}};
              },
              {in[0]}, {s[0], s[1]});
        },
        {in[0]}, {in[1], in[2]}));
  };
  for (const bool hybrid : {false, true}) {
    CAPTURE(hybrid);
    CHECK(recorded(captured, 3, hybrid) == Flags{false, true, false});
    CHECK(recorded(state, 1, hybrid) == Flags{true, true, false, false, true});
    CHECK(recorded(state, 2, hybrid) == Flags{true, true, false, true, false});
    CHECK(recorded(state, 5, hybrid) == Flags{true, true, false, false, true});
    CHECK(recorded(nested, 1, hybrid) == Flags{true, false, true});
    CHECK(recorded(nested, 2, hybrid) == Flags{true, false, false});
  }
}

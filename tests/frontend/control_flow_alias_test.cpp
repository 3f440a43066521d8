// Loops and branches whose bodies write in place, and results that are not new arrays: what a later write
// changes is the same eagerly and compiled.
#include "function_net.h"

using namespace kiln;

namespace {

using Results = struct F::contrib::Results;

std::vector<float> floats(const Tensor& t) { return t.to_vector<float>(); }

/// As everywhere(), of a program that may write to what it is given: each run gets copies, and what they hold
/// afterwards is compared too.
Tensors with_inputs(const Net::Body& body, const Tensors& in) {
  Net net(body);
  const auto run = [&] {
    random::seed(5);
    Tensors own;
    for (const Tensor& t : in) own.push_back(t.copy());
    Tensors out = net(own);
    // The caller's writes into results show which arrays the results are.
    for (std::size_t i = 0; i < out.size(); ++i) out[i] += static_cast<int>(i + 1);
    out.insert(out.end(), own.begin(), own.end());
    out.push_back(random::uniform(0, 1, {2}));
    return out;
  };
  const Tensors eager = run();
  net.hybridize();
  for (const int threads : {1, 2}) {
    const ThreadLimit limit(threads);
    for (int again = 0; again < 2; ++again) {
      const Tensors compiled = run();
      REQUIRE(compiled.size() == eager.size());
      for (std::size_t i = 0; i < eager.size(); ++i) {
        CAPTURE(i);
        CHECK(same_bits(compiled[i], eager[i]));
      }
    }
  }
  return eager;
}

// Made where a test's arrays are, which is not known before main().
Tensor yes() { return Tensor({1.f}); }
Tensor no() { return Tensor({-1.f}); }

}  // namespace

TEST_CASE("a cond that returns a tensor from outside returns that tensor", "[alias]") {
  const auto body = [](F& F, const Tensors& in) -> Tensors {
    const Tensor x = in[1] * 2;
    Tensor chosen = F.contrib().cond(
        in[0] > 0, [&] { return Tensors{x}; }, [&] { return Tensors{x}; })[0];
    chosen += 1;
    return {x * 1, chosen};
  };
  const Tensor x({1, 2});
  CHECK(compiles(body, {yes(), x}));
  for (const Tensor& c : {yes(), no()}) {
    const Tensors r = with_inputs(body, {c, x});
    CHECK(floats(r[0]) == std::vector<float>{4, 6});
  }
}

TEST_CASE("a cond that returns an input of the network returns it to the caller", "[alias]") {
  const auto body = [](F& F, const Tensors& in) {
    return F.contrib().cond(
        in[0] > 0, [&] { return Tensors{in[1]}; }, [&] { return Tensors{in[1]}; });
  };
  CHECK(compiles(body, {yes(), Tensor({1, 2})}));
  const Tensors r = with_inputs(body, {no(), Tensor({1, 2})});
  CHECK(floats(r[2]) == std::vector<float>{2, 3});
}

TEST_CASE("a cond that returns one tensor twice returns one array twice", "[alias]") {
  const auto body = [](F& F, const Tensors& in) -> Tensors {
    const auto twice = [&](const Tensor& t) { return Tensors{t, t}; };
    Tensors r = F.contrib().cond(
        in[0] > 0, [&] { return twice(in[1] + 1); }, [&] { return twice(in[1] - 1); });
    r[0] *= 3;
    return {r[0], r[1]};
  };
  CHECK(compiles(body, {yes(), Tensor({1, 2})}));
  with_inputs(body, {yes(), Tensor({1, 2})});
  const Tensors r = with_inputs(body, {no(), Tensor({1, 2})});
  CHECK(floats(r[1]) == std::vector<float>{3, 6});  // 0 and 3, then 1 and 2 more by the caller
}

TEST_CASE("results of a cond that are views of one array write through", "[alias]") {
  with_inputs(
      [](F& F, const Tensors& in) -> Tensors {
        const auto parts = [&](Tensor t) { return Tensors{t, t[1], t.reshape({4})}; };
        Tensors r = F.contrib().cond(
            in[0] > 0, [&] { return parts(in[1] + 1); }, [&] { return parts(in[1] - 1); });
        r[1] *= 10;
        r[2][slice(0, 1)] = 7;
        return {r[0] * 1, r[1] * 1, r[2] * 1};
      },
      {yes(), Tensor({{1, 2}, {3, 4}})});
}

TEST_CASE("where values decide which array a cond returns, a write means the same", "[alias]") {
  for (const Tensor& c : {yes(), no()}) {
    // One branch gives an array from outside, the other a new one.
    with_inputs(
        [](F& F, const Tensors& in) -> Tensors {
          Tensor x = in[1] * 1;
          Tensor r = F.contrib().cond(
              in[0] > 0, [&] { return Tensors{x}; }, [&] { return Tensors{x * 2}; })[0];
          r += 5;
          return {x * 1, r * 1};
        },
        {c, Tensor({1, 2})});
    // The other way round: the outer array is written, the result read.
    with_inputs(
        [](F& F, const Tensors& in) -> Tensors {
          Tensor x = in[1] * 1;
          Tensor r = F.contrib().cond(
              in[0] > 0, [&] { return Tensors{x}; }, [&] { return Tensors{x * 2}; })[0];
          x[0] = 9;
          return {r * 1};
        },
        {c, Tensor({1, 2})});
    // Two arrays from outside.
    with_inputs(
        [](F& F, const Tensors& in) -> Tensors {
          Tensor x = in[1] * 1, y = in[1] * 2;
          Tensor r = F.contrib().cond(
              in[0] > 0, [&] { return Tensors{x}; }, [&] { return Tensors{y}; })[0];
          r *= 3;
          return {x * 1, y * 1};
        },
        {c, Tensor({1, 2})});
    // The caller may write into the result.
    with_inputs(
        [](F& F, const Tensors& in) {
          return F.contrib().cond(
              in[0] > 0, [&] { return Tensors{in[1]}; }, [&] { return Tensors{in[1] * 2}; });
        },
        {c, Tensor({1, 2})});
    // One result twice in one branch only.
    with_inputs(
        [](F& F, const Tensors& in) {
          return F.contrib().cond(
              in[0] > 0, [&] { return Tensors(2, in[1] * 3); },
              [&] {
                return Tensors{in[1] * 2, in[1] * 4};
              });
        },
        {c, Tensor({1, 2})});
    // A cond of a cond.
    with_inputs(
        [](F& F, const Tensors& in) -> Tensors {
          Tensor x = in[1] * 1;
          const auto maybe = [&](const Tensor& t) {
            return F.contrib().cond(
                in[0] > 0, [&] { return Tensors{t}; }, [&] { return Tensors{t * 2}; });
          };
          Tensor r = maybe(maybe(x)[0])[0];
          r += 1;
          const Tensor nested = F.contrib().cond(
              in[0] > 0, [&] { return maybe(x); }, [&] { return Tensors{x + 7}; })[0];
          Tensor last = nested;
          last -= 4;
          return {x * 1, r * 1};
        },
        {c, Tensor({1, 2})});
  }
}

TEST_CASE("where nobody can tell, a cond of which values decide the array is compiled", "[alias]") {
  const auto body = [](F& F, const Tensors& in) -> Tensors {
    const Tensor x = F.tanh(in[1]);
    const Tensor r = F.contrib().cond(
        in[0] > 0, [&] { return Tensors{x}; }, [&] { return Tensors{x * 2}; })[0];
    return {r * 3, r + 1};
  };
  CHECK(compiles(body, {yes(), Tensor({1, 2})}));
  with_inputs(body, {no(), Tensor({1, 2})});
  // The result itself, of an array that is gone.
  const auto gone = [](F& F, const Tensors& in) {
    const Tensor x = F.tanh(in[1]);
    return F.contrib().cond(
        in[0] > 0, [&] { return Tensors{x}; }, [&] { return Tensors{x * 2}; });
  };
  CHECK(compiles(gone, {yes(), Tensor({1, 2})}));
  with_inputs(gone, {yes(), Tensor({1, 2})});
}

TEST_CASE("a body of foreach writes into its states in place", "[alias]") {
  const auto body = [](F& F, const Tensors& in) -> Tensors {
    const Results r = F.contrib().foreach (
        [&](const Tensors& rows, const Tensors& states) -> Results {
          Tensor sum = states[0];
          sum += rows[0];
          sum[slice(0, 1)] *= 2;
          return {{sum, sum * 2}, {sum}};
        },
        {in[0]}, {in[1]});
    return {r.outputs[0], r.outputs[1], r.states[0]};
  };
  const Tensors in{Tensor({{1, 2}, {3, 4}, {5, 6}}), Tensor({0.5, 1.0})};
  CHECK(compiles(body, in));
  const Tensors r = with_inputs(body, in);
  // The output of a step is the sum as it was then: 3, 12, 34 with the 1 that the caller added.
  CHECK(floats(r[0]) == std::vector<float>{4, 4, 13, 8, 35, 14});
}

TEST_CASE("a body of foreach that returns one tensor as two states, or one from outside", "[alias]") {
  const Tensors in{Tensor({{1, 2}, {3, 4}, {5, 6}}), Tensor({0.5, 1.0})};
  const auto twice = [](F& F, const Tensors& in) -> Tensors {
    Results r = F.contrib().foreach (
        [&](const Tensors& rows, const Tensors& states) -> Results {
          const Tensor sum = states[0] + states[1] + rows[0];
          return {{}, {sum, sum}};
        },
        {in[0]}, {in[1], in[1]});
    r.states[0] *= 2;
    return {r.states[0], r.states[1]};
  };
  CHECK(compiles(twice, in));
  with_inputs(twice, in);
  // They write into their states too, from the second step on through both.
  with_inputs(
      [](F& F, const Tensors& in) -> Tensors {
        const Results r = F.contrib().foreach (
            [&](const Tensors& rows, const Tensors& states) -> Results {
              Tensor a = states[0];
              a += rows[0];
              const Tensor sum = a + states[1];
              return {{sum, states[1]}, {sum, sum}};
            },
            {in[0]}, {in[1], in[1]});
        return {r.outputs[0], r.outputs[1], r.states[0], r.states[1]};
      },
      in);
  // A tensor from outside as a state.
  const auto outside = [](F& F, const Tensors& in) -> Tensors {
    const Tensor x = in[1] * 2;
    Results r = F.contrib().foreach (
        [&](const Tensors& rows, const Tensors& states) -> Results {
          return {{rows[0] + states[0]}, {x}};
        },
        {in[0]}, {in[1]});
    r.states[0] += 1;
    return {r.outputs[0], x * 1};
  };
  CHECK(compiles(outside, in));
  with_inputs(outside, in);
  // ... which a later step writes.
  with_inputs(
      [](F& F, const Tensors& in) -> Tensors {
        const Tensor x = in[1] * 2;
        const Results r = F.contrib().foreach (
            [&](const Tensors& rows, const Tensors& states) -> Results {
              Tensor s = states[0];
              s += rows[0];
              return {{s, x}, {x}};
            },
            {in[0]}, {in[1]});
        return {r.outputs[0], r.outputs[1], x * 1};
      },
      in);
}

TEST_CASE("states that swap their places, and parts of states", "[alias]") {
  with_inputs(
      [](F& F, const Tensors& in) -> Tensors {
        const Results r = F.contrib().foreach (
            [&](const Tensors& rows, const Tensors& states) -> Results {
              Tensor a = states[0], b = states[1];
              a += rows[0];
              b *= 2;
              return {{a, b.reshape({2, 1})}, {b, a}};
            },
            {in[0]}, {in[1], in[1] * 3});
        return {r.outputs[0], r.outputs[1], r.states[0], r.states[1]};
      },
      {Tensor({{1, 2}, {3, 4}, {5, 6}}), Tensor({0.5, 1.0})});
  with_inputs(
      [](F& F, const Tensors& in) -> Tensors {
        const Results r = F.contrib().foreach (
            [&](const Tensors& rows, const Tensors& states) -> Results {
              Tensor both = F.concat({states[0], rows[0]}, 0).reshape({2, 2});
              both += 1;
              Tensor first = both[0];
              first *= 2;
              return {{both}, {first, both[1]}};
            },
            {in[0]}, {in[1], in[1]});
        Tensor state = r.states[0];
        state[slice(0, 1)] = -1;
        return {r.outputs[0], r.states[0], r.states[1]};
      },
      {Tensor({{1, 2}, {3, 4}, {5, 6}}), Tensor({0.5, 1.0})});
}

TEST_CASE("states that reach an array some steps later", "[alias]") {
  const Tensors in{Tensor({{1, 2}, {3, 4}, {5, 6}}), Tensor({1, 2})};
  const auto steps = [&](std::int64_t n) { return Tensors{in[0][slice(0, n)], in[1]}; };
  // An array from outside moves on by one state with each step.
  const auto outside = [](F& F, const Tensors& in) -> Tensors {
    const Tensor y = in[1] * 2;
    Results r = F.contrib().foreach (
        [&](const Tensors&, const Tensors& s) -> Results {
          return {{}, {s[1], s[2], y}};
        },
        {in[0]}, {in[1], in[1], in[1]});
    r.states[0] += 1;
    return {y * 1, r.states[1], r.states[2]};
  };
  // One new array is two states at first, then four.
  const auto twice = [](F& F, const Tensors& in) -> Tensors {
    Results r = F.contrib().foreach (
        [&](const Tensors&, const Tensors& s) -> Results {
          const Tensor n = s[0] + 1;
          return {{}, {n, n, s[0], s[1]}};
        },
        {in[0]}, {in[1], in[1], in[1], in[1]});
    r.states[2] += 1;
    return {r.states[3], r.states[0]};
  };
  // So is a view of one.
  const auto parts = [](F& F, const Tensors& in) -> Tensors {
    Results r = F.contrib().foreach (
        [&](const Tensors&, const Tensors& s) -> Results {
          const Tensor n = s[0] + 1;
          return {{}, {n, s[2], n[slice(0, 1)]}};
        },
        {in[0]}, {in[1], in[1][slice(0, 1)], in[1][slice(1, 2)]});
    r.states[0] *= 3;
    return {r.states[1], r.states[2]};
  };
  for (const std::int64_t n : {1, 2, 3}) {
    CAPTURE(n);
    for (const Net::Body& body : {Net::Body(outside), Net::Body(twice), Net::Body(parts)}) {
      CHECK(compiles(body, steps(n)));
      with_inputs(body, steps(n));
    }
  }
  // In a while_loop values decide how many steps there are.
  for (const float most : {0.f, 5.f, 100.f})
    with_inputs(
        [most](F& F, const Tensors& in) -> Tensors {
          const Tensor y = in[1] * 2;
          Results r = F.contrib().while_loop([&](const Tensors& s) { return F.sum(s[0]) < most; },
                                             [&](const Tensors& s) -> Results {
                                               return {{}, {s[1], y}};
                                             },
                                             {in[1], in[1]}, 3);
          r.states[0] += 1;
          return {y * 1, r.states[1]};
        },
        in);
}

TEST_CASE("a body or condition of while_loop writes into its variables", "[alias]") {
  for (const float limit : {0.f, 2.f, 9.f}) {
    const Tensors in{Tensor({0.f}), Tensor({limit}), Tensor({1, 2})};
    const auto body = [](F& F, const Tensors& in) -> Tensors {
      const Results r = F.contrib().while_loop([&](const Tensors& v) { return v[0] < in[1]; },
                                               [&](const Tensors& v) -> Results {
                                                 Tensor i = v[0], x = v[1];
                                                 i += 1;
                                                 x *= i;
                                                 return {{x}, {i, x}};
                                               },
                                               {in[0], in[2]}, 4);
      return {r.outputs[0], r.states[0], r.states[1]};
    };
    CHECK(compiles(body, in));
    with_inputs(body, in);
    const auto condition = [](F& F, const Tensors& in) -> Tensors {
      const Results r = F.contrib().while_loop(
          [&](const Tensors& v) {
            Tensor x = v[1];
            x += 10;
            return v[0] < in[1];
          },
          [&](const Tensors& v) -> Results {
            return {{v[1] * 1}, {v[0] + 1, v[1] * 2}};
          },
          {in[0], in[2]}, 4);
      return {r.outputs[0], r.states[0], r.states[1]};
    };
    with_inputs(condition, in);
    // One tensor as two variables; after no step they are two arrays.
    const auto twice = [](F& F, const Tensors& in) -> Tensors {
      Results r = F.contrib().while_loop([&](const Tensors& v) { return F.sum(v[0]) < in[1] * 2; },
                                         [&](const Tensors& v) -> Results {
                                           const Tensor x = v[0] + v[1] + 1;
                                           return {{x}, {x, x}};
                                         },
                                         {in[0], in[0]}, 4);
      r.states[0] += 1;
      return {r.outputs[0], r.states[0] * 1, r.states[1] * 1};
    };
    with_inputs(twice, in);
    // ... and written by the next step.
    with_inputs(
        [](F& F, const Tensors& in) -> Tensors {
          const Results r = F.contrib().while_loop([&](const Tensors& v) { return F.sum(v[0]) < in[1] * 2; },
                                                   [&](const Tensors& v) -> Results {
                                                     Tensor x = v[0];
                                                     x += 1;
                                                     const Tensor y = x + v[1];
                                                     return {{v[1]}, {y, y}};
                                                   },
                                                   {in[0], in[0]}, 4);
          return {r.outputs[0], r.states[0] * 1, r.states[1] * 1};
        },
        in);
    // A tensor from outside.
    with_inputs(
        [](F& F, const Tensors& in) -> Tensors {
          const Tensor x = in[2] * 1;
          Results r = F.contrib().while_loop([&](const Tensors& v) { return v[0] < in[1]; },
                                             [&](const Tensors& v) -> Results {
                                               return {{v[1] + 1}, {v[0] + 1, x}};
                                             },
                                             {in[0], in[2]}, 4);
          r.states[1] += 3;
          return {r.outputs[0], x * 1};
        },
        in);
  }
}

TEST_CASE("bodies in bodies share arrays as they do eagerly", "[alias]") {
  const Tensors in{Tensor({{1, 2}, {-3, 4}, {5, 6}}), Tensor({0.5, 1.0})};
  with_inputs(
      [](F& F, const Tensors& in) -> Tensors {
        const Results r = F.contrib().foreach (
            [&](const Tensors& rows, const Tensors& states) -> Results {
              Tensor s = states[0];
              Tensor same = F.contrib().cond(
                  F.sum(rows[0]) > 0, [&] { return Tensors{s}; }, [&] { return Tensors{s}; })[0];
              same += rows[0];
              return {{s * 1, same}, {s}};
            },
            {in[0]}, {in[1]});
        return {r.outputs[0], r.outputs[1], r.states[0]};
      },
      in);
  with_inputs(
      [](F& F, const Tensors& in) -> Tensors {
        const Results r = F.contrib().foreach (
            [&](const Tensors& rows, const Tensors& states) -> Results {
              Tensor s = states[0];
              Tensor perhaps = F.contrib().cond(
                  F.sum(rows[0]) > 2, [&] { return Tensors{s}; }, [&] { return Tensors{s * 2}; })[0];
              perhaps += rows[0];
              return {{s * 1}, {perhaps}};
            },
            {in[0]}, {in[1]});
        return {r.outputs[0], r.states[0]};
      },
      in);
  with_inputs(
      [](F& F, const Tensors& in) -> Tensors {
        const Results r = F.contrib().foreach (
            [&](const Tensors& rows, const Tensors& states) -> Results {
              const Tensors chosen = F.contrib().cond(
                  F.sum(rows[0]) > 2,
                  [&] {
                    return Tensors{states[0], states[1]};
                  },
                  [&] {
                    return Tensors{states[1], states[0]};
                  });
              Tensor first = states[0];
              first += 1;
              return {{chosen[0] * 1}, {chosen[0], chosen[1]}};
            },
            {in[0]}, {in[1], in[1] * 3});
        return {r.outputs[0], r.states[0], r.states[1]};
      },
      in);
}

TEST_CASE("an array from outside that a body writes and returns", "[alias]") {
  const Tensors in{Tensor({{1, 2}, {3, 4}, {5, 6}}), Tensor({0.5, 1.0})};
  with_inputs(
      [](F& F, const Tensors& in) -> Tensors {
        Tensor total = in[1];
        const Results r = F.contrib().foreach (
            [&](const Tensors& rows, const Tensors& states) -> Results {
              total += rows[0];
              return {{total, states[0]}, {total}};
            },
            {in[0]}, {in[1]});
        return {r.outputs[0], r.outputs[1], r.states[0]};
      },
      in);
}

TEST_CASE("an error of a body that the program catches leaves all random numbers where they were eagerly",
          "[alias]") {
  const auto failing = [](F& F, const Tensors& in, int kind) -> Tensors {
    const Tensor before = F.random_uniform(0, 1, Shape{2});
    const auto step = [&](const Tensor& x) {
      const Tensor drawn = F.random_uniform(0, 1, Shape{2}) + F.random_uniform(0, 1, Shape{2});
      return F.dot(x + drawn, F.ones({7, 3}));  // does not fit
    };
    try {
      if (kind == 0)
        F.contrib().foreach (
            [&](const Tensors& rows, const Tensors&) -> Results {
              return {{step(rows[0])}, {}};
            },
            {in[0]}, {});
      if (kind == 1)
        F.contrib().while_loop([&](const Tensors& v) { return F.sum(v[0]) > -100; },
                               [&](const Tensors& v) -> Results {
                                 return {{step(v[0])}, {v[0]}};
                               },
                               {in[1]}, 3);
      if (kind == 2)
        F.contrib().cond(
            F.sum(in[1]) > -100, [&] { return Tensors{step(in[1])}; }, [&] { return Tensors{step(in[1])}; });
      if (kind == 3)  // after a draw, what the body returns does not fit
        F.contrib().foreach (
            [&](const Tensors& rows, const Tensors&) -> Results {
              return {{rows[0] + F.random_uniform(0, 1, Shape{2})}, {F.ones({9})}};
            },
            {in[0]}, {in[1]});
      FAIL("no error");
    } catch (const Error&) {
    }
    return {before, F.random_uniform(0, 1, Shape{2})};
  };
  for (const int kind : {0, 1, 2, 3}) {
    CAPTURE(kind);
    with_inputs([&](F& F, const Tensors& in) { return failing(F, in, kind); },
                {Tensor({{1, 2}, {3, 4}}), Tensor({1, 2})});
  }
}

TEST_CASE("why a call is not compiled is said where it cannot be bound", "[alias]") {
  Net net([](F& F, const Tensors& in) {
    return F.contrib().cond(
        in[0] > 0, [&] { return Tensors{in[1]}; }, [&] { return Tensors{in[1] * 2}; });
  });
  net.hybridize();
  CHECK_THROWS_WITH(net.bind({yes(), Tensor({1, 2})}),
                    Catch::Contains("values decide whether a result aliases another"));
}

TEST_CASE("a body that draws numbers it does not use, or uses them in another order", "[alias]") {
  const Tensors in{Tensor({{1, 2}, {3, 4}}), Tensor({1, 2})};
  with_inputs(
      [](F& F, const Tensors& in) -> Tensors {
        const Results r = F.contrib().foreach (
            [&](const Tensors& rows, const Tensors&) -> Results {
              const Tensor a = F.random_uniform(0, 1, Shape{2}), b = F.random_uniform(0, 1, Shape{2}),
                           unused = F.random_uniform(0, 1, Shape{3});
              return {{rows[0] + b - a}, {}};
            },
            {in[0]}, {});
        return {r.outputs[0], F.random_uniform(0, 1, Shape{2})};
      },
      in);
  with_inputs(
      [](F& F, const Tensors& in) {
        return F.contrib().cond(
            F.sum(in[0]) > 0,
            [&] {
              const Tensor a = F.random_uniform(0, 1, Shape{2}), b = F.random_uniform(0, 1, Shape{2});
              return Tensors{in[1] + b - a};
            },
            [&] { return Tensors{in[1] * 2}; });
      },
      in);
}

// Histories of the results of blocks, loops and branches. These have the same bits whichever of the calls is
// compiled: whether a result is recorded, its gradients, the gradients of a pass that makes a graph, and
// theirs.
#include "view_programs.h"

#include <kiln/error.h>

using namespace kiln;
using namespace view_programs;

namespace {

using Results = struct F::contrib::Results;

/// The histories of a program's results. The first `attached` inputs have gradients; before, all 7 had.
Tensors histories(const Program& program, const std::vector<Shape>& shapes, std::size_t attached,
                  Compiled compiled) {
  Nets nets(program, compiled);
  Tensors in = inputs_of(shapes), seen;
  in.resize(shapes.size());
  const Tensors variables(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(attached));
  const auto see_gradients = [&] {
    for (const Tensor& v : variables) {
      seen.push_back(v.grad().copy());
      v.grad()[slice()] = 7;
    }
  };
  for (Tensor v : variables) {
    v.attach_grad();
    v.grad()[slice()] = 7;
  }
  for (int call = 0; call < 2; ++call) {
    const autograd::Record record;
    const Tensors out = nets.whole(in);
    int seed = 7;
    for (const Tensor& t : out) {
      seen.push_back(t.detach().copy());
      seen.push_back(full({1}, autograd::is_recorded(t)));
      if (!autograd::is_recorded(t)) continue;
      const Tensor head = numbers(t.shape(), seed++);
      autograd::backward({t}, {head}, {.retain_graph = true});
      see_gradients();
      for (const Tensor& v : variables) {
        Tensor gradient;
        try {
          gradient = autograd::grad({t}, {v}, {.head_gradients = {head}, .create_graph = true})[0];
        } catch (const Error&) {
          seen.push_back(full({1}, -1));  // no path to it
          continue;
        }
        seen.push_back(gradient.detach().copy());
        if (!autograd::is_recorded(gradient)) continue;
        autograd::backward({F::tanh(gradient)}, {}, {.retain_graph = true});
        see_gradients();
      }
    }
  }
  return seen;
}

void check_histories(const Program& program, const std::vector<Shape>& shapes, std::size_t attached) {
  check_modes([&](Compiled compiled) { return histories(program, shapes, attached, compiled); });
}

/// A program of one block.
Program of(const Net::Body& body) {
  return {{body}, [](F&, const Tensors& in, std::vector<Net>& blocks) { return blocks[0](in); }};
}

Results three_times(F& f, const F::contrib::LoopBody& body, const Tensors& states) {
  Tensors all{f.zeros({1})};
  all.insert(all.end(), states.begin(), states.end());
  Results r = f.contrib().while_loop([](const Tensors& v) { return v[0] < 3; },
                                     [&](const Tensors& v) {
                                       Results step = body({v.begin() + 1, v.end()});
                                       step.states.insert(step.states.begin(), v[0] + 1);
                                       return step;
                                     },
                                     all, 4);
  r.states.erase(r.states.begin());
  return r;
}

const std::vector<Shape> two{{2, 3}, {2, 3}};

}  // namespace

TEST_CASE("a block returns what a loop or branch computed of constants, and multiplies by it") {
  check_histories(of([](F& f, const Tensors& in) -> Tensors {
                    const Tensor r = f.contrib()
                                         .foreach (
                                             [](const Tensors& rows, const Tensors& s) {
                                               return Results{{s[0] + rows[0]}, {s[0] * 2 + 1}};
                                             },
                                             {in[1]}, {f.zeros({3})})
                                         .outputs[0];
                    return {in[0] * r, r, f.maximum(in[0], r)};
                  }),
                  two, 1);
  check_histories(of([](F& f, const Tensors& in) -> Tensors {
                    const Tensor r = three_times(f,
                                                 [](const Tensors& v) {
                                                   return Results{{}, {v[0] * 2}};
                                                 },
                                                 {in[1]})
                                         .states[0];
                    return {in[0] * r, r};
                  }),
                  two, 1);
  check_histories(of([](F& f, const Tensors& in) -> Tensors {
                    const Tensor r = f.contrib().cond(
                        f.sum(in[1]) > 0, [&] { return Tensors{in[1] * 2}; },
                        [&] { return Tensors{in[1] * 3}; })[0];
                    return {in[0] * r, r};
                  }),
                  two, 1);
  check_histories(of([](F& f, const Tensors& in) -> Tensors {
                    Tensor r;
                    {
                      const autograd::Pause pause;
                      r = f.contrib()
                              .foreach (
                                  [](const Tensors& rows, const Tensors& s) {
                                    return Results{{s[0] + rows[0]}, {s[0] * 2}};
                                  },
                                  {in[0]}, {f.ones({3})})
                              .outputs[0];
                    }
                    return {in[0] * r, r};
                  }),
                  two, 2);
}

TEST_CASE("a pass that makes a graph through a block that writes inside Pause") {
  check_histories(of([](F& f, const Tensors& in) -> Tensors {
                    Tensor x = in[0];
                    {
                      const autograd::Pause pause;
                      x[0] = f.sin(in[1][1]);
                    }
                    return {f.square(x), x};
                  }),
                  two, 2);
}

TEST_CASE("one array as two results, of which one leads nowhere") {
  for (const bool both : {false, true}) {
    CAPTURE(both);
    const auto returned = [&](const Tensors& results) { return both ? results : Tensors{results[1]}; };
    check_histories(of([&](F& f, const Tensors& in) -> Tensors {
                      Tensor constant;
                      {
                        const autograd::Pause pause;
                        constant = f.tanh(in[0]);
                      }
                      return returned(three_times(f,
                                                  [](const Tensors& v) {
                                                    return Results{{}, {v[1], v[1]}};
                                                  },
                                                  {in[0], constant})
                                          .states);
                    }),
                    two, 2);
    check_histories(of([&](F& f, const Tensors& in) -> Tensors {
                      return returned(f.contrib().cond(
                          f.ones({1}),
                          [&] {
                            const Tensor constant = f.ones({2, 3});
                            return Tensors{constant, constant};
                          },
                          [&] {
                            return Tensors{in[0] * 2, f.ones({2, 3})};
                          }));
                    }),
                    two, 2);
  }
}

TEST_CASE("a branch or step that does not run reads what another branch returned") {
  for (const bool child : {false, true}) {
    const auto inner = [](F& f, const Tensor& c) {
      return f.contrib().cond(
          f.ones({1}),
          [&] {
            return Tensors{f.ones({2, 3})};
          },
          [&] { return Tensors{c * 3}; })[0];
    };
    CAPTURE(child);
    check_histories({{[&](F& f, const Tensors& in) -> Tensors { return {inner(f, in[0])}; }},
                     [&](F& f, const Tensors& in, std::vector<Net>& blocks) -> Tensors {
                       const Tensor b = in[1] * 2;
                       const Tensor c = f.contrib().cond(
                           f.zeros({1}), [&] { return Tensors{in[0]}; }, [&] { return Tensors{b}; })[0];
                       return {child ? blocks[0](Tensors{c})[0] : inner(f, c), b};
                     }},
                    two, 2);
  }
}

TEST_CASE("what loops and branches in Pause return is a constant, if their bodies open Record or not") {
  const auto results = [](F& f, const std::function<Tensor()>& value, const Tensor& other) {
    const autograd::Pause pause;
    const auto step = [&](auto&&...) { return Results{{}, {value()}}; };
    Tensors out = f.contrib().foreach (step, {f.ones({2, 1})}, {f.zeros({2, 3})}).states;
    out.push_back(three_times(f, step, {f.zeros({2, 3})}).states[0]);
    out.push_back(f.contrib().cond(
        f.ones({1}), [&] { return Tensors{value()}; }, [&] { return Tensors{other * 2}; })[0]);
    return out;
  };
  for (const bool own : {false, true})
    for (const bool made : {false, true})
      for (const bool used : {false, true}) {
        CAPTURE(own, made, used);
        check_histories(of([&](F& f, const Tensors& in) -> Tensors {
                          const Tensor x = made ? in[0] * 2 : in[0];
                          const auto value = [&] {
                            std::optional<autograd::Record> record;
                            if (own) record.emplace();
                            return own ? f.tanh(x) : x;
                          };
                          Tensors out = results(f, value, x);
                          if (used)
                            for (Tensor& t : out) t = f.tanh(t) + t;
                          return out;
                        }),
                        two, 2);
      }
}

TEST_CASE("a loop in Pause in a branch hands on an array from outside, twice") {
  check_histories(of([](F& f, const Tensors& in) -> Tensors {
                    const Tensor x = in[0] * 2;
                    return f.contrib().cond(
                        f.ones({1}),
                        [&] {
                          const autograd::Pause pause;
                          const Tensors states = f.contrib()
                                                     .foreach (
                                                         [&](const Tensors&, const Tensors&) {
                                                           return Results{{}, {x, x}};
                                                         },
                                                         {f.ones({2, 1})}, {in[0], in[1]})
                                                     .states;
                          return Tensors{states[0] * 3, states[1]};
                        },
                        [&] {
                          return Tensors{in[0], x};
                        });
                  }),
                  two, 2);
}

TEST_CASE("a child returns the view that its parent was given") {
  for (const bool hybrid_child : {false, true})
    for (const bool written : {false, true}) {
      CAPTURE(hybrid_child, written);
      Net child([](F&, const Tensors& in) -> Tensors { return in; });
      if (hybrid_child) child.hybridize();
      check_histories({{[&](F& f, const Tensors& in) -> Tensors {
                         const Tensor x = child(Tensors{in[0]})[0];
                         return {f.tanh(x) * x, x, f.sin(in[0])};
                       }},
                       [&](F& f, const Tensors& in, std::vector<Net>& blocks) -> Tensors {
                         const Tensor base = f.stack({in[0] * 1.5, in[1]}, {.axis = 0});
                         Tensors out = blocks[0](Tensors{base[0]});
                         if (written) {
                           Tensor w = out[1];
                           w[0] = f.tanh(w[1]);
                         }
                         out = {f.concat({out[0], out[1], out[2]}, {.dim = 0}), base};
                         return out;
                       }},
                      two, 2);
    }
}

TEST_CASE("a block with two results of which one leads to the variable") {
  check_histories({{[](F&, const Tensors& in) -> Tensors {
                     return {in[0] * 1.0, in[1] * 1.0};
                   }},
                   [](F& f, const Tensors& in, std::vector<Net>& blocks) -> Tensors {
                     const Tensors q = blocks[0](in);
                     Tensor y = q[0] * q[1];
                     y[0] = f.tanh(y[1]);
                     return {y, q[0] * q[1]};
                   }},
                  two, 2);
}

TEST_CASE("a pass that makes a graph from the results of a block and from views of them") {
  const Program program = of([](F& f, const Tensors& in) -> Tensors {
    return {f.tanh(in[0]) * in[0], uses(f, in[0])};
  });
  check_modes([&](Compiled compiled) {
    Nets nets(program, compiled);
    Tensor x = numbers({2, 3}, 0);
    x.attach_grad();
    const autograd::Record record;
    Tensors heads = nets.whole(Tensors{x}), gradients;
    for (const Tensor& t : Tensors(heads)) {
      heads.push_back(t[slice(0, 1)]);
      heads.push_back(t.reshape({3, 2}));
    }
    for (const Tensor& t : heads) gradients.push_back(numbers(t.shape(), static_cast<int>(gradients.size())));
    const Tensor g = autograd::grad(heads, {x}, {.head_gradients = gradients, .create_graph = true})[0];
    autograd::backward({F::tanh(g)});
    return Tensors{g.detach(), x.grad()};
  });
}

TEST_CASE("a block returns an array that it makes, which the program writes") {
  for (const bool hybrid : {false, true})
    for (const std::int64_t rows : {2, 0}) {
      CAPTURE(hybrid, rows);
      Net net([](F&, const Tensors& in) -> Tensors {
        const Tensor c({1, 2, 3});
        return {in[0] * c.reshape({1, 3}), c, c[slice(1, 3)], in[0][slice()]};
      });
      if (hybrid) net.hybridize();
      Tensor x = ones({rows, 3});
      x.attach_grad();
      for (int call = 0; call < 3; ++call) {
        const autograd::Record record;
        const Tensors out = net(Tensors{x});
        Tensor c = out[1];
        CHECK(out[0].sum().item<float>() == 6.f * static_cast<float>(rows));
        CHECK(c.to_vector<float>() == std::vector<float>{1, 2, 3});
        c[2] = F::sum(out[0]);
        CHECK(out[2].to_vector<float>() == std::vector<float>{2, 6.f * static_cast<float>(rows)});
        autograd::backward({c, out[3] * 1.0 + x});
        if (rows > 0) CHECK(x.grad().sum().item<float>() == 12 + 2 * 6);
      }
    }
}

TEST_CASE("a block catches the error of a write into a variable, and goes on") {
  for (const bool hybrid : {false, true})
    for (const bool attached : {false, true, false}) {
      CAPTURE(hybrid, attached);
      int caught = 0, line = 0;
      Net net([&](F&, const Tensors& in) -> Tensors {
        Tensor x = in[0];
        try {
          line = __LINE__ + 1;
          x[0] = 5.0;
        } catch (const Error& e) {
          CHECK_THAT(e.what(), Catch::Contains(fmt::format("returned_history_test.cpp:{}: ", line)));
          ++caught;
        }
        return {x * 2};
      });
      if (hybrid) net.hybridize();
      for (int call = 0; call < 2; ++call) {
        Tensor x = numbers({2, 3}, 1);
        if (attached) x.attach_grad();
        const Tensor y = autograd::record([&] { return net(Tensors{x})[0]; });
        if (attached) y.backward();
        CHECK(x[0].to_vector<float>() ==
              (attached ? numbers({2, 3}, 1)[0].to_vector<float>() : std::vector<float>{5, 5, 5}));
        if (attached) CHECK(x.grad().to_vector<float>() == std::vector<float>(6, 2));
      }
      CHECK(caught == (attached ? 2 : 0));
    }
}

TEST_CASE("one value as two results of a block, and views of both") {
  const Net::Body twice = [](F& f, const Tensors& in) {
    const Tensor x = f.tanh(in[0]);
    const Tensor y = f.contrib().cond(
        f.ones({1}), [&] { return Tensors{x}; }, [&] { return Tensors{x * 2}; })[0];
    return Tensors{y, y};
  };
  check_histories({{twice},
                   [](F& f, const Tensors& in, std::vector<Net>& blocks) -> Tensors {
                     Tensor sum;
                     const Tensors out = blocks[0](in);
                     for (const Tensor& t : out) sum = sum.defined() ? sum + t * 0.7 : t * 0.3;
                     for (const Tensor& t : out) {
                       const Tensor row = t[slice(0, 1)], turned = t.reshape({3, 2});
                       sum = sum + f.sum(f.sin(row) * row) * 1.7;
                       sum = sum + (f.sin(turned) * turned).reshape({2, 3}) * 2.3;
                     }
                     return {sum};
                   }},
                  two, 2);
}

TEST_CASE("a Function takes a constant in an array that has a history") {
  struct Twice : autograd::Function {
    Tensors forward(const Tensors& x) override { return {x[0] * 2}; }
    Tensors backward(const Tensors& dy) override { return {dy[0] * 2}; }
  };
  const Net::Body function = [](F&, const Tensors& in) { return autograd::apply<Twice>({in[1]}); };
  check_histories({{function},
                   [](F& f, const Tensors& in, std::vector<Net>& blocks) -> Tensors {
                     const Tensors c = f.contrib().cond(
                         f.zeros({1}),
                         [&] {
                           return Tensors{in[0], f.BlockGrad(in[0])};
                         },
                         [&] {
                           const Tensor made = f.ones({2, 3});
                           return Tensors{made, made};
                         });
                     return {c[0], blocks[0]({in[0], c[1]})[0]};
                   }},
                  two, 2);
}

TEST_CASE("statistics that BatchNorm updates: of arrays of the block, of views, of states of loops") {
  const auto normed = [](F& f, const Tensor& x, const Tensor& mean, const Tensor& var) {
    return f.BatchNorm(x, f.ones({3}), f.zeros({3}), mean, var, {.momentum = 0.5});
  };
  check_histories(of([=](F& f, const Tensors& in) -> Tensors {
                    const Tensor mean = f.zeros({3}), var = f.ones({3});
                    return {normed(f, in[0], mean, var), mean, var.reshape({1, 3})};
                  }),
                  two, 2);
  check_histories(of([=](F& f, const Tensors& in) -> Tensors {
                    const Tensor mean = f.sum(in[1], {.axis = 0}), var = f.ones({3});
                    const Tensor y = normed(f, in[0], mean, var);
                    return {y * mean, mean * in[1]};
                  }),
                  two, 2);
  // A statistic that the block computes: of two calls, and as one of several outputs of an operator.
  check_histories(of([=](F& f, const Tensors& in) -> Tensors {
                    const Tensor mean = f.sum(in[1], {.axis = 0}) * 3, var = f.ones({3});
                    const Tensor y = normed(f, in[0], mean, var), z = normed(f, in[0] * 2, mean, var * 1);
                    return {y, z, mean * 1};
                  }),
                  two, 2);
  check_histories(
      of([=](F& f, const Tensors& in) -> Tensors {
        const Tensors parts = f.split(f.concat({f.sum(in[1], {.axis = 0}), f.ones({3})}, 0), 2, 0);
        const Tensor y = normed(f, in[0], parts[1], f.ones({3}) * 1);
        return {y, parts[0] * 1, parts[1]};
      }),
      two, 2);
  check_histories(of([=](F& f, const Tensors& in) -> Tensors {
                    const Tensors top = f.topk_both(f.sum(in[1], {.axis = 0}), {.k = 3});
                    const Tensor squares = top[0] * top[0];
                    const Tensor y = normed(f, in[0], top[0], f.ones({3}));
                    return {y, squares, top[0] * 1};
                  }),
                  two, 2);
  check_histories(of([=](F& f, const Tensors& in) -> Tensors {
                    Results r = f.contrib().foreach (
                        [&](const Tensors& rows, const Tensors& s) -> Results {
                          const Tensor mean = s[0], var = s[1];
                          const Tensor y = normed(f, in[0] * rows[0], mean, var);
                          return {{y}, {mean, var}};
                        },
                        {f.arange(1, 3)}, {f.zeros({3}), f.ones({3})});
                    return {r.outputs[0], r.states[0], r.states[1]};
                  }),
                  two, 2);
  check_histories(of([=](F& f, const Tensors& in) -> Tensors {
                    return three_times(f,
                                       [&](const Tensors& v) -> Results {
                                         const Tensor mean = v[1], var = v[2];
                                         return {{}, {normed(f, v[0], mean, var), mean, var}};
                                       },
                                       {in[0], f.zeros({3}), f.ones({3})})
                        .states;
                  }),
                  two, 2);
}

// Blocks that open autograd::Record themselves, or return from autograd::Pause arrays that they did not make.
// Whether a result is recorded, and its gradient, have the same bits whichever of the calls is compiled.
#include "view_programs.h"

#include <kiln/error.h>

#include <optional>

using namespace kiln;
using namespace view_programs;

namespace {

/// Calls the program outside of Record: whether its results are recorded, and the gradients of the recorded
/// ones.
Tensors unrecorded_gradients(const Program& program, const std::vector<Shape>& shapes, Compiled compiled) {
  Nets nets(program, compiled);
  Tensors in = inputs_of(shapes), seen;
  for (int call = 0; call < 2; ++call) {
    for (Tensor& t : in) t.attach_grad();
    const Tensors out = nets.whole(in);
    int seed = 7;
    for (const Tensor& t : out) {
      seen.push_back(full({1}, autograd::is_recorded(t)));
      seen.push_back(t.copy());
      if (!autograd::is_recorded(t)) continue;
      autograd::backward({t}, {numbers(t.shape(), seed++)}, {.retain_graph = true});
      for (const Tensor& x : in) seen.push_back(x.grad().copy());
    }
  }
  return seen;
}

void check_unrecorded(const Program& program, const std::vector<Shape>& shapes) {
  check_modes([&](Compiled compiled) { return unrecorded_gradients(program, shapes, compiled); });
}

Tensor read(F& f, const Tensor& t) {
  const autograd::Record record;
  return uses(f, t);
}

/// Bodies that write or derive before they open Record, of two inputs.
const std::vector<Net::Body>& bodies() {
  static const std::vector<Net::Body> all{
      [](F& f, const Tensors& in) -> Tensors {
        Tensor a = in[0];
        a[slice(0, 1)] = 5.0;
        return {read(f, a)};
      },
      [](F& f, const Tensors& in) -> Tensors {
        Tensor a = in[0];
        a *= 2;
        return {read(f, a)};
      },
      [](F& f, const Tensors& in) -> Tensors {
        Tensor a = in[0];
        const Tensor before = read(f, a);
        a[slice(0, 1)] = f.tanh(in[1][slice(0, 1)]);
        return {before, read(f, a), read(f, in[1])};
      },
      [](F& f, const Tensors& in) -> Tensors {
        Tensor t;
        {
          const autograd::Record record;
          t = f.sin(in[0]);
        }
        const Tensor u = t * 2;
        t[slice(0, 1)] = 0.5;
        return {read(f, t), read(f, u), full({1}, autograd::is_recorded(u)),
                full({1}, autograd::is_recorded(t))};
      },
      [](F& f, const Tensors& in) -> Tensors {
        Tensor t = f.tanh(in[0]);
        const autograd::Record record;
        t[slice(0, 1)] = in[1][slice(0, 1)];
        return {uses(f, t)};
      },
      [](F& f, const Tensors& in) -> Tensors {
        const Tensor rows = in[0][slice(0, 3)], flat = rows.reshape({-1})[slice(4, 11)], row = rows[1];
        const autograd::Record record;
        return {uses(f, in[0]), uses(f, flat), uses(f, rows), uses(f, row), uses(f, in[0])};
      },
      [](F& f, const Tensors& in) -> Tensors {
        Net child([](F& g, const Tensors& of) -> Tensors {
          return {read(g, of[0]), read(g, of[0][slice(0, 1)])};
        });
        Tensors out = child(Tensors{in[0][slice(0, 3)]});
        for (const Tensor& t : child(Tensors{in[0][slice(0, 3)]})) out.push_back(t);
        return out;
      },
  };
  return all;
}

}  // namespace

TEST_CASE("writes and views before a block opens Record, in calls that are not recorded") {
  for (const bool part : {false, true})
    for (std::size_t k = 0; k < bodies().size(); ++k) {
      CAPTURE(k, part);
      const Net::Body body = bodies()[k];
      check_unrecorded({{body},
                        [part](F& f, const Tensors& in, std::vector<Net>& blocks) -> Tensors {
                          Tensor x, y;
                          {
                            const autograd::Record record;
                            x = in[0] * 1.5, y = in[1] * 0.5;
                          }
                          Tensors out = part ? blocks[0](Tensors{x[slice(1, 5)], y[slice(1, 5)]})
                                             : blocks[0](Tensors{x, y});
                          out.insert(out.end(), {read(f, x), read(f, y)});
                          return out;
                        }},
                       {{6, 4}, {6, 4}});
    }
}

TEST_CASE("a write into a variable inside a block's own Record is an error in calls that are not recorded") {
  for (const bool hybrid : {false, true}) {
    CAPTURE(hybrid);
    Net net([](F& f, const Tensors& in) -> Tensors {
      Tensor a = in[0];
      const autograd::Record record;
      a *= 2;
      return {f.sin(a)};
    });
    if (hybrid) net.hybridize();
    Tensor x = numbers({3, 2}, 1);
    x.attach_grad();
    CHECK_THROWS_WITH(net(Tensors{x}), Catch::Contains("written while calls are recorded"));
  }
}

TEST_CASE("a child that opens Record is called inside Pause, with a view") {
  check({{[](F& f, const Tensors& in) -> Tensors {
           Net child([](F& g, const Tensors& of) -> Tensors {
             return {read(g, of[0]), read(g, of[0][slice(0, 1)])};
           });
           const Tensor y = uses(f, in[0]);
           const autograd::Pause pause;
           const Tensors of_child = child(Tensors{in[0]});
           return {y, of_child[0], of_child[1]};
         }},
         [](F& f, const Tensors& in, std::vector<Net>& blocks) -> Tensors {
           const Tensor x = in[0] * 1.5;
           Tensors out = blocks[0](Tensors{x[slice(1, 3)]});
           out.push_back(uses(f, x));
           return out;
         }},
        {{4, 3}});
}

TEST_CASE("what a branch or a loop returns from Pause is a constant, whole and in parts") {
  enum Kind { branch, loop, steps };
  for (const Kind kind : {branch, loop, steps})
    for (const bool inside : {false, true}) {  // Pause in the block, or around its call
      CAPTURE(static_cast<int>(kind), inside);
      const auto constant = [kind](F& f, const Tensor& a) -> Tensor {
        if (kind == branch)
          return f.contrib().cond(
              f.sum(a) > -1e9, [&]() -> Tensors { return {a}; }, [&]() -> Tensors { return {a * 2}; })[0];
        if (kind == loop)
          return f.contrib()
              .while_loop([&](const Tensors& v) { return f.sum(v[0]) < -1e9; },
                          [&](const Tensors& v) -> F::contrib::Results {
                            return {{v[0]}, {v[0] * 2}};
                          },
                          {a}, 3)
              .states[0];
        return f.contrib()
            .foreach (
                [&](const Tensors& d, const Tensors& s) -> F::contrib::Results {
                  return {{d[0]}, s};
                },
                {a}, {a})
            .states[0];
      };
      check({{[=](F& f, const Tensors& in) -> Tensors {
               std::optional<autograd::Pause> pause;
               if (inside) pause.emplace();
               const Tensor q = constant(f, in[0]);
               return {q, q[slice(0, 1)], q.reshape({-1})};
             }},
             [=](F& f, const Tensors& in, std::vector<Net>& blocks) -> Tensors {
               const Tensor x = in[0] * 1.5;
               std::optional<autograd::Pause> pause;
               if (!inside) pause.emplace();
               const Tensors q = blocks[0](Tensors{x});
               pause.reset();
               Tensors out{uses(f, x) + 1};
               for (const Tensor& t : q) out.push_back(f.sum(uses(f, t)) + f.sum(x));
               out.push_back(f.sum(f.tanh(q[0][slice(0, 1)])) + f.sum(x));
               return out;
             }},
            {{4, 3}});
    }
}

TEST_CASE("views of an array that gets its history by a later write") {
  for (const bool whole : {false, true})
    for (const bool through : {false, true}) {
      CAPTURE(whole, through);
      check({{},
             [=](F& f, const Tensors& in, std::vector<Net>&) -> Tensors {
               Tensor t = f.zeros({4, 30});
               Tensor rows = t[slice(0, 3)], part = rows[slice(1, 3)];
               if (whole)
                 t[slice()] = in[0] * 2;
               else
                 t[slice(0, 2)] = in[0][slice(1, 3)];
               if (through) part *= f.sigmoid(part);
               return {uses(f, rows), uses(f, part)};
             }},
            {{4, 30}});
    }
}

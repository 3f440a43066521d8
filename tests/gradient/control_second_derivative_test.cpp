// Second derivatives through loops and branches: eager and hybridized runs give the same bits, and these are
// derivatives.
#include "block_gradients.h"

using namespace kiln;
using namespace block_gradients;

namespace {

/// A step of a loop: two states of one shape to an output and the next states.
using Step = std::function<Results(F&, const Tensors& states, const Tensors& in)>;

/// The step in a foreach and in a while_loop, of three steps each, from the first two inputs.
std::vector<Net::Body> loops_of(const Step& step) {
  return {
      [=](F& f, const Tensors& in) {
        return all_of(f.contrib().foreach ([&](const Tensors&, const Tensors& s) { return step(f, s, in); },
                                           {f.ones({3, 1})}, {in[0], in[1]}));
      },
      [=](F& f, const Tensors& in) {
        Results r = f.contrib().while_loop([](const Tensors& v) { return v[0] < 3; },
                                           [&](const Tensors& v) {
                                             Results next = step(f, {v[1], v[2]}, in);
                                             next.states.insert(next.states.begin(), v[0] + 1);
                                             return next;
                                           },
                                           {f.zeros({1}), in[0], in[1]}, 4);
        r.states.erase(r.states.begin());
        return all_of(r);
      }};
}

/// Uses whose gradients are sums that depend on the order of additions.
Tensor uses(F& f, const Tensor& t) { return f.tanh(t) * 3 + f.sin(t) * t; }

/// The gradients of the sum of the squares of the gradients of the first `of` inputs.
Tensors second_gradients(const Net::Body& body, const Tensors& in, std::size_t of, bool hybrid) {
  Net net(body);
  if (hybrid) net.hybridize();
  random::seed(11);
  const Tensors own = with_gradients(in);
  {
    const autograd::Record record;
    Tensors out, heads;
    for (const Tensor& t : net(own)) {
      if (!autograd::is_recorded(t)) continue;
      out.push_back(t);
      heads.push_back(values(t.shape(), t.dtype(), 90 + static_cast<unsigned>(heads.size())));
    }
    const Tensors variables(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(of));
    const Tensors first =
        autograd::grad(out, variables, {.head_gradients = heads, .create_graph = true, .train = true});
    Tensors squares;
    for (const Tensor& g : first)
      if (autograd::is_recorded(g)) squares.push_back(g * g);
    autograd::backward(squares);
  }
  Tensors grads;
  for (const Tensor& t : own) grads.push_back(t.grad().copy());
  return grads;
}

/// The eager ones, after a check that a hybridized run gives their bits.
Tensors same_second_gradients(const Net::Body& body, const Tensors& in, std::size_t of) {
  const Tensors eager = second_gradients(body, in, of, false), hybrid = second_gradients(body, in, of, true);
  for (std::size_t i = 0; i < in.size(); ++i) {
    CAPTURE(name_of(in[i].dtype()), i, eager[i].to_vector<double>(), hybrid[i].to_vector<double>());
    CHECK(same_bits(eager[i], hybrid[i]));
  }
  return eager;
}

Tensors inputs_of(const std::vector<Shape>& shapes, DType dtype) {
  Tensors in;
  for (const Shape& s : shapes) in.push_back(values(s, dtype, static_cast<unsigned>(in.size()) + 1));
  return in;
}

/// The same bits in all modes, and for f64 the differences of the sum of squares.
void check_second(const Net::Body& body, const std::vector<Shape>& shapes) {
  for (const DType dtype : {DType::f64, DType::f32}) {
    const Tensors in = inputs_of(shapes, dtype);
    const Tensors eager = same_second_gradients(body, in, in.size());
    if (dtype != DType::f64) continue;
    const auto value = [&](std::size_t i, std::size_t k, double by) {
      Tensors moved;
      for (const Tensor& t : in) moved.push_back(t.copy());
      std::vector<double> list = in[i].to_vector<double>();
      list[k] += by;
      moved[i] = Tensor(list, in[i].shape());
      double sum = 0;
      for (const Tensor& g : gradients(body, moved, false))
        for (const double v : g.to_vector<double>()) sum += v * v;
      return sum;
    };
    for (std::size_t i = 0; i < in.size(); ++i) {
      CAPTURE(i);
      const double step = 1e-5;
      CHECK(eager[i].to_vector<double>()[0] ==
            Approx((value(i, 0, step) - value(i, 0, -step)) / (2 * step)).epsilon(1e-4).margin(1e-5));
    }
  }
}

}  // namespace

TEST_CASE("second derivatives through foreach have the bits of its steps") {
  check_second(
      [](F& f, const Tensors& in) {
        return all_of(f.contrib().foreach (
            [&](const Tensors& rows, const Tensors& s) -> Results {
              const Tensor y = f.tanh(f.dot(rows[0], in[2]) + s[0] * s[0] * in[3]);
              return {{y * rows[0] + f.Dropout(y, {.p = 0.5})}, {y}};
            },
            {in[0]}, {in[1]}));
      },
      {{3, 2, 3}, {2, 3}, {3, 3}, {2, 3}});
}

TEST_CASE("second derivatives through while_loop, cond and what follows") {
  check_second(
      [](F& f, const Tensors& in) {
        const Results r = f.contrib().while_loop([&](const Tensors& v) { return v[0] < 2; },
                                                 [&](const Tensors& v) -> Results {
                                                   const Tensors y = f.contrib().cond(
                                                       v[0] < 1, [&] { return Tensors{f.sin(v[1]) * in[1]}; },
                                                       [&] { return Tensors{v[1] * v[1] * in[1] + in[0]}; });
                                                   return {{y[0] * v[1]}, {v[0] + 1, y[0]}};
                                                 },
                                                 {zeros({1}), in[0]}, 4);
        return Tensors{r.outputs[0] * r.outputs[0], f.exp(r.states[1]) * in[0]};
      },
      {{3}, {3}});
}

TEST_CASE("second derivatives through loops that hand a value on") {
  const Step steps[] = {// A state as it is.
                        [](F& f, const Tensors& s, const Tensors& in) {
                          return Results{{uses(f, s[0]) * in[2]}, {s[0], uses(f, s[1])}};
                        },
                        // States that change places.
                        [](F& f, const Tensors& s, const Tensors& in) {
                          return Results{{uses(f, s[0]) + s[1] * in[2]}, {s[1], s[0]}};
                        },
                        // An array from outside.
                        [](F& f, const Tensors& s, const Tensors& in) {
                          return Results{{uses(f, s[0]) * in[2]}, {in[2], uses(f, s[1])}};
                        },
                        // An output that is a state, and a state that is an output.
                        [](F& f, const Tensors& s, const Tensors& in) {
                          const Tensor h = uses(f, s[0] * in[2]);
                          return Results{{h, s[1]}, {h, uses(f, s[1])}};
                        },
                        // One value as both states.
                        [](F& f, const Tensors& s, const Tensors& in) {
                          const Tensor h = uses(f, s[0] * in[2]);
                          return Results{{s[1] * s[0]}, {h, h}};
                        },
                        // One value as three outputs and both states.
                        [](F& f, const Tensors& s, const Tensors& in) {
                          const Tensor h = uses(f, s[0] * in[2]) * s[1];
                          return Results{{h, h, h}, {h, h}};
                        }};
  for (std::size_t i = 0; i < std::size(steps); ++i)
    for (const Net::Body& loop : loops_of(steps[i])) {
      CAPTURE(i);
      check_second(loop, {{5}, {5}, {5}});
    }
}

TEST_CASE("second derivatives through loops that hand a value on in a branch") {
  check_second(
      [](F& f, const Tensors& in) {
        return all_of(f.contrib().foreach (
            [&](const Tensors& rows, const Tensors& s) -> Results {
              const Tensors y = f.contrib().cond(
                  f.sum(rows[0]) < 1.5,
                  [&] {
                    return Tensors{s[0], in[1]};
                  },
                  [&] {
                    return Tensors{uses(f, s[0]), s[0]};
                  });
              return {{uses(f, y[1])}, {y[0]}};
            },
            {f.arange(3)}, {in[0]}));
      },
      {{5}, {5}});
}

TEST_CASE("second derivatives through loops that read an array inside Pause alone") {
  const Step steps[] = {[](F& f, const Tensors& s, const Tensors& in) {
                          const Tensor y = uses(f, s[0]);
                          const autograd::Pause pause;
                          return Results{{y}, {f.tanh(s[0] * f.sum(in[2])), s[1]}};
                        },
                        [](F& f, const Tensors& s, const Tensors& in) {
                          const Tensor t = uses(f, s[0]), y = s[0] * s[1];
                          const autograd::Pause pause;
                          const Tensor c = f.sum(in[2]);
                          return Results{{y}, {t * c, s[1] + 1}};
                        },
                        [](F& f, const Tensors& s, const Tensors& in) {
                          Tensor c;
                          {
                            const autograd::Pause pause;
                            c = f.sum(in[2]);
                          }
                          return Results{{s[0] * s[1]}, {uses(f, s[0] * c), s[1] + c}};
                        }};
  for (std::size_t i = 0; i < std::size(steps); ++i)
    for (const Net::Body& loop : loops_of(steps[i]))
      for (const DType dtype : {DType::f64, DType::f32}) {
        CAPTURE(i);
        same_second_gradients(loop, inputs_of({{5}, {5}, {3}}, dtype), 2);
      }
}

TEST_CASE("an input that is a view is one value in all branches and steps") {
  const Net::Body bodies[] = {
      [](F& f, const Tensors& in) {
        const Tensor y = f.contrib().cond(
            f.ones({1}), [&] { return Tensors{in[0] + uses(f, in[0])}; }, [&] { return Tensors{in[0]}; })[0];
        return Tensors{in[0] + y, y * in[0]};
      },
      [](F& f, const Tensors& in) {
        const Results r = f.contrib().while_loop([](const Tensors& v) { return v[0] < 2; },
                                                 [&](const Tensors& v) -> Results {
                                                   return {{}, {v[0] + 1, in[0] + uses(f, v[1]) * in[1]}};
                                                 },
                                                 {f.zeros({1}), in[0]}, 3);
        return Tensors{in[0] + r.states[1], r.states[1]};
      },
      [](F& f, const Tensors& in) {
        const Results r = f.contrib().foreach (
            [&](const Tensors& row, const Tensors& s) -> Results {
              return {{uses(f, in[0]) * row[0]}, {in[0] + uses(f, s[0]) * in[1]}};
            },
            {f.ones({2, 1}).astype(in[0].dtype())}, {in[0]});
        return Tensors{in[0] * r.states[0], f.sum(r.outputs[0], {.axis = 0}) + in[0]};
      }};
  const auto gradient = [](const Net::Body& body, DType dtype, bool hybrid, bool create_graph) {
    Net net(body);
    if (hybrid) net.hybridize();
    Tensor x = values({3, 5}, dtype, 1);
    x.attach_grad();
    const autograd::Record record;
    const Tensor base = F::tanh(x);
    const Tensors out = net({base[1], base[2]});
    const Tensors heads{values({5}, dtype, 90), values({5}, dtype, 91), values({5}, dtype, 92)};
    return autograd::grad({out[0], out[1], base[1] * 2}, {x},
                          {.head_gradients = heads, .create_graph = create_graph})[0];
  };
  for (std::size_t i = 0; i < std::size(bodies); ++i)
    for (const DType dtype : {DType::f64, DType::f32}) {
      const Tensor eager = gradient(bodies[i], dtype, false, false);
      for (const bool hybrid : {false, true})
        for (const bool create_graph : {false, true}) {
          CAPTURE(i, name_of(dtype), hybrid, create_graph);
          CHECK(same_bits(gradient(bodies[i], dtype, hybrid, create_graph), eager));
        }
    }
}

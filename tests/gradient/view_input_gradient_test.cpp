// Blocks that write into an input which is a view: the viewed array holds the written elements, and their
// history. Gradients have the same bits whichever of the calls is compiled.
#include "view_programs.h"

using namespace kiln;
using namespace view_programs;

namespace {

using Results = struct F::contrib::Results;

const Net::Body triple = [](F&, const Tensors& in) -> Tensors {
  Tensor a = in[0];
  a *= 3.0;
  return {a * 2};
};
/// Several writes, of the whole and of parts, with uses between them.
const Net::Body mixed = [](F& f, const Tensors& in) -> Tensors {
  Tensor a = in[0];
  const Tensor before = uses(f, a);
  a *= f.sigmoid(a);
  const Tensor between = uses(f, a);
  a[slice(0, 1)] = f.tanh(a[slice(0, 1)]) * 2;
  a[slice(1)] = 0.5;
  const Tensor after = uses(f, a);
  a += before;
  return {before + between * after, uses(f, a)};
};

std::vector<float> gradient_of_sum(const Net::Body& body, bool hybrid, bool use_result) {
  Net net(body);
  if (hybrid) net.hybridize();
  Tensor x(std::vector<float>{1, 2, 3, 4}, {4, 1});
  x.attach_grad();
  F f;
  const Tensor loss = autograd::record([&] {
    Tensor b = x * 1.0;
    const Tensor y = net(Tensors{b[slice(0, 2)]})[0];
    return use_result ? f.sum(b) + f.sum(y) * 10 : f.sum(b * b);
  });
  loss.backward();
  return x.grad().to_vector<float>();
}

}  // namespace

TEST_CASE("a block that writes into a part of a recorded array: by hand") {
  for (const bool hybrid : {false, true}) {
    CAPTURE(hybrid);
    CHECK(gradient_of_sum(triple, hybrid, true) == std::vector<float>{63, 63, 1, 1});
    CHECK(gradient_of_sum(triple, hybrid, false) == std::vector<float>{18, 36, 6, 8});
  }
}

TEST_CASE("writes into an input: a part, a row, another shape, a view of a view") {
  using View = std::function<Tensor(const Tensor&)>;
  const View views[] = {
      [](const Tensor& t) { return t; },
      [](const Tensor& t) -> Tensor { return t[slice(1, 3)]; },
      [](const Tensor& t) -> Tensor { return t[slice(2)]; },
      [](const Tensor& t) -> Tensor {
        return t[1].reshape({3, 1});
      },
      [](const Tensor& t) {
        return t.reshape({6, 2});
      },
      [](const Tensor& t) -> Tensor {
        return t.reshape({-1})[slice(2, 8)].reshape({2, 3});
      },
      [](const Tensor& t) -> Tensor {
        return t[slice(1)][slice(0, 2)].reshape({3, 2})[slice(1)];
      },
  };
  for (std::size_t v = 0; v < std::size(views); ++v)
    for (const Net::Body& body : {triple, mixed})
      for (const GradReq req : {GradReq::write, GradReq::add}) {
        CAPTURE(v, req == GradReq::add);
        const View& view = views[v];
        check({{body, body},
               [&](F& f, const Tensors& in, std::vector<Net>& blocks) -> Tensors {
                 Tensor b = in[0] * 1.5;
                 const Tensor part = view(b), before = uses(f, b) + f.sum(uses(f, part));
                 const Tensors first = blocks[0](Tensors{part});
                 const Tensor between = uses(f, b) + f.sum(uses(f, part)) + f.sum(uses(f, view(b)));
                 blocks[1](Tensors{view(b)});  // whose result is not used
                 Tensors out = first;
                 out.insert(out.end(), {before, between, uses(f, b), uses(f, part), uses(f, in[0])});
                 return out;
               }},
              {{4, 3}}, req);
      }
}

TEST_CASE("writes into two inputs: views of one array, of two, and beside its array") {
  const Net::Body body = [](F& f, const Tensors& in) -> Tensors {
    Tensor a = in[0], b = in[1];
    a *= f.sigmoid(b);
    const Tensor c = uses(f, a) * f.sum(b);
    b[slice(0, 1)] = f.tanh(a)[slice(0, 1)];
    return {c, uses(f, b) * 2 + f.sum(a), a};
  };
  for (int which = 0; which < 5; ++which) {
    CAPTURE(which);
    check({{body, body},
           [=](F& f, const Tensors& in, std::vector<Net>& blocks) -> Tensors {
             Tensor x = in[0] * 1.5, y = f.sin(in[1]);
             const auto arguments = [&]() -> Tensors {
               switch (which) {
                 case 0:
                   return {x[slice(0, 2)], x[slice(2, 4)]};
                 case 1:
                   return {x[slice(0, 2)], x[slice(1, 3)]};
                 case 2:
                   return {x[slice(0, 2)], y[slice(1, 2)]};
                 case 3:
                   return {x, x.reshape({-1})[slice(3, 9)].reshape({2, 3})[slice(0, 1)]};
                 default:
                   return {x[slice(1, 3)], y};
               }
             };
             Tensors out = blocks[0](arguments());
             for (const Tensor& t : blocks[1](arguments())) out.push_back(uses(f, t));
             out.insert(out.end(), {uses(f, x), uses(f, y), uses(f, in[1])});
             return out;
           }},
          {{4, 3}, {2, 3}});
  }
}

TEST_CASE("writes into an input by a child and by its child") {
  const auto parent = [](int depth) {
    auto child = std::make_shared<Net>(mixed);
    for (int i = 0; i < depth; ++i) {
      auto inner = child;
      child = std::make_shared<Net>([inner](F& f, const Tensors& in) -> Tensors {
        Tensor a = in[0];
        const Tensor before = uses(f, a);
        const Tensors out = (*inner)(Tensors{a[slice(0, 2)]});
        const Tensor between = uses(f, a);
        (*inner)(Tensors{a});
        return {f.sum(before) + out[1] * f.sum(out[0]), between + uses(f, a)};
      });
    }
    return Net::Body([child](F&, const Tensors& in) { return (*child)(in); });
  };
  for (const int depth : {0, 1, 2}) {
    CAPTURE(depth);
    check({{parent(depth), parent(depth)},
           [](F& f, const Tensors& in, std::vector<Net>& blocks) -> Tensors {
             Tensor b = f.sin(in[0]);
             Tensors out = blocks[0](Tensors{b[slice(1, 4)]});
             for (const Tensor& t : blocks[1](Tensors{b})) out.push_back(t);
             out.push_back(uses(f, b));
             return out;
           }},
          {{5, 2}});
  }
}

TEST_CASE("writes into an input by the body of a loop") {
  const Net::Body body = [](F& f, const Tensors& in) -> Tensors {
    Tensor a = in[0];
    const Results loop = f.contrib().foreach (
        [&](const Tensors& rows, const Tensors& states) -> Results {
          a *= f.sigmoid(rows[0]);
          Tensor s = states[0];
          s += f.sum(a);
          return {{uses(f, a)}, {s}};
        },
        {in[1]}, {in[1][0]});
    return {loop.outputs[0], loop.states[0], uses(f, a)};
  };
  check({{body, body},
         [](F& f, const Tensors& in, std::vector<Net>& blocks) -> Tensors {
           Tensor b = in[0] * 2;
           Tensors out = blocks[0](Tensors{b[slice(1, 3)], in[1]});
           for (const Tensor& t : blocks[1](Tensors{b[1], in[1][slice(1)]})) out.push_back(t);
           out.push_back(uses(f, b));
           return out;
         }},
        {{4, 2}, {3, 2}});
}

TEST_CASE("writes into a part of an array without history") {
  // A written value has one; and the other way around.
  const Net::Body gives = [](F& f, const Tensors& in) -> Tensors {
    Tensor a = in[0];
    a += in[1] * f.sigmoid(a);
    const Tensor sum = uses(f, a);
    a *= sum;
    // The body reads the value that was written.
    const Tensor inner = f.contrib()
                             .foreach (
                                 [&](const Tensors& rows, const Tensors&) -> Results {
                                   return {{uses(f, a) * rows[0]}, {}};
                                 },
                                 {in[1]}, {})
                             .outputs[0];
    return {sum + uses(f, a), inner};
  };
  const Net::Body takes = [](F& f, const Tensors& in) -> Tensors {
    Tensor a = in[0];
    const Tensor before = uses(f, a);
    a[slice()] = in[1].detach();
    return {before * uses(f, a)};
  };
  for (const bool whole : {false, true}) {
    CAPTURE(whole);
    check({{gives, takes, gives},
           [=](F& f, const Tensors& in, std::vector<Net>& blocks) -> Tensors {
             Tensor b = in[0].detach(), c = in[0] * 1.5;
             const auto part = [&](Tensor& t) -> Tensor { return whole ? t : t[slice(1, 3)]; };
             const Tensor& other = whole ? in[0] : in[1];
             Tensors out = blocks[0](Tensors{part(b), other});
             for (const Tensor& t : blocks[1](Tensors{part(c), other})) out.push_back(t);
             const Tensor between = uses(f, b) + uses(f, c);
             for (const Tensor& t : blocks[2](Tensors{part(c), other})) out.push_back(t);
             out.insert(out.end(), {between, uses(f, b), uses(f, c), uses(f, in[0])});
             return out;
           }},
          {{4, 3}, {2, 3}});
  }
}

TEST_CASE("one value written into two inputs, returned, and taken from an input") {
  const Net::Body body = [](F& f, const Tensors& in) -> Tensors {
    Tensor a = in[0], b = in[1];
    const Tensor t = f.sin(in[2]);
    a[slice()] = t;
    b[slice()] = t;
    return {t, uses(f, t)};
  };
  const Net::Body moves = [](F&, const Tensors& in) -> Tensors {
    Tensor a = in[0];
    a[slice()] = in[1];
    return {a * 2};
  };
  for (const bool whole : {false, true}) {
    CAPTURE(whole);
    check({{body, moves},
           [=](F& f, const Tensors& in, std::vector<Net>& blocks) -> Tensors {
             Tensor x = in[0] * 1.5, y = f.sin(in[1]);
             const auto part = [&](Tensor& t) -> Tensor { return whole ? t : t[slice(0, 2)]; };
             const Tensor third = whole ? in[0] : in[0][slice(2, 4)];
             const Tensors out = blocks[0](Tensors{part(x), part(y), third});
             const Tensor sum = uses(f, x) + uses(f, out[0])[slice(0, 1)] + uses(f, y);
             const Tensor moved = blocks[1](Tensors{part(x), part(y)})[0];
             return {sum, out[1], moved, uses(f, y), uses(f, x), uses(f, y)};
           }},
          {{4, 3}, {4, 3}});
  }
}

TEST_CASE("a block that writes into captured arrays, and reads them as parts and in another shape") {
  for (int which = 0; which < 4; ++which) {
    CAPTURE(which);
    auto captured = std::make_shared<Tensor>();
    const Net::Body body = [=](F& f, const Tensors& in) -> Tensors {
      Tensor c = *captured;
      const Tensor before = uses(f, c[slice(0, 1)]) + uses(f, c[slice(1, 2)]);
      if (which >= 2) c *= f.sigmoid(in[0]);
      return {before, uses(f, c), uses(f, c[slice(1, 2)])};
    };
    check({{body, body},
           [=](F& f, const Tensors& in, std::vector<Net>& blocks) -> Tensors {
             Tensor b = in[0] * 1.5;
             const Tensor first = uses(f, b);
             *captured = which % 2 == 0 ? Tensor(b[slice(1, 3)]) : b.reshape({2, 6});
             const Tensor by = which % 2 == 0 ? in[1] : f.concat({in[1], in[1]}, 1);
             Tensors out = blocks[0](Tensors{by});
             const Tensor between = uses(f, b) + f.sum(uses(f, *captured));
             for (const Tensor& t : blocks[1](Tensors{by})) out.push_back(t);
             out.insert(out.end(), {first, between, uses(f, b)});
             return out;
           }},
          {{4, 3}, {2, 3}});
  }
}

TEST_CASE("second derivatives through a block that writes into a view") {
  const auto run = [](bool hybrid, const Net::Body& body) {
    Net net(body);
    if (hybrid) net.hybridize();
    Tensor x = numbers({4, 3}, 1) * 0.25;
    x.attach_grad();
    F f;
    const Tensor loss = autograd::record([&] {
      Tensor b = f.sin(x);
      const Tensor y = f.sum(net(Tensors{b[slice(1, 3)]})[0]) + f.sum(uses(f, b));
      const Tensor g = autograd::grad({y}, {x}, {.create_graph = true})[0];
      return f.sum(f.square(g)) + f.sum(b);
    });
    loss.backward();
    return Tensors{loss.copy(), x.grad().copy()};
  };
  for (const Net::Body& body : {triple, mixed}) {
    const Tensors eager = run(false, body), hybrid = run(true, body);
    for (std::size_t i = 0; i < eager.size(); ++i) {
      CAPTURE(i, eager[i].to_vector<float>(), hybrid[i].to_vector<float>());
      CHECK(same_bits(hybrid[i], eager[i]));
    }
  }
}

namespace {

/// A parameter times what is written into the input.
struct Writing : HybridBlock {
  Writing() { weight = params().get("weight", {1, 3}); }
  Parameter weight;

 protected:
  Tensor hybrid_forward(F& f, const Tensor& x) override {
    Tensor a = x;
    a *= f.broadcast_mul(f.ones_like(a), weight.data());
    return uses(f, a) * 2;
  }
};

}  // namespace

TEST_CASE("writes outside of Record cut the history, and bound calls do") {
  enum class Call { eager, hybrid, bound };
  for (int which = 0; which < 4; ++which) {
    const auto run = [&](Call call) {
      const Net::Body body = [&](F& f, const Tensors& in) -> Tensors {
        Tensor a = in[0];
        if (which % 2 == 0)
          a *= 2;
        else
          a[slice(0, 1)] = f.sin(a[slice(1, 2)]);
        if (which == 3) a[slice(1, 2)] = 4;
        return {a * 3};
      };
      Net net(body);
      if (call != Call::eager) net.hybridize();
      Tensor x = numbers({4, 3}, 1);
      x.attach_grad();
      x.grad() += 7;
      F f;
      Tensor b = autograd::record([&] { return x * 1.5; });
      const Tensor part = which < 2 ? Tensor(b[slice(1, 3)]) : b;
      if (call == Call::bound) {
        BoundCall bound = net.bind({part});
        bound.run();
      } else {
        net(Tensors{part});
      }
      const bool recorded = autograd::is_recorded(b);
      if (recorded) {
        const Tensor loss = autograd::record([&] { return f.sum(f.square(b)); });
        loss.backward();
      }
      return std::pair(recorded, Tensors{b.copy(), x.grad().copy()});
    };
    const auto eager = run(Call::eager);
    for (const Call call : {Call::hybrid, Call::bound}) {
      const auto other = run(call);
      CAPTURE(which, static_cast<int>(call));
      CHECK(other.first == eager.first);
      for (std::size_t i = 0; i < eager.second.size(); ++i) {
        CAPTURE(i, eager.second[i].to_vector<float>(), other.second[i].to_vector<float>());
        CHECK(same_bits(other.second[i], eager.second[i]));
      }
    }
  }
}

TEST_CASE("a value without history that a block writes") {
  const auto run = [](bool hybrid) {
    Net net([](F& f, const Tensors& in) -> Tensors {
      Tensor a = in[0];
      a[slice()] = 5.0;
      return {uses(f, in[1]) + a};
    });
    if (hybrid) net.hybridize();
    Tensor x = numbers({4, 3}, 1);
    x.attach_grad();
    F f;
    const Tensor loss = autograd::record([&] {
      Tensor b = x * 1.5;
      const Tensor y = net(Tensors{b, x})[0];
      return f.sum(y) + f.sum(f.square(b));
    });
    loss.backward();
    return x.grad().copy();
  };
  CHECK(same_bits(run(true), run(false)));
}

TEST_CASE("Check::bits leaves the history of what a block writes") {
  const auto run = [](int mode, bool whole, bool captures) {
    Tensor b;
    Net net([&](F& f, const Tensors& in) -> Tensors {
      Tensor a = captures ? b : in[0];
      a *= 3.0;
      return {uses(f, a)};
    });
    if (mode == 1) net.hybridize();
    if (mode == 2) net.hybridize({.check = Check::bits | Check::recording});
    Tensor x = numbers({4, 1}, 1);
    x.attach_grad();
    F f;
    for (int call = 0; call < 2; ++call) {
      const Tensor loss = autograd::record([&] {
        b = x * 1.0;
        const Tensor y = net(Tensors{captures ? x : whole ? b : Tensor(b[slice(0, 2)])})[0];
        return f.sum(f.square(b)) + f.sum(y);
      });
      loss.backward();
    }
    return Tensors{b.copy(), x.grad().copy()};
  };
  for (const bool whole : {false, true})
    for (const bool captures : {false, true}) {
      const Tensors eager = run(0, whole, captures);
      for (const int mode : {1, 2}) {
        const Tensors other = run(mode, whole, captures);
        for (std::size_t i = 0; i < eager.size(); ++i) {
          CAPTURE(whole, captures, mode, i, eager[i].to_vector<float>(), other[i].to_vector<float>());
          CHECK(same_bits(other[i], eager[i]));
        }
      }
    }
}

namespace {

/// Keeps its result in a member array.
struct Keeping : HybridBlock {
  Keeping() { weight = params().get("weight", {1, 3}); }
  Parameter weight;
  Tensor kept = zeros({2, 3});

 protected:
  Tensor hybrid_forward(F& f, const Tensor& x) override {
    Tensor k = kept;
    k[slice()] = f.broadcast_mul(x, weight.data());
    return uses(f, k) * 2;
  }
};

}  // namespace

TEST_CASE("train_step of a network that writes what depends on a parameter") {
  const auto run = [](int mode) {
    Keeping net;
    net.initialize(init::Uniform(1));
    net.weight.set_data(Tensor(std::vector<float>{0.5F, -1.5F, 2}, {1, 3}));
    Trainer trainer(net.collect_params(), "sgd", {.learning_rate = 0.1});
    loss::L2Loss l2;
    if (mode > 0) net.hybridize();
    const Tensor label = numbers({2, 3}, 3);
    auto step = net.train_step(l2, trainer);
    Tensors seen;
    for (int i = 0; i < 3; ++i) {
      const Tensor x = numbers({2, 3}, 4 + i);
      Tensor loss;
      if (mode == 2) {
        loss = step(x, label);
        CHECK(step.compiled());
      } else {
        loss = autograd::record([&] { return l2(net(x), label); });
        loss.backward();
        trainer.step(2);
      }
      seen.insert(seen.end(), {loss.copy(), net.kept.copy(), net.weight.data().copy()});
    }
    return seen;
  };
  const Tensors eager = run(0);
  for (const int mode : {1, 2}) {
    const Tensors other = run(mode);
    for (std::size_t i = 0; i < eager.size(); ++i) {
      CAPTURE(mode, i, eager[i].to_vector<float>(), other[i].to_vector<float>());
      CHECK(same_bits(other[i], eager[i]));
    }
  }
}

TEST_CASE("train_step of a network that writes into a view of its input") {
  const auto run = [](int mode) {
    Writing net;
    net.initialize(init::Uniform(1));
    net.weight.set_data(Tensor(std::vector<float>{0.5F, -1.5F, 2}, {1, 3}));
    Trainer trainer(net.collect_params(), "sgd", {.learning_rate = 0.1});
    loss::L2Loss l2;
    if (mode > 0) net.hybridize();
    Tensor all = numbers({4, 3}, 2);
    const Tensor label = numbers({2, 3}, 3);
    auto step = net.train_step(l2, trainer);
    Tensors seen;
    for (int i = 0; i < 3; ++i) {
      const Tensor part = all[slice(1, 3)];
      Tensor loss;
      if (mode == 2) {
        loss = step(part, label);
      } else {
        loss = autograd::record([&] { return l2(net(part), label); });
        loss.backward();
        trainer.step(2);
      }
      seen.insert(seen.end(), {loss.copy(), all.copy(), net.weight.data().copy()});
      all[slice()] = numbers({4, 3}, 4 + i);
    }
    return seen;
  };
  const Tensors eager = run(0);
  for (const int mode : {1, 2}) {
    const Tensors other = run(mode);
    for (std::size_t i = 0; i < eager.size(); ++i) {
      CAPTURE(mode, i, eager[i].to_vector<float>(), other[i].to_vector<float>());
      CHECK(same_bits(other[i], eager[i]));
    }
  }
}

TEST_CASE("an array that a block is given twice is one value, and so is each view of it") {
  // Uses of the same rows by both names, in both orders.
  const Net::Body rows = [](F& f, const Tensors& in) -> Tensors {
    const Tensor a = uses(f, in[0][1]) * 0.3, b = uses(f, in[1][1]) * 0.7, c = uses(f, in[0][0] * in[1][0]);
    return {a + b, c + uses(f, in[1]) * in[0]};
  };
  using Pair = std::function<Tensors(const Tensor&)>;
  const Pair pairs[] = {
      [](const Tensor& t) {
        return Tensors{t, t};
      },
      [](const Tensor& t) {
        return Tensors{t[slice(0, 2)], t[slice(0, 2)]};
      },
      [](const Tensor& t) {
        const Tensor part = t[slice(0, 2)];
        return Tensors{part, part};
      },
      [](const Tensor& t) {
        return Tensors{t, t.reshape(t.shape())};
      },
      [](const Tensor& t) {
        return Tensors{t, t.copy()};
      },
  };
  // One after the other with the same block: equal shapes, recordings of their own where values are shared.
  for (const bool backwards : {false, true})
    check({{rows},
           [&](F& f, const Tensors& in, std::vector<Net>& blocks) -> Tensors {
             Tensors out;
             for (std::size_t i = 0; i < std::size(pairs); ++i) {
               const Tensor x = in[i] * 1.5;  // a recorded array
               const std::size_t which = backwards ? std::size(pairs) - 1 - i : i;
               const Tensors y = blocks[0](pairs[which](x));
               out.push_back(f.sum(y[0]) + f.sum(y[1] * 0.9));
               out.push_back(f.sum(blocks[0](pairs[which](in[i]))[0]));
             }
             return out;
           }},
          std::vector<Shape>(std::size(pairs), Shape{2, 3}));
}

TEST_CASE("an input with a history that BatchNorm updates as its statistic: the history ends") {
  const Net::Body normed = [](F& f, const Tensors& in) -> Tensors {
    return {f.BatchNorm(in[0], f.ones({3}), f.zeros({3}), in[1], in[2], {.momentum = 0.5})};
  };
  check({{normed},
         [](F& f, const Tensors& in, std::vector<Net>& blocks) -> Tensors {
           const Tensor mean = in[1] * 2, var = f.square(in[2]) + 1;
           const Tensor used = mean * 0.5;
           const Tensor y = blocks[0]({in[0], mean, var})[0];
           return {y, used, mean * in[1], var * in[2]};
         }},
        {{2, 3}, {3}, {3}});
}

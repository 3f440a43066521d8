// Scopes of recording within hybrid_forward: autograd::Pause and Record hold for the operators that are
// called there, in every way that a network runs.
#include "block_gradients.h"

#include <fstream>
#include <sstream>

using namespace kiln;

namespace {

using Results = struct F::contrib::Results;

/// Gradients of the inputs: eager, hybridized, and of a child of a hybridized network. They have the same
/// bits.
Tensors gradients_everywhere(const Net::Body& body, const Tensors& in) {
  const Tensors eager = block_gradients::same_gradients(body, in);
  Net child(body);
  const auto call_child = [&](F&, const Tensors& x) { return child(x); };
  for (const bool hybrid : {false, true}) {
    const Tensors other = block_gradients::gradients(call_child, in, hybrid);
    for (std::size_t i = 0; i < eager.size(); ++i) {
      CAPTURE(hybrid, i, eager[i].to_vector<float>(), other[i].to_vector<float>());
      CHECK(same_bits(other[i], eager[i]));
    }
  }
  CHECK(compiles(body, in));
  return eager;
}

Tensor numbers(const Shape& shape, unsigned seed) { return block_gradients::values(shape, DType::f32, seed); }

/// The loss of two training steps of a network that is never hybridized, line by line and by train_step().
void check_train_step(const Net::Body& body, const Tensor& x) {
  struct Own : HybridBlock {
    Parameter w;
    Net::Body body;
    explicit Own(Net::Body b) : HybridBlock({.prefix = "own_"}), body(std::move(b)) {
      w = params().get("w", {4}, {.init = init::One()});
    }
    Tensor hybrid_forward(F& f, const Tensor& x) override { return body(f, {x, w})[0]; }
  };
  std::vector<Tensors> all;
  for (const bool whole : {false, true}) {
    random::seed(3);
    Own net(body);
    net.initialize();
    loss::L2Loss loss;
    Trainer trainer(net.collect_params(), "sgd", {.learning_rate = 0.1});
    auto step = net.train_step(loss, trainer);
    const Tensor label = zeros(x.shape());
    Tensors seen;
    for (int i = 0; i < 3; ++i) {
      Tensor l;
      if (whole) {
        l = step(x, label);
        CHECK(step.compiled());
      } else {
        l = autograd::record([&] { return loss(net(x), label); });
        l.backward();
        trainer.step(x.shape()[0]);
      }
      seen.push_back(l.copy());
      seen.push_back(net.w.data().copy());
    }
    all.push_back(seen);
  }
  for (std::size_t i = 0; i < all[0].size(); ++i) {
    CAPTURE(i, all[0][i].to_vector<float>(), all[1][i].to_vector<float>());
    CHECK(same_bits(all[0][i], all[1][i]));
  }
}

/// Programs of two inputs of shape (4) with one result of that shape.
const std::vector<std::pair<std::string, Net::Body>>& programs() {
  static const std::vector<std::pair<std::string, Net::Body>> list{
      {"an operator",
       [](F& f, const Tensors& in) {
         Tensor c;
         {
           const autograd::Pause pause;
           c = f.tanh(in[0]);
         }
         return Tensors{in[0] * c * in[1]};
       }},
      {"a factor and a term",
       [](F& f, const Tensors& in) {
         const Tensor a = f.tanh(in[0] * in[1]);
         const autograd::Record record;
         Tensor b;
         {
           const autograd::Pause pause;
           b = a * 2 + in[1];
         }
         return Tensors{a * b + b};
       }},
      {"a chain through Pause and around it",
       [](F& f, const Tensors& in) {
         const Tensor a = f.sigmoid(in[0]);
         Tensor b;
         {
           const autograd::Pause pause(true);
           b = f.square(a) + in[1];
         }
         return Tensors{a * b + b * in[0] + in[1] * a};
       }},
      {"Record inside Pause",
       [](F& f, const Tensors& in) {
         const autograd::Pause pause;
         Tensor b, c;
         {
           const autograd::Record record;
           b = f.tanh(in[0]) * in[1];
         }
         c = f.sigmoid(b) * 3;
         const autograd::Record record;
         return Tensors{b * c + in[1]};
       }},
      {"TrainMode inside Pause, and Pause inside it",
       [](F& f, const Tensors& in) {
         const autograd::TrainMode train;
         Tensor b;
         {
           const autograd::Pause pause;
           const autograd::TrainMode again;
           b = f.tanh(in[0]);
         }
         return Tensors{b * in[0] * in[1]};
       }},
      {"a write to the whole",
       [](F& f, const Tensors& in) {
         Tensor a = f.tanh(in[0]);
         {
           const autograd::Pause pause;
           a *= in[1];
         }
         return Tensors{a * in[0] + in[1]};
       }},
      {"a value from outside, written",
       [](F& f, const Tensors& in) {
         Tensor a = f.tanh(in[0]), b = f.sigmoid(in[1]);
         {
           const autograd::Pause pause;
           a[slice()] = b;
         }
         return Tensors{a * b * in[0]};
       }},
      {"a write to a part",
       [](F& f, const Tensors& in) {
         Tensor a = f.tanh(in[0]), b = f.sigmoid(in[1]);
         {
           const autograd::Pause pause;
           a[slice(0, 2)] = b[slice(1, 3)];
         }
         return Tensors{a * b * in[0]};
       }},
      {"a write to a part, and the part read",
       [](F& f, const Tensors& in) {
         Tensor a = f.tanh(in[0]), part = a[slice(1, 3)];
         {
           const autograd::Pause pause;
           part *= 2;
         }
         return Tensors{f.concat({part * in[1][slice(0, 2)], a[slice(0, 2)] * a[slice(1, 3)]}, {.dim = 0}) *
                        a};
       }},
      {"a view that is read inside Pause first",
       [](F& f, const Tensors& in) {
         Tensor a = f.tanh(in[0]), c;
         {
           const autograd::Pause pause;
           c = f.square(a[slice(0, 2)]);
         }
         const Tensor d = a * in[1] + f.square(a);
         return Tensors{f.concat({c * a[slice(0, 2)], f.sigmoid(a[slice(0, 2)])}, {.dim = 0}) * d * a};
       }},
      {"a view that is read inside Pause last",
       [](F& f, const Tensors& in) {
         Tensor a = f.tanh(in[0]), c;
         const Tensor b = f.sigmoid(a[slice(0, 2)]) * a[slice(0, 2)];
         {
           const autograd::Pause pause;
           c = f.square(a[slice(0, 2)]) + b;
         }
         return Tensors{f.concat({c * b, a[slice(0, 2)]}, {.dim = 0}) * in[1]};
       }},
      {"a view that is made inside Pause",
       [](F& f, const Tensors& in) {
         Tensor a = f.tanh(in[0]), c, d;
         {
           const autograd::Pause pause;
           c = a[slice(0, 2)];
           d = a.reshape({2, 2});
         }
         return Tensors{f.concat({c * 3, c}, {.dim = 0}) * in[1] + (d * d).reshape({4})};
       }},
      {"inside the body of a loop",
       [](F& f, const Tensors& in) {
         const auto step = [&](const Tensors& row, const Tensors& state) {
           Tensor c;
           {
             const autograd::Pause pause;
             c = f.tanh(row[0]) * state[0];
           }
           return Results{{row[0] * c + state[0]}, {state[0] * row[0] + c}};
         };
         return Tensors{f.contrib().foreach (step, {in[0]}, {in[1][slice(0, 1)]}).outputs[0].reshape({4})};
       }},
      {"around a loop",
       [](F& f, const Tensors& in) {
         const auto step = [&](const Tensors& row, const Tensors& state) {
           return Results{{row[0] * state[0]}, {state[0] + row[0]}};
         };
         Tensor c;
         {
           const autograd::Pause pause;
           c = f.contrib().foreach (step, {in[0]}, {in[1][slice(0, 1)]}).outputs[0].reshape({4});
         }
         return Tensors{c * in[0] + in[1]};
       }},
      {"inside a while_loop",
       [](F& f, const Tensors& in) {
         const auto holds = [&](const Tensors& v) { return f.sum(v[1]) < 3; };
         const auto step = [&](const Tensors& v) {
           Tensor c;
           {
             const autograd::Pause pause;
             c = f.tanh(v[0]);
           }
           return Results{{v[0] * c}, {v[0] * c * in[1], v[1] + 1}};
         };
         const auto r = f.contrib().while_loop(holds, step, {in[0], zeros({1})}, 4);
         return Tensors{f.sum(r.outputs[0], {.axis = 0}) + r.states[0]};
       }},
      {"inside and around branches",
       [](F& f, const Tensors& in) {
         const auto with = [&](const Tensor& x) {
           return f.contrib().cond(
               f.sum(in[1]) > -100,
               [&] {
                 const autograd::Pause pause;
                 return Tensors{f.tanh(x)};
               },
               [&] { return Tensors{x * 2}; });
         };
         Tensors c;
         {
           const autograd::Pause pause;
           c = f.contrib().cond(
               f.sum(in[1]) > -100, [&] { return Tensors{in[0]}; }, [&] { return Tensors{in[1]}; });
         }
         return Tensors{with(in[0])[0] * in[0] + c[0] * in[1]};
       }},
      {"dropout and its mode",
       [](F& f, const Tensors& in) {
         Tensor c;
         {
           const autograd::Pause pause;
           c = f.Dropout(in[0], {.p = 0.5});
         }
         const Tensor d = f.Dropout(in[1], {.p = 0.5});
         Tensor e;
         {
           const autograd::Pause pause(true);
           e = f.Dropout(c * d, {.p = 0.5}) + d;
         }
         return Tensors{e * d + c * in[0]};
       }},
  };
  return list;
}

}  // namespace

TEST_CASE("gradients of programs with scopes of recording") {
  for (const auto& [name, body] : programs()) {
    CAPTURE(name);
    gradients_everywhere(body, {numbers({4}, 1), numbers({4}, 2)});
    check_train_step(body, numbers({4}, 3));
  }
}

TEST_CASE("what is computed inside Pause is a constant") {
  const Tensor x{0.5f, -1.f};
  Net net([](F& f, const Tensors& in) {
    Tensor c;
    {
      const autograd::Pause pause;
      c = f.square(in[0]);
    }
    return Tensors{in[0] * c};
  });
  net.hybridize();
  Tensor in = x.copy();
  in.attach_grad();
  Tensor y = autograd::record([&] { return net({in})[0]; });
  y.backward();
  CHECK(in.grad().to_vector<float>() == std::vector<float>{0.25f, 1.f});
}

TEST_CASE("second derivatives through a Pause") {
  const auto body = [](F& f, const Tensors& in) {
    Tensor c;
    {
      const autograd::Pause pause;
      c = f.exp(in[0]);
    }
    return Tensors{in[0] * in[0] * in[0] * c};
  };
  std::vector<Tensors> all;
  for (const bool hybrid : {false, true}) {
    Net net(body);
    if (hybrid) net.hybridize();
    Tensor x = numbers({5}, 4);
    x.attach_grad();
    const autograd::Record record;
    const Tensor y = net({x})[0];
    const Tensor first = autograd::grad({y}, {x}, {.create_graph = true})[0];
    const Tensor second = autograd::grad({first}, {x}, {.create_graph = true})[0];
    all.push_back({first, second, autograd::grad({second}, {x})[0]});
    const Tensor c = F::exp(x);
    for (int i = 0; i < 5; ++i)
      CHECK(second.to_vector<float>()[static_cast<std::size_t>(i)] ==
            Approx((6 * x * c).to_vector<float>()[static_cast<std::size_t>(i)]).margin(1e-6));
  }
  for (std::size_t i = 0; i < 3; ++i) CHECK(same_bits(all[0][i], all[1][i]));
}

TEST_CASE("arrays with a gradient that a network writes inside Pause") {
  struct Clipped : HybridBlock {
    Parameter w;
    bool part;
    explicit Clipped(bool p) : HybridBlock({.prefix = "clipped_"}), part(p) {
      w = params().get("w", {4}, {.init = init::One()});
    }
    Tensor hybrid_forward(F& f, const Tensor& x) override {
      Tensor weight = w;
      const Tensor y = f.tanh(x * weight) + x * f.square(weight);
      {
        const autograd::Pause pause;
        if (part)
          weight[slice(1, 3)] *= 0.5;
        else
          weight *= 0.5;
      }
      return y * weight + f.sigmoid(weight) + weight[slice(0, 2)].sum();
    }
  };
  for (const bool part : {false, true}) {
    std::vector<Tensors> all;
    for (const int way : {0, 1, 2}) {  // eager, hybridized, train_step()
      CAPTURE(part, way);
      Clipped net(part);
      net.initialize();
      if (way == 1) net.hybridize();
      loss::L2Loss loss;
      Trainer trainer(net.collect_params(), "sgd", {.learning_rate = 0.1, .momentum = 0.9});
      auto step = net.train_step(loss, trainer);
      Tensors seen;
      for (int i = 0; i < 3; ++i) {
        const Tensor x = numbers({2, 4}, 5 + static_cast<unsigned>(i)), label = zeros({2, 4});
        if (way == 2) {
          seen.push_back(step(x, label).copy());
          seen.push_back(net.w.data().copy());
          continue;
        }
        const Tensor l = autograd::record([&] { return loss(net(x), label); });
        l.backward();
        trainer.step(2);
        seen.push_back(l.copy());
        seen.push_back(net.w.data().copy());
      }
      all.push_back(seen);
    }
    for (const std::size_t way : {1, 2})
      for (std::size_t i = 0; i < all[0].size(); ++i) {
        CAPTURE(part, way, i, all[0][i].to_vector<float>(), all[way][i].to_vector<float>());
        CHECK(same_bits(all[0][i], all[way][i]));
      }
  }
}

TEST_CASE("an input that a network writes inside Pause") {
  for (const bool attached : {false, true})
    for (const bool part : {false, true}) {
      const auto body = [&](F& f, const Tensors& in) {
        Tensor a = in[0];
        const Tensor b = f.tanh(a);
        {
          const autograd::Pause pause;
          if (part)
            a[slice(0, 2)] = 3;
          else
            a *= 3;
        }
        return Tensors{a * b + f.square(a)};
      };
      std::vector<Tensors> all;
      for (const bool hybrid : {false, true}) {
        Net net(body);
        if (hybrid) net.hybridize();
        Tensors seen;
        for (int i = 0; i < 2; ++i) {
          Tensor x = numbers({4}, 6), y, a;
          x.attach_grad();
          {
            const autograd::Record record;
            a = attached ? x : x * 1.5;
            y = net({a})[0] + a * a;
          }
          y.backward();
          seen.insert(seen.end(), {y, a.copy(), x.grad().copy()});
        }
        all.push_back(seen);
      }
      for (std::size_t i = 0; i < all[0].size(); ++i) {
        CAPTURE(attached, part, i, all[0][i].to_vector<float>(), all[1][i].to_vector<float>());
        CHECK(same_bits(all[0][i], all[1][i]));
      }
    }
}

TEST_CASE("a recorded array that a call outside of Record writes") {
  const auto body = [](F&, const Tensors& in) {
    Tensor a = in[0];
    a[slice(0, 2)] = 5;
    return Tensors{a * 2};
  };
  Tensors all;
  for (const bool hybrid : {false, true}) {
    Net net(body);
    if (hybrid) net.hybridize();
    for (int i = 0; i < 2; ++i) {
      Tensor x = numbers({4}, 6), a;
      x.attach_grad();
      {
        const autograd::Record record;
        a = x * 1.5;
      }
      net({a});
      autograd::record([&] { return a * a; }).backward();
      all.push_back(x.grad().copy());
    }
  }
  for (const Tensor& t : all) CHECK(same_bits(t, all[0]));
  CHECK(all[0].to_vector<float>()[0] == 0);
}

TEST_CASE("networks that ask for the mode and for histories") {
  const auto body = [](F& f, const Tensors& in) {
    const Tensor a = autograd::is_recording() ? in[0] * 2 : in[0] * 3;
    const Tensor b = f.tanh(a);
    return Tensors{autograd::is_recorded(b) ? b * 5 : b * 7, autograd::is_recorded(in[1]) ? a + 1 : a - 1};
  };
  Net eager(body), hybrid(body);
  hybrid.hybridize();
  Tensor plain = numbers({3}, 1), with_grad = plain.copy();
  with_grad.attach_grad();
  for (int round = 0; round < 2; ++round)
    for (const int mode : {0, 1, 2, 3})
      for (const bool x : {false, true})
        for (const bool y : {false, true}) {
          std::optional<autograd::Record> record;
          std::optional<autograd::Pause> pause;
          if (mode == 1) record.emplace();
          if (mode == 2) record.emplace(false);
          if (mode == 3) pause.emplace();
          const Tensors in{x ? with_grad : plain, y ? with_grad : plain};
          const Tensors a = eager(in), b = hybrid(in);
          CAPTURE(round, mode, x, y);
          for (std::size_t i = 0; i < a.size(); ++i) CHECK(same_bits(a[i], b[i]));
        }
  CHECK(hybrid.runs() <= 16);
}

TEST_CASE("train_step() records as its lines do") {
  const auto body = [](F&, const Tensors& in) {
    return Tensors{autograd::is_recording() && autograd::is_recorded(in[1]) ? in[0] * in[1] * 2
                                                                            : in[0] * in[1]};
  };
  check_train_step(body, numbers({4}, 3));
}

TEST_CASE("Record inside a network that is called outside of it") {
  const auto body = [](F& f, const Tensors& in) {
    const Tensor a = in[0] * 2;
    const autograd::Record record;
    return Tensors{f.tanh(in[0]) * a};
  };
  std::vector<Tensors> all;
  for (const bool hybrid : {false, true}) {
    Net net(body);
    if (hybrid) net.hybridize();
    for (int call = 0; call < 2; ++call) {
      Tensor x = numbers({4}, 1);
      x.attach_grad();
      const Tensor y = net({x})[0];
      REQUIRE(autograd::is_recorded(y));
      y.backward();
      Tensor z = numbers({4}, 1);
      z.attach_grad();
      const Tensor u = autograd::record([&] { return net({z})[0]; });
      u.backward();
      all.push_back({y, x.grad().copy(), z.grad().copy()});
    }
  }
  for (const Tensors& t : all)
    for (std::size_t i = 0; i < 3; ++i) CHECK(same_bits(t[i], all[0][i]));
}

TEST_CASE("a symbol file has BlockGrad behind what Pause computes") {
  struct Paused : HybridBlock {
    Tensor hybrid_forward(F& f, const Tensor& x) override {
      Tensor c;
      {
        const autograd::Pause pause;
        c = f.tanh(f.square(x));
      }
      return x * c;
    }
  };
  Paused net;
  net.hybridize();
  const Tensor x = numbers({4}, 1);
  net(x);
  net.export_model("paused");
  std::ifstream file("paused-symbol.json");
  std::stringstream text;
  text << file.rdbuf();
  CHECK(text.str().find("BlockGrad") != std::string::npos);
  CHECK(net(sym::var("data")).tojson().find("BlockGrad") != std::string::npos);
  auto loaded = SymbolBlock::imports("paused-symbol.json", {"data"});
  Tensors grads;
  for (const bool imported : {false, true}) {
    Tensor in = x.copy();
    in.attach_grad();
    Tensor y = autograd::record([&] { return imported ? loaded(in) : net(in); });
    y.backward();
    grads.push_back(in.grad().copy());
  }
  CHECK(same_bits(grads[0], grads[1]));
}

TEST_CASE("checks of networks with scopes find nothing") {
  const auto asks = [](F& f, const Tensors& in) {
    const Tensor a = autograd::is_recording() ? in[0] * 2 : in[0] * 3;
    return Tensors{autograd::is_recorded(a) ? f.tanh(a) : f.sigmoid(a)};
  };
  std::vector<std::pair<std::string, Net::Body>> all = programs();
  all.emplace_back("one that asks", asks);
  for (const auto& [name, body] : all) {
    CAPTURE(name);
    Net net(body);
    net.hybridize({.check = Check::recording | Check::bits});
    Tensors in{numbers({4}, 1), numbers({4}, 2)};
    for (Tensor& t : in) t.attach_grad();
    for (int call = 0; call < 2; ++call) {
      net(in);
      const Tensor y = autograd::record([&] { return net(in)[0]; });
      y.backward();
    }
  }
}

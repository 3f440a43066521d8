// Reads of recorded arrays and of their views around autograd::Pause: writes that are not recorded, and views
// derived there. Gradients have the same bits whichever of the calls is compiled.
#include "view_programs.h"

using namespace kiln;
using namespace view_programs;

TEST_CASE("reads of a recorded array after writes of its parts that are not recorded") {
  using Write = void (*)(F&, Tensor);
  using View = Tensor (*)(const Tensor&);
  static const Write writes[] = {
      [](F&, Tensor a) { a *= 2; },
      [](F&, Tensor a) { a[slice({}, {}, -1)] = a; },
      [](F& f, Tensor a) { a[slice(0, 1)] = f.tanh(a[slice(1, 2)]); },
      [](F&, Tensor a) { a[slice(0, 1)] = 4, a[slice(1)] = 3; },
      [](F& f, Tensor a) { a.reshape({-1})[slice(1, 3)] = f.tanh(a).reshape({-1})[slice(0, 2)]; },
      [](F&, Tensor a) {
        Tensor flat = a.reshape({-1});
        // The written view was derived from another one before.
        const Tensor front = flat[slice(0, 3)], part = front[slice(1, 2)];
        flat[slice(1, 2)] = 5;
      },
  };
  static const View views[] = {
      [](const Tensor& t) { return t; },
      [](const Tensor& t) -> Tensor { return t[slice(1, 3)]; },
      [](const Tensor& t) {
        return t.reshape({6, 2});
      },
      [](const Tensor& t) -> Tensor { return t[1]; },
  };
  enum Way { eager, block, checked_block, program, both };
  const auto run = [](Write write, View view, bool paused_call, Way way) {
    Net net([=](F& f, const Tensors& in) -> Tensors {
      {
        const autograd::Pause pause;
        write(f, in[0]);
      }
      return {in[0] * 2};
    });
    Net whole([&](F& f, const Tensors& in) {
      const Tensor b = in[0] * 1.5;
      std::optional<autograd::Pause> pause;
      if (paused_call) pause.emplace();
      Tensors heads = net(Tensors{view(b)});
      pause.reset();
      for (const Tensor& t : {b, view(b), Tensor(view(b)[slice(0, 1)]), Tensor(view(b)[slice(1)]),
                              Tensor(b[slice(1, 3)]), b.reshape({-1})})
        heads.push_back(f.tanh(t));
      return heads;
    });
    if (way == block || way == both) net.hybridize();
    if (way == checked_block) net.hybridize({.check = Check::bits | Check::recording});
    if (way == program || way == both) whole.hybridize();
    Tensors seen;
    Tensor x = numbers({4, 3}, 1);
    for (int call = 0; call < 2; ++call) {
      x.attach_grad();
      const Tensors heads = autograd::record([&] { return whole(Tensors{x}); });
      for (const Tensor& head : heads) {
        seen.insert(seen.end(), {full({1}, autograd::is_recorded(head)), head.copy()});
        if (!autograd::is_recorded(head)) continue;
        autograd::backward({head}, {numbers(head.shape(), 7)}, {.retain_graph = true});
        seen.push_back(x.grad().copy());
      }
    }
    return seen;
  };
  for (std::size_t w = 0; w < std::size(writes); ++w)
    for (std::size_t v = 0; v < std::size(views); ++v)
      for (const bool paused_call : {false, true}) {
        const Tensors expected = run(writes[w], views[v], paused_call, eager);
        for (const Way way : {block, checked_block, program, both}) {
          const Tensors other = run(writes[w], views[v], paused_call, way);
          REQUIRE(other.size() == expected.size());
          for (std::size_t i = 0; i < expected.size(); ++i) {
            CAPTURE(w, v, paused_call, static_cast<int>(way), i);
            CAPTURE(expected[i].to_vector<float>(), other[i].to_vector<float>());
            CHECK(same_bits(other[i], expected[i]));
          }
        }
      }
}

TEST_CASE("reads of views that are derived inside Pause") {
  const Net::Body body = [](F& f, const Tensors& in) -> Tensors {
    const Tensor a = in[0];
    std::optional<autograd::Pause> pause(std::in_place);
    const Tensor rows = a[slice(0, 2)], row = rows[1], flat = a.reshape({-1})[slice(1, 5)],
                 part = flat[slice(0, 3)];
    pause.reset();
    Tensors out;
    for (const Tensor& t : {a, rows, row, flat, part, rows}) out.push_back(uses(f, t));
    return out;
  };
  for (const bool part : {false, true}) {
    CAPTURE(part);
    check({{body, body},
           [=](F& f, const Tensors& in, std::vector<Net>& blocks) -> Tensors {
             const Tensor b = in[0] * 1.5;
             const auto argument = [&]() -> Tensor { return part ? b[slice(1, 4)] : b; };
             Tensors out = blocks[0](Tensors{argument()});
             const Tensor between = uses(f, b);
             for (const Tensor& t : blocks[1](Tensors{argument()})) out.push_back(t);
             out.insert(out.end(), {between, uses(f, argument())});
             return out;
           }},
          {{5, 3}});
  }
}

// Programs that call blocks on views of recorded arrays.
#pragma once
#include "function_net.h"

#include <cmath>
#include <functional>
#include <vector>

/// Programs that call blocks on views of recorded arrays: their gradients have the same bits whichever of the
/// calls is compiled.
namespace view_programs {

using namespace kiln;

/// A program that calls blocks.
struct Program {
  std::vector<Net::Body> blocks;
  std::function<Tensors(F&, const Tensors& in, std::vector<Net>& blocks)> run;
};

/// Numbers whose sums depend on the order of additions.
inline Tensor numbers(const Shape& shape, int seed) {
  std::vector<float> list;
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    const double x = std::sin(1.5 + 12.9898 * static_cast<double>(i) + 78.233 * seed) * 43758.5453;
    list.push_back(static_cast<float>((x - std::floor(x)) * std::exp2(static_cast<double>(i % 5)) - 1));
  }
  return Tensor(list, shape);
}

/// Which calls are compiled.
enum class Compiled { none, blocks, program, both };
inline constexpr Compiled modes[] = {Compiled::blocks, Compiled::program, Compiled::both};

/// A program as a network that calls networks; some of these are compiled. The program outlives it.
struct Nets {
  std::vector<Net> blocks;
  Net whole;

  Nets(const Program& program, Compiled compiled)
      : whole([&](F& f, const Tensors& in) { return program.run(f, in, blocks); }) {
    for (const Net::Body& body : program.blocks) blocks.emplace_back(body);
    if (compiled == Compiled::blocks || compiled == Compiled::both)
      for (Net& block : blocks) block.hybridize();
    if (compiled == Compiled::program || compiled == Compiled::both) whole.hybridize();
  }
  Nets(const Nets&) = delete;
};

inline Tensors inputs_of(const std::vector<Shape>& shapes) {
  Tensors in;
  for (const Shape& s : shapes) in.push_back(numbers(s, static_cast<int>(in.size())));
  return in;
}

/// The results and the gradients of two calls.
inline Tensors gradients(const Program& program, const std::vector<Shape>& shapes, Compiled compiled,
                         GradReq req = GradReq::write) {
  Nets nets(program, compiled);
  Tensors in = inputs_of(shapes), seen;
  for (Tensor& t : in) t.attach_grad(req);
  for (int call = 0; call < 2; ++call) {
    const Tensors out = autograd::record([&] { return nets.whole(in); });
    Tensors heads;
    for (const Tensor& t : out) heads.push_back(numbers(t.shape(), 7 + static_cast<int>(heads.size())));
    for (const Tensor& t : out) seen.push_back(t.copy());
    autograd::backward(out, heads);
    for (const Tensor& t : in) seen.push_back(t.grad().copy());
  }
  return seen;
}

/// Whether a run gives the same bits whichever of the calls is compiled.
inline void check_modes(const std::function<Tensors(Compiled)>& run) {
  const Tensors eager = run(Compiled::none);
  for (const Compiled compiled : modes) {
    const Tensors other = run(compiled);
    REQUIRE(other.size() == eager.size());
    for (std::size_t i = 0; i < eager.size(); ++i) {
      CAPTURE(static_cast<int>(compiled), i, eager[i].to_vector<float>(), other[i].to_vector<float>());
      CHECK(same_bits(other[i], eager[i]));
    }
  }
}

inline void check(const Program& program, const std::vector<Shape>& shapes, GradReq req = GradReq::write) {
  check_modes([&](Compiled compiled) { return gradients(program, shapes, compiled, req); });
}

/// Three uses of a value.
inline Tensor uses(F& f, const Tensor& t) { return f.tanh(t) + f.square(t) * 3 + f.sigmoid(t); }

}  // namespace view_programs

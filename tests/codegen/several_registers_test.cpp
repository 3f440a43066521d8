// Expressions that are computed several registers at once, as many as leave room for their operations: one to
// four, three too. Some functions take one register at a time (codegen/math/num.h, by_registers).
#include "function_net.h"

using namespace kiln;

namespace {

/// `operations` in a chain; the second is `function`. The third input is broadcast, so that there are rows.
Tensor chain(F& f, const Tensors& in, int operations, Tensor (*function)(F&, const Tensor&, const Tensor&)) {
  Tensor t = in[0] * in[2];
  for (int i = 1; i < operations; ++i)
    t = i == 1 ? function(f, t, in[1]) : i % 2 == 0 ? t + in[0] : t * in[1];
  return t;
}

Tensor drawn(const Shape& shape, DType dtype) { return random::uniform(0.5, 2, shape).astype(dtype); }

}  // namespace

TEST_CASE("any number of registers at once") {
  using Function = Tensor (*)(F&, const Tensor&, const Tensor&);
  const Function functions[] = {
      [](F& f, const Tensor& a, const Tensor& b) { return f.broadcast_maximum(a, b); },
      [](F& f, const Tensor& a, const Tensor& b) { return f.broadcast_minimum(a, b); },
      [](F& f, const Tensor& a, const Tensor& b) { return f.broadcast_power(a, b); },
      [](F& f, const Tensor& a, const Tensor&) { return f.sqrt(a); },
  };
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i32})
    for (const Shape& broadcast : {Shape{3, 1}, Shape{1, 600}}) {
      const Tensors in{drawn({3, 600}, dtype), drawn({3, 600}, dtype), drawn(broadcast, dtype)};
      for (const Function& function : functions)
        for (int operations = 2; operations <= 9; ++operations) {
          CAPTURE(name_of(dtype), broadcast.str(), operations);
          everywhere([&](F& f, const Tensors& in) { return Tensors{chain(f, in, operations, function)}; },
                     in);
        }
    }
}

TEST_CASE("functions of functions, by groups of registers") {
  // Whole groups, whole steps of one group, and a rest; the last depends on whether others precede it.
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16})
    for (const Shape& shape :
         {Shape{5}, Shape{64}, Shape{191}, Shape{192}, Shape{257}, Shape{500}, Shape{3, 450}}) {
      const Tensors in{drawn(shape, dtype)};
      CAPTURE(name_of(dtype), shape.str());
      everywhere([](F& f, const Tensors& in) { return Tensors{f.exp(f.tanh(in[0]))}; }, in);
      everywhere([](F& f, const Tensors& in) { return Tensors{in[0] * f.tanh(f.log1p(f.exp(in[0])))}; }, in);
      everywhere(
          [](F& f, const Tensors& in) {
            const Tensor inner = f.sigmoid(in[0]);
            return Tensors{f.sin(inner), f.erf(f.cos(inner) + in[0])};
          },
          in);
    }
}

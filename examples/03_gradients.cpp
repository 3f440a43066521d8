// Lesson 3: gradients. Calls inside of a scope are recorded, and backward() differentiates the record.
#include <kiln/kiln.h>

#include <iostream>

using namespace kiln;

int main() {
  // attach_grad() makes x a variable, with an array for its gradient.
  Tensor x{1, 2, 3};
  x.attach_grad();

  // record(fn) calls fn in recording mode. y = x1^3 + x2^3 + x3^3, whose gradient is 3 x^2.
  Tensor y = autograd::record([&] { return F::sum(x * x * x); });
  y.backward();
  std::cout << "y = " << y.item<float>() << ", dy/dx" << x.grad() << "\n";

  // The program's own control flow is recorded as it runs: here five products.
  Tensor p = autograd::record([&] {
    Tensor power = x;
    for (int i = 0; i < 5; ++i) power = power * x;
    return power;
  });
  p.backward();  // of several elements: the gradient of their sum
  std::cout << "the derivative of x^6" << x.grad() << "\n";

  // Pause excludes a computation: its result is a constant for gradients.
  Tensor q = autograd::record([&] {
    autograd::Pause pause;
    Tensor weight = x * 10;
    autograd::Record again;
    return weight * x;
  });
  q.backward();
  std::cout << "weight * x, of a constant weight" << x.grad() << "\n";

  // A write inside of the scope is differentiated as well.
  Tensor w = autograd::record([&] {
    Tensor buffer = zeros({3});
    buffer[slice(0, 2)] = x[slice(1, 3)] * 4;
    return buffer * x;
  });
  w.backward();
  std::cout << "through a write" << x.grad() << "\n";

  // grad() returns gradients instead of writing them. With create_graph they can be differentiated again.
  Tensor second;
  {
    autograd::Record record;
    Tensor s = F::sin(x);
    Tensor first = autograd::grad({s}, {x}, {.create_graph = true})[0];
    second = autograd::grad({first}, {x})[0];
  }
  std::cout << "the second derivative of sin(x)" << second << "\nand -sin(x)" << -F::sin(x) << "\n";
}

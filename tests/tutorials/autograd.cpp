// "Automatic differentiation with autograd": gradients of programs with loops and branches, head gradients,
// and gradients of gradients.
#include <kiln/kiln.h>

#include <iostream>

using namespace kiln;

// Values decide the computation: a loop doubles until the norm is large, then there is a branch.
Tensor f(const Tensor& a) {
  Tensor b = a * 2;
  while (F::norm(b).item<float>() < 1000) b = b * 2;
  return F::sum(b).item<float>() > 0 ? b : 100 * b;
}

int main() {
  // f(x) = 2 x^2 has the gradient 4 x. attach_grad() makes room for it.
  Tensor x{{1, 2}, {3, 4}};
  x.attach_grad();
  Tensor y;
  {
    autograd::Record record;
    y = 2 * x * x;
  }
  y.backward();
  std::cout << "x.grad: " << x.grad() << "\n";

  // record() calls a function inside Record: the same in one line. backward() takes a head gradient: dz/dy of
  // a result z that is computed from y.
  y = autograd::record([&] { return 2 * x * x; });
  y.backward(Tensor{{10, 1}, {0.1, 0.01}});
  std::cout << "with a head gradient: " << x.grad() << "\n";

  // f is linear where it does not branch: its gradient is f(a) / a.
  for (double value : {0.7, -0.7}) {
    Tensor a{value};
    a.attach_grad();
    Tensor c = autograd::record([&] { return f(a); });
    c.backward();
    std::cout << "f(" << a.item<float>() << ") = " << c.item<float>() << ", the gradient is "
              << a.grad().item<float>() << ", f(a) / a is " << (c / a).item<float>() << "\n";
  }

  // Gradients of several backward passes are added with GradReq::add.
  Tensor w{1, 2, 3};
  w.attach_grad(GradReq::add);
  for (int pass = 0; pass < 3; ++pass) autograd::record([&] { return w * w; }).backward();
  std::cout << "three passes: " << w.grad() << "\n";

  // Record also sets the training mode, in which Dropout drops elements. PredictMode ends it.
  std::cout << std::boolalpha << "training: " << autograd::is_training();
  {
    autograd::Record record;
    std::cout << ", " << autograd::is_training();
    autograd::PredictMode predict;
    std::cout << ", " << autograd::is_training() << "; recording: " << autograd::is_recording() << "\n";
  }

  // x^3: 3 x^2, and by create_graph its derivative 6 x.
  Tensor t{1, 2, 3};
  t.attach_grad();
  Tensor first =
      autograd::record([&] { return autograd::grad({t * t * t}, {t}, {.create_graph = true})[0]; });
  first.backward();
  std::cout << "first derivative: " << first << "\nsecond derivative: " << t.grad() << "\n";
}

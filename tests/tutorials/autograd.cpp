// "Automatic differentiation with autograd": gradients of programs with loops and branches, head gradients,
// and gradients of gradients.
#include <kiln/kiln.h>

#include <iostream>

using namespace kiln;

// What is computed depends on the values: a loop that doubles until the norm is large, and a branch.
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

  // The gradient of a vector-valued function is multiplied with a head gradient: here dz/dy for z = f(y).
  {
    autograd::Record record;
    Tensor v = x * 2;
    y = v * x;
  }
  y.backward(Tensor{{10, 1}, {0.1, 0.01}});
  std::cout << "with a head gradient: " << x.grad() << "\n";

  // f is linear where it does not branch: its gradient is f(a) / a.
  for (double value : {0.7, -0.7}) {
    Tensor a{value};
    a.attach_grad();
    Tensor c;
    {
      autograd::Record record;
      c = f(a);
    }
    c.backward();
    std::cout << "f(" << a.item<float>() << ") = " << c.item<float>() << ", the gradient is "
              << a.grad().item<float>() << ", f(a) / a is " << (c / a).item<float>() << "\n";
  }

  // Gradients of several backward passes are added with GradReq::add.
  Tensor w{1, 2, 3};
  w.attach_grad(GradReq::add);
  for (int pass = 0; pass < 3; ++pass) {
    autograd::Record record;
    F::sum(w * w).backward();
  }
  std::cout << "three passes: " << w.grad() << "\n";
  w.zero_grad();

  // Dropout acts in training mode alone, which Record sets. predict_mode switches it off.
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
  Tensor first;
  {
    autograd::Record record;
    first = autograd::grad({t * t * t}, {t}, {.create_graph = true})[0];
  }
  first.backward();
  std::cout << "first derivative: " << first << "\nsecond derivative: " << t.grad() << "\n";
}

// "Dive into Deep Learning", data manipulation, and a first network, with npx.set_np(). The value that a
// notebook shows is np::array_repr(), the text that it prints is <<.
#include <kiln/kiln.h>

#include <iostream>

using namespace kiln;

void show(const Tensor& x) { std::cout << np::array_repr(x) << "\n"; }

int main() {
  npx::set_np();
  auto x = np::arange(12);
  show(x);
  std::cout << x.shape().str() << " " << x.size() << "\n";
  auto X = x.reshape({3, 4});
  show(X);
  show(np::zeros({2, 3, 4}));
  show(np::ones({1, 2}));
  std::cout << np::random::normal(0, 1, {3, 4}).shape().str() << "\n";
  auto Y = np::array(std::vector<float>{2, 1, 4, 3, 1, 2, 3, 4, 4, 3, 2, 1}, {3, 4});

  x = np::array({1, 2, 4, 8});
  auto y = np::array({2, 2, 2, 2});
  show(x + y);
  show(x - y);
  show(x * y);
  show(x / y);
  show(np::power(x, y));

  show(np::concatenate({X, Y}, 0));
  show(np::concatenate({X, Y}, 1));
  show(X == Y);
  show(X.sum());

  auto a = np::arange(3).reshape({3, 1});
  auto b = np::arange(2).reshape({1, 2});
  show(a + b);

  show(X[-1]);
  show(X[slice(1, 3)]);
  X({1, 2}) = 9;
  show(X);
  X({slice(0, 2), slice()}) = 12;
  show(X);
  std::cout << X << "\n" << X.sum() << "\n" << X({2, 3}).get() << "\n";
  show(np::arange(0, 3, 1, DType::i32));
  show(np::array(3.5));

  nn::HybridSequential net;
  net.add(nn::Dense(256, {.activation = "relu"}), nn::Dense(10));
  net.initialize();
  X = np::random::uniform(0, 1, {2, 20});
  std::cout << net(X).shape().str() << "\n";
  net.hybridize();
  std::cout << net(X).shape().str() << net(np::zeros({0, 20})).shape().str() << "\n";
}

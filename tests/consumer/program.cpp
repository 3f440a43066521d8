// A program that knows only Kiln's public headers.
#include <kiln/kiln.h>

#include <iostream>

int main() {
  kiln::nn::Dense net(2);
  net.initialize(kiln::init::One());
  net.hybridize();
  std::cout << net(kiln::ones({1, 3})) << "\n";
}

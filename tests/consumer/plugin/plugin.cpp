// A shared object that uses Kiln.
#include <kiln/kiln.h>

using namespace kiln;

/// The result of a small network, eagerly and compiled: 5 times `n`, or a negative number if anything is
/// wrong.
extern "C" __attribute__((visibility("default"))) int five_times(int n) {
  try {
    nn::Dense net(1, {.in_units = 5});
    net.initialize(init::One());
    const Tensor x = full({1, 5}, n);
    const int eager = net(x).item<int>();
    net.hybridize();
    return net(x).item<int>() == eager ? eager : -1;
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return -2;
  }
}

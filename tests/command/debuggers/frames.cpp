// A network whose kernel a debugger or profiler looks at. It includes public headers only, as users do.
#include <kiln/kiln.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <unistd.h>

using namespace kiln;

namespace {

struct Shown : HybridBlock {
  Tensor hybrid_forward(F& F, const Tensor& x) override {
    Tensor sum = F.dot(x, x);  // the line of the kernel
    return F.relu(sum + 1);
  }
};

/// The kernel is loaded here: a debugger sets its breakpoint.
[[gnu::noinline]] void loaded(const void* value) { asm volatile("" : : "r"(value) : "memory"); }

}  // namespace

/// The argument: for how many seconds the network runs.
int main(int argc, char** argv) {
  const ThreadLimit one(1);
  const double seconds = argc > 1 ? std::strtod(argv[1], nullptr) : 0;
  std::cout << "process " << ::getpid() << std::endl;
  Shown net;
  net.hybridize();
  const Tensor x = random::uniform(-1, 1, {384, 384});
  net(x);
  loaded(&net);
  const auto begin = std::chrono::steady_clock::now();
  do {
    net(x);
  } while (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < seconds);
}

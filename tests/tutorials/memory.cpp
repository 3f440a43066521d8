// Memory that hybridize() saves: b = a * 2; c = b * a; d = c + 1 needs no memory for b and c, and one kernel.
#include <kiln/kiln.h>

#include <iostream>

using namespace kiln;

class Example : public HybridBlock {
 public:
  Tensor hybrid_forward(F&, const Tensor& a) override {
    auto b = a * 2;
    auto c = b * a;
    auto d = c + 1;
    return d;
  }
};

int main() {
  const auto before = memory_report().live_bytes;
  const auto held = [&] { return memory_report().live_bytes - before; };
  {
    auto a = ones({10}, DType::f64);
    auto b = a * 2;
    auto c = b * a;
    auto d = c + 1;
    std::cout << "eagerly: " << held() << " bytes\n";
  }
  Example net;
  net.hybridize();
  auto a = ones({10}, DType::f64);
  auto d = net(a);  // compiles
  reset_peak_memory();
  d = Tensor();
  d = net(a);
  std::cout << "hybridized: " << held() << " bytes, at most " << memory_report().peak_bytes - before
            << ", in " << net.compiled_calls().at(0).kernels << " kernel\n";
  std::cout << d << "\n";
}

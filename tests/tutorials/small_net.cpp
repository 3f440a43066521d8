// "Dive into Deep Learning", compilers and interpreters: a small network, hybridized, exported and looked
// into.
#include <kiln/kiln.h>

#include <iostream>

using namespace kiln;

nn::HybridSequential get_net() {
  nn::HybridSequential net;
  net.add(nn::Dense(256, {.activation = "relu"}), nn::Dense(128, {.activation = "relu"}), nn::Dense(2));
  net.initialize();
  return net;
}

class HybridNet : public HybridBlock {
 public:
  explicit HybridNet(const BlockOptions& options = {}) : HybridBlock(options) {
    hidden = nn::Dense(10);
    output = nn::Dense(2);
  }

  Tensor hybrid_forward(F& F, const Tensor& input) override {
    std::cout << "module F: " << F.module_name() << "\n";
    std::cout << "value  x: " << input << "\n";
    auto x = F.npx().relu(hidden(input));
    std::cout << "result  : " << x << "\n";
    return output(x);
  }

 private:
  Child<nn::Dense> hidden{this, "hidden"}, output{this, "output"};
};

int main() {
  auto x = random::normal(0, 1, {1, 512});
  auto net = get_net();
  auto eager = net(x);
  std::cout << net << "\n";

  net.hybridize();
  std::cout << "the same: " << std::boolalpha << (net(x).to_vector<float>() == eager.to_vector<float>())
            << "\n";
  net.export_model("my_mlp");
  std::cout << net(sym::var("data")) << "\n";

  HybridNet custom;
  custom.initialize(init::One());
  auto ones = nd::ones({1, 3});
  std::cout << custom(ones) << "\n";
  custom.hybridize();
  std::cout << custom(ones) << "\n";
  std::cout << custom(ones) << "\n";
}

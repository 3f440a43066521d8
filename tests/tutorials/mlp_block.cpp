// "Hybrid - Faster training and easy deployment": the MLP as a HybridBlock of one's own.
#include <kiln/kiln.h>

#include <iostream>

using namespace kiln;

class Net : public HybridBlock {
 public:
  explicit Net(const BlockOptions& options = {}) : HybridBlock(options) {
    auto scope = name_scope();
    fc1 = nn::Dense(256);
    fc2 = nn::Dense(128);
    fc3 = nn::Dense(2);
  }

  Tensor hybrid_forward(F& F, const Tensor& input) override {
    // F is a function space: ndarray when the network runs eagerly, symbol while it is traced.
    std::cout << "F: " << F.module_name() << ", x: " << (input.is_traced() ? input.name() : "an array")
              << "\n";
    auto x = F.relu(fc1(input));
    x = F.relu(fc2(x));
    return fc3(x);
  }

 private:
  Child<nn::Dense> fc1{this, "fc1"}, fc2{this, "fc2"}, fc3{this, "fc3"};
};

int main() {
  Net net;
  net.collect_params().initialize();
  auto x = nd::random_normal(0, 1, {1, 512});

  std::cout << "=== 1st forward ===\n";
  auto y = net(x);
  std::cout << "=== 2nd forward ===\n";
  y = net(x);

  net.hybridize();
  std::cout << "=== 1st hybridized forward ===\n";
  auto z = net(x);
  std::cout << "=== 2nd hybridized forward ===\n";
  z = net(x);

  std::cout << z.shape().str() << ", the same: " << std::boolalpha
            << (y.to_vector<float>() == z.to_vector<float>()) << "\n";
  std::cout << net << "\n" << net.collect_params() << "\n";

  net.save_params("mlp_block.params");
  Net other({.prefix = "other_"});
  other.load_params("mlp_block.params");
  auto again = other(x);
  std::cout << "loaded: " << (again.to_vector<float>() == y.to_vector<float>()) << "\n";
}

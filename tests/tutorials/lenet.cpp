// Gluon's tutorial on hybridization: a LeNet whose last product is written by hand.
#include <kiln/kiln.h>

#include <iostream>
#include <sstream>

using namespace kiln;

class LeNet : public HybridBlock {
 public:
  explicit LeNet(const BlockOptions& options = {}) : HybridBlock(options) {
    // layers made in name_scope inherit the prefix of their parent
    auto scope = name_scope();
    conv1 = nn::Conv2D(6, {.kernel_size = 5});
    pool1 = nn::MaxPool2D({.pool_size = 2});
    conv2 = nn::Conv2D(16, {.kernel_size = 5});
    pool2 = nn::MaxPool2D({.pool_size = 2});
    fc1 = nn::Dense(120);
    fc2 = nn::Dense(84);
    // a Dense layer would do for fc3; here the product is written by hand
    fc3_weight = params().get("fc3_weight", {10, 84});
  }

  Tensor hybrid_forward(F& F, const Tensor& input) override {
    // input is an array, or while the network is traced a symbol; F is the space of operators that fits
    std::cout << "F is " << F.module_name() << "\nx is " << input << "\n";
    auto x = pool1(F.relu(conv1(input)));
    x = pool2(F.relu(conv2(x)));
    // 0 means copy over the extent of the corresponding dimension, -1 infer it from the rest
    x = x.reshape({0, -1});
    x = F.relu(fc1(x));
    x = F.relu(fc2(x));
    x = F.dot(x, fc3_weight, {.transpose_b = true});
    return x;
  }

 private:
  Child<nn::Conv2D> conv1{this, "conv1"}, conv2{this, "conv2"};
  Child<nn::MaxPool2D> pool1{this, "pool1"}, pool2{this, "pool2"};
  Child<nn::Dense> fc1{this, "fc1"}, fc2{this, "fc2"};
  Parameter fc3_weight;
};

int main() {
  LeNet net({.prefix = "net0_"});
  std::cout << net << "\n";
  net.initialize();

  auto x = nd::ones({1, 1, 28, 28});
  auto y = net(x);
  net.hybridize();
  auto z = net(x);
  // the second call does not run hybrid_forward again
  z = net(x);
  std::cout << "the same: " << std::boolalpha << (y.to_vector<float>() == z.to_vector<float>()) << "\n";

  x = nd::random_normal(0, 1, {16, 1, 28, 28});
  std::cout << net(x).shape().str() << "\n";
  std::cout << net.collect_params() << "\n";
  std::cout << net.collect_params(".*weight") << "\n";
  std::cout << net.params() << "\n";

  net.export_model("lenet", 1);
  auto imported = SymbolBlock::imports("lenet-symbol.json", {"data"}, "lenet-0001.params");
  std::cout << "imported: " << (imported(x).to_vector<float>() == net(x).to_vector<float>()) << "\n";

  LeNet fresh({.prefix = "net2_"});
  fresh.initialize();
  std::cout.setstate(std::ios::failbit);  // hybrid_forward prints
  std::ostringstream table;
  fresh.summary(nd::ones({2, 1, 28, 28}), table);
  std::cout.clear();
  std::cout << table.str();
}

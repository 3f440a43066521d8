// Whole networks applied to sym::var give the files that MXNet 1.9.1 wrote for them, byte for byte. Single
// layers are in layer_golden_test.cpp.
#include <kiln/kiln.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

using namespace kiln;

namespace {

std::string golden(const std::string& name) {
  std::ifstream in(KILN_TEST_DATA "/" + name + "-symbol.json");
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

void check(const std::string& name, Block&& net, const std::string& input = "data") {
  INFO(name);
  CHECK(net(sym::var(input)).tojson() == golden(name));
}

nn::HybridSequential mlp(const std::string& prefix) {
  nn::HybridSequential net({.prefix = prefix});
  auto scope = net.name_scope();
  net.add(nn::Dense(256, {.activation = "relu"}), nn::Dense(128, {.activation = "relu"}), nn::Dense(2));
  return net;
}

class LeNet : public HybridBlock {
 public:
  explicit LeNet(const BlockOptions& options) : HybridBlock(options) {
    auto scope = name_scope();
    conv1 = nn::Conv2D(6, 5);
    pool1 = nn::MaxPool2D(2);
    conv2 = nn::Conv2D(16, 5);
    pool2 = nn::MaxPool2D(2);
    fc1 = nn::Dense(120);
    fc2 = nn::Dense(84);
    fc3_weight = params().get("fc3_weight", {10, 84});
  }

 protected:
  Tensor hybrid_forward(F& F, const Tensor& input) override {
    Tensor x = pool1(F.relu(conv1(input)));
    x = pool2(F.relu(conv2(x)));
    x = x.reshape({0, -1});
    x = F.relu(fc1(x));
    x = F.relu(fc2(x));
    return F.dot(x, fc3_weight, {.transpose_b = true});
  }

 private:
  Child<nn::Conv2D> conv1{this, "conv1"}, conv2{this, "conv2"};
  Child<nn::MaxPool2D> pool1{this, "pool1"}, pool2{this, "pool2"};
  Child<nn::Dense> fc1{this, "fc1"}, fc2{this, "fc2"};
  Parameter fc3_weight;
};

class Residual : public HybridBlock {
 public:
  Residual(int channels, int stride) {
    auto scope = name_scope();
    c1 = nn::Conv2D(channels, {.kernel_size = 3, .strides = stride, .padding = 1, .use_bias = false});
    b1 = nn::BatchNorm();
    c2 = nn::Conv2D(channels, {.kernel_size = 3, .padding = 1, .use_bias = false});
    b2 = nn::BatchNorm();
    if (stride != 1) down = nn::Conv2D(channels, {.strides = stride, .use_bias = false});
  }

 protected:
  Tensor hybrid_forward(F& F, const Tensor& x) override {
    const Tensor y = b2(c2(F.relu(b1(c1(x)))));
    return F.Activation(y + (down.defined() ? down(x) : x), {.act_type = "relu"});
  }

 private:
  Child<nn::Conv2D> c1{this, "c1"};
  Child<nn::BatchNorm> b1{this, "b1"};
  Child<nn::Conv2D> c2{this, "c2"};
  Child<nn::BatchNorm> b2{this, "b2"};
  Child<nn::Conv2D> down{this, "down"};
};

}  // namespace

TEST_CASE("whole networks") {
  check("models/mlp", mlp("mlp_"));
  check("models/lenet", LeNet({.prefix = "net0_"}));
  nn::HybridSequential resnet({.prefix = "tres_"});
  {
    auto scope = resnet.name_scope();
    resnet.add(nn::Conv2D(8, {.kernel_size = 3, .padding = 1}), Residual(8, 1), Residual(16, 2),
               Residual(24, 2), nn::GlobalAvgPool2D(), nn::Dense(5));
  }
  check("models/tiny_resnet", std::move(resnet));
}

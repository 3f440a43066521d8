// Networks applied to sym::var give the files that MXNet 1.9.1 wrote for them, byte for byte.
#include <kiln/kiln.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

using namespace kiln;

namespace {

std::string golden(const std::string& name) {
  std::ifstream in(std::string(KILN_TEST_DATA) + "/" + name + "-symbol.json");
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

TEST_CASE("layers write all their attributes") {
  check("ops/gluon_Dense__a", nn::Dense(4, {.prefix = "d_"}));
  check("ops/gluon_Dense__relu", nn::Dense(4, {.activation = "relu", .prefix = "d_"}));
  check("ops/gluon_Dense__tanh", nn::Dense(3, {.activation = "tanh", .prefix = "d_"}));
  check("ops/gluon_Conv2D__grp",
        nn::Conv2D(6, {.kernel_size = 3, .groups = 3, .in_channels = 3, .prefix = "c_"}));
  check("ops/gluon_Conv1D__a", nn::Conv1D(4, {.kernel_size = 3, .strides = 2, .padding = 1, .prefix = "c_"}));
  check("ops/gluon_Conv3D__a", nn::Conv3D(2, {.kernel_size = 2, .prefix = "c_"}));
  check("ops/gluon_Conv1DTranspose__a",
        nn::Conv1DTranspose(3, {.kernel_size = 3, .strides = 2, .prefix = "c_"}));
  check("ops/gluon_Conv2DTranspose__outpad",
        nn::Conv2DTranspose(
            2, {.kernel_size = 3, .strides = 2, .padding = 1, .output_padding = 1, .prefix = "c_"}));
  const nn::PoolOptions ceil{.pool_size = 3, .strides = 2, .padding = 1, .ceil_mode = true, .prefix = "p_"};
  check("ops/gluon_MaxPool1D__ceil", nn::MaxPool1D(ceil));
  check("ops/gluon_MaxPool2D__ceil", nn::MaxPool2D(ceil));
  check("ops/gluon_MaxPool3D__a", nn::MaxPool3D({.prefix = "p_"}));
  check("ops/gluon_AvgPool1D__ceil", nn::AvgPool1D(ceil));
  check("ops/gluon_AvgPool2D__ceil", nn::AvgPool2D(ceil));
  check("ops/gluon_AvgPool3D__ceil", nn::AvgPool3D(ceil));
  const nn::PoolOptions no_padding{
      .pool_size = 3, .strides = 1, .padding = 1, .count_include_pad = false, .prefix = "p_"};
  check("ops/gluon_AvgPool2D__nopad", nn::AvgPool2D(no_padding));
  check("ops/gluon_AvgPool3D__nopad", nn::AvgPool3D(no_padding));
  check("ops/gluon_GlobalAvgPool2D__a", nn::GlobalAvgPool2D({.prefix = "p_"}));
  check("ops/gluon_GlobalMaxPool3D__a", nn::GlobalMaxPool3D({.prefix = "p_"}));
  check("ops/gluon_BatchNorm__a", nn::BatchNorm({.prefix = "b_"}));
  check("ops/gluon_BatchNorm__noscale", nn::BatchNorm({.scale = false, .prefix = "b_"}));
  check("ops/gluon_BatchNorm__glob",
        nn::BatchNorm({.momentum = 0.5, .epsilon = 1e-3, .use_global_stats = true, .prefix = "b_"}));
  check("ops/gluon_Embedding__a", nn::Embedding(6, 3, {.prefix = "e_"}));
  check("ops/gluon_Flatten__a", nn::Flatten({.prefix = "f_"}));
  check("ops/gluon_Activation__relu", nn::Activation("relu", {.prefix = "f_"}));
  check("ops/gluon_Dropout__a", nn::Dropout(0, {.prefix = "f_"}));
  check("ops/gluon_LeakyReLU__b", nn::LeakyReLU(0.2, {.prefix = "f_"}));
  check("ops/gluon_PReLU__b", nn::PReLU(init::Constant(0.25), 1, {.prefix = "f_"}));
  check("ops/gluon_ELU__a", nn::ELU(0.7, {.prefix = "f_"}));
  check("ops/gluon_SELU__a", nn::SELU({.prefix = "f_"}));
  check("ops/gluon_GELU__b", nn::GELU({.prefix = "f_"}));
  check("ops/gluon_Swish__b", nn::Swish(1.3, {.prefix = "f_"}));
  check("ops/gluon_HybridLambda__str", nn::HybridLambda("tanh", {.prefix = "f_"}));
  check("ops/gluon_HybridLambda__a",
        nn::HybridLambda([](F& F, const Tensor& x) { return F.exp(x) + 1; }, {.prefix = "f_"}));
  check("ops/gluon_LayerNorm__axis", nn::LayerNorm({.axis = 1, .epsilon = 1e-3, .prefix = "n_"}));
}

TEST_CASE("containers name their children") {
  nn::HybridSequential s({.prefix = "s_"});
  {
    auto scope = s.name_scope();
    s.add(nn::Conv2D(3, 3), nn::BatchNorm(), nn::Activation("relu"), nn::MaxPool2D(), nn::Flatten(),
          nn::Dense(2));
  }
  check("ops/gluon_HybridSequential__conv", std::move(s));
  nn::HybridConcurrent c({.axis = 1, .prefix = "c_"});
  {
    auto scope = c.name_scope();
    c.add(nn::Conv2D(2, 1), nn::Conv2D(3, {.kernel_size = 3, .padding = 1}), nn::AvgPool2D(3, 1, 1));
  }
  check("ops/gluon_HybridConcurrent__conv", std::move(c));
}

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

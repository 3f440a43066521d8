// Small networks: an MLP and LeNet.
#include "bench/workload.h"

using namespace kiln;

namespace bench {
namespace {

class LeNet : public HybridBlock {
 public:
  LeNet() {
    const auto scope = name_scope();
    features.add(nn::Conv2D(6, {.kernel_size = 5, .activation = "relu", .in_channels = 1}), nn::MaxPool2D(2),
                 nn::Conv2D(16, {.kernel_size = 5, .activation = "relu", .in_channels = 6}), nn::MaxPool2D(2),
                 nn::Flatten(), nn::Dense(120, {.activation = "relu", .in_units = 256}),
                 nn::Dense(84, {.activation = "relu", .in_units = 120}));
    register_child(features, "features");
    weight = params().get("weight", {10, 84});
  }

 protected:
  Tensor hybrid_forward(F& F, const Tensor& x) override {
    return F.dot(features(x), weight, {.transpose_b = true});
  }

 private:
  nn::HybridSequential features;
  Parameter weight;
};

}  // namespace

Workload mlp(int batch) {
  auto net = std::make_shared<nn::HybridSequential>();
  net->add(nn::Dense(256, {.activation = "relu", .in_units = 512}),
           nn::Dense(128, {.activation = "relu", .in_units = 256}), nn::Dense(2, {.in_units = 128}));
  return {net, {randn({batch, 512})}};
}

Workload lenet(int batch) { return {std::make_shared<LeNet>(), {randn({batch, 1, 28, 28})}}; }

void add_networks() {
  add("mlp_b1", [] { return mlp(1); });
  add("mlp_b64", [] { return mlp(64); });
  add("lenet_b16", [] { return lenet(16); }, {1, 2});
}

}  // namespace bench
